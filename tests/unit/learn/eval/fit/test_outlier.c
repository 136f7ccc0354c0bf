#include "engine/base/rng.h"
#include "learn/eval/fit/eigen.h"
#include "learn/eval/fit/outlier.h"
#include "learn/eval/measure/separation.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { HIDDEN = 6, CLASSES = 4, EACH = 3000, COUNT = 3 * EACH };

/* Three normal distributions of one covariance around far-apart means; class 3 has no input. */
static const double class_means[CLASSES][HIDDEN] = {
    {0, 0, 0, 0, 0, 5}, {60, 0, 0, 0, 0, 5}, {0, 80, 10, 0, 0, 5}, {0}};
static const double deviations[HIDDEN] = {3, 2, 1, 1, 0.5, 0.25};

static float features[COUNT * HIDDEN];
static unsigned classes[COUNT];
static struct outlier_data data;
static struct arena arena;
static struct err err;

static void setup(void)
{
    struct rng rng = rng_for(11, 0, 0);
    for (size_t i = 0; i < COUNT; i++) {
        double common = (double)rng_normal(&rng); /* features 2 and 3 move together */
        classes[i] = (unsigned)(i % 3);
        for (size_t d = 0; d < HIDDEN; d++)
            features[i * HIDDEN + d] =
                (float)(class_means[classes[i]][d] + deviations[d] * (double)rng_normal(&rng) +
                        (d == 2 || d == 3 ? common : 0));
    }
    data = (struct outlier_data){.features = features,
                                 .classes = classes,
                                 .count = COUNT,
                                 .width = HIDDEN,
                                 .hidden = HIDDEN,
                                 .label_count = CLASSES};
    err = (struct err){0};
    arena_deinit(&arena);
    arena_init(&arena);
}

