/* prior_estimate.h: inputs drawn from a model that is known, x = normal about its label's mean, so that
 * its scores are exact; then the same with biases on them. */
#include "engine/base/rng.h"
#include "learn/eval/prior_estimate.h"
#include "tests/support/suite.h"

#include <math.h>

enum { LABELS = 3, COUNT = 6000 };

static const double known_shares[LABELS] = {0.8, 0.15, 0.05};

struct inputs {
    float logits[COUNT * LABELS];
    unsigned classes[COUNT];
    double shares[LABELS];
};

static struct inputs known, stream;
static struct err err;

/* Bayes' logits of a point in a plane under known_shares, with a bias on each. */
static void draw(struct inputs *out, const double *shares, const double *biases, uint64_t seed)
{
    static const double means[LABELS][2] = {{0, 0}, {2.2, 0}, {0, 2.2}};
    struct rng rng = rng_for(seed, 0, 0);
    for (unsigned c = 0; c < LABELS; c++)
        out->shares[c] = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double at = (double)rng_uniform(&rng);
        unsigned label = 0;
        while (label < LABELS - 1 && (at -= shares[label]) > 0)
            label++;
        const double x = means[label][0] + (double)rng_normal(&rng);
        const double y = means[label][1] + (double)rng_normal(&rng);
        out->classes[i] = label;
        out->shares[label] += 1.0 / COUNT;
        for (unsigned c = 0; c < LABELS; c++)
            out->logits[i * LABELS + c] =
                (float)(log(known_shares[c]) + biases[c] -
                        (pow(x - means[c][0], 2) + pow(y - means[c][1], 2)) / 2);
    }
}

static struct calibration_set set_of(const struct inputs *inputs)
{
    return (struct calibration_set){.logits = inputs->logits,
                                    .classes = inputs->classes,
                                    .count = COUNT,
                                    .label_count = LABELS};
}

/* The sum over labels of what an estimate is wrong by. */
static double error_of(const double *biases, const double *shares)
{
    double found[LABELS], error = 0;
    unsigned steps;
    draw(&known, known_shares, biases, 1);
    draw(&stream, shares, biases, 2);
    const struct calibration_set labelled = set_of(&known), seen = set_of(&stream);
    ck_assert_msg(!prior_estimate_shares(found, &labelled, &seen, 1, &steps, &err), "%s", err.text);
    ck_assert_uint_lt(steps, PRIOR_ESTIMATE_STEPS_MAX);
    for (unsigned c = 0; c < LABELS; c++)
        error += fabs(found[c] - stream.shares[c]);
    return error;
}

static const double none[LABELS] = {0, 0, 0}, tilted[LABELS] = {0, 1.5, -0.7};

START_TEST(shares_of_a_stream_are_found_from_scores_alone)
{
    static const double mixed[LABELS] = {0.3, 0.3, 0.4}, rare[LABELS] = {0.98, 0.01, 0.01};
    ck_assert_double_lt(error_of(none, mixed), 0.05);
    ck_assert_double_lt(error_of(none, rare), 0.03);
    ck_assert_double_lt(error_of(none, known_shares), 0.03);
}
END_TEST

START_TEST(a_bias_on_the_scores_moves_no_estimate)
{
    static const double mixed[LABELS] = {0.3, 0.3, 0.4};
    ck_assert_double_eq_tol(error_of(none, mixed), error_of(tilted, mixed), 1e-3);
}
END_TEST

/* EM stays where the mean scores are the shares already. */
START_TEST(the_labelled_inputs_themselves_have_the_shares_that_they_have)
{
    double found[LABELS];
    unsigned steps;
    draw(&known, known_shares, tilted, 3);
    const struct calibration_set labelled = set_of(&known);
    ck_assert(!prior_estimate_shares(found, &labelled, &labelled, 1, &steps, &err));
    ck_assert_uint_le(steps, 2);
    for (unsigned c = 0; c < LABELS; c++)
        ck_assert_double_eq_tol(found[c], known.shares[c], 1e-3);
}
END_TEST

START_TEST(no_label_becomes_impossible_and_no_input_is_refused)
{
    static const double one[LABELS] = {1, 0, 0};
    double found[LABELS];
    unsigned steps;
    draw(&known, known_shares, none, 1);
    draw(&stream, one, none, 2);
    const struct calibration_set labelled = set_of(&known);
    struct calibration_set seen = set_of(&stream);
    ck_assert(!prior_estimate_shares(found, &labelled, &seen, 1, &steps, &err));
    for (unsigned c = 1; c < LABELS; c++)
        ck_assert(found[c] >= 0.5 / (COUNT + 1.5) && found[c] < 0.01);
    seen.count = 0;
    ck_assert_int_eq(prior_estimate_shares(found, &labelled, &seen, 1, &steps, &err), ERR_UNUSABLE);
}
END_TEST

SUITE("prior_estimate", shares_of_a_stream_are_found_from_scores_alone,
      a_bias_on_the_scores_moves_no_estimate,
      the_labelled_inputs_themselves_have_the_shares_that_they_have,
      no_label_becomes_impossible_and_no_input_is_refused)
