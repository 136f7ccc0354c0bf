/* attention_train.c - see attention_train.h.
 *
 * Queries are processed in blocks of one tile's height, at most 14. The scores of a block, its
 * probabilities and their gradients are whole rows, for softmax and dropout, and stay in the first
 * two levels of the cache. A tile computes 32 columns of a block at once, dense, which are copied
 * to their rows.
 *
 *     block      S = (Q / sqrt(d)) K^T,  dP = dO V^T      k, v transposed into panels once a head
 *                O = D(P) V,  dQ = dS K                   v, k as they are, in panels
 *     after all  dV += D(P)^T dO,  dK += dS^T Q           D(P), dS [m, n] kept by the blocks and
 *                                                         read by columns; dO, Q in panels
 *
 * In bf16 the factors are rounded when they are packed, kept, or made a block's operand: rows of
 * pairs over d or over tokens. D(P) and dS are also kept as pairs over queries, so blocks have even
 * heights. All else is fp32.
 *
 * The regulariser needs log P: it is S minus its row's maximum plus the logarithm of the largest P,
 * one logarithm a row.
 */
#include "engine/tensor/backward/attention_train.h"

#include "engine/tensor/gemm/groups.h"
#include "engine/tensor/gemm/tiles.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CACHE_LINE_FLOATS = 16 };

/* The scratch. Rows of matrices [rows, columns] are an odd number of cache lines apart; panels have
 * GEMM_COLUMNS columns. */
struct work {
    const struct attention_train *head;
    size_t token_stride, width_stride; /* strides of rows of n and of d numbers */
    float *sums;                       /* [rows_max, 32] sums of a tile */
    float *queries;                    /* [rows_max, d] Q / sqrt(d) */
    float *scores, *softmax, *dropped; /* [rows_max, n] rows of a block */
    void *rounded;                     /* bf16: [rows_max, n] or [n, d], for the next step */
    void *key_columns, *value_columns; /* K^T, V^T [d, n] as panels */
    void *keys, *values;               /* K, V [n, d] as panels; share one place */
    void *query_panels, *dout_panels;  /* Q, dO [m, d] */
    void *dropped_kept, *dscores_kept; /* D(P), dS [groups of m, n] */
};

/* Rows [first, first + rows) of the queries. */
struct block {
    const struct work *work;
    size_t first, rows;
};

static bool is_bf16(const struct work *work)
{
    return work->head->gemm->precision == PRECISION_BF16;
}

/* Returns the groups of n numbers. */
static size_t groups_of(const struct work *work, size_t n)
{
    return is_bf16(work) ? (n + 1) / 2 : n;
}

/* ---- scratch ---- */

static size_t row_stride(size_t columns)
{
    return operand_stride(columns, sizeof(float)) / sizeof(float);
}

/* Floats of [n, d] or of a block [rows_max, n] or [rows_max, d] in bf16. */
static size_t rounded_floats(size_t n, size_t d)
{
    size_t all = n * operand_stride(d, 2), block = GEMM_ROWS_MAX * operand_stride(n > d ? n : d, 2);
    return (all > block ? all : block) / sizeof(float);
}

size_t attention_train_scratch(size_t queries_max, size_t tokens_max, size_t d)
{
    size_t block = GEMM_ROWS_MAX * (GEMM_COLUMNS + row_stride(d) + 3 * row_stride(tokens_max));
    size_t panels =
        2 * d * gemm_padded(tokens_max) + gemm_padded(d) * (tokens_max + 2 * queries_max);
    size_t kept = 2 * queries_max * row_stride(tokens_max);
    return block + rounded_floats(tokens_max, d) + panels + kept;
}

static float *take(float **scratch, size_t floats)
{
    float *taken = *scratch;
    *scratch += floats;
    return taken;
}

