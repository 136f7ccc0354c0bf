/* relative_scores.c - see relative_scores.h. A table begins a whole number of panels below distance
 * zero, enough for the farthest distance, so panel p has the distances from GEMM_COLUMNS (p - side)
 * on. The table of keys is ordered by key minus query, that of queries by query minus key: in both
 * products the numbers side by side are then in the order of use. */
#include "engine/tensor/gemm/relative_scores.h"

#include "engine/tensor/gemm/groups.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tile's sums, [GEMM_ROWS_MAX, GEMM_COLUMNS], and the sums of a tile of keys side by side: their
 * distances to a block fill at most three panels. */
enum {
    SUMS = GEMM_ROWS_MAX * GEMM_COLUMNS,
    WIDE = 3 * GEMM_COLUMNS,
};
_Static_assert(GEMM_ROWS_MAX + ATTENTION_QUERIES <= 2 * GEMM_COLUMNS, "three panels at most");
_Static_assert((int)ATTENTION_QUERIES == (int)GEMM_COLUMNS, "32 keys meet 32 queries");

static size_t groups_of(const struct gemm *gemm, size_t d)
{
    size_t bytes = d * precision_bytes(gemm->precision);
    return (bytes + GEMM_GROUP_BYTES - 1) / GEMM_GROUP_BYTES;
}

/* Returns the floats of one head's table: distances below zero and from zero on. */
static size_t head_floats(const struct gemm *gemm, size_t d, size_t tokens_max)
{
    return 2 * gemm_padded(tokens_max) * groups_of(gemm, d);
}

size_t relative_scores_floats(const struct gemm *gemm, size_t heads, size_t d, size_t tokens_max)
{
    return heads * head_floats(gemm, d, tokens_max);
}

/* Returns the floats of a row of the queries' product: most panels that a block's distances
 * fill. */
static size_t row_floats(size_t n)
{
    return gemm_padded(n) + 2 * GEMM_COLUMNS;
}

size_t relative_scores_scratch(size_t n)
{
    size_t product = ATTENTION_QUERIES * row_floats(n), wide = GEMM_ROWS_MAX * WIDE;
    return SUMS + (product > wide ? product : wide);
}

/* ---- tables ---- */

/* Writes one row of a panel before it is transposed: d numbers times the factor, rounded in
 * bf16. */
static void place_row(const struct gemm *gemm, float *to, const float *from, size_t d, float factor,
                      float *scaled)
{
    for (size_t c = 0; c < d; c++)
        scaled[c] = from[c] * factor;
    if (gemm->precision == PRECISION_BF16)
        kernels_best()->round_bf16((uint16_t *)(void *)to, scaled, d);
    else
        memcpy(to, scaled, d * sizeof *to);
}

void relative_scores_pack(struct relative_scores *scores, float *table, enum relative_side side,
                          const float *rows, size_t stride, const unsigned *row_of, float *room)
{
    const size_t d = scores->d, groups = groups_of(scores->gemm, d);
    const size_t head_step = head_floats(scores->gemm, d, scores->tokens_max);
    const float factor = 1.0f / sqrtf((float)d);
    const long farthest = (long)gemm_padded(scores->tokens_max), tokens = (long)scores->tokens_max;
    const long sign = side == RELATIVE_KEYS ? -1 : 1;
    assert(scores->gemm->precision == PRECISION_F32 || d % 2 == 0);
    for (size_t h = 0; h < scores->heads; h++)
        for (long t = -farthest; t < farthest; t += GEMM_COLUMNS) {
            memset(room, 0, GEMM_COLUMNS * d * sizeof *room);
            for (long c = 0; c < GEMM_COLUMNS; c++)
                if (labs(t + c) < tokens)
                    place_row(scores->gemm, room + (size_t)c * d,
                              rows + row_of[sign * (t + c)] * stride + h * d, d, factor,
                              room + GEMM_COLUMNS * d);
            groups_to_panels_transposed(table + h * head_step + (size_t)(t + farthest) * groups,
                                        groups, room, d, groups, GEMM_COLUMNS);
        }
    scores->tables[side] = table;
}

/* ---- products ---- */

/* One table of one head, and a matrix whose rows are multiplied with its panels. */
struct meeting {
    const struct gemm *gemm;
    const float *panels;
    size_t groups;
    size_t zero; /* the column of distance 0: a whole number of panels */
    const char *rows;
    size_t stride;
    float *sums;
};

static struct meeting meet(const struct relative_scores *scores, enum relative_side side,
                           size_t head, const void *rows, size_t stride, float *sums)
{
    size_t head_step = head_floats(scores->gemm, scores->d, scores->tokens_max);
    return (struct meeting){.gemm = scores->gemm,
                            .panels = scores->tables[side] + head * head_step,
                            .groups = groups_of(scores->gemm, scores->d),
                            .zero = gemm_padded(scores->tokens_max),
                            .rows = rows,
                            .stride = stride,
                            .sums = sums};
}

