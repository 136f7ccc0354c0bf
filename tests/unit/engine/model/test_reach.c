/* Local attention: the engine's blocks, in fp32 and bf16, and the rows that explanations keep,
 * against the oracle on whole sequences with a matrix that masks what is beyond the reach. */
#include "engine/base/thread_pool.h"
#include "engine/model/attention.h"
#include "engine/model/attention_rows.h"
#include "engine/model/bias/reach.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, WIDTH = 32, HIDDEN = HEADS * WIDTH, TOKENS = 1200, SEQUENCES = 4 };

static const struct family text_family = {.kind = ENGINE_TEXT, .block.norm = NORM_AFTER};
static const struct spec spec = {.family = &text_family,
                                 .layers = 1,
                                 .heads = HEADS,
                                 .hidden = HIDDEN,
                                 .intermediate = 40,
                                 .positions = TOKENS,
                                 .label_count = 2};
static const unsigned lengths[SEQUENCES] = {2, 33, 400, 765};
static const unsigned reaches[] = {1, 5, 31, 32, 64, 256, 2000};
enum { REACHES = sizeof reaches / sizeof *reaches };

/* A layer's table, and a batch of random query, key and value. */
struct local {
    struct workspace workspace;
    struct thread_pool *pool;
    struct layer layer;
    float *table;
    float *expected; /* [TOKENS, HIDDEN] */
};

static void local_open(struct local *local, unsigned reach, const struct linear_backend *encoder,
                       const struct kernels *kernels, unsigned threads)
{
    struct err err = {0};
    struct workspace *w = &local->workspace;
    *local = (struct local){.layer = {.reach = reach, .heads = HEADS, .attended = HIDDEN}};
    ck_assert_int_eq(thread_pool_open(&local->pool, threads, &err), ERR_OK);
    ck_assert_int_eq(workspace_open(w, &spec, encoder, TOKENS, local->pool, kernels, &err), ERR_OK);
    local->table = numbers_new(reach_bias_floats(reach), 0, 1);
    local->layer.bias = reach_bias(local->table, reach);
    float *numbers = numbers_new(TOKENS * w->qkv_stride, 2, reach);
    if (w->qkv != NULL)
        memcpy(w->qkv, numbers, TOKENS * w->qkv_stride * sizeof *numbers);
    else
        kernels_reference.round_bf16(w->qkv_bf16, numbers, TOKENS * w->qkv_stride);
    free(numbers);
    w->rows = SEQUENCES;
    for (unsigned r = 0; r < SEQUENCES; r++)
        w->offset[r + 1] = w->offset[r] + lengths[r];
    local->expected = numbers_new(TOKENS * HIDDEN, 0, 2);
}

static void local_close(struct local *local)
{
    workspace_close(&local->workspace);
    thread_pool_close(local->pool);
    free(local->table), free(local->expected);
}

/* The batch's query, key and value in fp32; yours to free. */
static float *widened(const struct workspace *w)
{
    size_t numbers = TOKENS * w->qkv_stride;
    float *wide = numbers_new(numbers, 0, 3);
    for (size_t i = 0; i < numbers && w->qkv == NULL; i++) {
        uint32_t bits = (uint32_t)w->qkv_bf16[i] << 16;
        memcpy(&wide[i], &bits, sizeof bits);
    }
    if (w->qkv != NULL)
        memcpy(wide, w->qkv, numbers * sizeof *wide);
    return wide;
}

/* matrix[j][i], for all heads: 0 within the reach, minus infinity beyond. */
static float *masked(unsigned n, unsigned reach)
{
    size_t stride = simd_round_up(n);
    float *matrix = numbers_new(n * stride, 0, 4);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            matrix[j * stride + i] = (i > j ? i - j : j - i) <= reach ? 0 : -INFINITY;
    return matrix;
}

/* expected <- the oracle's. */
static void attend_whole(struct local *local, const float *qkv)
{
    const struct workspace *w = &local->workspace;
    float *scratch = numbers_new(attention_scratch(WIDTH), 0, 5);
    for (unsigned r = 0; r < SEQUENCES; r++) {
        unsigned n = lengths[r];
        float *mask = masked(n, local->layer.reach);
        struct attention_bias bias = {.at = mask, .key_step = (ptrdiff_t)simd_round_up(n)};
        for (unsigned h = 0; h < HEADS; h++) {
            const float *q = qkv + w->offset[r] * w->qkv_stride + h * WIDTH;
            kernels_reference.attention(
                &(struct attention_io){.out = local->expected + w->offset[r] * HIDDEN + h * WIDTH,
                                       .out_stride = HIDDEN,
                                       .q = q,
                                       .k = q + HIDDEN,
                                       .v = q + 2 * HIDDEN,
                                       .q_stride = w->qkv_stride,
                                       .kv_stride = w->qkv_stride,
                                       .count = n,
                                       .n = n,
                                       .d = WIDTH,
                                       .bias = bias,
                                       .scratch = scratch});
        }
        free(mask);
    }
    free(scratch);
}

