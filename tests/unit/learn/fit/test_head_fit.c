/* head_fit.h: the gradient of the penalised likelihood is zero at the end; here it is taken in
 * double and without scaling. Rows that are left out do not count. */
#include "engine/base/rng.h"
#include "learn/fit/head_fit.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { COUNT = 400, WIDTH = 6, LABELS = 4, ROW = WIDTH + 1, NUMBERS = LABELS * ROW };

static float rows[COUNT * WIDTH];
static unsigned classes[COUNT];
static unsigned char folds[COUNT];
static double variances[WIDTH];
static const struct head_rows table = {.rows = rows,
                                       .classes = classes,
                                       .count = COUNT,
                                       .width = WIDTH,
                                       .labels = LABELS,
                                       .variances = variances};

/* Classes that overlap, in directions of very different size. */
static void fill(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct rng rng = rng_for(9, 0, i);
        classes[i] = rng_below(&rng, LABELS);
        folds[i] = (unsigned char)rng_below(&rng, 3);
        for (unsigned j = 0; j < WIDTH; j++) {
            float size = powf(0.3f, (float)j);
            rows[i * WIDTH + j] = size * (rng_normal(&rng) + (j % LABELS == classes[i]));
            variances[j] = (double)(size * size);
        }
    }
}

/* The largest entry of the gradient at these weights. */
static double slope_at(const double *weights, const struct head_problem *problem)
{
    double gradient[NUMBERS] = {0}, largest = 0;
    size_t learnt = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double p[LABELS], sum = 0;
        if (problem->folds != NULL && problem->folds[i] == problem->left_out)
            continue;
        learnt++;
        for (unsigned c = 0; c < LABELS; c++) {
            p[c] = weights[c * ROW + WIDTH];
            for (unsigned j = 0; j < WIDTH; j++)
                p[c] += weights[c * ROW + j] * (double)rows[i * WIDTH + j];
            sum += p[c] = exp(p[c]);
        }
        for (unsigned c = 0; c < LABELS; c++)
            for (unsigned j = 0; j < ROW; j++)
                gradient[c * ROW + j] += (p[c] / sum - (c == classes[i])) *
                                         (j < WIDTH ? (double)rows[i * WIDTH + j] : 1);
    }
    for (unsigned k = 0; k < NUMBERS; k++) {
        double penalty = k % ROW < WIDTH ? problem->strength * weights[k] : 0;
        largest = fmax(largest, fabs(gradient[k] / (double)learnt + penalty));
    }
    return largest;
}

/* Close both. */
static struct head_fit *open_table(const struct head_rows *of, struct head_products **products)
{
    struct head_fit *head;
    struct err err = {0};
    ck_assert(!head_products_open(products, rows, COUNT, WIDTH, &err));
    ck_assert(!head_fit_open(&head, of, *products, &err));
    return head;
}

static struct head_fit *open_fit(struct head_products **products)
{
    return open_table(&table, products);
}

static void fit(const struct head_problem *problem, double *weights)
{
    struct head_products *products;
    struct head_fit *head = open_fit(&products);
    struct err err = {0};
    ck_assert_int_eq(head_fit_run(head, problem, weights, &err), ERR_OK);
    head_fit_close(head);
    head_products_close(products);
}

START_TEST(head_fit_ends_at_a_zero_gradient)
{
    fill();
    for (double strength = 1; strength > 1e-6; strength /= 10) {
        const struct head_problem problem = {.strength = strength};
        double weights[NUMBERS] = {0};
        ck_assert_double_gt(slope_at(weights, &problem), 0.02);
        fit(&problem, weights);
        ck_assert_double_lt(slope_at(weights, &problem), 2e-5);
    }
}
END_TEST

START_TEST(head_fit_ends_at_the_same_point_from_any_start)
{
    const struct head_problem problem = {.strength = 1e-3};
    double from_zero[NUMBERS] = {0}, from_afar[NUMBERS];
    fill();
    fit(&problem, from_zero);
    for (unsigned k = 0; k < NUMBERS; k++)
        from_afar[k] = 30 * sin(k);
    fit(&problem, from_afar);
    for (unsigned k = 0; k < NUMBERS; k++)
        if (k % ROW < WIDTH) /* biases may all be larger by the same */
            ck_assert_double_eq_tol(from_afar[k], from_zero[k], 0.02);
}
END_TEST

