/* A head of attention for training: the forward pass against the oracle and against equations in
 * double, the gradient against finite differences of these. */
#include "engine/base/rng.h"
#include "engine/tensor/backward/attention_train.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the two row-wise gradients, as plain loops ---- */

static void naive_softmax(float *ds, const float *p, const float *dp, size_t n, float scale)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += (double)p[i] * dp[i];
    for (size_t i = 0; i < n; i++)
        ds[i] = (float)(scale * p[i] * (dp[i] - total));
}

static double kept(uint32_t key, uint32_t index, float rate)
{
    return rng_hash(key, index) >= (uint32_t)((double)rate * 4294967296.0) ? 1 / (1 - (double)rate)
                                                                           : 0;
}

static void naive_dropout(float *y, const float *x, size_t n, uint32_t key, uint32_t first,
                          float rate)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(x[i] * kept(key, first + (uint32_t)i, rate));
}

static void no_dropout(float *y, const float *x, size_t n, uint32_t key, uint32_t first, float rate)
{
    (void)y, (void)x, (void)n, (void)key, (void)first, (void)rate;
    ck_abort_msg("a head without dropout draws no mask");
}

static const struct backward naive = {.softmax = naive_softmax, .dropout = naive_dropout};
static const struct backward without_dropout = {.softmax = naive_softmax, .dropout = no_dropout};

/* ---- a head, its loss sum(g O) + R, and the same in double ---- */

enum { SPARE = 3, BEHIND = 16 }; /* numbers behind a row and behind the scratch, not ours */

struct problem {
    struct attention_train head;
    size_t stride;   /* of q, k and v, which share rows as a packed layer has them */
    float *qkv;      /* [n, 3 d + SPARE] */
    float *out, *g;  /* [m, d + SPARE] */
    float *dq, *dkv; /* [m, d + SPARE], [n, 2 d + SPARE] */
    float *scratch;
};

static struct problem new_problem(size_t m, size_t n, size_t d)
{
    size_t stride = 3 * d + SPARE, rows = m > n ? m : n;
    struct problem p = {.stride = stride};
    p.qkv = numbers_new(rows * stride, 1.5f, (uint32_t)(m + n));
    p.out = numbers_new(m * (d + SPARE), 1, 2);
    p.g = numbers_new(m * (d + SPARE), 1, 3);
    p.dq = numbers_new(m * (d + SPARE), 1, 4);
    p.dkv = numbers_new(n * (2 * d + SPARE), 1, 5);
    p.scratch = numbers_new(attention_train_scratch(m, n, d) + BEHIND, 0, 0);
    memset(p.scratch, 0x7F, attention_train_scratch(m, n, d) * sizeof *p.scratch);
    for (size_t i = 0; i < BEHIND; i++)
        p.scratch[attention_train_scratch(m, n, d) + i] = 123;
    p.head = (struct attention_train){.kernels = kernels_best(),
                                      .backward = &without_dropout,
                                      .gemm = gemm_best(PRECISION_F32),
                                      .q = p.qkv,
                                      .k = p.qkv + d,
                                      .v = p.qkv + 2 * d,
                                      .q_stride = stride,
                                      .kv_stride = stride,
                                      .m = m,
                                      .n = n,
                                      .d = d,
                                      .key = 77};
    return p;
}

static void free_problem(struct problem *p)
{
    const struct attention_train *head = &p->head;
    for (size_t i = 0; i < BEHIND; i++)
        ck_assert_float_eq(p->scratch[attention_train_scratch(head->m, head->n, head->d) + i], 123);
    free(p->qkv), free(p->out), free(p->g), free(p->dq), free(p->dkv), free(p->scratch);
}

static double forward(struct problem *p)
{
    return attention_train_forward(&p->head, p->out, p->head.d + SPARE, p->scratch);
}

static void backward(struct problem *p)
{
    size_t d = p->head.d;
    attention_train_backward(&p->head, p->g, d + SPARE, p->dq, d + SPARE, p->dkv, p->dkv + d,
                             2 * d + SPARE, p->scratch);
}

/* P of one query. */
static void exact_softmax(const struct attention_train *head, size_t i, double *p)
{
    double max = -INFINITY, total = 0;
    for (size_t j = 0; j < head->n; j++) {
        p[j] = 0;
        for (size_t c = 0; c < head->d; c++)
            p[j] += (double)head->q[i * head->q_stride + c] * head->k[j * head->kv_stride + c];
        p[j] /= sqrt((double)head->d);
        if (head->bias != NULL)
            p[j] += (double)attention_bias_key(head->bias, j)[i];
        max = fmax(max, p[j]);
    }
    for (size_t j = 0; j < head->n; j++)
        total += p[j] = exp(p[j] - max);
    for (size_t j = 0; j < head->n; j++)
        p[j] /= total;
}

