/* Attention in fp32 by tiles, every number in parts, against the oracle; and in the engine's blocks
 * beside attention by vectors. */
#include "engine/tensor/attention_parts.h"

#include "engine/base/thread_pool.h"
#include "engine/model/attention.h"
#include "engine/tensor/kernels.h"
#include "engine/tensor/tile_state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEHIND = 16 }; /* numbers behind the scratch that is asked for, which nobody touches */

struct problem {
    size_t n, d, stride, out_stride, scratch_floats;
    float *qkv; /* [n, stride] */
    float *out, *expected, *scratch;
};

static struct problem new_problem(size_t n, size_t d, float range)
{
    struct problem p = {.n = n, .d = d, .stride = 3 * d + 7, .out_stride = d + 5};
    p.scratch_floats = attention_parts_scratch(n, d);
    p.qkv = numbers_new(n * p.stride, range, (uint32_t)(n * 100 + d));
    p.out = numbers_new(n * p.out_stride, 1, 9);
    p.expected = numbers_new(n * p.out_stride, 1, 9);
    for (size_t i = 0; i < n * d; i++) /* what is written is not read before */
        p.out[i / d * p.out_stride + i % d] = NAN;
    p.scratch = numbers_new(p.scratch_floats + attention_scratch(d) + BEHIND, 1e30f, 10);
    for (size_t i = 0; i < BEHIND; i++)
        p.scratch[p.scratch_floats + i] = 123;
    return p;
}

static void free_problem(struct problem *p)
{
    for (size_t i = 0; i < BEHIND; i++)
        ck_assert_float_eq(p->scratch[p->scratch_floats + i], 123);
    free(p->qkv), free(p->out), free(p->expected), free(p->scratch);
}

static const char no_tiles[] = "this processor has no tiles (AMX)";

static void cut(const struct problem *p)
{
    attention_parts_cut(p->scratch, p->qkv + p->d, p->qkv + 2 * p->d, p->stride, p->n, p->d);
}

static void run(struct problem *p, size_t first, size_t count)
{
    attention_parts_run(&(struct attention_io){.out = p->out + first * p->out_stride,
                                               .out_stride = p->out_stride,
                                               .q = p->qkv + first * p->stride,
                                               .q_stride = p->stride,
                                               .count = count,
                                               .n = p->n,
                                               .d = p->d,
                                               .scratch = p->scratch});
}

static void run_blocks(struct problem *p)
{
    const size_t most = ATTENTION_PARTS_QUERIES;
    cut(p);
    for (size_t first = 0; first < p->n; first += most)
        run(p, first, p->n - first < most ? p->n - first : most);
}

static void expect(struct problem *p)
{
    float *scratch = numbers_new(attention_scratch(p->d), 0, 1);
    for (size_t first = 0; first < p->n; first += ATTENTION_QUERIES)
        kernels_reference.attention(&(struct attention_io){
            .out = p->expected + first * p->out_stride,
            .out_stride = p->out_stride,
            .q = p->qkv + first * p->stride,
            .k = p->qkv + p->d,
            .v = p->qkv + 2 * p->d,
            .q_stride = p->stride,
            .kv_stride = p->stride,
            .count = p->n - first < ATTENTION_QUERIES ? p->n - first : ATTENTION_QUERIES,
            .n = p->n,
            .d = p->d,
            .scratch = scratch});
    free(scratch);
}

/* The bounds are some units of fp32's last place of the largest score. */
START_TEST(attention_in_parts_agrees_with_the_oracle)
{
    static const size_t lengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 130, 256, 257, 300};
    static const size_t widths[] = {32, 64, 96};
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < 3; w++) {
            /* of the larger range, scores reach hundreds: one key takes all */
            const float range = (i + w) % 2 == 0 ? 1 : 12;
            struct problem p = new_problem(lengths[i], widths[w], range);
            run_blocks(&p);
            expect(&p);
            double difference = numbers_difference(p.out, p.expected, p.n * p.out_stride);
            ck_assert_msg(difference <= (range > 1 ? 1e-3 : 1e-6), "n = %zu, d = %zu, range %g: %g",
                          p.n, p.d, (double)range, difference);
            free_problem(&p);
        }
}
END_TEST

START_TEST(attention_in_parts_of_a_query_is_the_same_alone_and_in_any_block)
{
    enum { N = 150, D = 64 };
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    struct problem p = new_problem(N, D, 3);
    run_blocks(&p);
    memcpy(p.expected, p.out, sizeof(float) * N * p.out_stride);
    for (size_t first = 0, count = 1; first < N; first += count, count = count % 37 + 5)
        run(&p, first, N - first < count ? N - first : count);
    ck_assert(memcmp(p.out, p.expected, sizeof(float) * N * p.out_stride) == 0);
    free_problem(&p);
}
END_TEST