static void attend(struct local *local)
{
    attention_plan(&spec, &local->workspace, 0);
    attention_run(&spec, &local->workspace, &local->layer);
}

/* max |context - expected| */
static double difference(const struct local *local)
{
    const struct workspace *w = &local->workspace;
    double worst = 0;
    for (unsigned t = 0; t < TOKENS; t++)
        worst = fmax(worst, numbers_difference(w->context + t * w->hidden_stride,
                                               local->expected + t * HIDDEN, HIDDEN));
    return worst;
}

static void check_context(const struct linear_backend *encoder, const struct kernels *kernels,
                          double bound)
{
    if (!kernels_runnable(kernels))
        return;
    for (size_t i = 0; i < REACHES; i++) {
        struct local local;
        local_open(&local, reaches[i], encoder, kernels, 2);
        float *qkv = widened(&local.workspace);
        attend_whole(&local, qkv);
        attend(&local);
        ck_assert_msg(difference(&local) < bound, "%s (%s), reach %u: %g", kernels->name,
                      precision_name(encoder->precision), reaches[i], difference(&local));
        free(qkv);
        local_close(&local);
    }
}

START_TEST(queries_see_the_keys_within_their_reach_and_no_others)
{
    const struct linear_backend *fp32 = linear_backend_find("native", PRECISION_F32);
    check_context(fp32, &kernels_generic, 5e-6);
    check_context(fp32, &kernels_avx2, 5e-6);
    check_context(fp32, &kernels_avx512, 5e-6);
    check_context(fp32, &kernels_reference, 5e-6);
}
END_TEST

/* The softmax is rounded to 8 bits if the processor multiplies bf16. */
START_TEST(rounded_queries_see_the_keys_within_their_reach_and_no_others)
{
    check_context(linear_backend_find("native", PRECISION_BF16), kernels_best(), 2.0 / 256);
}
END_TEST

/* The pool decides how large blocks are: 16 or 32 queries. */
START_TEST(a_querys_result_does_not_depend_on_the_size_of_blocks)
{
    const struct linear_backend *fp32 = linear_backend_find("native", PRECISION_F32);
    for (size_t i = 0; i < REACHES; i++) {
        struct local local;
        local_open(&local, reaches[i], fp32, kernels_best(), 1);
        struct workspace *w = &local.workspace;
        attend(&local);
        ck_assert_uint_eq(w->blocks[w->block_count - 2].count, ATTENTION_QUERIES);
        float *first = numbers_new(TOKENS * w->hidden_stride, 0, 1);
        memcpy(first, w->context, TOKENS * w->hidden_stride * sizeof *first);
        unsigned count = 0;
        for (unsigned r = 0; r < SEQUENCES; r++)
            for (unsigned done = 0; done < lengths[r]; done += 16)
                w->blocks[count++] =
                    (struct query_block){.first = w->offset[r] + done,
                                         .count = lengths[r] - done < 16 ? lengths[r] - done : 16,
                                         .out = w->offset[r] + done,
                                         .sequence = w->offset[r],
                                         .sequence_tokens = lengths[r]};
        w->block_count = count;
        attention_run(&spec, w, &local.layer);
        ck_assert(memcmp(first, w->context, TOKENS * w->hidden_stride * sizeof *first) == 0);
        free(first);
        local_close(&local);
    }
}
END_TEST

START_TEST(a_nan_within_the_reach_of_a_query_shows_and_others_are_spared)
{
    enum { REACH = 40, AT = 435 + 500 };
    struct local local;
    local_open(&local, REACH, linear_backend_find("native", PRECISION_F32), kernels_best(), 2);
    struct workspace *w = &local.workspace;
    w->qkv[AT * w->qkv_stride + 2 * HIDDEN] = NAN; /* of the first head's value */
    attend(&local);
    for (unsigned t = 0; t < TOKENS; t++) {
        unsigned far = t > AT ? t - AT : AT - t;
        const float *row = w->context + t * w->hidden_stride;
        if (far <= REACH)
            ck_assert_msg(isnan(row[0]), "token %u", t);
        if (far > REACH + ATTENTION_QUERIES) /* a neighbour in a block may have it too */
            ck_assert_msg(!isnan(row[0]), "token %u", t);
        ck_assert(!isnan(row[WIDTH]));
    }
    local_close(&local);
}
END_TEST