/* O of one query into out [d]; returns its share of R. */
static double exact_row(const struct attention_train *head, size_t i, double *out, double *p)
{
    double entropy = 0, squares = 0;
    exact_softmax(head, i, p);
    memset(out, 0, head->d * sizeof *out);
    for (size_t j = 0; j < head->n; j++) {
        entropy -= p[j] > 0 ? p[j] * log(p[j]) : 0;
        squares += p[j] * p[j];
        double weight = p[j];
        if (head->dropout > 0)
            weight *= kept(head->key, (uint32_t)(i * head->n + j), head->dropout);
        for (size_t c = 0; c < head->d; c++)
            out[c] += weight * head->v[j * head->kv_stride + c];
    }
    return head->entropy * entropy + head->sparsity * (1 - squares);
}

static double exact_loss(const struct problem *p)
{
    const struct attention_train *head = &p->head;
    double *out = calloc(head->d + head->n, sizeof *out), loss = 0;
    for (size_t i = 0; i < head->m; i++) {
        loss += exact_row(head, i, out, out + head->d);
        for (size_t c = 0; c < head->d; c++)
            loss += out[c] * p->g[i * (head->d + SPARE) + c];
    }
    free(out);
    return loss;
}

/* dL / d *x by a central difference over the step that fp32 really makes. */
static double difference(const struct problem *p, float *x)
{
    const float held = *x;
    *x = held + 1e-3f;
    double up = *x, loss = exact_loss(p);
    *x = held - 1e-3f;
    double down = *x;
    loss -= exact_loss(p);
    *x = held;
    return loss / (up - down);
}

/* ---- tests ---- */

