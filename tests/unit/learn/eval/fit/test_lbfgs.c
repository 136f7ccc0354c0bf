/* lbfgs.h: it finds the least of a convex function, and stops on the way when what a step promises
 * is below what it is asked for. */
#include "learn/eval/fit/lbfgs.h"

#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { N = 50 };

/* sum of curvature[i] (x[i] - i)^2 / 2 + log(1 + e^x[i]), which is not quadratic */
struct bowl {
    double curvature[N];
    unsigned calls;
};

static double loss_at(void *context, const double *point, double *gradient)
{
    struct bowl *bowl = context;
    double loss = 0;
    bowl->calls++;
    for (unsigned i = 0; i < N; i++) {
        const double off = point[i] - i / 10.0;
        loss += bowl->curvature[i] * off * off / 2 + log1p(exp(point[i]));
        gradient[i] = bowl->curvature[i] * off + 1 / (1 + exp(-point[i]));
    }
    return loss;
}

/* Curvatures from 1 to 1e-4, so that there is a long way to the end. */
static struct bowl bowl(void)
{
    struct bowl out = {.calls = 0};
    for (unsigned i = 0; i < N; i++)
        out.curvature[i] = pow(1e-4, (double)i / (N - 1));
    return out;
}

/* The loss where it ends. */
static double run(struct bowl *bowl, double gain_min, double *point)
{
    struct lbfgs *lbfgs;
    struct err err = {0};
    double gradient[N];
    memset(point, 0, N * sizeof *point);
    ck_assert(!lbfgs_open(&lbfgs, N, &err));
    lbfgs_run(lbfgs, loss_at, bowl, gain_min, point);
    lbfgs_close(lbfgs);
    return loss_at(bowl, point, gradient);
}

START_TEST(lbfgs_ends_at_a_zero_gradient)
{
    double point[N], gradient[N];
    struct bowl to_the_end = bowl();
    run(&to_the_end, 0, point);
    loss_at(&to_the_end, point, gradient);
    for (unsigned i = 0; i < N; i++)
        ck_assert_double_le(fabs(gradient[i]), 1e-5);
}
END_TEST

START_TEST(lbfgs_ends_early_if_a_step_gains_too_little)
{
    double point[N], last = 0;
    struct bowl to_the_end = bowl();
    const double least = run(&to_the_end, 0, point);
    unsigned calls = to_the_end.calls;
    for (double gain_min = 1e-8; gain_min < 1; gain_min *= 100) {
        struct bowl part = bowl();
        const double more = run(&part, gain_min, point) - least;
        ck_assert_uint_le(part.calls, calls);
        ck_assert_double_ge(more, last - 1e-9);
        ck_assert_double_lt(more, 100 * gain_min);
        calls = part.calls;
        last = more;
    }
    ck_assert_uint_lt(calls, to_the_end.calls / 2);
}
END_TEST

/* A small slope before the first step does not mean that little is left: there is no curvature
 * yet. */
START_TEST(the_first_step_is_taken_whatever_it_promises)
{
    double point[N];
    struct bowl first = bowl();
    run(&first, 1e9, point);
    ck_assert_double_gt(fabs(point[0]), 0.1);
}
END_TEST

SUITE("lbfgs", lbfgs_ends_at_a_zero_gradient, lbfgs_ends_early_if_a_step_gains_too_little,
      the_first_step_is_taken_whatever_it_promises)
