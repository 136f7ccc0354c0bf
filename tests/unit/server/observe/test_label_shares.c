/* label_shares.h: streams whose labels are known, which models take part, what is forgotten. */
#include "engine/base/rng.h"
#include "engine/decide/argmax.h"
#include "engine/decide/class_prior.h"
#include "server/observe/label_shares.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { LABELS = 3 };

static const char *const labels[LABELS] = {"none", "ring", "scratch"};
static const double natural[LABELS] = {0.8, 0.15, 0.05};
static struct class_prior prior;
static struct engine_info info;
static struct label_shares *shares;
static double counted[LABELS]; /* shares of the answers of predict_stream */

static void open_shares(void)
{
    struct err err = {0};
    prior = (struct class_prior){.assumed = natural};
    info = (struct engine_info){.version = "1",
                                .scores = "softmax",
                                .labels = labels,
                                .label_count = LABELS,
                                .class_prior = &prior};
    ck_assert(!label_shares_open(&shares, &err));
}

static void predict_of(const struct engine_info *of, const float *scores, enum decision decision)
{
    const struct observer observer = label_shares_observer(shares);
    float copy[LABELS];
    memcpy(copy, scores, sizeof copy);
    const struct engine_result result = {.scores = copy, .judgement = {.decision = decision}};
    const struct answer answer = {
        .model_name = "m", .model_version = of->version, .info = of, .result = result};
    observer.prediction(observer.context, &(struct prediction_record){.answer = &answer});
}

static struct label_shares_figures figures(void)
{
    struct label_shares_figures found;
    ck_assert(label_shares_read(shares, "m", &info, &found));
    return found;
}

/* An input is a number, of each label's own normal distribution, two deviations apart: the
 * model is right about it, under the shares that it expects. */
static void score(float *out, float x, const double *expected)
{
    double parts[LABELS], sum = 0;
    for (int c = 0; c < LABELS; c++) {
        const double away = (double)x - 2.0 * c;
        parts[c] = expected[c] * exp(-away * away / 2);
        sum += parts[c];
    }
    for (int c = 0; c < LABELS; c++)
        out[c] = (float)(parts[c] / sum);
}

/* Inputs whose labels have these shares. */
static void predict_stream(struct rng *rng, const double *of, const double *expected,
                           unsigned count)
{
    memset(counted, 0, sizeof counted);
    for (unsigned i = 0; i < count; i++) {
        const double drawn = (double)rng_uniform(rng);
        const int label = drawn < of[0] ? 0 : drawn < of[0] + of[1] ? 1 : 2;
        float scores[LABELS];
        score(scores, 2.0f * (float)label + rng_normal(rng), expected);
        counted[argmax(scores, LABELS)] += 1.0 / count;
        predict_of(&info, scores, DECISION_REVIEW);
    }
}

static double distance(const double *one, const double *other)
{
    double sum = 0;
    for (int c = 0; c < LABELS; c++)
        sum += fabs(one[c] - other[c]);
    return sum;
}

static double error(const double *of)
{
    const struct label_shares_figures found = figures();
    ck_assert(found.has_estimate);
    return distance(found.estimated, of);
}

static const double turned[LABELS] = {0.3, 0.2, 0.5};

/* A twentieth is expected of what is a half. */
START_TEST(the_shares_of_a_stream_are_found_whatever_was_expected)
{
    struct rng rng = rng_for(1, 0, 0);
    open_shares();
    predict_stream(&rng, natural, natural, 3000);
    ck_assert_double_lt(error(natural), 0.08);
    label_shares_close(shares);
    open_shares();
    predict_stream(&rng, turned, natural, 3000);
    ck_assert_double_lt(error(turned), 0.1);
    ck_assert_double_gt(distance(counted, turned), 0.15); /* the error of answers alone */
    ck_assert_uint_eq(figures().count, 3000);
    label_shares_close(shares);
}
END_TEST

/* A class_prior that is put into service changes the scores, not what they are evidence of. */
START_TEST(an_estimate_goes_on_under_another_prior)
{
    struct rng rng = rng_for(2, 0, 0);
    open_shares();
    predict_stream(&rng, turned, natural, 2000);
    prior.assumed = turned;
    predict_stream(&rng, turned, turned, 2000);
    ck_assert_double_lt(error(turned), 0.1);
    ck_assert_uint_eq(figures().count, 4000);
    ck_assert_double_eq(figures().expected[2], 0.5);
    label_shares_close(shares);
}
END_TEST

