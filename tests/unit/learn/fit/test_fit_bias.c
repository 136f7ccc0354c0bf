/* fit_bias.c: a label of few inputs is given as easily as one false alarm in a hundred allows, and
 * no more easily than its own inputs ask for. */
#include "learn/fit/fit_heads.h"
#include "tests/support/suite.h"

#include <string.h>

enum { OLD = 300, NEW = 10, COUNT = 2 * OLD + NEW, LABELS = 3, TAUGHT = 2 };

static float after[COUNT * LABELS], plain[LABELS * 2];
static unsigned classes[COUNT];
static double fitted[2];

/* Two old labels of which row i is ahead of the new one by i / 100, and ten new inputs that are
 * `behind`; features are one number. */
static struct fit make(float behind)
{
    struct fit fit = {.options = {.prior = "natural", .loss_max = 100},
                      .labels = {.count = LABELS, .old_count = 2},
                      .rows = {.count = COUNT,
                               .of_data = NEW,
                               .width = 1,
                               .labels = LABELS,
                               .old_labels = 2,
                               .classes = classes,
                               .after = after},
                      .plain = plain};
    fit.old.projection = 1;
    memset(after, 0, sizeof after);
    memset(plain, 0, sizeof plain);
    for (unsigned i = 0; i < COUNT; i++) {
        classes[i] = i < NEW ? TAUGHT : i % 2;
        after[i * LABELS + i % 2] = i < NEW ? behind : (float)(i - NEW + 1) / 100;
    }
    return fit;
}

static unsigned given(unsigned class)
{
    unsigned count = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        const float *row = after + (size_t)i * LABELS;
        count += classes[i] == class && row[TAUGHT] > row[0] && row[TAUGHT] > row[1];
    }
    return count;
}

static void raise(struct fit *fit)
{
    struct err err = {0};
    ck_assert_uint_eq(spec_features(&fit->old), 1);
    ck_assert_int_eq(fit_bias(fit, &err), ERR_OK);
}

START_TEST(one_false_alarm_in_a_hundred_is_taken_for_what_it_finds)
{
    struct fit fit = make(5);
    raise(&fit);
    ck_assert_uint_eq(given(0) + given(1), OLD * 2 / 100);
    ck_assert_float_eq_tol(plain[TAUGHT * 2 + 1], 0.07F, 1e-3F);
    ck_assert_float_eq(plain[TAUGHT * 2], 0); /* no weight */
    ck_assert_float_eq(plain[1], 0);
}
END_TEST

START_TEST(no_more_than_its_own_inputs_ask_for)
{
    struct fit fit = make(0.03F);
    raise(&fit);
    ck_assert_uint_eq(given(TAUGHT), NEW);
    ck_assert_float_eq_tol(plain[TAUGHT * 2 + 1], 0.03F, 1e-3F);
    fit = make(-1); /* they are found as it is */
    raise(&fit);
    ck_assert_float_eq(plain[TAUGHT * 2 + 1], 0);
}
END_TEST

START_TEST(a_label_that_is_expected_often_counts_as_often)
{
    struct fit fit = make(5);
    fitted[0] = 99;
    fitted[1] = 1;
    fit.old.class_prior.fitted = fitted;
    raise(&fit);
    ck_assert_uint_eq(given(0), 3); /* of 300, and of 300 others as many */
}
END_TEST

START_TEST(no_label_loses_more_than_it_may)
{
    struct fit fit = make(5);
    fit.options.loss_max = 0.5;
    raise(&fit);
    ck_assert_uint_le(given(0), 1);
    ck_assert_uint_le(given(1), 1);
}
END_TEST

START_TEST(a_label_of_many_inputs_and_a_prior_that_was_asked_for_stay)
{
    struct fit fit = make(5);
    fit.options.prior = "equal";
    raise(&fit);
    ck_assert_float_eq(plain[TAUGHT * 2 + 1], 0);
    fit = make(5);
    for (unsigned i = 0; i <= FIT_BIAS_FEW; i++)
        classes[i] = TAUGHT;
    raise(&fit);
    ck_assert_float_eq(plain[TAUGHT * 2 + 1], 0);
}
END_TEST

SUITE("fit_bias", one_false_alarm_in_a_hundred_is_taken_for_what_it_finds,
      no_more_than_its_own_inputs_ask_for, a_label_that_is_expected_often_counts_as_often,
      no_label_loses_more_than_it_may, a_label_of_many_inputs_and_a_prior_that_was_asked_for_stay)
