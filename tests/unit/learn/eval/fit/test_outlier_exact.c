/* outlier_fit compared with figures in closed form. Every class's inputs lie at its mean plus or
 * minus s a_d along each axis d, so that W is diagonal for any weights of the classes. The class
 * means differ along the first two axes alone, so that B has one block of two. */
#include "learn/eval/fit/outlier.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { AXES = 4, LABELS = 4, INPUTS = 208, QUERIES = 40 };

static const double lengths[AXES] = {3, 2, 1, 0.5};

/* Class 1 has no input. Class 0 has more than 100, which is the most that a class may weigh. */
static const struct group {
    unsigned repeats; /* of the two inputs along each axis */
    double spread, mean[2];
} groups[LABELS] = {{20, 1, {0, 0}}, {0, 1, {0, 0}}, {5, 2, {10, 0}}, {1, 3, {0, 6}}};

static float features[INPUTS * AXES];
static unsigned classes[INPUTS];
static struct outlier_data data;
static struct arena arena;
static struct err err;

/* The expected figures. */
static struct truth {
    double shares[LABELS], mean[2], within[AXES], between[2][2];
} truth;

static void fill(void)
{
    unsigned at = 0;
    for (unsigned c = 0; c < LABELS; c++)
        for (unsigned i = 0; i < groups[c].repeats * 2 * AXES; i++, at++) {
            float *x = features + (size_t)at * AXES;
            unsigned axis = i / 2 % AXES;
            classes[at] = c;
            for (unsigned d = 0; d < AXES; d++)
                x[d] = d < 2 ? (float)groups[c].mean[d] : 5;
            x[axis] += (float)((i % 2 ? -1 : 1) * groups[c].spread * lengths[axis]);
        }
    ck_assert_uint_eq(at, INPUTS);
    data = (struct outlier_data){.features = features,
                                 .classes = classes,
                                 .count = INPUTS,
                                 .width = AXES,
                                 .hidden = AXES,
                                 .label_count = LABELS};
}

/* Shares, and what they make of mean, W and B. Returns the number of inputs of equal weight. */
static double weigh(struct truth *out)
{
    double sum = 0, squares = 0;
    for (unsigned c = 0; c < LABELS; c++)
        sum += fmin(100, groups[c].repeats * 2 * AXES);
    for (unsigned c = 0; c < LABELS; c++) {
        double count = groups[c].repeats * 2 * AXES;
        out->shares[c] = fmin(100, count) / sum;
        squares += count > 0 ? out->shares[c] * out->shares[c] / count : 0;
        for (unsigned d = 0; d < 2; d++)
            out->mean[d] += out->shares[c] * groups[c].mean[d];
        for (unsigned d = 0; d < AXES; d++)
            out->within[d] += out->shares[c] * pow(groups[c].spread * lengths[d], 2) / AXES;
    }
    for (unsigned c = 0; c < LABELS; c++)
        for (unsigned d = 0; d < 2; d++)
            for (unsigned e = 0; e < 2; e++)
                out->between[d][e] += out->shares[c] * (groups[c].mean[d] - out->mean[d]) *
                                      (groups[c].mean[e] - out->mean[e]);
    return 1 / squares;
}

/* W is shrunk by the share of Chen et al. 2010, eq. 23. */
static void find_truth(void)
{
    double capture = 0, square = 0, p = AXES;
    truth = (struct truth){0};
    double n = weigh(&truth);
    for (unsigned d = 0; d < AXES; d++) {
        capture += truth.within[d];
        square += truth.within[d] * truth.within[d];
    }
    double share = ((1 - 2 / p) * square + capture * capture) /
                   ((n + 1 - 2 / p) * (square - capture * capture / p));
    for (unsigned d = 0; d < AXES; d++)
        truth.within[d] = (1 - share) * truth.within[d] + share * capture / p;
}

