/* Attention on bf16 activations against the oracle on the same numbers. */
#include "engine/tensor/attention_bf16.h"

#include "engine/base/cpu.h"
#include "engine/tensor/kernels.h"
#include "engine/tensor/tile_state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Attention by vectors and, if the processor has them, by tiles. */
static const struct way {
    const char *name;
    void (*attend)(const struct attention_io *io);
    size_t (*scratch)(size_t d);
} ways[] = {{"vectors", attention_bf16, attention_bf16_scratch},
            {"tiles", attention_amx, attention_amx_scratch}};

static size_t way_count(void)
{
    if (!tile_state_permitted())
        suite_skipped("attention by tiles", "this processor has no tiles (AMX)");
    return tile_state_permitted() ? 2 : 1;
}

struct problem {
    const struct way *way;
    size_t n, d, stride, q_stride, out_stride;
    uint16_t *qkv; /* [n, stride] */
    uint16_t *q;   /* [n, q_stride] its queries, in a matrix of their own */
    float *wide;   /* the same numbers in fp32 */
    float *out, *expected, *scratch;
};

static struct problem new_problem(const struct way *way, size_t n, size_t d, float range)
{
    struct problem p = {
        .way = way, .n = n, .d = d, .stride = 3 * d + 6, .q_stride = d + 2, .out_stride = d + 5};
    size_t numbers = n * p.stride;
    p.wide = numbers_new(numbers, range, (uint32_t)(n * 100 + d));
    p.qkv = malloc(numbers * sizeof *p.qkv);
    kernels_reference.round_bf16(p.qkv, p.wide, numbers);
    for (size_t i = 0; i < numbers; i++) {
        uint32_t bits = (uint32_t)p.qkv[i] << 16;
        memcpy(&p.wide[i], &bits, sizeof bits);
    }
    p.q = malloc(n * p.q_stride * sizeof *p.q);
    for (size_t i = 0; i < n; i++)
        memcpy(p.q + i * p.q_stride, p.qkv + i * p.stride, d * sizeof *p.q);
    p.out = numbers_new(n * p.out_stride, 1, 9);
    p.expected = numbers_new(n * p.out_stride, 1, 9);
    for (size_t i = 0; i < n * d; i++) /* what is written is not read before */
        p.out[i / d * p.out_stride + i % d] = NAN;
    size_t floats = attention_scratch(d) + way->scratch(d) + n + 16;
    p.scratch = numbers_new(floats, 1e30f, 10);
    return p;
}

static void free_problem(struct problem *p)
{
    free(p->qkv), free(p->q), free(p->wide), free(p->out), free(p->expected), free(p->scratch);
}

/* Numbers behind the scratch that is asked for, which nobody touches. */
enum { BEHIND = 16 };

static void guard(float *behind)
{
    for (size_t i = 0; i < BEHIND; i++)
        behind[i] = 123;
}

static void check_guard(const float *behind)
{
    for (size_t i = 0; i < BEHIND; i++)
        ck_assert_float_eq(behind[i], 123);
}

static void run(struct problem *p, size_t first, size_t count)
{
    guard(p->scratch + p->way->scratch(p->d));
    p->way->attend(&(struct attention_io){.out = p->out + first * p->out_stride,
                                          .out_stride = p->out_stride,
                                          .q = p->q + first * p->q_stride,
                                          .q_stride = p->q_stride,
                                          .k = p->qkv + p->d,
                                          .v = p->qkv + 2 * p->d,
                                          .kv_stride = p->stride,
                                          .count = count,
                                          .n = p->n,
                                          .d = p->d,
                                          .scratch = p->scratch});
    check_guard(p->scratch + p->way->scratch(p->d));
}

/* The softmax is rounded to 8 bits before it multiplies v: half of 2^-8 of the largest v. */
static void check(const struct way *way, size_t n, size_t d, float range)
{
    struct problem p = new_problem(way, n, d, range);
    for (size_t first = 0; first < n; first += ATTENTION_QUERIES) {
        size_t count = n - first < ATTENTION_QUERIES ? n - first : ATTENTION_QUERIES;
        kernels_reference.attention(&(struct attention_io){.out = p.expected + first * p.out_stride,
                                                           .out_stride = p.out_stride,
                                                           .q = p.wide + first * p.stride,
                                                           .k = p.wide + d,
                                                           .v = p.wide + 2 * d,
                                                           .q_stride = p.stride,
                                                           .kv_stride = p.stride,
                                                           .count = count,
                                                           .n = n,
                                                           .d = d,
                                                           .scratch = p.scratch});
        run(&p, first, count);
    }
    double difference = numbers_difference(p.out, p.expected, n * p.out_stride);
    ck_assert_msg(difference <= range / 256, "%s: n = %zu, d = %zu, range %g: %g", way->name, n, d,
                  (double)range, difference);
    free_problem(&p);
}

