/* The automatic answers that are drawn: a share of them, always the same ones. */
#include "server/review/sample.h"

#include "tests/support/suite.h"

#include <stdio.h>

static unsigned taken(double share, unsigned index)
{
    unsigned count = 0;
    for (int i = 0; i < 10000; i++) {
        char id[16];
        snprintf(id, sizeof id, "die-%d", i);
        count += sample_takes(share, id, index, DECISION_AUTO);
    }
    return count;
}

START_TEST(a_share_of_the_automatic_answers_is_drawn)
{
    ck_assert_uint_eq(taken(0, 0), 0);
    ck_assert_uint_eq(taken(1, 0), 10000);
    ck_assert_uint_ge(taken(0.1, 0), 900); /* 1000, and three standard deviations of 30 */
    ck_assert_uint_le(taken(0.1, 0), 1100);
    ck_assert_uint_ne(taken(0.1, 0), taken(0.1, 1)); /* each input of a request by itself */
}
END_TEST

START_TEST(one_that_is_drawn_stays_drawn_when_the_share_grows)
{
    for (int i = 0; i < 1000; i++) {
        char id[16];
        snprintf(id, sizeof id, "die-%d", i);
        if (sample_takes(0.1, id, 3, DECISION_AUTO))
            ck_assert(sample_takes(0.2, id, 3, DECISION_AUTO));
    }
}
END_TEST

START_TEST(other_decisions_are_never_drawn)
{
    ck_assert(!sample_takes(1, "die-1", 0, DECISION_REVIEW));
    ck_assert(!sample_takes(1, "die-1", 0, DECISION_UNKNOWN));
}
END_TEST

SUITE("review/sample", a_share_of_the_automatic_answers_is_drawn,
      one_that_is_drawn_stays_drawn_when_the_share_grows, other_decisions_are_never_drawn)