static void setup(void)
{
    fill();
    find_truth();
    err = (struct err){0};
    arena_deinit(&arena);
    arena_init(&arena);
}

static struct ood fit(enum ood_method method, unsigned components_max)
{
    struct ood ood;
    ck_assert_msg(!outlier_fit(&ood, method, &data, components_max, &arena, &err), "%s", err.text);
    return ood;
}

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) <= 2e-6 * fmax(fabs(expected), 1), "%.9g instead of %.9g",
                  found, expected);
}

/* Points all around. */
static void query(float x[AXES], unsigned i)
{
    for (unsigned d = 0; d < AXES; d++)
        x[d] = (float)((int)(i * (7 + 4 * d) % 23) - 11) + (d < 2 ? 0 : 5);
}

/* (x - m)' W^-1 (x - m) along the first `axes` axes, for the nearest class m. */
static double nearest(const float *x, unsigned axes)
{
    double least = INFINITY;
    for (unsigned c = 0; c < LABELS; c++) {
        double sum = 0;
        for (unsigned d = 0; d < axes; d++) {
            double difference = (double)x[d] - (d < 2 ? groups[c].mean[d] : 5);
            sum += difference * difference / truth.within[d];
        }
        least = groups[c].repeats > 0 ? fmin(least, sum) : least;
    }
    return least;
}

static double capture_of_total(void)
{
    double sum = truth.between[0][0] + truth.between[1][1];
    for (unsigned d = 0; d < AXES; d++)
        sum += truth.within[d];
    return sum;
}

/* The fit keeps all four directions, or the three or two in which the inputs vary most. The others
 * have the mean of the variances beside them. */
START_TEST(outlier_mahalanobis_is_what_was_computed_by_hand)
{
    static const unsigned kept[] = {0, 4, 3, 2};
    setup();
    for (unsigned t = 0; t < sizeof kept / sizeof *kept; t++) {
        struct ood ood = fit(OOD_MAHALANOBIS, kept[t]);
        unsigned k = kept[t] > 0 ? kept[t] : AXES;
        double rest = 0;
        for (unsigned d = k; d < AXES; d++)
            rest += truth.within[d] / (AXES - k);
        ck_assert_uint_eq(ood.components, k);
        expect((double)ood.residual, k < AXES ? rest : capture_of_total() / AXES);
        for (unsigned d = 0; d < AXES; d++)
            expect((double)ood.mean[d], d < 2 ? truth.mean[d] : 5);
        for (unsigned i = 0; i < k; i++)
            expect((double)ood.variances[i], truth.within[i]);
        for (unsigned i = 0; i < QUERIES; i++) {
            float x[AXES];
            double expected;
            query(x, i);
            expected = nearest(x, k);
            for (unsigned d = k; d < AXES; d++)
                expected += pow((double)x[d] - 5, 2) / rest;
            double found = (double)ood_score(&ood, NULL, x);
            ck_assert_msg(fabs(found - expected) < 3e-5 * expected + 1e-4, "%.9g instead of %.9g",
                          found, expected);
        }
    }
}
END_TEST

/* (x - mean)' (W + B)^-1 (x - mean), B being a block of two. */
static double from_all(const float *x)
{
    double a = truth.within[0] + truth.between[0][0], d = truth.within[1] + truth.between[1][1];
    double b = truth.between[0][1], u = (double)x[0] - truth.mean[0];
    double v = (double)x[1] - truth.mean[1], sum = (d * u * u - 2 * b * u * v + a * v * v);
    sum /= a * d - b * b;
    for (unsigned axis = 2; axis < AXES; axis++)
        sum += pow((double)x[axis] - 5, 2) / truth.within[axis];
    return sum;
}

/* The values of W^-1 B, which has two, have the sum and the product of its diagonal and
 * determinant. */