static struct work lay_out(const struct attention_train *head, float *scratch)
{
    size_t m = head->m, n = head->n, d = head->d;
    float *end = scratch;
    struct work work = {.head = head, .token_stride = row_stride(n), .width_stride = row_stride(d)};
    work.sums = take(&end, GEMM_ROWS_MAX * GEMM_COLUMNS);
    work.queries = take(&end, GEMM_ROWS_MAX * work.width_stride);
    work.scores = take(&end, GEMM_ROWS_MAX * work.token_stride);
    work.softmax = take(&end, GEMM_ROWS_MAX * work.token_stride);
    work.dropped = take(&end, GEMM_ROWS_MAX * work.token_stride);
    work.rounded = take(&end, rounded_floats(n, d));
    work.key_columns = take(&end, d * gemm_padded(n));
    work.value_columns = take(&end, d * gemm_padded(n));
    work.keys = work.values = take(&end, gemm_padded(d) * n);
    work.query_panels = take(&end, gemm_padded(d) * m);
    work.dout_panels = take(&end, gemm_padded(d) * m);
    work.dropped_kept = take(&end, m * work.token_stride);
    work.dscores_kept = take(&end, m * work.token_stride);
    assert((size_t)(end - scratch) <= attention_train_scratch(m, n, d));
    assert((uintptr_t)scratch % (CACHE_LINE_FLOATS * sizeof *scratch) == 0);
    return work;
}

/* ---- operands ---- */

/* Returns x [rows, width] as an operand: x itself, or a rounded copy, valid until the next call. */
static struct operand operand_of(const struct work *work, const float *x, size_t x_stride,
                                 size_t rows, size_t width)
{
    struct operand operand = {
        .precision = PRECISION_BF16, .data = work->rounded, .stride = operand_stride(width, 2)};
    if (!is_bf16(work))
        return operand_f32(x, x_stride);
    for (size_t r = 0; r < rows; r++) {
        operand_store(&operand, work->head->kernels, r, x + r * x_stride, width);
        if (width % 2 != 0)
            ((uint16_t *)operand_from(&operand, r).data)[width] = 0;
    }
    return operand;
}

/* Packs X^T [d, n] of x [n, d] into panels. */
static void pack_columns(const struct work *work, void *panels, const float *x, size_t x_stride)
{
    size_t n = work->head->n, d = work->head->d, groups = groups_of(work, d);
    struct operand operand = operand_of(work, x, x_stride, n, d);
    groups_to_panels_transposed(panels, groups, operand.data, operand.stride / GEMM_GROUP_BYTES,
                                groups, n);
}

/* Packs x [rows, d] into panels. */
static void pack_rows(const struct work *work, void *panels, const float *x, size_t x_stride,
                      size_t rows)
{
    if (is_bf16(work))
        groups_pairs_to_panels(panels, groups_of(work, rows), x, x_stride, rows, work->head->d);
    else
        groups_to_panels(panels, rows, x, x_stride, rows, work->head->d);
}

/* Keeps the block's rows of a matrix [m, n], which are later read by columns. An odd last row is
 * paired with itself; its second half is multiplied by the zeros behind the panels' odd last
 * row. */
static void keep_rows(const struct block *block, void *kept, const float *rows)
{
    const struct work *work = block->work;
    size_t n = work->head->n, stride = work->token_stride, step = is_bf16(work) ? 2 : 1;
    uint32_t *to = (uint32_t *)kept + block->first / step * stride;
    for (size_t r = 0; r < block->rows; r += step, to += stride) {
        const float *row = rows + r * stride;
        if (step == 2)
            work->head->kernels->pair_bf16(to, row, r + 1 < block->rows ? row + stride : row, n);
        else
            memcpy(to, row, n * sizeof *row);
    }
}

/* ---- products ---- */

/* c [rows, n] = a [rows, k] panels [k, n], rows <= rows_max. */
static void multiply(const struct work *work, float *c, size_t c_stride, struct operand a,
                     size_t rows, const void *panels, size_t k, size_t n)
{
    const struct tiles tiles = {work->head->gemm, work->sums};
    tiles_rows(&tiles, c, c_stride, a.data, a.stride, rows, panels, groups_of(work, k), n);
}

/* sum [n, d] += kept [m, n]^T panels [m, d] */
static void add_product(const struct work *work, float *sum, size_t sum_stride, const void *kept,
                        const void *panels)
{
    const struct attention_train *head = work->head;
    const struct tiles tiles = {head->gemm, work->sums};
    tiles_columns(&tiles, sum, sum_stride, kept, work->token_stride * sizeof(float), head->n,
                  panels, groups_of(work, head->m), head->d);
}

/* ---- a block of queries, row by row ---- */

/* Returns sqrt(d), or sqrt(terms d) if scores are a sum of several terms, or 1. */
static float divisor_of(const struct attention_train *head)
{
    if (head->is_unscaled)
        return 1;
    return sqrtf((float)(head->d * (head->terms > 0 ? head->terms : 1)));
}

