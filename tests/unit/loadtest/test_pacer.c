#include "engine/base/clock.h"
#include "loadtest/client.h"
#include "tests/support/suite.h"

#include <math.h>

START_TEST(pacer_counts_equal_gaps_exactly)
{
    struct pacer pacer;
    pacer_init(&pacer, 7000, 5, false, 1);
    unsigned due = 0;
    for (; pacer.due_ns < 7000 + 2 * (uint64_t)CLOCK_NS_PER_S; pacer_advance(&pacer))
        due++;
    ck_assert_uint_eq(due, 10);
}
END_TEST

/* The mean of 20 000 gaps strays by 0.7 % (one sigma); the deviation of exponential gaps equals
 * their mean. The seed is fixed, so this cannot fail by chance. */
START_TEST(pacer_makes_a_poisson_process)
{
    enum { GAPS = 20000 };
    struct pacer pacer;
    pacer_init(&pacer, 0, 1000, true, 7);
    double sum = 0, squares = 0;
    uint64_t before_ns = pacer.due_ns;
    for (int i = 0; i < GAPS; i++) {
        pacer_advance(&pacer);
        double gap_ms = clock_ms_between(before_ns, pacer.due_ns);
        before_ns = pacer.due_ns;
        sum += gap_ms;
        squares += gap_ms * gap_ms;
    }
    double mean = sum / GAPS;
    ck_assert(fabs(mean - 1.0) < 0.03);
    ck_assert(fabs(sqrt(squares / GAPS - mean * mean) - 1.0) < 0.05);
}
END_TEST

START_TEST(pacer_repeats_a_seed)
{
    struct pacer one, same, other;
    pacer_init(&one, 0, 10, true, 3);
    pacer_init(&same, 0, 10, true, 3);
    pacer_init(&other, 0, 10, true, 4);
    ck_assert_uint_eq(one.due_ns, same.due_ns);
    ck_assert_uint_ne(one.due_ns, other.due_ns);
}
END_TEST

SUITE("pacer", pacer_counts_equal_gaps_exactly, pacer_makes_a_poisson_process, pacer_repeats_a_seed)