START_TEST(outlier_relative_is_what_was_computed_by_hand)
{
    setup();
    struct ood ood = fit(OOD_RELATIVE, 0), one = fit(OOD_RELATIVE, 1);
    double first = (double)ood.background[0] - 1, second = (double)ood.background[1] - 1;
    ck_assert_uint_eq(ood.components, 2);
    ck_assert(first > second && second > 0);
    expect(first + second,
           truth.between[0][0] / truth.within[0] + truth.between[1][1] / truth.within[1]);
    expect(first * second,
           (truth.between[0][0] * truth.between[1][1] - truth.between[0][1] * truth.between[0][1]) /
               truth.within[0] / truth.within[1]);
    ck_assert(ood.variances[0] == 1 && ood.variances[1] == 1);
    for (unsigned i = 0; i < QUERIES; i++) {
        float x[AXES];
        query(x, i);
        double near = nearest(x, AXES), expected = near - from_all(x);
        double found = (double)ood_score(&ood, NULL, x);
        ck_assert_msg(fabs(found - expected) < 3e-5 * near + 1e-4, "%.9g instead of %.9g", found,
                      expected);
    }
    ck_assert_uint_eq(one.components, 1);
    ck_assert(one.background[0] == ood.background[0]);
}
END_TEST

START_TEST(outlier_class_without_inputs_has_no_mean)
{
    setup();
    for (enum ood_method method = OOD_MAHALANOBIS; method <= OOD_RELATIVE; method++) {
        struct ood ood = fit(method, 0);
        for (unsigned c = 0; c < LABELS; c++)
            for (unsigned i = 0; i < ood.components; i++)
                ck_assert_int_eq(isnan(ood.class_means[c * ood.components + i]) != 0, c == 1);
        ck_assert(ood.method == method && !ood.has_threshold && ood.quantile_count == 0);
        ck_assert(ood.hidden == AXES && ood.label_count == LABELS && !ood.independent);
        ck_assert_ptr_null(method == OOD_RELATIVE ? NULL : ood.background);
    }
}
END_TEST

/* Rows may be other inputs: here those of class 0 except the first, moved by (1, 2, 3, 4). */
START_TEST(outlier_items_choose_the_rows_of_every_figure)
{
    size_t items[2 * AXES];
    setup();
    for (unsigned i = 0; i < 2 * AXES; i++) {
        items[i] = 8 + i;
        for (unsigned d = 0; d < AXES; d++)
            features[items[i] * AXES + d] += (float)(1 + d);
    }
    data.items = items;
    data.count = 2 * AXES;
    struct ood ood = fit(OOD_MAHALANOBIS, 0);
    ck_assert_uint_eq(ood.components, 1); /* fewer than ten inputs for each of two */
    ck_assert(ood.mean[0] == 1 && ood.mean[1] == 2 && ood.mean[2] == 8 && ood.mean[3] == 9);
    ck_assert(fabsf(ood.class_means[0]) < 1e-6f && isnan(ood.class_means[2]));
}
END_TEST

/* Class means are a million apart: a variance smaller than rounding can tell is given a floor. */
START_TEST(outlier_variances_have_a_floor)
{
    setup();
    for (unsigned i = 0; i < INPUTS; i++)
        features[i * AXES] += classes[i] == 2 ? 1 << 20 : 0;
    struct ood ood = fit(OOD_MAHALANOBIS, 2);
    double share = 40 / 148.0, all = share * (1 - share) * pow(10.0 + (1 << 20), 2) / AXES;
    for (unsigned i = 0; i < 2; i++)
        ck_assert_double_eq_tol((double)ood.variances[i], 1e-9 * all, 1e-4 * 1e-9 * all);
    ck_assert_double_eq_tol((double)ood.residual, 1e-5 * all, 1e-4 * 1e-5 * all);
}
END_TEST

/* ---- how many directions ---- */

enum { WIDE = 726, ROWS = 700, WIDE_LABELS = 25 };

static float wide[ROWS * WIDE];