static float scale_of(const struct attention_train *head)
{
    return 1.0f / divisor_of(head);
}

/* Returns the number of global keys, which are in front of the bias' keys: 0 or 1. */
static size_t front_keys(const struct attention_train *head)
{
    return head->bias != NULL && head->bias->global_rows > 0;
}

/* scores += B */
static void add_bias(const struct block *block)
{
    const struct work *work = block->work;
    const struct attention_bias *bias = work->head->bias;
    for (size_t r = 0; r < block->rows; r++) {
        const size_t front = front_keys(work->head);
        float *scores = work->scores + r * work->token_stride + front;
        for (size_t j = 0; j + front < work->head->n; j++)
            scores[j] += attention_bias_key(bias, j)[block->first + r];
    }
}

/* dB += divisor dS; the scores were divided by divisor_of */
static void add_dbias(const struct block *block, const float *dscores)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    const float scale = divisor_of(head);
    for (size_t r = 0; r < block->rows; r++, dscores += work->token_stride) {
        float *dbias = head->dbias + block->first + r;
        for (size_t j = 0; j < head->n; j++)
            dbias[(ptrdiff_t)j * head->bias->key_step] += scale * dscores[j];
    }
}

/* Makes the probabilities of masked keys zero. As the softmax writes them they are denormal
 * numbers, and so are their products, for each of which an Intel core takes some 100 cycles. */
static void drop_masked(float *p, size_t n)
{
    for (size_t j = 0; j < n; j++)
        p[j] = p[j] < 1e-30f ? 0 : p[j];
}

/* Computes P of the block; its scores stay. */
static void attend(const struct block *block)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    const float scale = scale_of(head);
    for (size_t r = 0; r < block->rows; r++)
        for (size_t c = 0; c < head->d; c++)
            work->queries[r * work->width_stride + c] =
                head->q[(block->first + r) * head->q_stride + c] * scale;
    multiply(work, work->scores, work->token_stride,
             operand_of(work, work->queries, work->width_stride, block->rows, head->d), block->rows,
             work->key_columns, head->d, head->n);
    if (head->bias != NULL)
        add_bias(block);
    for (size_t r = 0; r < block->rows; r++) {
        float *p = work->softmax + r * work->token_stride;
        head->kernels->softmax(p, work->scores + r * work->token_stride, head->n);
        if (head->bias != NULL)
            drop_masked(p, head->n);
    }
}

/* Returns the mask's index of query i and its first key that is not global. */
static uint32_t mask_index(const struct attention_train *head, size_t i)
{
    const struct attention_train_mask *mask = &head->mask;
    size_t tokens = mask->tokens > 0 ? mask->tokens : head->n;
    return (uint32_t)((mask->first_query + i) * tokens + mask->first_key);
}

/* y = D(x) by rows; returns x itself if there is no dropout. */
static float *drop(const struct block *block, float *y, float *x)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    if (head->dropout <= 0)
        return x;
    const size_t front = front_keys(head);
    for (size_t r = 0; r < block->rows; r++) {
        float *to = y + r * work->token_stride;
        const float *from = x + r * work->token_stride;
        uint32_t index = mask_index(head, block->first + r);
        if (front > 0)
            head->backward->dropout(to, from, front, head->key,
                                    index - (uint32_t)head->mask.first_key, head->dropout);
        head->backward->dropout(to + front, from + front, head->n - front, head->key, index,
                                head->dropout);
    }
    return y;
}

/* log P_j = S_j + the number returned. */
static float log_offset(const float *scores, const float *softmax, size_t n)
{
    size_t top = 0;
    for (size_t j = 1; j < n; j++)
        top = scores[j] > scores[top] ? j : top;
    return logf(softmax[top]) - scores[top];
}

static bool is_regularised(const struct attention_train *head)
{
    return head->entropy != 0 || head->sparsity != 0;
}

/* Returns R of the block. */
static double regulariser(const struct block *block)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    double entropy = 0, sparsity = 0;
    for (size_t r = 0; r < block->rows; r++) {
        const float *s = work->scores + r * work->token_stride;
        const float *p = work->softmax + r * work->token_stride;
        float offset = log_offset(s, p, head->n);
        double squares = 0;
        for (size_t j = 0; j < head->n; j++) {
            entropy -= p[j] * (s[j] + offset);
            squares += p[j] * p[j];
        }
        sparsity += 1 - squares;
    }
    return head->entropy * entropy + head->sparsity * sparsity;
}