START_TEST(a_stream_that_turns_is_followed_even_to_a_label_that_had_vanished)
{
    static const double only_none[LABELS] = {1, 0, 0};
    struct rng rng = rng_for(3, 0, 0);
    open_shares();
    predict_stream(&rng, only_none, natural, 5 * LABEL_SHARES_WINDOW);
    ck_assert_double_lt(figures().estimated[2], 0.001);
    predict_stream(&rng, turned, natural, 5 * LABEL_SHARES_WINDOW);
    ck_assert_double_lt(error(turned), 0.25);
    label_shares_close(shares);
}
END_TEST

START_TEST(few_inputs_have_no_estimate_and_the_first_do_not_decide)
{
    const float sure[LABELS] = {0, 0, 1};
    open_shares();
    ck_assert(!figures().has_estimate);
    ck_assert_double_eq(figures().expected[0], 0.8);
    for (unsigned i = 0; i < LABEL_SHARES_LEAST - 1; i++)
        predict_of(&info, sure, DECISION_AUTO);
    ck_assert(!figures().has_estimate);
    predict_of(&info, sure, DECISION_AUTO);
    ck_assert(figures().has_estimate);
    ck_assert_double_eq_tol(figures().estimated[2], (100 + 1 + 0.5) / (120 + 1.5), 1e-3);
    label_shares_close(shares);
}
END_TEST

START_TEST(label_shares_do_not_count_unknown_or_failed_answers)
{
    const float sure[LABELS] = {0, 0, 1};
    open_shares();
    predict_of(&info, sure, DECISION_UNKNOWN);
    const struct observer observer = label_shares_observer(shares);
    observer.prediction(observer.context, &(struct prediction_record){.err.code = ERR_UNUSABLE});
    ck_assert_uint_eq(figures().count, 0);
    label_shares_close(shares);
}
END_TEST

static void expect_none(const struct engine_info *of)
{
    const float sure[LABELS] = {0, 0, 1};
    struct label_shares_figures found;
    predict_of(of, sure, DECISION_AUTO);
    ck_assert(!label_shares_read(shares, "m", of, &found));
}

START_TEST(only_models_that_give_one_of_their_own_labels_have_shares)
{
    const struct class_prior unfitted = {0};
    open_shares();
    struct engine_info given = info, independent = info, many = info, old = info;
    given.has_given_labels = true;
    independent.scores = "sigmoid";
    many.label_count = LABEL_SHARES_LABELS + 1;
    old.class_prior = &unfitted;
    expect_none(&given);
    expect_none(&independent);
    expect_none(&many);
    expect_none(&old);
    label_shares_close(shares);
}
END_TEST

START_TEST(a_version_and_other_labels_have_an_estimate_of_their_own)
{
    static const char *const renamed[LABELS] = {"none", "ring", "line"};
    const float sure[LABELS] = {0, 0, 1};
    struct label_shares_figures found;
    open_shares();
    struct engine_info second = info, other = info;
    second.version = "2";
    other.labels = renamed;
    predict_of(&info, sure, DECISION_AUTO);
    ck_assert(label_shares_read(shares, "m", &second, &found) && found.count == 0);
    ck_assert(label_shares_read(shares, "m", &other, &found) && found.count == 0);
    ck_assert_uint_eq(figures().count, 1);
    ck_assert_uint_lt(label_shares_bytes(), 350000);
    label_shares_close(shares);
    label_shares_close(NULL);
}
END_TEST

static void *predict_and_read(void *unused)
{
    const float sure[LABELS] = {1, 0, 0};
    for (unsigned i = 0; i < 1000; i++) {
        predict_of(&info, sure, DECISION_AUTO);
        ck_assert_double_le(figures().estimated[0], 1);
    }
    return unused;
}

START_TEST(threads_lose_no_prediction)
{
    pthread_t threads[4];
    open_shares();
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, predict_and_read, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(figures().count, 4000);
    label_shares_close(shares);
}
END_TEST

SUITE("label_shares", the_shares_of_a_stream_are_found_whatever_was_expected,
      an_estimate_goes_on_under_another_prior,
      a_stream_that_turns_is_followed_even_to_a_label_that_had_vanished,
      few_inputs_have_no_estimate_and_the_first_do_not_decide,
      label_shares_do_not_count_unknown_or_failed_answers,
      only_models_that_give_one_of_their_own_labels_have_shares,
      a_version_and_other_labels_have_an_estimate_of_their_own, threads_lose_no_prediction)
