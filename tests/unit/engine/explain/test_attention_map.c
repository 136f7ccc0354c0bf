/* Rollout and attention of a capture made by hand, against products of whole matrices in double. */
#include "engine/explain/attention_map.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, HEADS = 3, TOKENS = 5, LOWER = LAYERS - 1 };

static const struct spec spec = {.layers = LAYERS, .heads = HEADS};
static float mean[LOWER][TOKENS][TOKENS], last[HEADS][TOKENS];
static const float guard = -7;

/* Rows of numbers that sum to one and that nobody could take for those of another row. */
static struct capture make_capture(void)
{
    numbers_fill(&mean[0][0][0], LOWER * TOKENS * TOKENS, 0.5f, 1);
    numbers_fill(&last[0][0], (size_t)HEADS * TOKENS, 0.5f, 2);
    for (size_t r = 0; r < LOWER * TOKENS + HEADS; r++) {
        float *row = r < LOWER * TOKENS ? mean[r / TOKENS][r % TOKENS] : last[r - LOWER * TOKENS];
        float sum = 0;
        for (size_t j = 0; j < TOKENS; j++)
            sum += row[j] += 0.5f;
        for (size_t j = 0; j < TOKENS; j++)
            row[j] /= sum;
    }
    return (struct capture){
        .tokens = TOKENS, .from = 0, .to = LOWER, .mean = &mean[0][0][0], .last = &last[0][0]};
}

/* The first row of A_layer. That of the last layer is the mean of its heads. */
static void first_row(unsigned layer, double row[TOKENS])
{
    for (size_t j = 0; j < TOKENS; j++) {
        row[j] = layer < LAYERS ? (double)mean[layer - 1][0][j] : 0;
        for (size_t h = 0; h < HEADS && layer == LAYERS; h++)
            row[j] += (double)last[h][j] / HEADS;
    }
}

/* r <- r (A_(layer - 1) + I)/2 ... (A_1 + I)/2 */
static void multiply_down(unsigned layer, double r[TOKENS])
{
    for (unsigned l = layer - 1; l > 0; l--) {
        double next[TOKENS] = {0};
        for (size_t i = 0; i < TOKENS; i++)
            for (size_t j = 0; j < TOKENS; j++)
                next[j] += r[i] * ((double)mean[l - 1][i][j] + (i == j)) / 2;
        memcpy(r, next, sizeof next);
    }
}

static void expect_map(const float *found, const double expected[TOKENS])
{
    for (size_t j = 0; j < TOKENS; j++)
        ck_assert_double_eq_tol((double)found[j], expected[j], 1e-6);
    ck_assert_float_eq(found[TOKENS], guard);
}

/* Numbers that a forgotten initialisation would leave in the result. */
static float *dirty(void)
{
    float *x = malloc((TOKENS + 1) * sizeof *x);
    for (size_t j = 0; j < TOKENS; j++)
        x[j] = 100 + (float)j;
    x[TOKENS] = guard;
    return x;
}

START_TEST(attention_of_a_layer_is_the_mean_of_its_heads_first_rows)
{
    struct capture capture = make_capture();
    for (unsigned layer = 1; layer <= LAYERS; layer++) {
        double expected[TOKENS];
        float *found = dirty();
        first_row(layer, expected);
        attention_map_layer(&spec, &capture, layer, found);
        expect_map(found, expected);
        free(found);
    }
}
END_TEST

START_TEST(rollout_is_the_first_row_of_the_product_of_its_layers)
{
    struct capture capture = make_capture();
    for (unsigned layers = 1; layers <= LAYERS; layers++) {
        double expected[TOKENS];
        float *found = dirty(), *scratch = dirty();
        first_row(layers, expected);
        for (size_t j = 0; j < TOKENS; j++)
            expected[j] = (expected[j] + (j == 0)) / 2;
        multiply_down(layers, expected);
        attention_map_rollout(&spec, &capture, layers, found, scratch);
        expect_map(found, expected);
        ck_assert_float_eq(scratch[TOKENS], guard);
        free(found), free(scratch);
    }
}
END_TEST

START_TEST(a_map_of_the_last_layer_is_carried_through_all_below_it)
{
    struct capture capture = make_capture();
    double expected[TOKENS] = {0.1, 0.4, 0, 0.2, 0.3};
    float *found = dirty(), *scratch = dirty();
    for (size_t j = 0; j < TOKENS; j++)
        found[j] = (float)expected[j];
    multiply_down(LAYERS, expected);
    attention_map_down(&spec, &capture, found, scratch);
    expect_map(found, expected);
    free(found), free(scratch);
}
END_TEST

/* A capture that keeps only layer 3 (counted from 1) answers for that layer alone. */
START_TEST(attention_of_a_layer_is_found_in_a_trace_that_begins_above_the_first)
{
    struct capture capture = make_capture();
    double expected[TOKENS];
    float *found = dirty();
    capture.from = 2;
    capture.mean = &mean[2][0][0];
    first_row(3, expected);
    attention_map_layer(&spec, &capture, 3, found);
    expect_map(found, expected);
    free(found);
}
END_TEST

SUITE("attention_map", attention_of_a_layer_is_the_mean_of_its_heads_first_rows,
      rollout_is_the_first_row_of_the_product_of_its_layers,
      a_map_of_the_last_layer_is_carried_through_all_below_it,
      attention_of_a_layer_is_found_in_a_trace_that_begins_above_the_first)