/* ---- rows of probabilities ---- */

/* The mean over the heads of row i, as the equation has it. */
static void exact_row(const struct workspace *w, const float *qkv, unsigned first, unsigned n,
                      unsigned reach, unsigned i, double *row)
{
    for (unsigned j = 0; j < n; j++)
        row[j] = 0;
    for (unsigned h = 0; h < HEADS; h++) {
        static double p[TOKENS];
        unsigned from = i > reach ? i - reach : 0, to = n - 1 - i > reach ? i + reach + 1 : n;
        double total = 0;
        for (unsigned j = from; j < to; j++) {
            double score = 0;
            for (unsigned c = h * WIDTH; c < (h + 1) * WIDTH; c++)
                score += (double)qkv[(first + i) * w->qkv_stride + c] *
                         (double)qkv[(first + j) * w->qkv_stride + HIDDEN + c];
            total += p[j] = exp(score / sqrt(WIDTH));
        }
        for (unsigned j = from; j < to; j++)
            row[j] += p[j] / total / HEADS;
    }
}

static void check_rows(const struct local *local, unsigned reach, unsigned r)
{
    static double exact[TOKENS];
    const struct workspace *w = &local->workspace;
    float *qkv = widened(w), *out = numbers_new(ATTENTION_QUERIES * TOKENS, 1, 6);
    unsigned first = w->offset[r], n = lengths[r];
    const size_t at = first * w->qkv_stride;
    const struct attention_rows rows = {.kernels = w->kernels,
                                        .qkv = w->qkv != NULL ? w->qkv + at : NULL,
                                        .qkv_bf16 = w->qkv == NULL ? w->qkv_bf16 + at : NULL,
                                        .stride = w->qkv_stride,
                                        .tokens = n,
                                        .attended = HIDDEN,
                                        .width = WIDTH,
                                        .bias = local->layer.bias,
                                        .reach = reach};
    const struct attention_bias none = {0};
    for (unsigned block = 0; block < n; block += ATTENTION_QUERIES) {
        unsigned count = n - block < ATTENTION_QUERIES ? n - block : ATTENTION_QUERIES;
        attention_rows_mean(&rows, block, count, 0, HEADS, &none, out, n,
                            w->capture_scratch.floats);
        for (unsigned i = 0; i < count; i++) {
            exact_row(w, qkv, first, n, reach, block + i, exact);
            for (unsigned j = 0; j < n; j++) {
                unsigned far = block + i > j ? block + i - j : j - block - i;
                double got = (double)out[i * n + j];
                ck_assert_msg(fabs(got - exact[j]) < 5e-6 && (far <= reach || got == 0),
                              "reach %u of %u: (%u, %u) is %g, not %g", reach, n, block + i, j, got,
                              exact[j]);
            }
        }
    }
    free(qkv), free(out);
}

START_TEST(rows_of_probabilities_are_zero_beyond_the_reach)
{
    static const enum precision precisions[] = {PRECISION_F32, PRECISION_BF16};
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; i < REACHES; i++) {
            struct local local;
            local_open(&local, reaches[i], linear_backend_find("native", precisions[p]),
                       kernels_best(), 1);
            for (unsigned r = 0; r < SEQUENCES; r++)
                check_rows(&local, reaches[i], r);
            local_close(&local);
        }
}
END_TEST

START_TEST(a_span_is_what_a_group_of_queries_reaches)
{
    for (unsigned n = 1; n < 200; n += 7)
        for (unsigned reach = 1; reach < 90; reach += 4)
            for (unsigned i = 0; i < n; i++) {
                struct key_span span = reach_span(reach, n, i);
                unsigned to = n - 1 - i > reach ? i + reach : n - 1;
                ck_assert_uint_le(span.first, i > reach ? i - reach : 0);
                ck_assert_uint_gt(span.first + span.count, to);
                ck_assert_uint_le(span.first + span.count, n);
                ck_assert_uint_le(span.count, 2 * reach + ATTENTION_QUERIES);
            }
    ck_assert_uint_eq(reach_span(0, 77, 40).count, 77);
    ck_assert_uint_eq(reach_span(0, 77, 40).first, 0);
}
END_TEST

SUITE("reach", a_span_is_what_a_group_of_queries_reaches,
      queries_see_the_keys_within_their_reach_and_no_others,
      rounded_queries_see_the_keys_within_their_reach_and_no_others,
      a_querys_result_does_not_depend_on_the_size_of_blocks,
      a_nan_within_the_reach_of_a_query_shows_and_others_are_spared,
      rows_of_probabilities_are_zero_beyond_the_reach)
