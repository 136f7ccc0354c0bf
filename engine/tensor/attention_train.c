/* attention_train.c - see attention_train.h.
 *
 * Queries go by in blocks of one tile's height, at most 14: the scores of a block, its
 * probabilities and their gradients are whole rows, as softmax and dropout want them, and stay in
 * the first two levels of the cache. A tile gives 32 columns of a block at once, dense, which are
 * copied to their rows.
 *
 *     block      S = (Q / sqrt(d)) K^T,  dP = dO V^T      k, v transposed into panels once a head
 *                O = D(P) V,  dQ = dS K                   v, k as they are, in panels
 *     after all  dV^T = dO^T D(P),  dK^T = Q^T dS         D(P), dS [m, n] left in panels by the
 *                                                         blocks; transposed when added, which
 *                                                         moves n d numbers and not n m
 *
 * The regulariser needs log P: it is S minus its row's maximum plus the logarithm of the largest P,
 * one logarithm a row.
 */
#include "engine/tensor/attention_train.h"

#include "engine/tensor/groups.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CACHE_LINE_FLOATS = 16 };

/* The scratch. Matrices [rows, columns] have odd numbers of cache lines from row to row; panels are
 * of GEMM_COLUMNS columns. */
struct work {
    const struct attention_train *head;
    size_t token_stride, query_stride, width_stride; /* of rows of n, m and d numbers */
    size_t tokens_padded;
    float *sums;                            /* [rows_max, 32] of a tile */
    float *queries;                         /* [rows_max, d] Q / sqrt(d) */
    float *scores, *softmax, *dropped;      /* [rows_max, n] of a block */
    float *key_columns, *value_columns;     /* K^T, V^T [d, n] as panels */
    float *keys, *values;                   /* K, V [n, d] as panels; share one place */
    float *query_rows, *dout_rows;          /* Q^T, dO^T [d, m] */
    float *dropped_panels, *dscores_panels; /* D(P), dS [m, n] */
};

/* Rows [first, first + rows) of the queries. */
struct block {
    const struct work *work;
    size_t first, rows;
};

/* ---- scratch ---- */

static size_t padded(size_t columns)
{
    return (columns + GEMM_COLUMNS - 1) / GEMM_COLUMNS * GEMM_COLUMNS;
}

static size_t row_stride(size_t columns)
{
    return operand_stride(columns, sizeof(float)) / sizeof(float);
}

size_t attention_train_scratch(size_t queries_max, size_t tokens_max, size_t d)
{
    size_t block = GEMM_ROWS_MAX * (GEMM_COLUMNS + row_stride(d) + 3 * row_stride(tokens_max));
    size_t panels = 2 * d * padded(tokens_max) + padded(d) * tokens_max;
    return block + panels + 2 * d * row_stride(queries_max) + 2 * queries_max * padded(tokens_max);
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
    struct work work = {.head = head,
                        .token_stride = row_stride(n),
                        .query_stride = row_stride(m),
                        .width_stride = row_stride(d),
                        .tokens_padded = padded(n)};
    work.sums = take(&end, GEMM_ROWS_MAX * GEMM_COLUMNS);
    work.queries = take(&end, GEMM_ROWS_MAX * work.width_stride);
    work.scores = take(&end, GEMM_ROWS_MAX * work.token_stride);
    work.softmax = take(&end, GEMM_ROWS_MAX * work.token_stride);
    work.dropped = take(&end, GEMM_ROWS_MAX * work.token_stride);
    work.key_columns = take(&end, d * work.tokens_padded);
    work.value_columns = take(&end, d * work.tokens_padded);
    work.keys = work.values = take(&end, padded(d) * n);
    work.query_rows = take(&end, d * work.query_stride);
    work.dout_rows = take(&end, d * work.query_stride);
    work.dropped_panels = take(&end, m * work.tokens_padded);
    work.dscores_panels = take(&end, m * work.tokens_padded);
    assert((size_t)(end - scratch) <= attention_train_scratch(m, n, d));
    assert((uintptr_t)scratch % (CACHE_LINE_FLOATS * sizeof *scratch) == 0);
    return work;
}

/* ---- products ---- */

/* c [rows, n] = a [rows, groups] panels [groups, n], rows <= rows_max. */
static void multiply(const struct work *work, float *c, size_t c_stride, const float *a,
                     size_t a_stride, size_t rows, const float *panels, size_t groups, size_t n)
{
    for (size_t first = 0; first < n; first += GEMM_COLUMNS, c += GEMM_COLUMNS) {
        size_t columns = n - first < GEMM_COLUMNS ? n - first : GEMM_COLUMNS;
        const float *panel = panels + first * groups;
        work->head->gemm->tile(work->sums, a, a_stride * sizeof *a, panel, groups, panel,
                               (unsigned)rows, false);
        for (size_t r = 0; r < rows; r++) {
            const float *sums = work->sums + r * GEMM_COLUMNS;
            if (columns == GEMM_COLUMNS)
                memcpy(c + r * c_stride, sums, GEMM_COLUMNS * sizeof *c);
            else
                memcpy(c + r * c_stride, sums, columns * sizeof *c);
        }
    }
}

/* sum [n, d] += (a [d, m] panels [m, n])^T. The product and its transposition take the places of
 * K^T and V^T. */