/* dp += dR/dP = entropy (-log P - 1) - 2 sparsity P. */
static void add_regulariser(const struct block *block, float *dp)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    const float entropy = head->entropy, sparsity = head->sparsity;
    for (size_t r = 0; r < block->rows; r++, dp += work->token_stride) {
        const float *s = work->scores + r * work->token_stride;
        const float *p = work->softmax + r * work->token_stride;
        float offset = log_offset(s, p, head->n) + 1;
        for (size_t j = 0; j < head->n; j++)
            dp[j] -= entropy * (s[j] + offset) + 2 * sparsity * p[j];
    }
}

/* ---- passes ---- */

/* Returns block b of the queries. Blocks have nearly equal heights, even except for the last. */
static struct block block_at(const struct work *work, size_t b, size_t blocks)
{
    size_t m = work->head->m, pairs = (m + 1) / 2;
    size_t first = pairs * b / blocks * 2, last = pairs * (b + 1) / blocks * 2;
    return (struct block){work, first, (last < m ? last : m) - first};
}

static size_t count_blocks(const struct attention_train *head)
{
    size_t pairs = (head->m + 1) / 2, largest = head->gemm->rows_max / 2;
    return (pairs + largest - 1) / largest;
}

double attention_train_forward(const struct attention_train *head, float *out, size_t out_stride,
                               float *scratch)
{
    const struct work work = lay_out(head, scratch);
    size_t blocks = count_blocks(head);
    double total = 0;
    pack_columns(&work, work.key_columns, head->k, head->kv_stride);
    pack_rows(&work, work.values, head->v, head->kv_stride, head->n);
    for (size_t b = 0; b < blocks; b++) {
        const struct block block = block_at(&work, b, blocks);
        attend(&block);
        if (is_regularised(head))
            total += regulariser(&block);
        const float *dropped = drop(&block, work.dropped, work.softmax);
        multiply(&work, out + block.first * out_stride, out_stride,
                 operand_of(&work, dropped, work.token_stride, block.rows, head->n), block.rows,
                 work.values, head->n, head->d);
    }
    return total;
}

/* Computes D(P) and dS of a block, which are kept, and dQ. */
static void block_backward(const struct block *block, const float *dout, size_t dout_stride,
                           float *dq, size_t dq_stride)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    float *gradient = work->dropped; /* dP, then dS */
    attend(block);
    keep_rows(block, work->dropped_kept, drop(block, work->dropped, work->softmax));
    multiply(work, gradient, work->token_stride,
             operand_of(work, dout + block->first * dout_stride, dout_stride, block->rows, head->d),
             block->rows, work->value_columns, head->d, head->n);
    drop(block, gradient, gradient);
    if (is_regularised(head))
        add_regulariser(block, gradient);
    for (size_t r = 0; r < block->rows; r++) {
        float *row = gradient + r * work->token_stride;
        head->backward->softmax(row, work->softmax + r * work->token_stride, row, head->n,
                                scale_of(head));
    }
    if (head->dbias != NULL)
        add_dbias(block, gradient);
    keep_rows(block, work->dscores_kept, gradient);
    multiply(work, dq + block->first * dq_stride, dq_stride,
             operand_of(work, gradient, work->token_stride, block->rows, head->n), block->rows,
             work->keys, head->n, head->d);
}

void attention_train_backward(const struct attention_train *head, const float *dout,
                              size_t dout_stride, float *dq, size_t dq_stride, float *dk, float *dv,
                              size_t dkv_stride, float *scratch)
{
    const struct work work = lay_out(head, scratch);
    size_t blocks = count_blocks(head);
    pack_columns(&work, work.key_columns, head->k, head->kv_stride);
    pack_columns(&work, work.value_columns, head->v, head->kv_stride);
    pack_rows(&work, work.keys, head->k, head->kv_stride, head->n);
    pack_rows(&work, work.query_panels, head->q, head->q_stride, head->m);
    pack_rows(&work, work.dout_panels, dout, dout_stride, head->m);
    for (size_t b = 0; b < blocks; b++) {
        const struct block block = block_at(&work, b, blocks);
        block_backward(&block, dout, dout_stride, dq, dq_stride);
    }
    add_product(&work, dv, dkv_stride, work.dropped_kept, work.dout_panels);
    add_product(&work, dk, dkv_stride, work.dscores_kept, work.query_panels);
}