/* sums = rows [first, first + count) times the panel that begins at `column`. */
static void multiply(const struct meeting *meeting, size_t first, size_t count, size_t column)
{
    const float *panel = meeting->panels + column * meeting->groups;
    const struct gemm_ahead ahead =
        gemm_share(panel + GEMM_COLUMNS * meeting->groups, meeting->groups, 0, 1);
    meeting->gemm->tile(meeting->sums, meeting->rows + first * meeting->stride, meeting->stride,
                        panel, meeting->groups, &ahead, (unsigned)count, false);
}

/* Returns the first row of tile `at`, when `count` rows are cut into nearly equal tiles. */
static size_t tile_begin(const struct gemm *gemm, size_t count, size_t at, size_t *tiles)
{
    *tiles = (count + gemm->rows_max - 1) / gemm->rows_max;
    return count * at / *tiles;
}

/* out = q . kr: product [count, columns] of all distances of the block, then transposed. */
static void add_keys(const struct meeting *meeting, size_t first, size_t count, size_t n,
                     float *out, float *product)
{
    const size_t lowest = meeting->zero - (first + count - 1), row = row_floats(n);
    const size_t begin = lowest / GEMM_COLUMNS * GEMM_COLUMNS, end = meeting->zero + n - first;
    size_t tiles;
    for (size_t column = begin; column < end; column += GEMM_COLUMNS)
        for (size_t at = 0, i = 0, next; i < count; at++, i = next) {
            next = tile_begin(meeting->gemm, count, at + 1, &tiles);
            multiply(meeting, i, next - i, column);
            for (size_t r = i; r < next; r++)
                memcpy(product + r * row + (column - begin), meeting->sums + (r - i) * GEMM_COLUMNS,
                       GEMM_COLUMNS * sizeof *product);
        }
    /* Query i and key j meet at column zero + j - first - i. */
    groups_transpose(out, ATTENTION_QUERIES, product + (meeting->zero - first - begin), row - 1,
                     count, n);
}

/* Multiplies a tile of keys, [j, j + rows), with the panels of their distances: `wide` [rows, WIDE]
 * begins with column *begin. */
static void gather_panels(const struct meeting *meeting, size_t j, size_t rows, size_t first,
                          size_t count, float *wide, size_t *begin)
{
    const size_t lowest = meeting->zero + first - (j + rows - 1);
    const size_t end = meeting->zero + first + count - j;
    *begin = lowest / GEMM_COLUMNS * GEMM_COLUMNS;
    for (size_t column = *begin; column < end; column += GEMM_COLUMNS) {
        multiply(meeting, j, rows, column);
        for (size_t r = 0; r < rows; r++)
            memcpy(wide + r * WIDE + (column - *begin), meeting->sums + r * GEMM_COLUMNS,
                   GEMM_COLUMNS * sizeof *wide);
    }
}

/* out += k . qr: query first + i and key j meet at column zero + first + i - j. Takes so many keys
 * at a time that two panels hold their distances to a whole block. Sums behind the last query are
 * ignored; they save a loop of varying length. */
static void add_queries(const struct meeting *meeting, size_t first, size_t count, size_t n,
                        float *out, float *wide)
{
    size_t tiles, begin;
    for (size_t chunk = 0; chunk < n; chunk += GEMM_COLUMNS) {
        size_t keys = n - chunk < GEMM_COLUMNS ? n - chunk : GEMM_COLUMNS;
        for (size_t at = 0, j = chunk, next; j < chunk + keys; at++, j = next) {
            next = chunk + tile_begin(meeting->gemm, keys, at + 1, &tiles);
            gather_panels(meeting, j, next - j, first, count, wide, &begin);
            for (size_t key = j; key < next; key++) {
                const float *from = wide + (key - j) * WIDE + (meeting->zero + first - key - begin);
                float *to = out + key * ATTENTION_QUERIES;
                for (size_t i = 0; i < ATTENTION_QUERIES; i++)
                    to[i] += from[i];
            }
        }
    }
}

void relative_scores_run(const struct relative_scores *scores, size_t head, const void *q,
                         const void *k, size_t stride, size_t first, size_t count, size_t n,
                         float *out, float *scratch)
{
    assert(count <= ATTENTION_QUERIES && first + count <= n && n <= scores->tokens_max);
    if (scores->tables[RELATIVE_KEYS] != NULL) {
        const struct meeting keys = meet(scores, RELATIVE_KEYS, head, q, stride, scratch);
        add_keys(&keys, first, count, n, out, scratch + SUMS);
    } else {
        memset(out, 0, n * ATTENTION_QUERIES * sizeof *out);
    }
    if (scores->tables[RELATIVE_QUERIES] != NULL) {
        const struct meeting queries = meet(scores, RELATIVE_QUERIES, head, k, stride, scratch);
        add_queries(&queries, first, count, n, out, scratch + SUMS);
    }
}