static struct ood fit(enum ood_method method, unsigned components_max)
{
    struct ood ood;
    outlier_fit(&ood, method, &data, components_max, &arena, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return ood;
}

/* The true squared distance from a class: features 2 and 3 have covariance {{2, 1}, {1, 2}}. */
static double true_distance(const float *x, unsigned class)
{
    double sum = 0, c[HIDDEN];
    for (size_t d = 0; d < HIDDEN; d++) {
        c[d] = (double)x[d] - class_means[class][d];
        sum += d == 2 || d == 3 ? 0 : c[d] * c[d] / (deviations[d] * deviations[d]);
    }
    return sum + (2 * c[2] * c[2] - 2 * c[2] * c[3] + 2 * c[3] * c[3]) / 3;
}

static double nearest_distance(const float *x)
{
    return fmin(true_distance(x, 0), fmin(true_distance(x, 1), true_distance(x, 2)));
}

static void make_strange(float *x, unsigned seed)
{
    struct rng rng = rng_for(99, 0, seed);
    for (size_t d = 0; d < HIDDEN; d++)
        x[d] = (float)(50 * (double)rng_normal(&rng));
}

START_TEST(outlier_mahalanobis_finds_the_true_distance)
{
    setup();
    struct ood ood = fit(OOD_MAHALANOBIS, 0);
    ck_assert_uint_eq(ood.components, HIDDEN);
    for (unsigned i = 0; i < 50; i++) {
        float x[HIDDEN];
        make_strange(x, i);
        double expected = nearest_distance(x), found = (double)ood_score(&ood, NULL, x);
        ck_assert_msg(fabs(found - expected) < 0.06 * expected, "%g instead of %g", found,
                      expected);
    }
}
END_TEST

/* Known inputs have a chi-squared distance: mean D, variance 2 D. */
START_TEST(outlier_mahalanobis_of_known_inputs_is_chi_squared)
{
    static float scores[COUNT];
    double sum = 0, square = 0;
    setup();
    struct ood ood = fit(OOD_MAHALANOBIS, 0);
    outlier_scores(&ood, features, &data, scores);
    for (size_t i = 0; i < COUNT; i++) {
        sum += (double)scores[i];
        square += (double)scores[i] * (double)scores[i];
    }
    double mean = sum / COUNT, variance = square / COUNT - mean * mean;
    ck_assert_double_eq_tol(mean, HIDDEN, 0.1);
    ck_assert_double_eq_tol(variance, 2 * HIDDEN, 1);
}
END_TEST

/* 4 of 6 directions are kept. The rest counts by its mean variance, (0.25 + 0.0625) / 2 or so: an
 * input far out along such a direction still is out of distribution. */
START_TEST(outlier_mahalanobis_sees_what_its_directions_leave_out)
{
    setup();
    struct ood ood = fit(OOD_MAHALANOBIS, 4);
    ck_assert_uint_eq(ood.components, 4);
    ck_assert_double_eq_tol((double)ood.residual, (0.25 + 0.0625) / 2, 0.01);
    const float x[HIDDEN] = {0, 0, 0, 0, 6, 5};
    ck_assert_double_eq_tol((double)ood_score(&ood, NULL, x), 36 / 0.15625, 25);
}
END_TEST

/* x' (W + B)^-1 x and the like, with nothing left out, from the sample itself. */
static double full_distance(const double *factor, const float *x, const double *mean)
{
    double c[HIDDEN];
    for (size_t d = 0; d < HIDDEN; d++)
        c[d] = (double)x[d] - mean[d];
    eigen_forward(factor, HIDDEN, c);
    return eigen_dot(c, c, HIDDEN);
}

struct sample {
    double mean[HIDDEN], means[3][HIDDEN], within[HIDDEN * HIDDEN], total[HIDDEN * HIDDEN];
};

static void add_square(double *a, const double *c, double weight)
{
    for (size_t d = 0; d < HIDDEN; d++)
        eigen_add(a + d * HIDDEN, c, weight * c[d], HIDDEN);
}

static void measure(struct sample *sample)
{
    *sample = (struct sample){0};
    for (size_t i = 0; i < COUNT; i++)
        for (size_t d = 0; d < HIDDEN; d++) {
            sample->mean[d] += (double)features[i * HIDDEN + d] / COUNT;
            sample->means[classes[i]][d] += (double)features[i * HIDDEN + d] / EACH;
        }
    for (size_t i = 0; i < COUNT; i++) {
        double c[HIDDEN], t[HIDDEN];
        for (size_t d = 0; d < HIDDEN; d++) {
            c[d] = (double)features[i * HIDDEN + d] - sample->means[classes[i]][d];
            t[d] = (double)features[i * HIDDEN + d] - sample->mean[d];
        }
        add_square(sample->within, c, 1.0 / COUNT);
        add_square(sample->total, t, 1.0 / COUNT);
    }
    ck_assert(!eigen_cholesky(sample->within, HIDDEN, &err));
    ck_assert(!eigen_cholesky(sample->total, HIDDEN, &err));
}

START_TEST(outlier_relative_in_few_directions_is_the_full_distance)
{
    static struct sample sample;
    setup();
    measure(&sample);
    struct ood ood = fit(OOD_RELATIVE, 0);
    ck_assert_uint_eq(ood.components, 2); /* three classes with inputs */
    for (unsigned i = 0; i < 50; i++) {
        float x[HIDDEN];
        double nearest = INFINITY;
        make_strange(x, i);
        for (unsigned c = 0; c < 3; c++)
            nearest = fmin(nearest, full_distance(sample.within, x, sample.means[c]));
        double expected = nearest - full_distance(sample.total, x, sample.mean);
        double found = (double)ood_score(&ood, NULL, x);
        /* The covariances were shrunk a little. */
        ck_assert_msg(fabs(found - expected) < 0.01 * fabs(nearest), "%g instead of %g", found,
                      expected);
    }
}
END_TEST

/* Class 0 is tight, class 1 wide and rare: by inputs the variance would be 1.3, by classes 2.5. A
 * class of 10 inputs counts a tenth of one of 100. */
START_TEST(outlier_classes_weigh_alike_unless_they_are_small)
{
    static const size_t sizes[] = {300, 10};
    setup();
    for (size_t t = 0; t < 2; t++) {
        struct rng rng = rng_for(4, 0, t);
        for (size_t i = 0; i < 3000 + sizes[t]; i++) {
            classes[i] = i >= 3000;
            for (size_t d = 0; d < HIDDEN; d++) {
                float wide = (i >> (d % 3)) % 2 == 0 ? 42.0f : 38.0f; /* +-2 around 40 */
                features[i * HIDDEN + d] = i < 3000 ? rng_normal(&rng) : wide;
            }
        }
        data.count = 3000 + sizes[t];
        data.label_count = 2;
        struct ood ood = fit(OOD_MAHALANOBIS, 0);
        double sum = 0;
        for (unsigned i = 0; i < ood.components; i++)
            sum += (double)ood.variances[i];
        double expected = t == 0 ? (1 + 4) / 2.0 : (10 * 1 + 4) / 11.0;
        ck_assert_double_eq_tol(sum / HIDDEN, expected, t == 0 ? 0.05 : 0.1);
    }
}
END_TEST

START_TEST(outlier_items_choose_the_rows)
{
    static size_t items[EACH];
    static float scores[EACH];
    setup();
    struct ood all = fit(OOD_MAHALANOBIS, 0);
    for (size_t i = 0; i < EACH; i++)
        items[i] = 3 * i + 1; /* class 1 alone */
    data.items = items;
    data.count = EACH;
    outlier_scores(&all, features, &data, scores);
    ck_assert(scores[5] == ood_score(&all, NULL, features + 16 * HIDDEN));
    struct ood one = fit(OOD_MAHALANOBIS, 0);
    ck_assert(isnan(one.class_means[0]) && !isnan(one.class_means[HIDDEN]));
    ck_assert_double_eq_tol((double)one.mean[0], 60, 0.3);
}
END_TEST

START_TEST(outlier_fit_stays_within_the_room_of_a_file)
{
    enum { WIDE = 700, ROWS = 400 };
    static float wide[ROWS * WIDE];
    static unsigned none[ROWS];
    struct rng rng = rng_for(3, 0, 0);
    setup();
    for (size_t i = 0; i < (size_t)ROWS * WIDE; i++)
        wide[i] = rng_normal(&rng);
    data = (struct outlier_data){.features = wide,
                                 .classes = none,
                                 .count = ROWS,
                                 .width = WIDE,
                                 .hidden = WIDE,
                                 .label_count = 1};
    struct ood ood = fit(OOD_MAHALANOBIS, 0);
    ck_assert_uint_eq(ood.components, 15000 / 702);
    data.count = 50; /* ten inputs a direction, fewer inputs than features */
    ood = fit(OOD_MAHALANOBIS, 0);
    ck_assert_uint_eq(ood.components, 5);
    ck_assert(isfinite(ood_score(&ood, NULL, wide + 60 * WIDE)));
}
END_TEST

static void expect_refused(enum ood_method method, const char *text)
{
    struct ood ood;
    err = (struct err){0};
    ck_assert_int_eq(outlier_fit(&ood, method, &data, 0, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, text);
    ck_assert_uint_eq(ood.components, 0); /* nothing was begun */
    err = (struct err){0};
}

START_TEST(outlier_refuses_what_has_no_statistics)
{
    setup();
    data.count = 1;
    expect_refused(OOD_MAHALANOBIS, "1 inputs; at least 2 are needed");
    setup();
    memset(classes, 0, sizeof classes);
    expect_refused(OOD_RELATIVE, "the inputs are of one class; at least 2 are needed");
    setup();
    memset(features, 0, sizeof features);
    expect_refused(OOD_MAHALANOBIS, "the features do not vary within their classes");
    setup();
    features[7] = INFINITY;
    expect_refused(OOD_RELATIVE, "features are not finite");
    expect_refused(OOD_MAHALANOBIS, "features are not finite");
    data.label_count = 1025;
    expect_refused(OOD_RELATIVE, "1025 classes; at most 1024 can be told apart");
    fit(OOD_ENERGY, 0); /* which reads none of them */
}
END_TEST

/* Two inputs of the last of 1024 classes, `apart` from each other in each of two features; so W's
 * capture is apart^2 / 2. It must be above 2e-12. */
START_TEST(outlier_takes_what_varies_a_little)
{
    static const unsigned last[] = {1023, 1023};
    const float apart[] = {2.1e-6f, 1.9e-6f};
    for (unsigned i = 0; i < 2; i++) {
        float two[4] = {0, 0, apart[i], apart[i]};
        data = (struct outlier_data){.features = two,
                                     .classes = last,
                                     .count = 2,
                                     .width = 2,
                                     .hidden = 2,
                                     .label_count = 1024};
        arena_init(&arena);
        err = (struct err){0};
        if (i == 0)
            ck_assert_uint_eq(fit(OOD_MAHALANOBIS, 0).components, 1);
        else
            expect_refused(OOD_MAHALANOBIS, "the features do not vary within their classes");
        arena_deinit(&arena);
    }
}
END_TEST

/* The means of both classes are (1, 1). */
START_TEST(outlier_relative_needs_classes_that_differ)
{
    const float points[] = {0, 1, 2, 1, 1, 0, 1, 2, 0, 1, 2, 1, 1, 0, 1, 2};
    const unsigned labels[] = {0, 0, 0, 0, 1, 1, 1, 1};
    data = (struct outlier_data){.features = points,
                                 .classes = labels,
                                 .count = 8,
                                 .width = 2,
                                 .hidden = 2,
                                 .label_count = 2};
    arena_init(&arena);
    expect_refused(OOD_RELATIVE, "the features of the classes do not differ");
    fit(OOD_MAHALANOBIS, 0);
}
END_TEST

START_TEST(outlier_scores_are_of_the_rows_of_items)
{
    static const float logits[] = {9, 9, 0, 1, 9, 9, 2, -1}, none[4 * 2] = {0};
    static const size_t items[] = {3, 1};
    float scores[3] = {-1, -1, -1};
    struct ood ood;
    data = (struct outlier_data){.features = none,
                                 .items = items,
                                 .count = 2,
                                 .width = 2,
                                 .hidden = 2,
                                 .label_count = 2,
                                 .independent = true};
    ck_assert_int_eq(outlier_fit(&ood, OOD_ENERGY, &data, 0, &arena, &err), ERR_OK);
    ck_assert(ood.independent && ood.label_count == 2);
    outlier_scores(&ood, logits, &data, scores);
    ck_assert_double_eq_tol((double)scores[0], -log1p(exp(2)) - log1p(exp(-1)), 1e-6);
    ck_assert_double_eq_tol((double)scores[1], -log1p(exp(0)) - log1p(exp(1)), 1e-6);
    ck_assert(scores[2] == -1);
}
END_TEST

/* Two classes, each with points at +-3, +-2 and +-1 along the three axes, five times: sixty inputs
 * whose W is diag(9, 4, 1) / 3. With p = 3, n = 60, tr(W^2) = 98 / 9 and tr(W)^2 = 196 / 9, the
 * share of Chen et al. 2010, eq. 23, is
 *
 *     r = (tr(W^2) / 3 + tr(W)^2) / ((60 + 1 / 3) (tr(W^2) - tr(W)^2 / 3))
 *
 * and W becomes (1 - r) W + r tr(W) / 3 I. */
START_TEST(outlier_covariance_is_shrunk_by_the_oracle_approximating_share)
{
    enum { AXES = 3, POINTS = 60 };
    static const double length[AXES] = {3, 2, 1};
    float points[POINTS * AXES] = {0};
    unsigned labels[POINTS];
    struct outlier_data few = {.features = points,
                               .classes = labels,
                               .count = POINTS,
                               .width = AXES,
                               .hidden = AXES,
                               .label_count = 2};
    double square = 98 / 9.0, all = 196 / 9.0, capture = 14 / 3.0;
    double share = (square / 3 + all) / ((60 + 1 / 3.0) * (square - all / 3));
    struct ood ood;
    for (unsigned i = 0; i < POINTS; i++) {
        unsigned axis = i / 2 % AXES;
        labels[i] = i / 30;
        points[i * AXES + axis] = (float)((i % 2 ? -1 : 1) * length[axis]);
        points[i * AXES] += labels[i] * 50;
    }
    err = (struct err){0};
    ck_assert_msg(!outlier_fit(&ood, OOD_MAHALANOBIS, &few, 0, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(ood.components, AXES);
    for (unsigned axis = 0; axis < AXES; axis++) {
        double expected = (1 - share) * length[axis] * length[axis] / 3 + share * capture / AXES;
        bool found = false;
        for (unsigned k = 0; k < AXES; k++)
            found = found || fabs((double)ood.variances[k] - expected) < 1e-5;
        ck_assert_msg(found, "%g is none of %g, %g, %g", expected, (double)ood.variances[0],
                      (double)ood.variances[1], (double)ood.variances[2]);
    }
}
END_TEST

SUITE("outlier", outlier_mahalanobis_finds_the_true_distance,
      outlier_mahalanobis_of_known_inputs_is_chi_squared,
      outlier_mahalanobis_sees_what_its_directions_leave_out,
      outlier_relative_in_few_directions_is_the_full_distance,
      outlier_classes_weigh_alike_unless_they_are_small, outlier_items_choose_the_rows,
      outlier_covariance_is_shrunk_by_the_oracle_approximating_share,
      outlier_takes_what_varies_a_little, outlier_relative_needs_classes_that_differ,
      outlier_scores_are_of_the_rows_of_items,
      outlier_fit_stays_within_the_room_of_a_file, outlier_refuses_what_has_no_statistics)