static const size_t sizes[][3] = {{1, 1, 1},    {1, 2, 3},    {1, 70, 16},  {5, 5, 8},
                                  {14, 37, 12}, {20, 33, 33}, {29, 29, 40}, {3, 101, 7}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Every number of dq and every third of dk and dv, which had other numbers before. */
static void check_gradient(struct problem *p)
{
    size_t d = p->head.d, width = 2 * d + SPARE;
    float *before = numbers_new(p->head.n * width, 1, 5);
    backward(p);
    for (size_t i = 0; i < p->head.m; i++)
        for (size_t c = 0; c < d; c++) {
            double expected = difference(p, p->qkv + i * p->stride + c);
            double got = p->dq[i * (d + SPARE) + c];
            ck_assert_msg(fabs(got - expected) < 2e-4,
                          "dq[%zu, %zu] of %zu x %zu x %zu: %g, not %g", i, c, p->head.m, p->head.n,
                          d, got, expected);
        }
    for (size_t e = 0; e < p->head.n * 2 * d; e += 3) {
        size_t j = e / (2 * d), c = e % (2 * d);
        double expected = difference(p, p->qkv + j * p->stride + d + c);
        double got = (double)p->dkv[j * width + c] - before[j * width + c];
        ck_assert_msg(fabs(got - expected) < 2e-4, "d%s[%zu, %zu] of %zu x %zu x %zu: %g, not %g",
                      c < d ? "k" : "v", j, c % d, p->head.m, p->head.n, d, got, expected);
    }
    for (size_t j = 0; j < p->head.n; j++)
        ck_assert(memcmp(p->dkv + j * width + 2 * d, before + j * width + 2 * d,
                         SPARE * sizeof(float)) == 0);
    free(before);
}

START_TEST(forward_agrees_with_the_oracle_for_every_variant_of_the_tiles)
{
    for (unsigned v = 0; gemm_variants[v] != NULL; v++)
        for (size_t i = 0; i < SIZES; i++) {
            size_t n = sizes[i][1], d = sizes[i][2];
            if (gemm_variants[v]->precision != PRECISION_F32 || !gemm_runnable(gemm_variants[v]))
                continue;
            struct problem p = new_problem(n, n, d);
            float *expected = numbers_new(n * (d + SPARE), 1, 2);
            p.head.gemm = gemm_variants[v];
            kernels_reference.attention(&(struct attention_io){.out = expected,
                                                               .out_stride = d + SPARE,
                                                               .q = p.head.q,
                                                               .k = p.head.k,
                                                               .v = p.head.v,
                                                               .q_stride = p.stride,
                                                               .kv_stride = p.stride,
                                                               .count = n,
                                                               .n = n,
                                                               .d = d,
                                                               .scratch = p.scratch});
            memset(p.scratch, 0x7F, attention_train_scratch(n, n, d) * sizeof *p.scratch);
            double regulariser = forward(&p);
            ck_assert_double_eq(regulariser, 0);
            ck_assert_msg(numbers_difference(p.out, expected, n * (d + SPARE)) < 2e-6,
                          "%s: %zu tokens of width %zu: %g", gemm_variants[v]->name, n, d,
                          numbers_difference(p.out, expected, n * (d + SPARE)));
            free(expected);
            free_problem(&p);
        }
}
END_TEST

START_TEST(forward_drops_probabilities_and_returns_the_regulariser)
{
    for (size_t i = 0; i < SIZES; i++) {
        struct problem p = new_problem(sizes[i][0], sizes[i][1], sizes[i][2]);
        double row[128], softmax[128], regulariser = 0;
        p.head.backward = &naive;
        p.head.dropout = 0.3f;
        p.head.entropy = 0.7f;
        p.head.sparsity = -1.3f;
        double got = forward(&p);
        for (size_t q = 0; q < p.head.m; q++) {
            regulariser += exact_row(&p.head, q, row, softmax);
            for (size_t c = 0; c < p.head.d; c++)
                ck_assert_double_eq_tol(p.out[q * (p.head.d + SPARE) + c], row[c], 4e-6);
        }
        ck_assert_double_eq_tol(got, regulariser, 1e-5 * (1 + fabs(regulariser)));
        free_problem(&p);
    }
}
END_TEST

START_TEST(gradients_are_those_of_finite_differences_and_dk_and_dv_are_added)
{
    for (unsigned v = 0; gemm_variants[v] != NULL; v++)
        for (size_t i = 0; i < SIZES; i++) {
            if (gemm_variants[v]->precision != PRECISION_F32 || !gemm_runnable(gemm_variants[v]))
                continue;
            struct problem p = new_problem(sizes[i][0], sizes[i][1], sizes[i][2]);
            p.head.gemm = gemm_variants[v];
            check_gradient(&p);
            free_problem(&p);
        }
}
END_TEST

START_TEST(gradients_hold_with_dropout_and_with_either_regulariser)
{
    static const float settings[][3] = {
        {0.25f, 0, 0}, {0, 0.8f, 0}, {0, 0, 0.8f}, {0.1f, -0.5f, 0.9f}};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        for (size_t i = 0; i < SIZES; i++) {
            struct problem p = new_problem(sizes[i][0], sizes[i][1], sizes[i][2]);
            p.head.backward = settings[s][0] > 0 ? &naive : &without_dropout;
            p.head.dropout = settings[s][0];
            p.head.entropy = settings[s][1];
            p.head.sparsity = settings[s][2];
            check_gradient(&p);
            free_problem(&p);
        }
}
END_TEST

/* The gradient of biases against finite differences. A bias by difference is shared by several
 * queries and keys. dbias is added to. */
static void check_bias(struct problem *p, struct attention_bias bias, float *numbers, size_t count)
{
    float *dbias = numbers_new(count, 1, 6), *before = numbers_new(count, 1, 6);
    p->head.bias = &bias;
    p->head.dbias = dbias + (bias.at - numbers);
    forward(p);
    check_gradient(p);
    for (size_t i = 0; i < count; i++) {
        double expected = difference(p, &numbers[i]), got = (double)dbias[i] - (double)before[i];
        ck_assert_msg(fabs(got - expected) < 2e-4, "db[%zu] of %zu x %zu x %zu: %g, not %g", i,
                      p->head.m, p->head.n, p->head.d, got, expected);
    }
    free(dbias), free(before);
}

START_TEST(gradients_hold_with_a_bias_and_so_does_its_own)
{
    for (size_t i = 0; i < 2 * SIZES; i++) {
        size_t m = sizes[i / 2][0], n = sizes[i / 2][1];
        struct problem p = new_problem(m, n, sizes[i / 2][2]);
        bool by_difference = i % 2 == 0;
        size_t count = by_difference ? m + n - 1 : m * n;
        float *numbers = numbers_new(count, 2, 8);
        struct attention_bias bias = {.at = numbers, .key_step = (ptrdiff_t)m};
        if (by_difference)
            bias = (struct attention_bias){.at = numbers + n - 1, .key_step = -1};
        p.head.entropy = 0.4f;
        check_bias(&p, bias, numbers, count);
        free(numbers);
        free_problem(&p);
    }
}
END_TEST

START_TEST(forward_with_a_bias_agrees_with_the_oracle)
{
    struct problem p = new_problem(29, 29, 12);
    float *numbers = numbers_new(57, 3, 8), *expected = numbers_new(29 * (12 + SPARE), 1, 2);
    struct attention_bias bias = {.at = numbers + 28, .key_step = -1};
    kernels_reference.attention(&(struct attention_io){.out = expected,
                                                       .out_stride = 12 + SPARE,
                                                       .q = p.head.q,
                                                       .k = p.head.k,
                                                       .v = p.head.v,
                                                       .q_stride = p.stride,
                                                       .kv_stride = p.stride,
                                                       .count = 29,
                                                       .n = 29,
                                                       .d = 12,
                                                       .bias = bias,
                                                       .scratch = p.scratch});
    p.head.bias = &bias;
    forward(&p);
    ck_assert_double_lt(numbers_difference(p.out, expected, 29 * (12 + SPARE)), 2e-6);
    free(numbers), free(expected);
    free_problem(&p);
}
END_TEST

/* |a - b| / |b| over `count` numbers. */
static double distance(const float *a, const float *b, size_t count)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        difference += pow((double)a[i] - b[i], 2);
        size += pow(b[i], 2);
    }
    return sqrt(difference / size);
}