START_TEST(rows_that_are_left_out_have_no_say)
{
    const struct head_problem problem = {.strength = 1e-3, .folds = folds, .left_out = 1};
    double first[NUMBERS] = {0}, second[NUMBERS] = {0};
    fill();
    fit(&problem, first);
    ck_assert_double_lt(slope_at(first, &problem), 2e-5);
    for (size_t i = 0; i < COUNT; i++)
        if (folds[i] == 1)
            classes[i] = 0;
    fit(&problem, second);
    ck_assert_mem_eq(first, second, sizeof first);
}
END_TEST

/* The others are given as all of them end: then the last label ends there, too. */
START_TEST(labels_that_are_known_stay_as_they_are_given)
{
    const struct head_problem problem = {.strength = 1e-3};
    struct head_products *products;
    struct err err = {0};
    double whole[NUMBERS] = {0}, last[ROW] = {0};
    static float given[COUNT * (LABELS - 1)];
    fill();
    fit(&problem, whole);
    for (size_t i = 0; i < COUNT; i++)
        for (unsigned c = 0; c < LABELS - 1; c++) {
            double logit = whole[c * ROW + WIDTH];
            for (unsigned j = 0; j < WIDTH; j++)
                logit += whole[c * ROW + j] * (double)rows[i * WIDTH + j];
            given[i * (LABELS - 1) + c] = (float)logit;
        }
    struct head_rows added = table;
    added.known = LABELS - 1;
    added.given = given;
    struct head_fit *head = open_table(&added, &products);
    ck_assert_int_eq(head_fit_run(head, &problem, last, &err), ERR_OK);
    for (unsigned j = 0; j < ROW; j++)
        ck_assert_double_eq_tol(last[j], whole[(LABELS - 1) * ROW + j], 0.01);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_mem_eq(head_fit_logits(head) + i * LABELS, given + i * (LABELS - 1),
                         (LABELS - 1) * sizeof *given);
    head_fit_close(head);
    head_products_close(products);
}
END_TEST

START_TEST(logits_are_those_of_the_weights_for_every_row)
{
    const struct head_problem problem = {.strength = 1e-3, .folds = folds, .left_out = 1};
    struct head_products *products;
    struct err err = {0};
    double weights[NUMBERS] = {0};
    fill();
    struct head_fit *head = open_fit(&products);
    ck_assert_int_eq(head_fit_run(head, &problem, weights, &err), ERR_OK);
    for (size_t i = 0; i < COUNT; i++)
        for (unsigned c = 0; c < LABELS; c++) {
            double logit = weights[c * ROW + WIDTH];
            for (unsigned j = 0; j < WIDTH; j++)
                logit += weights[c * ROW + j] * (double)rows[i * WIDTH + j];
            ck_assert_double_eq_tol((double)head_fit_logits(head)[i * LABELS + c], logit, 1e-4);
        }
    head_fit_close(head);
    head_products_close(products);
}
END_TEST

START_TEST(head_fit_without_inputs_is_an_error)
{
    struct head_problem problem = {.strength = 1, .folds = folds};
    struct head_products *products;
    struct err err = {0};
    double weights[NUMBERS] = {0};
    fill();
    memset(folds, 0, sizeof folds);
    struct head_fit *head = open_fit(&products);
    ck_assert_int_eq(head_fit_run(head, &problem, weights, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "every input is left out: nothing to learn");
    head_fit_close(head);
    head_products_close(products);
}
END_TEST

SUITE("head_fit", head_fit_ends_at_a_zero_gradient, head_fit_ends_at_the_same_point_from_any_start,
      rows_that_are_left_out_have_no_say, labels_that_are_known_stay_as_they_are_given,
      logits_are_those_of_the_weights_for_every_row, head_fit_without_inputs_is_an_error)
