#include "engine/base/doc.h"
#include "engine/decide/ood.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS = 3, HIDDEN = 4 };

static const char *const labels[LABELS] = {"Center", "Donut", "Scratch"};
static struct arena arena;
static struct ood ood;
static struct err err;

static enum err_code read_ood(const char *text)
{
    struct json_t *object;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    ood = (struct ood){.label_count = LABELS, .hidden = HIDDEN};
    if (doc_parse(&object, text, strlen(text), &doc_limits_file, &err))
        return err.code;
    enum err_code code = ood_read(&ood, object, labels, &arena, &err);
    ck_assert_int_eq(code, err.code);
    doc_free(object);
    return err.code;
}

/* The parts of two good objects, from which the hostile ones are made too. */
#define MEAN "\"mean\": [1, 1, 1, 1]"
#define PROJECTION "\"projection\": [[1, 0, 0, 0], [0, 1, 0, 0]]"
#define VARIANCES "\"variances\": [4, 1]"
#define CLASSES "\"class_means\": {\"Center\": [2, 0], \"Donut\": [-2, 0], \"Scratch\": null}"
#define REST "\"residual_variance\": 0.5"
#define BACK "\"background\": [8, 2]"
#define DISTANCE "{\"method\": \"mahalanobis\", "
#define RELATIVE "{\"method\": \"relative\", "
static const char distance[] =
    DISTANCE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES ", " REST "}";
static const char relative[] =
    RELATIVE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES ", " BACK "}";

START_TEST(ood_energy_is_the_negative_log_sum_of_exponentials)
{
    const float logits[LABELS] = {1, 2, -3}, large[LABELS] = {1e30f, -1e30f, 3e38f};
    ck_assert_int_eq(read_ood("{\"method\": \"energy\"}"), ERR_OK);
    double expected = -log(exp(1) + exp(2) + exp(-3));
    ck_assert_double_eq_tol((double)ood_score(&ood, logits, NULL), expected, 1e-6);
    ck_assert(isfinite(ood_score(&ood, large, NULL)));
    for (int i = 0; i < LABELS; i++) { /* whose exponential is no number, wherever it stands */
        float one[LABELS] = {0};
        one[i] = 1000;
        ck_assert_float_eq(ood_score(&ood, one, NULL), -1000);
    }
    ood.independent = true;
    expected = -log1p(exp(1)) - log1p(exp(2)) - log1p(exp(-3));
    ck_assert_double_eq_tol((double)ood_score(&ood, logits, NULL), expected, 1e-6);
    ck_assert(isfinite(ood_score(&ood, large, NULL)));
}
END_TEST

/* x - mean = (3, 1, 2, 0): 1/4 + 1/1 from Center's mean, 4 / 0.5 beside the directions. */
START_TEST(ood_mahalanobis_adds_the_nearest_class_and_the_residual)
{
    const float x[HIDDEN] = {4, 2, 3, 1};
    ck_assert_msg(read_ood(distance) == ERR_OK, "%s", err.text);
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, x), 0.25 + 1 + 8, 1e-6);
    const float other[HIDDEN] = {-2, 1, 1, 1}; /* (-3, 0, 0, 0): Donut is nearer */
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, other), 0.25, 1e-6);
}
END_TEST

/* Wider than a piece of the width and no multiple of a vector, against sums made plainly. */
START_TEST(ood_of_wide_features_is_the_plain_sum)
{
    enum { WIDTH = 603, K = 3, SORTS = 2 };
    float *x = numbers_new(WIDTH, 2, 1), *mean = numbers_new(WIDTH, 1, 2);
    float *projection = numbers_new((size_t)K * WIDTH, 0.05f, 3);
    float variances[K] = {4, 1, 0.5f}, means[SORTS * K] = {NAN, 0, 0, 1, -1, 0.5f};
    struct ood wide = {.method = OOD_MAHALANOBIS,
                       .hidden = WIDTH,
                       .label_count = SORTS,
                       .components = K,
                       .mean = mean,
                       .projection = projection,
                       .variances = variances,
                       .class_means = means,
                       .residual = 2};
    double square = 0, expected = 0;
    for (size_t i = 0; i < WIDTH; i++)
        square += pow((double)x[i] - (double)mean[i], 2);
    for (size_t k = 0; k < K; k++) {
        double z = 0;
        for (size_t i = 0; i < WIDTH; i++)
            z += (double)projection[k * WIDTH + i] * ((double)x[i] - (double)mean[i]);
        expected += pow(z - (double)means[K + k], 2) / (double)variances[k];
        square -= z * z;
    }
    expected += fmax(square, 0) / 2;
    ck_assert_double_gt(square, 1);
    ck_assert_double_eq_tol((double)ood_score(&wide, NULL, x), expected, 1e-5 * expected);
    free(x), free(mean), free(projection);
}
END_TEST

