/* The requests in a share of the traffic. */
#include "server/rollout/share.h"

#include "tests/support/suite.h"

#include <stdio.h>

enum { KEYS = 20000 };

static double point(const char *use, const char *model, unsigned key)
{
    char text[32];
    snprintf(text, sizeof text, "lot-%u", key);
    return share_point(use, model, text);
}

START_TEST(a_share_of_the_keys_is_that_share)
{
    for (double share = 0.01; share < 1; share += 0.07) {
        unsigned in = 0;
        for (unsigned i = 0; i < KEYS; i++)
            in += point("split", "wafer-vit", i) < share;
        ck_assert_double_eq_tol((double)in / KEYS, share, 0.015); /* four standard deviations */
    }
}
END_TEST

START_TEST(a_key_is_always_at_the_same_point)
{
    ck_assert_double_eq(share_point("split", "a", "lot-1"), share_point("split", "a", "lot-1"));
    /* Across programs and machines, too: lots stay with their version after an update. */
    ck_assert_double_eq_tol(share_point("split", "wafer-vit", "lot-4711"), 0.20397308830280125,
                            1e-15);
    ck_assert(share_point("", "", "") >= 0 && share_point("", "", "") < 1);
}
END_TEST

/* The hash includes the borders between the texts. */
START_TEST(points_of_other_uses_models_and_keys_are_independent)
{
    unsigned both = 0, others = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        both += point("split", "a", i) < 0.5 && point("shadow", "a", i) < 0.5;
        others += point("split", "a", i) < 0.5 && point("split", "b", i) < 0.5;
    }
    ck_assert_double_eq_tol((double)both / KEYS, 0.25, 0.015);
    ck_assert_double_eq_tol((double)others / KEYS, 0.25, 0.015);
    ck_assert_double_ne(share_point("a", "bc", "d"), share_point("ab", "c", "d"));
    ck_assert_double_ne(share_point("a", "b", "cd"), share_point("a", "bc", "d"));
}
END_TEST

SUITE("share", a_share_of_the_keys_is_that_share, a_key_is_always_at_the_same_point,
      points_of_other_uses_models_and_keys_are_independent)
