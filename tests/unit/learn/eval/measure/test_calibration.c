/* Most expectations are computed by hand from two classes whose winner leads by a fixed number of
 * logits and is right in three of four: the best score is then 3/4. One test draws labels from a
 * known temperature and must find it again. */
#include "engine/base/rng.h"
#include "learn/eval/measure/calibration.h"
#include "tests/support/suite.h"

#include <math.h>

enum { COUNT = 400 };

/* Two classes; the winner has a lead of `lead` logits and is right in three of four. */
struct made {
    float logits[COUNT][2];
    unsigned classes[COUNT];
    struct calibration_set set;
};

static void make(struct made *made, float lead)
{
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned winner = i / 4 % 2;
        made->logits[i][winner] = 5 + lead;
        made->logits[i][1 - winner] = 5;
        made->classes[i] = i % 4 == 0 ? 1 - winner : winner;
    }
    made->set = (struct calibration_set){
        .logits = &made->logits[0][0], .classes = made->classes, .count = COUNT, .label_count = 2};
}

static void expect(double found, double expected, double tolerance)
{
    ck_assert_msg(fabs(found - expected) <= tolerance, "%.15g instead of %.15g", found, expected);
}

/* The score must become 3/4: 1 / (1 + exp(-lead / T)) = 3/4 where T = lead / log 3. */
START_TEST(calibration_finds_the_temperature_computed_by_hand)
{
    static const float leads[] = {0.06f, 0.2f, 1.0f, 2.0f, 7.0f, 19.0f, 21.0f};
    struct made made;
    for (unsigned i = 0; i < sizeof leads / sizeof *leads; i++) {
        make(&made, leads[i]);
        expect(calibration_temperature(&made.set), (double)leads[i] / log(3), 1e-5);
    }
}
END_TEST

START_TEST(calibration_temperature_stays_within_its_bounds)
{
    struct made made;
    make(&made, 100);
    expect(calibration_temperature(&made.set), CALIBRATION_TEMPERATURE_MAX, 0);
    make(&made, 2);
    for (unsigned i = 0; i < COUNT; i++)
        made.classes[i] = i / 4 % 2;
    expect(calibration_temperature(&made.set), CALIBRATION_TEMPERATURE_MIN, 0);
    double bound;
    expect(calibration_temperature_within(&made.set, 0.3, &bound), 0.3, 0); /* what there was */
    expect(bound, CALIBRATION_TEMPERATURE_MIN, 0);
}
END_TEST

/* Logits z with labels drawn from softmax(z / 2.5): the fit must find 2.5 again. */
START_TEST(calibration_recovers_the_temperature_that_labels_were_drawn_with)
{
    enum { MANY = 20000, LABELS = 5 };
    static float logits[MANY][LABELS];
    static unsigned classes[MANY];
    struct rng rng = rng_for(1, 2, 3);
    for (unsigned i = 0; i < MANY; i++) {
        double mass[LABELS], sum = 0;
        for (unsigned k = 0; k < LABELS; k++) {
            logits[i][k] = 4 * rng_normal(&rng);
            sum += mass[k] = exp((double)logits[i][k] / 2.5);
        }
        double at = (double)rng_uniform(&rng) * sum;
        while (classes[i] < LABELS - 1 && (at -= mass[classes[i]]) > 0)
            classes[i]++;
    }
    struct calibration_set set = {
        .logits = &logits[0][0], .classes = classes, .count = MANY, .label_count = LABELS};
    expect(calibration_temperature(&set), 2.5, 0.06);
}
END_TEST

/* The scores at T = lead / log 3 are 3/4 and 1/4. */
START_TEST(calibration_losses_are_what_was_computed_by_hand)
{
    struct made made;
    make(&made, 2);
    struct calibration_losses losses = calibration_losses(&made.set, 2 / log(3));
    expect(losses.nll / COUNT, -(0.75 * log(0.75) + 0.25 * log(0.25)), 1e-12);
    expect(losses.brier / COUNT, 0.75 * (2.0 / 16) + 0.25 * (2 * 9.0 / 16), 1e-12);
}
END_TEST