/* Inputs i of class i % labels, no two alike; classes differ in as many directions as can be. */
static unsigned components(enum ood_method method, unsigned hidden, unsigned labels, size_t count,
                           unsigned components_max)
{
    static unsigned wide_classes[ROWS];
    struct ood ood;
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        wide_classes[i] = (unsigned)(i % labels);
        for (unsigned d = 0; d < hidden; d++) {
            state = state * 1664525u + 1013904223u;
            wide[i * hidden + d] =
                (float)(state >> 16) / 65536 + (d == wide_classes[i] ? 8.0f + (float)d : 0);
        }
    }
    data = (struct outlier_data){.features = wide,
                                 .classes = wide_classes,
                                 .count = count,
                                 .width = hidden,
                                 .hidden = hidden,
                                 .label_count = labels + 1};
    err = (struct err){0};
    ck_assert_msg(!outlier_fit(&ood, method, &data, components_max, &arena, &err), "%s", err.text);
    arena_deinit(&arena);
    return ood.components;
}

/* Ten inputs for each, at most 64, or 128 if asked for, and no more than there are. */
START_TEST(outlier_mahalanobis_keeps_as_many_directions_as_can_be_told)
{
    static const struct {
        unsigned hidden, count, components_max, expected;
    } cases[] = {{100, 199, 0, 19},  {100, 200, 0, 20},   {100, 700, 0, 64},
                 {100, 700, 67, 67}, {100, 700, 200, 70}, {12, 700, 0, 12},
                 {12, 700, 13, 12},  {12, 19, 0, 1},      {12, 9, 5, 1}};
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(components(OOD_MAHALANOBIS, cases[i].hidden, 1, cases[i].count,
                                     cases[i].components_max),
                          cases[i].expected);
}
END_TEST

/* A direction has a number for each feature, for each class that has inputs, and one more: 15 000
 * are 20 of 750. */
START_TEST(outlier_relative_keeps_as_many_directions_as_a_file_has_room_for)
{
    arena_init(&arena);
    ck_assert_uint_eq(components(OOD_RELATIVE, WIDE - 1, WIDE_LABELS - 1, 100, 0), 20);
    ck_assert_uint_eq(components(OOD_RELATIVE, WIDE, WIDE_LABELS - 1, 100, 0), 19);
    ck_assert_uint_eq(components(OOD_RELATIVE, 30, WIDE_LABELS, 100, 0), WIDE_LABELS - 1);
    ck_assert_uint_eq(components(OOD_RELATIVE, 30, 3, 100, 0), 2);
}
END_TEST

/* The covariance of two inputs, (0, 0) and (2, 0), is shrunk fully: W = diag(1, 0) becomes one half
 * of the identity. */
START_TEST(outlier_covariance_of_two_inputs_is_round)
{
    static const float two[] = {0, 0, 2, 0};
    static const unsigned none[] = {0, 0};
    const struct outlier_data pair = {
        .features = two, .classes = none, .count = 2, .width = 2, .hidden = 2, .label_count = 1};
    struct ood ood;
    arena_init(&arena);
    ck_assert(!outlier_fit(&ood, OOD_MAHALANOBIS, &pair, 0, &arena, &err));
    ck_assert_uint_eq(ood.components, 1);
    ck_assert(ood.variances[0] == 0.5f && fabsf(ood.residual - 0.5f) < 1e-6f);
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, two), 2, 1e-5);
    arena_deinit(&arena);
}
END_TEST

SUITE("outlier_exact", outlier_mahalanobis_is_what_was_computed_by_hand,
      outlier_relative_is_what_was_computed_by_hand, outlier_class_without_inputs_has_no_mean,
      outlier_items_choose_the_rows_of_every_figure, outlier_variances_have_a_floor,
      outlier_mahalanobis_keeps_as_many_directions_as_can_be_told,
      outlier_relative_keeps_as_many_directions_as_a_file_has_room_for,
      outlier_covariance_of_two_inputs_is_round)