START_TEST(ood_relative_subtracts_the_background)
{
    const float x[HIDDEN] = {4, 2, 3, 1};
    ck_assert_msg(read_ood(relative) == ERR_OK, "%s", err.text);
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, x), 1.25 - 9.0 / 8 - 1.0 / 2, 1e-6);
}
END_TEST

START_TEST(ood_is_finite_for_the_largest_numbers)
{
    const float x[HIDDEN] = {FLT_MAX, -FLT_MAX, FLT_MAX, FLT_MAX};
    ck_assert_int_eq(read_ood(DISTANCE
                              "\"mean\": [-1e30, 1e30, 0, 0], \"projection\": [[1e30, -1e30, 1e30, "
                              "1e30]], \"variances\": [1e-30], \"residual_variance\": 1e-30, "
                              "\"class_means\": {\"Center\": [-1e30], \"Donut\": null, "
                              "\"Scratch\": null}}"),
                     ERR_OK);
    ck_assert(ood_score(&ood, NULL, x) == FLT_MAX);
}
END_TEST

START_TEST(ood_rank_is_the_share_of_less_strange_inputs)
{
    ck_assert_int_eq(
        read_ood("{\"method\": \"energy\", \"quantiles\": [-4, -2, -2, 0, 10], \"threshold\": 3}"),
        ERR_OK);
    ck_assert(ood.has_threshold && ood.threshold == 3);
    const float scores[] = {-5, -4, -3, -2, -1, 0, 5, 10, 11};
    const double ranks[] = {0, 0, 0.125, 0.5, 0.625, 0.75, 0.875, 1, 1};
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++)
        ck_assert_double_eq_tol((double)ood_rank(&ood, scores[i]), ranks[i], 1e-6);
}
END_TEST

/* 9 digits of the float nearest to 1e30, as a writer spells it. */
START_TEST(ood_takes_a_float_at_its_bound_however_it_is_spelled)
{
    ck_assert_int_eq(read_ood("{\"method\": \"energy\", \"threshold\": -1.00000002e+30, "
                              "\"quantiles\": [0, 1.00000002e+30]}"),
                     ERR_OK);
    ck_assert(ood.threshold == -1e30f);
    ck_assert_int_ne(read_ood("{\"method\": \"energy\", \"threshold\": -1.0000002e+30}"), ERR_OK);
}
END_TEST

#define LABEL_THRESHOLDS "{\"Center\": 0.5, \"Donut\": null, \"Scratch\": -2}"

/* Two features of the mean stand behind the four of the classifier: (0, 2) is at 45 degrees from
 * the first example, at 135 from the second. */
START_TEST(ood_by_neighbours_reads_the_mean_behind_the_features)
{
    const float half = (float)sqrt(0.5), x[HIDDEN + 2] = {7, 7, 7, 7, 0, 2};
    const float rows[] = {half, half, half, -half};
    ck_assert_msg(!read_ood("{\"method\": \"neighbours\", \"neighbours\": 2}"), "%s", err.text);
    ck_assert_uint_eq(ood.neighbours.nearest, 2);
    ood.neighbours.count = 2;
    ood.neighbours.width = 2;
    ood.neighbours.rows = rows;
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, x), 1, 1e-6);
    ood.neighbours.nearest = 1;
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, x), 1 - sqrt(0.5), 1e-6);
}
END_TEST

START_TEST(ood_has_the_threshold_of_the_label_or_that_of_all)
{
    ck_assert_msg(!read_ood("{\"method\": \"energy\", \"threshold\": 3, "
                            "\"thresholds\": " LABEL_THRESHOLDS "}"),
                  "%s", err.text);
    ck_assert_float_eq(ood_threshold(&ood, 0), 0.5f);
    ck_assert_float_eq(ood_threshold(&ood, 1), 3);
    ck_assert_float_eq(ood_threshold(&ood, 2), -2);
    ck_assert(!read_ood("{\"method\": \"energy\", \"threshold\": 3}"));
    ck_assert_float_eq(ood_threshold(&ood, 2), 3);
}
END_TEST

START_TEST(ood_threshold_may_be_null)
{
    ck_assert_int_eq(read_ood("{\"method\": \"energy\", \"threshold\": null}"), ERR_OK);
    ck_assert(!ood.has_threshold);
}
END_TEST