/* One label, so one binary question: logit 2 and right always; BCE log(1 + exp(-2)). */
START_TEST(calibration_of_sigmoids_looks_at_each_label)
{
    static const float logits[] = {2, -1, -3, 2};
    static const unsigned classes[] = {0, 0};
    struct calibration_set set = {
        .logits = logits, .classes = classes, .count = 2, .label_count = 2, .sigmoid = true};
    struct verdict verdicts[4];
    double nll = (log1p(exp(-2)) + log1p(exp(-1)) + log1p(exp(3)) + log1p(exp(2))) / 2;
    expect(calibration_losses(&set, 1).nll, nll, 1e-12);
    calibration_labels(&set, 1, verdicts);
    expect((double)verdicts[2].score, 1 / (1 + exp(3)), 1e-7);
    ck_assert(verdicts[2].right && verdicts[2].label == 0 && verdicts[2].item == 1);
    ck_assert(!verdicts[3].right && verdicts[3].label == 1);
}
END_TEST

/* Each label of a sigmoid model is right with 3/4 at a logit of 2. */
START_TEST(calibration_fits_sigmoids_by_hand_too)
{
    static float logits[COUNT];
    static unsigned classes[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        logits[i] = 2;
        classes[i] = i % 4 == 0; /* 1 is none of the labels */
    }
    struct calibration_set set = {
        .logits = logits, .classes = classes, .count = COUNT, .label_count = 1, .sigmoid = true};
    expect(calibration_temperature(&set), 2 / log(3), 1e-6);
}
END_TEST

START_TEST(calibration_looks_only_at_the_items_that_are_listed)
{
    struct made made;
    size_t right[COUNT];
    unsigned count = 0;
    make(&made, 2);
    for (unsigned i = 0; i < COUNT; i++)
        if (i % 4 != 0)
            right[count++] = i;
    made.set.items = right;
    made.set.count = count;
    struct verdict verdicts[COUNT];
    calibration_predictions(&made.set, 1, verdicts);
    for (unsigned i = 0; i < count; i++)
        ck_assert(verdicts[i].right && verdicts[i].item == right[i]);
}
END_TEST

START_TEST(calibration_survives_logits_at_the_end_of_the_range)
{
    static const float logits[] = {3e38f, -3e38f, 0, -3e38f, 3e38f, 0};
    static const unsigned classes[] = {0, 0};
    struct calibration_set set = {
        .logits = logits, .classes = classes, .count = 2, .label_count = 3};
    struct verdict verdicts[2];
    double temperature = calibration_temperature(&set);
    ck_assert(temperature >= CALIBRATION_TEMPERATURE_MIN &&
              temperature <= CALIBRATION_TEMPERATURE_MAX);
    calibration_predictions(&set, temperature, verdicts);
    ck_assert(verdicts[0].score == 1 && verdicts[1].score == 1);
    ck_assert(isfinite(calibration_losses(&set, temperature).nll));
}
END_TEST

/* ---- bins ---- */

static void verdicts_of(struct verdict *out, const float *scores, const bool *right, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        out[i] = (struct verdict){.score = scores[i], .right = right[i], .item = i};
}

/* Two verdicts at 0.9 (one right), two at 0.6 (both right): ECE = (|0.9 - 0.5| + |0.6 - 1|) / 2. */
START_TEST(calibration_error_is_what_was_computed_by_hand)
{
    static const float scores[] = {0.9f, 0.6f, 0.9f, 0.6f};
    static const bool right[] = {true, true, false, true};
    struct verdict verdicts[4];
    struct calibration_bin bins[CALIBRATION_BINS];
    verdicts_of(verdicts, scores, right, 4);
    calibration_bins(bins, verdicts, 4);
    ck_assert_uint_eq(bins[13].count, 2);
    expect(bins[13].right, 0.5, 0);
    expect(calibration_ece(bins), 0.4, 1e-7);
    calibration_bins_by_mass(bins, verdicts, 4);
    expect(calibration_ece(bins), 0.4, 1e-7);
}
END_TEST

START_TEST(calibration_bins_hold_the_ends_of_the_range)
{
    static const float scores[] = {0, 1};
    static const bool right[] = {false, true};
    struct verdict verdicts[2];
    struct calibration_bin bins[CALIBRATION_BINS];
    verdicts_of(verdicts, scores, right, 2);
    calibration_bins(bins, verdicts, 2);
    ck_assert_uint_eq(bins[0].count, 1);
    ck_assert_uint_eq(bins[CALIBRATION_BINS - 1].count, 1);
    expect(calibration_ece(bins), 0, 0);
}
END_TEST