START_TEST(attention_in_parts_passes_on_what_is_no_number)
{
    enum { N = 300, D = 32 };
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    for (size_t b = 0; b < 3; b++)
        for (size_t part = 1; part < 3; part++) { /* a key, a value */
            struct problem p = new_problem(N, D, 1);
            p.qkv[270 * p.stride + part * D + 3] = bad[b];
            run_blocks(&p);
            for (size_t i = 0; i < N; i++)
                ck_assert_msg(!isfinite(p.out[i * p.out_stride + 3]), "%g, query %zu: %g",
                              (double)bad[b], i, (double)p.out[i * p.out_stride + 3]);
            free_problem(&p);
        }
}
END_TEST

/* ---- in the engine's blocks ---- */

enum { HEADS = 3, WIDTH = 32, HIDDEN = HEADS * WIDTH, SEQUENCES = 4 };
static const unsigned lengths[SEQUENCES] = {40, ATTENTION_PARTS_TOKENS, 7,
                                            ATTENTION_PARTS_TOKENS + 30};
enum { TOKENS = 2 * ATTENTION_PARTS_TOKENS + 77 };

static const struct family text_family = {.kind = ENGINE_TEXT, .block.norm = NORM_AFTER};
static const struct spec spec = {.family = &text_family,
                                 .layers = 1,
                                 .heads = HEADS,
                                 .hidden = HIDDEN,
                                 .intermediate = 40,
                                 .positions = TOKENS,
                                 .label_count = 2};

/* Copies the context of the batch's queries to out [rows, HIDDEN]. */
static void attend(struct workspace *w, bool by_tiles, unsigned kept, float *out)
{
    const struct layer layer = {.heads = HEADS, .attended = HIDDEN};
    const unsigned rows = kept > 0 ? kept * SEQUENCES : TOKENS;
    w->attends_by_tiles = by_tiles;
    attention_plan(&spec, w, kept);
    attention_run(&spec, w, &layer);
    for (unsigned t = 0; t < rows; t++)
        memcpy(out + t * HIDDEN, w->context + t * w->hidden_stride, HIDDEN * sizeof *out);
}

static void check_batch(struct workspace *w)
{
    float *vectors = numbers_new(TOKENS * HIDDEN, 0, 1),
          *tiles = numbers_new(TOKENS * HIDDEN, 0, 1);
    attend(w, false, 0, vectors);
    attend(w, true, 0, tiles);
    for (unsigned r = 0; r < SEQUENCES; r++) {
        const size_t at = (size_t)w->offset[r] * HIDDEN, count = (size_t)lengths[r] * HIDDEN;
        const double difference = numbers_difference(vectors + at, tiles + at, count);
        const bool is_long = lengths[r] >= ATTENTION_PARTS_TOKENS;
        ck_assert_msg((difference > 0) == is_long && difference < 2e-6, "%u tokens: %g", lengths[r],
                      difference);
    }
    attend(w, false, 1, vectors); /* one query does not pay for cutting the keys */
    attend(w, true, 1, tiles);
    ck_assert(memcmp(vectors, tiles, SEQUENCES * HIDDEN * sizeof *tiles) == 0);
    free(vectors), free(tiles);
}

START_TEST(long_sequences_of_a_batch_attend_in_parts_and_short_ones_by_vectors)
{
    const struct linear_backend *tiles = linear_backend_find("tiles", PRECISION_F32);
    if (!tile_state_permitted())
        suite_skip(no_tiles);
    for (unsigned threads = 1; threads < 4; threads++) {
        struct err err = {0};
        struct thread_pool *pool;
        struct workspace w;
        ck_assert_int_eq(thread_pool_open(&pool, threads, &err), ERR_OK);
        ck_assert_int_eq(workspace_open(&w, &spec, tiles, TOKENS, pool, kernels_best(), &err),
                         ERR_OK);
        float *numbers = numbers_new(TOKENS * w.qkv_stride, 2, threads);
        memcpy(w.qkv, numbers, TOKENS * w.qkv_stride * sizeof *numbers);
        w.rows = SEQUENCES;
        for (unsigned r = 0; r < SEQUENCES; r++)
            w.offset[r + 1] = w.offset[r] + lengths[r];
        check_batch(&w);
        free(numbers);
        workspace_close(&w);
        thread_pool_close(pool);
    }
}
END_TEST

SUITE("attention_parts", attention_in_parts_agrees_with_the_oracle,
      attention_in_parts_of_a_query_is_the_same_alone_and_in_any_block,
      attention_in_parts_passes_on_what_is_no_number,
      long_sequences_of_a_batch_attend_in_parts_and_short_ones_by_vectors)
