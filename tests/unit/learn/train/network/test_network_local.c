/* Local attention in training, cut into blocks of queries, against the same head as a whole with a
 * bias that masks what is beyond the reach: results, dropout, regulariser and gradients. */
#include "learn/train/network/network_state.h"

#include "engine/model/bias/reach.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = 24, STRIDE = 3 * D + 5, N_MAX = 300 };

struct problem {
    struct attention_train head;
    float *qkv, *dout, *out, *dq, *dkv, *scratch;
    double penalty;
};

static struct problem problem_new(size_t n, enum precision precision, uint32_t seed)
{
    struct problem p = {.qkv = numbers_new(n * STRIDE, 1.5f, seed),
                        .dout = numbers_new(n * D, 1, seed + 1),
                        .out = numbers_new(n * D, 0, 1),
                        .dq = numbers_new(n * D, 1, 2),
                        .dkv = numbers_new(n * 2 * D, 1, 3),
                        .scratch = numbers_new(attention_train_scratch(n, n, D), 1, 4)};
    p.head = (struct attention_train){.kernels = kernels_best(),
                                      .backward = backward_best(),
                                      .gemm = gemm_best(precision),
                                      .q = p.qkv,
                                      .k = p.qkv + D,
                                      .v = p.qkv + 2 * D,
                                      .q_stride = STRIDE,
                                      .kv_stride = STRIDE,
                                      .m = n,
                                      .n = n,
                                      .d = D,
                                      .dropout = 0.2f,
                                      .key = 99,
                                      .entropy = 0.01f,
                                      .sparsity = 0.3f};
    return p;
}

static void problem_free(struct problem *p)
{
    free(p->qkv), free(p->dout), free(p->out), free(p->dq), free(p->dkv), free(p->scratch);
}

/* `has_global`: all queries but the first see the first key. */
static void run_whole(struct problem *p, unsigned reach, bool has_global)
{
    size_t n = p->head.n;
    float *mask = numbers_new(n * n, 0, 5);
    struct attention_bias bias = {.at = mask, .key_step = (ptrdiff_t)n};
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            mask[j * n + i] =
                (i > j ? i - j : j - i) <= reach || (has_global && j == 0) ? 0 : -1e9f;
    p->head.bias = &bias;
    p->penalty = attention_train_forward(&p->head, p->out, D, p->scratch);
    attention_train_backward(&p->head, p->dout, D, p->dq, D, p->dkv, p->dkv + D, 2 * D, p->scratch);
    free(mask);
}

static void run_parts(struct problem *p, unsigned reach, bool has_global)
{
    float *table = numbers_new(reach_bias_floats(reach), 0, 6);
    struct attention_bias band = reach_bias(table, reach);
    const struct network_local local = {reach, &band, has_global};
    float *scratch = numbers_new(network_local_scratch(reach, p->head.n, D, has_global), 1e30f, 7);
    p->penalty = network_local_forward(&p->head, local, p->out, D, scratch);
    network_local_backward(&p->head, local, p->dout, D, p->dq, D, p->dkv, p->dkv + D, 2 * D,
                           scratch);
    free(table), free(scratch);
}

static void check(size_t n, size_t queries, unsigned reach, bool has_global,
                  enum precision precision, double bound)
{
    struct problem whole = problem_new(n, precision, 8), parts = problem_new(n, precision, 8);
    whole.head.m = parts.head.m = queries;
    if (has_global) { /* the first query adds nothing then */
        memset(whole.dout, 0, D * sizeof *whole.dout);
        whole.head.entropy = whole.head.sparsity = 0;
        parts.head.entropy = parts.head.sparsity = 0;
    }
    run_whole(&whole, reach, has_global);
    run_parts(&parts, reach, has_global);
    size_t skipped = has_global * D;
    double out = numbers_difference(parts.out + skipped, whole.out + skipped, n * D - skipped);
    double dq = numbers_difference(parts.dq, whole.dq, n * D);
    double dkv = numbers_difference(parts.dkv, whole.dkv, n * 2 * D);
    ck_assert_msg(out < bound && dq < bound && dkv < bound,
                  "%zu of %zu tokens, reach %u: out %g, dq %g, dkv %g", queries, n, reach, out, dq,
                  dkv);
    ck_assert_double_eq_tol(parts.penalty, whole.penalty, bound * (1 + fabs(whole.penalty)));
    problem_free(&whole), problem_free(&parts);
}

static const size_t lengths[] = {1, 2, 31, 32, 33, 100, 257, N_MAX};
static const unsigned reaches[] = {1, 7, 32, 64, 500};

static void check_all(enum precision precision, double bound)
{
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t r = 0; r < sizeof reaches / sizeof *reaches; r++)
            for (int has_global = 0; has_global < 2; has_global++)
                check(lengths[l], lengths[l], reaches[r], has_global, precision, bound);
}

START_TEST(parts_of_a_head_are_the_whole_with_a_mask_and_with_the_same_dropout)
{
    check_all(PRECISION_F32, 2e-5);
}
END_TEST

/* The products have 8 bits. Both sides round the same numbers, but keys are paired differently. */
START_TEST(parts_of_a_rounded_head_stay_near_the_whole)
{
    check_all(PRECISION_BF16, 0.05);
}
END_TEST

START_TEST(the_first_queries_alone_have_parts_too)
{
    check(200, 1, 40, false, PRECISION_F32, 2e-5);
    check(200, 45, 40, false, PRECISION_F32, 2e-5);
}
END_TEST

START_TEST(scratch_does_not_grow_with_the_sequence)
{
    ck_assert_uint_eq(network_local_scratch(64, 4096, D, true),
                      network_local_scratch(64, 512, D, true));
    ck_assert_uint_lt(network_local_scratch(64, 50, D, false),
                      network_local_scratch(64, 512, D, false));
}
END_TEST

/* Else their probabilities are denormal numbers, which take an Intel core some 100 cycles each. */
START_TEST(keys_beyond_the_reach_have_probability_zero)
{
    enum { REACH = 7, LAST = 100, FAR = LAST + 1 + REACH };
    struct problem plain = problem_new(N_MAX, PRECISION_F32, 8);
    struct problem far = problem_new(N_MAX, PRECISION_F32, 8);
    plain.head.m = far.head.m = LAST + 1; /* no query sees the keys from FAR on */
    run_whole(&plain, REACH, false);
    for (size_t j = FAR; j < N_MAX; j++)
        for (size_t c = 0; c < D; c++)
            far.qkv[j * STRIDE + 2 * D + c] = 1e30f;
    run_whole(&far, REACH, false);
    ck_assert_mem_eq(plain.out, far.out, FAR * D * sizeof *plain.out);
    ck_assert_mem_eq(plain.dq, far.dq, FAR * D * sizeof *plain.dq);
    problem_free(&plain), problem_free(&far);
}
END_TEST

SUITE("network_local", parts_of_a_head_are_the_whole_with_a_mask_and_with_the_same_dropout,
      parts_of_a_rounded_head_stay_near_the_whole, the_first_queries_alone_have_parts_too,
      scratch_does_not_grow_with_the_sequence, keys_beyond_the_reach_have_probability_zero)