START_TEST(calibration_bins_by_mass_are_equal_and_never_part_equal_scores)
{
    struct verdict verdicts[150];
    struct calibration_bin bins[CALIBRATION_BINS];
    for (unsigned i = 0; i < 150; i++)
        verdicts[i] = (struct verdict){.score = (float)((i * 37) % 150) / 150};
    calibration_bins_by_mass(bins, verdicts, 150);
    for (unsigned i = 0; i < CALIBRATION_BINS; i++)
        ck_assert_uint_eq(bins[i].count, 10);
    for (unsigned i = 0; i < 150; i++)
        verdicts[i].score = 0.5f;
    calibration_bins_by_mass(bins, verdicts, 150);
    ck_assert_uint_eq(bins[0].count, 150);
}
END_TEST

/* Rows 2 and 0 of three, at temperature 2; behind the verdicts nothing is written. */
START_TEST(calibration_verdicts_of_sigmoids_are_what_was_computed_by_hand)
{
    static const float logits[] = {1, 4, -2, 9, 9, 9, 3, -1, 3};
    static const unsigned classes[] = {2, 0, 0};
    static const size_t items[] = {2, 0};
    struct calibration_set set = {.logits = logits,
                                  .classes = classes,
                                  .items = items,
                                  .count = 2,
                                  .label_count = 3,
                                  .sigmoid = true};
    struct verdict verdicts[7] = {[2].label = 77, [6].label = 77};
    calibration_predictions(&set, 2, verdicts);
    ck_assert(verdicts[0].item == 2 && verdicts[0].label == 0 && verdicts[0].right);
    ck_assert(verdicts[1].item == 0 && verdicts[1].label == 1 && !verdicts[1].right);
    expect((double)verdicts[0].score, 1 / (1 + exp(-1.5)), 1e-7);
    expect((double)verdicts[1].score, 1 / (1 + exp(-2)), 1e-7);
    ck_assert_uint_eq(verdicts[2].label, 77);
    calibration_labels(&set, 2, verdicts);
    for (unsigned i = 0; i < 6; i++) {
        size_t item = i < 3 ? 2 : 0;
        ck_assert(verdicts[i].item == item && verdicts[i].label == i % 3);
        ck_assert_int_eq(verdicts[i].right, i % 3 == classes[item]);
        expect((double)verdicts[i].score, 1 / (1 + exp((double)-logits[item * 3 + i % 3] / 2)),
               1e-7);
    }
    ck_assert_uint_eq(verdicts[6].label, 77);
    struct calibration_losses losses = calibration_losses(&set, 2);
    expect(losses.nll,
           (log1p(exp(-1.5)) + log1p(exp(-0.5)) + log1p(exp(1.5)) + log1p(exp(0.5)) +
            log1p(exp(2)) + log1p(exp(1))) /
               3,
           1e-12);
    double squares = 0;
    for (unsigned i = 0; i < 6; i++)
        squares += pow((double)verdicts[i].score - verdicts[i].right, 2);
    expect(losses.brier, squares / 3, 1e-7);
}
END_TEST

/* Three logits 0, 1 and 3 at temperature 2, of the second and then of the third class. */
START_TEST(calibration_losses_of_three_classes_are_what_was_computed_by_hand)
{
    static const float logits[] = {0, 1, 3, 0, 1, 3};
    static const unsigned classes[] = {1, 2};
    struct calibration_set set = {
        .logits = logits, .classes = classes, .count = 2, .label_count = 3};
    double mass = 1 + exp(0.5) + exp(1.5), p[] = {1 / mass, exp(0.5) / mass, exp(1.5) / mass};
    struct calibration_losses losses = calibration_losses(&set, 2);
    struct verdict verdicts[3] = {[2].label = 77};
    expect(losses.nll, -log(p[1]) - log(p[2]), 1e-12);
    expect(losses.brier,
           2 * p[0] * p[0] + pow(1 - p[1], 2) + p[1] * p[1] + p[2] * p[2] + pow(1 - p[2], 2),
           1e-12);
    calibration_predictions(&set, 2, verdicts);
    expect((double)verdicts[0].score, p[2], 1e-7);
    ck_assert(!verdicts[0].right && verdicts[1].right && verdicts[1].label == 2);
    ck_assert_uint_eq(verdicts[2].label, 77);
}
END_TEST

