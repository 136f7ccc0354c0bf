/* head_cross.c: no input is answered by what has learnt it, and what tells nothing is not believed.
 */
#include "engine/base/rng.h"
#include "learn/fit/folds.h"
#include "learn/fit/head_fit.h"
#include "tests/support/suite.h"

#include <math.h>

enum { COUNT = 300, WIDTH = 5, LABELS = 3, ROW = WIDTH + 1, NUMBERS = LABELS * ROW };

static float rows[COUNT * WIDTH];
static unsigned classes[COUNT];
static uint64_t digests[COUNT];
static double variances[WIDTH];
static const struct head_rows table = {.rows = rows,
                                       .classes = classes,
                                       .count = COUNT,
                                       .width = WIDTH,
                                       .labels = LABELS,
                                       .variances = variances};

/* Each class is `apart` from the others in a direction of its own. */
static void fill(float apart)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct rng rng = rng_for(4, 0, i);
        classes[i] = (unsigned)(i % LABELS);
        digests[i] = ((uint64_t)rng_below(&rng, 1u << 31) << 31) + i;
        for (unsigned j = 0; j < WIDTH; j++)
            rows[i * WIDTH + j] = 0.4f * (rng_normal(&rng) + (j == classes[i] ? apart : 0));
    }
    for (unsigned j = 0; j < WIDTH; j++)
        variances[j] = 0.16;
}

static struct head_cross cross_of(unsigned threads)
{
    struct head_cross cross;
    struct err err = {0};
    ck_assert_int_eq(head_cross_run(&cross, &table, digests, threads, NULL, NULL, &err), ERR_OK);
    return cross;
}

static unsigned hits_of(const struct head_cross *cross)
{
    unsigned hits = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const float *logits = cross->logits + i * LABELS;
        unsigned best = 0;
        for (unsigned c = 1; c < LABELS; c++)
            best = logits[c] > logits[best] ? c : best;
        hits += best == classes[i];
    }
    return hits;
}

START_TEST(each_input_is_answered_by_a_head_that_has_not_learnt_it)
{
    unsigned char folds[COUNT];
    struct err err = {0};
    fill(2);
    struct head_cross cross = cross_of(2);
    struct head_products *products;
    ck_assert_int_eq(folds_deal(digests, classes, COUNT, folds, &err), ERR_OK);
    ck_assert(!head_products_open(&products, rows, COUNT, WIDTH, &err));
    for (unsigned f = 0; f < FOLDS; f++) {
        const struct head_problem problem = {
            .strength = cross.strength, .folds = folds, .left_out = f};
        struct head_fit *fit;
        double weights[NUMBERS] = {0};
        ck_assert_int_eq(head_fit_open(&fit, &table, products, &err), ERR_OK);
        ck_assert_int_eq(head_fit_run(fit, &problem, weights, &err), ERR_OK);
        for (size_t i = 0; i < COUNT * LABELS; i++)
            if (folds[i / LABELS] == f)
                ck_assert_float_eq_tol(cross.logits[i], head_fit_logits(fit)[i], 0.02f);
        head_fit_close(fit);
    }
    head_products_close(products);
    ck_assert_uint_gt(hits_of(&cross), COUNT * 8 / 10);
    head_cross_close(&cross);
}
END_TEST

START_TEST(features_that_tell_nothing_are_not_believed)
{
    fill(0);
    struct head_cross cross = cross_of(2);
    ck_assert_double_ge(cross.strength, 0.1);
    ck_assert_double_eq_tol(cross.loss, log(LABELS), 0.02);
    head_cross_close(&cross);
}
END_TEST

START_TEST(the_number_of_threads_changes_nothing)
{
    fill(1);
    struct head_cross one = cross_of(1), many = cross_of(16);
    ck_assert_double_eq(one.strength, many.strength);
    ck_assert_mem_eq(one.logits, many.logits, COUNT * LABELS * sizeof *one.logits);
    ck_assert_mem_eq(one.weights, many.weights, NUMBERS * sizeof *one.weights);
    head_cross_close(&one);
    head_cross_close(&many);
}
END_TEST

SUITE("head_cross", each_input_is_answered_by_a_head_that_has_not_learnt_it,
      features_that_tell_nothing_are_not_believed, the_number_of_threads_changes_nothing)
