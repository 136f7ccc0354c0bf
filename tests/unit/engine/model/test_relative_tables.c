/* Tables by distance, from a layer's own projections to the scores of a head, against the equations
 * in double: normalise, project with the weights as they are multiplied, meet queries and keys. */
#include "engine/model/relative_tables.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 32, HEADS = 2, WIDTH = HIDDEN / HEADS, SPAN = 6, ROWS = 2 * SPAN, TOKENS = 25 };

struct fixture {
    struct spec spec;
    struct linear qkv;
    struct relative_tables tables;
    struct relative_scores scores;
    struct arena arena;
    struct err err;
    float *places, *gamma, *beta;
};

static void setup(struct fixture *f, const struct linear_backend *backend, bool keys, bool queries)
{
    *f = (struct fixture){.spec = {.family = family_find("deberta-v2", NULL),
                                   .hidden = HIDDEN,
                                   .heads = HEADS,
                                   .layers = 1,
                                   .positions = TOKENS,
                                   .norm_eps = 1e-7f,
                                   .disentangled = {.span = SPAN,
                                                    .buckets = SPAN,
                                                    .distance_max = TOKENS,
                                                    .content_to_position = keys,
                                                    .position_to_content = queries}}};
    float *weight = numbers_new(3 * HIDDEN * HIDDEN, 0.4f, 1);
    arena_init(&f->arena);
    ck_assert(!linear_alloc(&f->qkv, backend, HIDDEN, 3 * HIDDEN, &f->err));
    linear_fill(&f->qkv, 0, 3 * HIDDEN, weight);
    numbers_fill(f->qkv.bias, 3 * HIDDEN, 1, 2);
    free(weight);
    f->places = numbers_new(ROWS * HIDDEN, 3, 3);
    f->gamma = numbers_new(HIDDEN, 2, 4);
    f->beta = numbers_new(HIDDEN, 1, 5);
    ck_assert(!relative_tables_open(&f->tables, &f->spec, gemm_best(PRECISION_F32), 2, &f->err));
    relative_tables_normalise(&f->tables, f->places, f->gamma, f->beta);
    ck_assert(!relative_tables_make(&f->tables, &f->scores, &f->qkv, &f->arena, &f->err));
    relative_tables_close(&f->tables);
}

static void teardown(struct fixture *f)
{
    linear_close(&f->qkv);
    arena_deinit(&f->arena);
    free(f->places), free(f->gamma), free(f->beta);
}

/* Number `column` of a row of the table behind the norm and the projection. */
static double projected(const struct fixture *f, unsigned row, size_t column)
{
    const float *x = f->places + row * HIDDEN;
    float weight[HIDDEN];
    double mean = 0, variance = 0, sum = (double)f->qkv.bias[column];
    for (size_t c = 0; c < HIDDEN; c++)
        mean += (double)x[c] / HIDDEN;
    for (size_t c = 0; c < HIDDEN; c++)
        variance += ((double)x[c] - mean) * ((double)x[c] - mean) / HIDDEN;
    f->qkv.backend->unpack(&f->qkv, column, weight);
    for (size_t c = 0; c < HIDDEN; c++)
        sum += (double)weight[c] *
               (((double)x[c] - mean) / sqrt(variance + 1e-7) * (double)f->gamma[c] +
                (double)f->beta[c]);
    return sum;
}

static double expected(const struct fixture *f, const float *q, const float *k, size_t head,
                       long distance)
{
    const struct disentangled *disentangled = &f->spec.disentangled;
    unsigned row = disentangled_row(disentangled, distance);
    double sum = 0;
    for (size_t c = 0; c < WIDTH; c++) {
        if (disentangled->content_to_position)
            sum += (double)q[c] * projected(f, row, HIDDEN + head * WIDTH + c);
        if (disentangled->position_to_content)
            sum += (double)k[c] * projected(f, row, head * WIDTH + c);
    }
    return sum / sqrt((double)WIDTH);
}

static void check(const struct linear_backend *backend, bool keys, bool queries)
{
    struct fixture f;
    float *q = numbers_new(TOKENS * HIDDEN, 1, 6), *k = numbers_new(TOKENS * HIDDEN, 1, 7);
    float *out = numbers_new(TOKENS * ATTENTION_QUERIES, 1, 8);
    float *scratch = numbers_new(relative_scores_scratch(TOKENS), 1, 9);
    setup(&f, backend, keys, queries);
    for (size_t head = 0; head < HEADS; head++) {
        relative_scores_run(&f.scores, head, q + head * WIDTH, k + head * WIDTH, HIDDEN * sizeof *q,
                            0, TOKENS, TOKENS, out, scratch);
        for (size_t i = 0; i < TOKENS; i += 4)
            for (size_t j = 0; j < TOKENS; j++) {
                double wanted = expected(&f, q + i * HIDDEN + head * WIDTH,
                                         k + j * HIDDEN + head * WIDTH, head, (long)i - (long)j);
                ck_assert_msg(fabs((double)out[j * ATTENTION_QUERIES + i] - wanted) < 1e-4,
                              "%s: head %zu, query %zu, key %zu: %g, not %g", backend->name, head,
                              i, j, (double)out[j * ATTENTION_QUERIES + i], wanted);
            }
    }
    teardown(&f);
    free(q), free(k), free(out), free(scratch);
}

START_TEST(scores_are_those_of_the_layers_own_projections_in_every_precision)
{
    check(linear_backend_find("reference", PRECISION_F32), true, true);
    check(linear_backend_find("native", PRECISION_F32), true, true);
    check(linear_backend_find("native", PRECISION_INT8), true, true);
    check(linear_backend_find("openblas", PRECISION_F32), true, true);
}
END_TEST

START_TEST(a_term_that_is_not_asked_for_has_no_table)
{
    check(linear_backend_find("native", PRECISION_F32), true, false);
    check(linear_backend_find("native", PRECISION_F32), false, true);
}
END_TEST

START_TEST(relative_tables_floats_are_the_sum_of_all_tables)
{
    struct fixture f;
    setup(&f, linear_backend_find("native", PRECISION_F32), true, true);
    size_t one = relative_scores_floats(f.scores.gemm, HEADS, WIDTH, TOKENS);
    ck_assert_uint_eq(relative_tables_floats(&f.spec), 2 * one);
    ck_assert_uint_ge(one, 2 * HIDDEN * TOKENS);
    f.spec.disentangled.position_to_content = false;
    ck_assert_uint_eq(relative_tables_floats(&f.spec), one);
    teardown(&f);
}
END_TEST

SUITE("relative_tables", scores_are_those_of_the_layers_own_projections_in_every_precision,
      a_term_that_is_not_asked_for_has_no_table, relative_tables_floats_are_the_sum_of_all_tables)