/* A score that rounding puts above 1 has a bin too. Verdicts behind the end have none. */
START_TEST(calibration_bins_take_the_upper_edge_and_what_is_given)
{
    static const float scores[] = {0,     0.06f, 0.07f, 0.5f, 0.53f,
                                   0.54f, 0.93f, 0.94f, 1,    1.0000001f};
    static const unsigned bin[] = {0, 0, 1, 7, 7, 8, 13, 14, 14, 14};
    struct verdict verdicts[11] = {[10] = {.score = 0.3f, .right = true}};
    struct calibration_bin bins[CALIBRATION_BINS];
    size_t counts[CALIBRATION_BINS] = {0};
    double sum = 0, right = 0;
    for (unsigned i = 0; i < 10; i++) {
        verdicts[i] = (struct verdict){.score = scores[i], .right = i % 3 == 0};
        counts[bin[i]]++;
    }
    for (unsigned i = 7; i < 10; i++) {
        sum += (double)scores[i];
        right += verdicts[i].right;
    }
    calibration_bins(bins, verdicts, 10);
    for (unsigned i = 0; i < CALIBRATION_BINS; i++)
        ck_assert_uint_eq(bins[i].count, counts[i]);
    expect(bins[14].score, sum / 3, 1e-12);
    expect(bins[14].right, right / 3, 1e-12);
    ck_assert(bins[3].score == 0 && bins[3].right == 0);
}
END_TEST

/* Seven in fifteen: 15 i / 7. The third and the fourth are equal, as are the last two. */
START_TEST(calibration_bins_by_mass_of_a_few_leave_bins_empty)
{
    static const float scores[] = {0.9f, 0.2f, 0.4f, 0.9f, 0.1f, 0.4f, 0.5f, 0};
    static const unsigned bin[] = {0, 2, 4, 4, 8, 10, 10};
    struct verdict verdicts[8];
    struct calibration_bin bins[CALIBRATION_BINS];
    size_t counts[CALIBRATION_BINS] = {0};
    for (unsigned i = 0; i < 8; i++) {
        verdicts[i] = (struct verdict){.score = scores[i], .right = i == 1};
        counts[i < 7 ? bin[i] : 14] += i < 7;
    }
    calibration_bins_by_mass(bins, verdicts, 7);
    for (unsigned i = 0; i < CALIBRATION_BINS; i++)
        ck_assert_uint_eq(bins[i].count, counts[i]);
    for (unsigned i = 1; i < 7; i++)
        ck_assert(verdicts[i].score >= verdicts[i - 1].score);
    ck_assert(verdicts[7].score == 0 && bins[2].right == 1);
    expect(bins[10].score, 0.9, 1e-7);
    expect(calibration_ece(bins), (0.1 + 0.8 + 2 * 0.4 + 0.5 + 2 * 0.9) / 7, 1e-7);
}
END_TEST

SUITE("calibration", calibration_finds_the_temperature_computed_by_hand,
      calibration_temperature_stays_within_its_bounds,
      calibration_recovers_the_temperature_that_labels_were_drawn_with,
      calibration_losses_are_what_was_computed_by_hand, calibration_of_sigmoids_looks_at_each_label,
      calibration_fits_sigmoids_by_hand_too, calibration_looks_only_at_the_items_that_are_listed,
      calibration_survives_logits_at_the_end_of_the_range,
      calibration_error_is_what_was_computed_by_hand, calibration_bins_hold_the_ends_of_the_range,
      calibration_bins_by_mass_are_equal_and_never_part_equal_scores,
      calibration_verdicts_of_sigmoids_are_what_was_computed_by_hand,
      calibration_losses_of_three_classes_are_what_was_computed_by_hand,
      calibration_bins_take_the_upper_edge_and_what_is_given,
      calibration_bins_by_mass_of_a_few_leave_bins_empty)