/* Every way in which the object may be wrong, and the word that must name it. */
static const struct {
    const char *text, *word;
} hostile[] = {
    {"[]", "$.ood"},
    {"\"energy\"", "$.ood"},
    {"{}", "$.ood.method"},
    {"{\"method\": 3}", "$.ood.method"},
    {"{\"method\": \"knn\"}", "$.ood.method"},
    {"{\"method\": \"energy\", \"treshold\": 1}", "$.ood.treshold"},
    {"{\"method\": \"energy\", \"mean\": [1, 1, 1, 1]}", "$.ood.mean"},
    {"{\"method\": \"energy\", \"threshold\": \"3\"}", "$.ood.threshold"},
    {"{\"method\": \"energy\", \"threshold\": true}", "$.ood.threshold"},
    {"{\"method\": \"energy\", \"threshold\": 1e31}", "$.ood.threshold"},
    {"{\"method\": \"energy\", \"threshold\": NaN}", "JSON"},
    {"{\"method\": \"energy\", \"threshold\": 1e999}", "range"},
    {"{\"method\": \"energy\", \"quantiles\": 1}", "$.ood.quantiles"},
    {"{\"method\": \"energy\", \"quantiles\": [1]}", "$.ood.quantiles"},
    {"{\"method\": \"energy\", \"quantiles\": [1, null]}", "$.ood.quantiles[1]"},
    {"{\"method\": \"energy\", \"quantiles\": [2, 1]}", "$.ood.quantiles[1]"},
    {"{\"method\": \"energy\", \"quantiles\": {\"0\": 1}}", "$.ood.quantiles"},
    {DISTANCE PROJECTION ", " VARIANCES ", " CLASSES ", " REST "}", "$.ood.mean"},
    {DISTANCE "\"mean\": [1, 1, 1], " PROJECTION ", " VARIANCES ", " CLASSES ", " REST "}",
     "$.ood.mean has 3 numbers instead of 4"},
    {DISTANCE "\"mean\": [1, 1, 1, \"1\"], " PROJECTION ", " VARIANCES ", " CLASSES ", " REST "}",
     "$.ood.mean[3]"},
    {DISTANCE "\"mean\": [1, 1e31, 1, 1], " PROJECTION ", " VARIANCES ", " CLASSES ", " REST "}",
     "$.ood.mean[1]"},
    {DISTANCE "\"mean\": {\"0\": 1}, " PROJECTION ", " VARIANCES ", " CLASSES ", " REST "}",
     "$.ood.mean"},
    {DISTANCE MEAN ", " VARIANCES ", " CLASSES ", " REST "}", "$.ood.projection"},
    {DISTANCE MEAN ", \"projection\": [], " VARIANCES ", " CLASSES ", " REST "}",
     "$.ood.projection"},
    {DISTANCE MEAN ", \"projection\": [1, 2], " VARIANCES ", " CLASSES ", " REST "}",
     "$.ood.projection[0]"},
    {DISTANCE MEAN ", \"projection\": [[1, 0, 0, 0], [0, 1, 0]], " VARIANCES ", " CLASSES ", " REST
                   "}",
     "$.ood.projection[1]"},
    {DISTANCE MEAN ", \"projection\": [[1], [1], [1], [1], [1]], " VARIANCES ", " CLASSES ", " REST
                   "}",
     "$.ood.projection"},
    {DISTANCE MEAN ", " PROJECTION ", " CLASSES ", " REST "}", "$.ood.variances"},
    {DISTANCE MEAN ", " PROJECTION ", \"variances\": [4, 0], " CLASSES ", " REST "}",
     "$.ood.variances[1]"},
    {DISTANCE MEAN ", " PROJECTION ", \"variances\": [4, -1], " CLASSES ", " REST "}",
     "$.ood.variances[1]"},
    {DISTANCE MEAN ", " PROJECTION ", \"variances\": [4, 1, 1], " CLASSES ", " REST "}",
     "$.ood.variances"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES ", " REST "}", "$.ood.class_means"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES ", \"class_means\": [[2, 0]], " REST "}",
     "$.ood.class_means"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES
                   ", \"class_means\": {\"Center\": [2, 0], \"Donut\": [-2, 0]}, " REST "}",
     "'Scratch'"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES
                   ", \"class_means\": {\"Center\": [2, 0], \"Donut\": null, \"Scratch\": null, "
                   "\"Loc\": null}, " REST "}",
     "'Loc'"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES
                   ", \"class_means\": {\"Center\": [2], \"Donut\": null, \"Scratch\": null}, " REST
                   "}",
     "$.ood.class_means"},
    {DISTANCE MEAN
     ", " PROJECTION ", " VARIANCES
     ", \"class_means\": {\"Center\": null, \"Donut\": null, \"Scratch\": null}, " REST "}",
     "no class"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES "}", "$.ood.residual_variance"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES ", \"residual_variance\": 0}",
     "$.ood.residual_variance"},
    {DISTANCE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES ", " REST ", " BACK "}",
     "$.ood.background"},
    {RELATIVE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES "}", "$.ood.background"},
    {RELATIVE MEAN ", " PROJECTION ", " VARIANCES ", " BACK "}", "$.ood.class_means"},
    {RELATIVE MEAN ", \"projection\": [[1, 0, 0, 0], [0, 1, 0]], " VARIANCES ", " CLASSES ", " BACK
                   "}",
     "$.ood.projection[1]"},
    {RELATIVE MEAN ", " PROJECTION ", " CLASSES ", " BACK "}", "$.ood.variances"},
    {RELATIVE MEAN ", " VARIANCES ", " CLASSES ", " BACK "}", "$.ood.projection"},
    {RELATIVE PROJECTION ", " VARIANCES ", " CLASSES ", " BACK "}", "$.ood.mean"},
    {RELATIVE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES ", " BACK ", " REST "}",
     "$.ood.residual_variance"},
    {RELATIVE MEAN ", " PROJECTION ", " VARIANCES ", " CLASSES ", \"background\": [8, 0]}",
     "$.ood.background[1]"},
    {"{\"method\": \"energy\", \"neighbours\": 3}", "$.ood.neighbours"},
    {"{\"method\": \"neighbours\"}", "$.ood.neighbours"},
    {"{\"method\": \"neighbours\", \"neighbours\": 0}", "from 1 to 64"},
    {"{\"method\": \"neighbours\", \"neighbours\": 65}", "from 1 to 64"},
    {"{\"method\": \"neighbours\", \"neighbours\": 2.5}", "an integer"},
    {"{\"method\": \"neighbours\", \"neighbours\": 3, " MEAN "}", "$.ood.mean"},
    {"{\"method\": \"energy\", \"thresholds\": " LABEL_THRESHOLDS "}", "$.ood.threshold"},
    {"{\"method\": \"energy\", \"threshold\": 1, \"thresholds\": {\"Center\": 1}}", "Donut"},
    {"{\"method\": \"energy\", \"threshold\": 1, \"thresholds\": {\"Center\": \"1\", "
     "\"Donut\": 1, \"Scratch\": 1}}",
     "label 0"},
    {"{\"method\": \"energy\", \"threshold\": 1, \"thresholds\": {\"Center\": 1, \"Donut\": 1e31, "
     "\"Scratch\": 1}}",
     "label 1"},
};