/* Rounding to 8 bits costs 2^-9 a factor at most, and the factors' errors are independent. */
START_TEST(products_in_bf16_come_close_to_those_in_fp32)
{
    static const float dropouts[] = {0, 0.25f};
    for (unsigned v = 0; gemm_variants[v] != NULL; v++)
        for (size_t i = 0; i < 2 * SIZES; i++) {
            size_t m = sizes[i / 2][0], n = sizes[i / 2][1], d = sizes[i / 2][2];
            if (gemm_variants[v]->precision != PRECISION_BF16 ||
                gemm_variants[v]->tile_columns == NULL || !gemm_runnable(gemm_variants[v]))
                continue;
            struct problem p = new_problem(m, n, d), q = new_problem(m, n, d);
            p.head.backward = q.head.backward = &naive;
            p.head.dropout = q.head.dropout = dropouts[i % 2];
            p.head.gemm = gemm_variants[v];
            forward(&p), backward(&p);
            forward(&q), backward(&q);
            ck_assert_double_lt(distance(p.out, q.out, m * (d + SPARE)), 6e-3);
            ck_assert_double_lt(distance(p.dq, q.dq, m * (d + SPARE)), 1e-2);
            ck_assert_double_lt(distance(p.dkv, q.dkv, n * (2 * d + SPARE)), 1e-2);
            free_problem(&p), free_problem(&q);
        }
}
END_TEST

/* Scores of hundreds: all but one probability is zero in fp32, and its logarithm is not needed. */
START_TEST(regularisers_stay_finite_when_attention_is_one_hot)
{
    struct problem p = new_problem(6, 40, 16);
    for (size_t i = 0; i < 40 * p.stride; i++)
        p.qkv[i] *= 20;
    p.head.entropy = p.head.sparsity = 1;
    ck_assert_double_eq_tol(forward(&p), 0, 1e-2);
    backward(&p);
    for (size_t i = 0; i < 6 * (16 + SPARE); i++)
        ck_assert(isfinite(p.dq[i]));
    free_problem(&p);
}
END_TEST

/* A pass holds P and dP, K and V transposed and dealt into panels, and blocks of rows. */
START_TEST(scratch_is_no_more_than_three_times_what_a_pass_holds)
{
    static const size_t passes[][3] = {{128, 128, 64}, {64, 256, 32}, {1, 512, 64}, {300, 300, 96}};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        size_t m = passes[i][0], n = passes[i][1], d = passes[i][2];
        size_t held = 2 * m * n + 2 * d * n + d * (n + 2 * m) + GEMM_ROWS_MAX * (d + 3 * n);
        ck_assert_uint_ge(attention_train_scratch(m, n, d), held);
        ck_assert_uint_le(attention_train_scratch(m, n, d), 3 * held);
    }
}
END_TEST

SUITE("attention_train", scratch_is_no_more_than_three_times_what_a_pass_holds,
      forward_agrees_with_the_oracle_for_every_variant_of_the_tiles,
      forward_drops_probabilities_and_returns_the_regulariser,
      gradients_are_those_of_finite_differences_and_dk_and_dv_are_added,
      gradients_hold_with_dropout_and_with_either_regulariser,
      gradients_hold_with_a_bias_and_so_does_its_own, forward_with_a_bias_agrees_with_the_oracle,
      products_in_bf16_come_close_to_those_in_fp32,
      regularisers_stay_finite_when_attention_is_one_hot)
