/* run.h, its loss: the prior that logits are adjusted by is that of what the loss sees. */
#include "tests/unit/learn/train/loop/run_fixture.h"

#include <math.h>

/* One "a", three "b" and sixteen "c". */
static void open_list(void)
{
    static char path[256];
    char text[2048] = "text,label\n";
    for (unsigned i = 0; i < 20; i++)
        strcat(text, i == 7 ? "red,a\n" : i % 6 == 1 ? "red,b\n" : "red,c\n");
    train_fixture_texts(&f);
    tempdir_write(&f.data, "few.csv", text, strlen(text));
    snprintf(path, sizeof path, "%s/few.csv", f.data.path);
    f.options.data = f.options.validation = path;
}

/* tau log of these, after they were made shares. */
static void expect_adjustment(double tau, double a, double b, double c)
{
    const double seen[3] = {a, b, c};
    open_run();
    ck_assert_uint_eq(run.loss.labels, 3);
    ck_assert_ptr_nonnull(run.loss.adjustment);
    for (unsigned k = 0; k < 3; k++)
        ck_assert_double_eq_tol((double)run.loss.adjustment[k], tau * log(seen[k] / (a + b + c)),
                                1e-6);
    run_close(&run);
}

START_TEST(the_prior_is_that_of_the_inputs_as_they_are_drawn)
{
    open_list();
    f.options.logit_adjust = 1;
    expect_adjustment(1, 1, 3, 16);
    f.options.logit_adjust = 0.5f;
    expect_adjustment(0.5, 1, 3, 16);
    f.options.balance = 0.5f;
    expect_adjustment(0.5, 1, sqrt(3), 4);
    f.options.balance = 1;
    expect_adjustment(0.5, 1, 1, 1);
    train_fixture_close(&f);
}
END_TEST

/* count^-1/2 of what is drawn by count^1/2 leaves nothing to adjust. */
START_TEST(class_weights_are_part_of_the_prior)
{
    open_list();
    f.options.logit_adjust = 2;
    f.options.class_weight = 0.5f;
    expect_adjustment(2, 1, sqrt(3), 4);
    f.options.class_weight = 1;
    expect_adjustment(2, 1, 1, 1);
    f.options.class_weight = 0.5f;
    f.options.balance = 0.5f;
    expect_adjustment(2, 1, 1, 1);
    train_fixture_close(&f);
}
END_TEST

START_TEST(run_adjusts_no_logit_by_default)
{
    open_list();
    open_run();
    ck_assert(run.loss.adjustment == NULL && run.loss.weights == NULL);
    run_close(&run);
    train_fixture_close(&f);
}
END_TEST

SUITE("run_loss", the_prior_is_that_of_the_inputs_as_they_are_drawn,
      class_weights_are_part_of_the_prior, run_adjusts_no_logit_by_default)