START_TEST(ood_refuses_a_wrong_object_by_name)
{
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        ck_assert_msg(read_ood(hostile[i].text) != ERR_OK, "%s was read", hostile[i].text);
        ck_assert_msg(strstr(err.text, hostile[i].word) != NULL, "'%s' does not name '%s'",
                      err.text, hostile[i].word);
    }
}
END_TEST

/* Cut off anywhere, or with a byte exchanged, an object is read or refused, nothing else. */
START_TEST(ood_survives_damaged_objects)
{
    char text[sizeof relative];
    for (size_t i = 0; i + 1 < sizeof relative; i++) {
        memcpy(text, relative, sizeof relative);
        text[i] = '\0';
        ck_assert(read_ood(text) != ERR_OK);
        memcpy(text, relative, sizeof relative);
        text[i] = "0-9,]}[{\" "[i % 10];
        const float x[HIDDEN] = {4, 2, 3, 1};
        if (read_ood(text) == ERR_OK)
            ck_assert(isfinite(ood_score(&ood, x, x)));
    }
}
END_TEST

SUITE("ood", ood_by_neighbours_reads_the_mean_behind_the_features,
      ood_has_the_threshold_of_the_label_or_that_of_all, ood_of_wide_features_is_the_plain_sum,
      ood_energy_is_the_negative_log_sum_of_exponentials,
      ood_mahalanobis_adds_the_nearest_class_and_the_residual,
      ood_relative_subtracts_the_background, ood_is_finite_for_the_largest_numbers,
      ood_rank_is_the_share_of_less_strange_inputs,
      ood_takes_a_float_at_its_bound_however_it_is_spelled, ood_threshold_may_be_null,
      ood_refuses_a_wrong_object_by_name, ood_survives_damaged_objects)