static void add_transposed(const struct work *work, float *sum, size_t sum_stride, const float *a,
                           const float *panels)
{
    const struct attention_train *head = work->head;
    size_t d = head->d, rows_max = head->gemm->rows_max, tiles = (d + rows_max - 1) / rows_max;
    for (size_t t = 0; t < tiles; t++) {
        size_t row = d * t / tiles, rows = d * (t + 1) / tiles - row;
        multiply(work, work->key_columns + row * work->tokens_padded, work->tokens_padded,
                 a + row * work->query_stride, work->query_stride, rows, panels, head->m, head->n);
    }
    groups_transpose(work->value_columns, d, work->key_columns, work->tokens_padded, d, head->n);
    for (size_t j = 0; j < head->n; j++)
        for (size_t c = 0; c < d; c++)
            sum[j * sum_stride + c] += work->value_columns[j * d + c];
}

/* ---- a block of queries, row by row ---- */

static float scale_of(const struct attention_train *head)
{
    return 1.0f / sqrtf((float)head->d);
}

/* P of the block; its scores stay. */
static void attend(const struct block *block)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    const float scale = scale_of(head);
    for (size_t r = 0; r < block->rows; r++)
        for (size_t c = 0; c < head->d; c++)
            work->queries[r * work->width_stride + c] =
                head->q[(block->first + r) * head->q_stride + c] * scale;
    multiply(work, work->scores, work->token_stride, work->queries, work->width_stride, block->rows,
             work->key_columns, head->d, head->n);
    for (size_t r = 0; r < block->rows; r++)
        head->kernels->softmax(work->softmax + r * work->token_stride,
                               work->scores + r * work->token_stride, head->n);
}

/* y = D(x) by rows; returns x itself if there is no dropout. */
static float *drop(const struct block *block, float *y, float *x)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    if (head->dropout <= 0)
        return x;
    for (size_t r = 0; r < block->rows; r++)
        head->backward->dropout(y + r * work->token_stride, x + r * work->token_stride, head->n,
                                head->key, (uint32_t)((block->first + r) * head->n), head->dropout);
    return y;
}

/* The block's rows of a matrix [m, n] in panels; behind the last column zeros. */
static void leave_in_panels(const struct block *block, float *panels, const float *rows)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    groups_to_panels(panels + block->first * GEMM_COLUMNS, head->m, rows, work->token_stride,
                     block->rows, head->n);
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

/* R of the block. */
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

/* Block b of the queries, in blocks of nearly equal height. */
static struct block block_at(const struct work *work, size_t b, size_t blocks)
{
    size_t first = work->head->m * b / blocks;
    return (struct block){work, first, work->head->m * (b + 1) / blocks - first};
}

static size_t count_blocks(const struct attention_train *head)
{
    return (head->m + head->gemm->rows_max - 1) / head->gemm->rows_max;
}

double attention_train_forward(const struct attention_train *head, float *out, size_t out_stride,
                               float *scratch)
{
    const struct work work = lay_out(head, scratch);
    size_t blocks = count_blocks(head);
    double total = 0;
    groups_to_panels_transposed(work.key_columns, head->d, head->k, head->kv_stride, head->d,
                                head->n);
    groups_to_panels(work.values, head->n, head->v, head->kv_stride, head->n, head->d);
    for (size_t b = 0; b < blocks; b++) {
        const struct block block = block_at(&work, b, blocks);
        attend(&block);
        if (is_regularised(head))
            total += regulariser(&block);
        multiply(&work, out + block.first * out_stride, out_stride,
                 drop(&block, work.dropped, work.softmax), work.token_stride, block.rows,
                 work.values, head->n, head->d);
    }
    return total;
}

/* dS of a block into its place in the panels, and dQ. */
static void block_backward(const struct block *block, const float *dout, size_t dout_stride,
                           float *dq, size_t dq_stride)
{
    const struct work *work = block->work;
    const struct attention_train *head = work->head;
    float *gradient = work->dropped; /* of P, then of S */
    attend(block);
    leave_in_panels(block, work->dropped_panels, drop(block, work->dropped, work->softmax));
    multiply(work, gradient, work->token_stride, dout + block->first * dout_stride, dout_stride,
             block->rows, work->value_columns, head->d, head->n);
    drop(block, gradient, gradient);
    if (is_regularised(head))
        add_regulariser(block, gradient);
    for (size_t r = 0; r < block->rows; r++) {
        float *row = gradient + r * work->token_stride;
        head->backward->softmax(row, work->softmax + r * work->token_stride, row, head->n,
                                scale_of(head));
    }
    leave_in_panels(block, work->dscores_panels, gradient);
    multiply(work, dq + block->first * dq_stride, dq_stride, gradient, work->token_stride,
             block->rows, work->keys, head->n, head->d);
}

void attention_train_backward(const struct attention_train *head, const float *dout,
                              size_t dout_stride, float *dq, size_t dq_stride, float *dk, float *dv,
                              size_t dkv_stride, float *scratch)
{
    const struct work work = lay_out(head, scratch);
    size_t m = head->m, n = head->n, d = head->d, blocks = count_blocks(head);
    groups_to_panels_transposed(work.key_columns, d, head->k, head->kv_stride, d, n);
    groups_to_panels_transposed(work.value_columns, d, head->v, head->kv_stride, d, n);
    groups_to_panels(work.keys, n, head->k, head->kv_stride, n, d);
    groups_transpose(work.query_rows, work.query_stride, head->q, head->q_stride, m, d);
    groups_transpose(work.dout_rows, work.query_stride, dout, dout_stride, m, d);
    for (size_t b = 0; b < blocks; b++) {
        const struct block block = block_at(&work, b, blocks);
        block_backward(&block, dout, dout_stride, dq, dq_stride);
    }
    add_transposed(&work, dv, dkv_stride, work.dout_rows, work.dropped_panels);
    add_transposed(&work, dk, dkv_stride, work.query_rows, work.dscores_panels);
}