static const char no_bf16[] = "this processor does not multiply bf16";

START_TEST(bf16_attention_agrees_with_the_oracle)
{
    static const size_t lengths[] = {1,  2,  3,   7,   8,   9,   15,  16,  17,  31,  32,  33,
                                     48, 49, 143, 144, 145, 197, 287, 288, 289, 300, 512, 600};
    static const size_t widths[] = {32, 64, 96};
    if (!attention_bf16_runnable(widths[0]))
        suite_skip(no_bf16);
    const size_t all = way_count();
    for (size_t i = 0; i < all * sizeof lengths / sizeof *lengths; i++)
        for (size_t w = 0; w < 3; w++) {
            check(&ways[i % all], lengths[i / all], widths[w], 1);
            /* scores of hundreds: one key takes all */
            check(&ways[i % all], lengths[i / all], widths[w], 12);
        }
}
END_TEST

START_TEST(bf16_attention_of_a_query_is_the_same_alone_and_in_any_block)
{
    enum { N = 150, D = 64 };
    if (!attention_bf16_runnable(D))
        suite_skip(no_bf16);
    for (size_t way = 0, all = way_count(); way < all; way++) {
        struct problem p = new_problem(&ways[way], N, D, 3);
        for (size_t first = 0; first < N; first += ATTENTION_QUERIES)
            run(&p, first, N - first < ATTENTION_QUERIES ? N - first : ATTENTION_QUERIES);
        memcpy(p.expected, p.out, sizeof(float) * N * p.out_stride);
        for (size_t i = 0; i < N; i++)
            run(&p, i, 1);
        ck_assert(memcmp(p.out, p.expected, sizeof(float) * N * p.out_stride) == 0);
        free_problem(&p);
    }
}
END_TEST

/* Two heads, whose second lies behind the first. The products are exact, the sums fp32's. */
START_TEST(bf16_attention_averaged_over_heads_agrees_with_the_oracle)
{
    enum { D = 32, HEADS = 2 };
    static const size_t lengths[] = {1, 3, 16, 17, 33, 197, 301};
    if (!attention_bf16_runnable(D))
        suite_skip(no_bf16);
    for (size_t i = 0; i < 7; i++) {
        size_t n = lengths[i], stride = 2 * HEADS * D;
        struct problem p = new_problem(&ways[0], n, stride / 3 + 1, 4);
        float *scratch = numbers_new(attention_bf16_mean_scratch(n, D) + n + BEHIND, 1e30f, 3);
        float *out = numbers_new(n * n, 1, 4), *expected = numbers_new(n * n, 1, 5);
        for (size_t first = 0; first < n; first += ATTENTION_QUERIES) {
            size_t count = n - first < ATTENTION_QUERIES ? n - first : ATTENTION_QUERIES;
            guard(scratch + attention_bf16_mean_scratch(n, D));
            attention_bf16_mean(&(struct attention_io){.out = out + first * n,
                                                       .out_stride = n,
                                                       .q = p.qkv + first * stride,
                                                       .k = p.qkv + HEADS * D,
                                                       .q_stride = stride,
                                                       .kv_stride = stride,
                                                       .count = count,
                                                       .n = n,
                                                       .heads = HEADS,
                                                       .d = D,
                                                       .scratch = scratch});
            check_guard(scratch + attention_bf16_mean_scratch(n, D));
            kernels_reference.attention_mean(&(struct attention_io){.out = expected + first * n,
                                                                    .out_stride = n,
                                                                    .q = p.wide + first * stride,
                                                                    .k = p.wide + HEADS * D,
                                                                    .q_stride = stride,
                                                                    .kv_stride = stride,
                                                                    .count = count,
                                                                    .n = n,
                                                                    .heads = HEADS,
                                                                    .d = D,
                                                                    .scratch = scratch});
        }
        ck_assert_double_le(numbers_difference(out, expected, n * n), 1e-5);
        free(scratch), free(out), free(expected);
        free_problem(&p);
    }
}
END_TEST

START_TEST(bf16_attention_is_not_for_widths_that_do_not_fill_its_vectors)
{
    bool runs = cpu_level() >= CPU_AVX512 && cpu_has_bf16();
    ck_assert_int_eq(attention_bf16_runnable(32), runs);
    ck_assert_int_eq(attention_bf16_runnable(96), runs);
    ck_assert(!attention_bf16_runnable(1));
    ck_assert(!attention_bf16_runnable(24));
    ck_assert(!attention_bf16_runnable(48));
}
END_TEST

SUITE("attention_bf16", bf16_attention_agrees_with_the_oracle,
      bf16_attention_of_a_query_is_the_same_alone_and_in_any_block,
      bf16_attention_averaged_over_heads_agrees_with_the_oracle,
      bf16_attention_is_not_for_widths_that_do_not_fill_its_vectors)
