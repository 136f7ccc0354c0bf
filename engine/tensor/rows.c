/* rows.c - A of a product, packed; see product.h.
 *
 * What is packed is written to the end of each row's last cache line, zeros behind the last number:
 * a buffer that is used for another shape holds nothing of the one before.
 */
#include "engine/tensor/groups.h"
#include "engine/tensor/product.h"

#include <assert.h>
#include <string.h>

enum { STRETCH = 64, STRIP = 64 };

struct packing {
    const struct operand *operand;
    const float *x;
    size_t x_stride;
    size_t m, k;
    size_t per_group, groups;
};

enum err_code rows_alloc(struct rows *out, struct arena *arena, enum precision precision,
                         size_t rows_max, size_t width_max, struct err *err)
{
    size_t stride = operand_stride(width_max, precision_bytes(precision));
    *out = (struct rows){.precision = precision, .bytes_max = rows_max * stride};
    out->data = arena_alloc_array(arena, rows_max, stride);
    return out->data != NULL ? ERR_OK : err_no_memory(err, out->bytes_max);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char *row_of(const struct packing *packing, size_t row)
{
    return (char *)packing->operand->data + row * packing->operand->stride;
}

static void clear_rest(const struct packing *packing, size_t row)
{
    size_t bytes = packing->k * precision_bytes(packing->operand->precision);
    memset(row_of(packing, row) + bytes, 0, packing->operand->stride - bytes);
}

/* ---- x as it lies ---- */

static void share_rows(void *context, unsigned index, unsigned count)
{
    const struct packing *packing = context;
    for (size_t r = packing->m * index / count; r < packing->m * (index + 1) / count; r++) {
        operand_store(packing->operand, kernels_best(), r, packing->x + r * packing->x_stride,
                      packing->k);
        clear_rest(packing, r);
    }
}

/* ---- x transposed ---- */

/* Groups [first, first + count) of the rows [row, row + rows), rows <= STRIP. */
static void transpose_pairs(const struct packing *packing, size_t first, size_t count, size_t row,
                            size_t rows)
{
    uint32_t pairs[STRETCH][STRIP];
    for (size_t g = 0; g < count; g++) {
        const float *low = packing->x + 2 * (first + g) * packing->x_stride + row;
        bool is_odd = 2 * (first + g) + 1 == packing->k;
        groups_pair(pairs[g], low, is_odd ? NULL : low + packing->x_stride, rows);
    }
    groups_transpose(row_of(packing, row) + first * GEMM_GROUP_BYTES,
                     packing->operand->stride / GEMM_GROUP_BYTES, pairs, STRIP, count, rows);
}

static void pack_columns(const struct packing *packing, size_t first, size_t count)
{
    if (packing->per_group == 1) {
        groups_transpose(row_of(packing, 0) + first * GEMM_GROUP_BYTES,
                         packing->operand->stride / GEMM_GROUP_BYTES,
                         packing->x + first * packing->x_stride, packing->x_stride, count,
                         packing->m);
        return;
    }
    for (size_t row = 0; row < packing->m; row += STRIP)
        transpose_pairs(packing, first, count, row, smaller(packing->m - row, STRIP));
}

/* A stretch of k a task: members never write to the same cache line. */
static void share_columns(void *context, unsigned index, unsigned count)
{
    const struct packing *packing = context;
    size_t stretches = (packing->groups + STRETCH - 1) / STRETCH;
    for (size_t s = stretches * index / count; s < stretches * (index + 1) / count; s++)
        pack_columns(packing, s * STRETCH, smaller(packing->groups - s * STRETCH, STRETCH));
    if (index == count - 1) /* who has the last stretch, for the lines' sake */
        for (size_t r = 0; r < packing->m; r++)
            clear_rest(packing, r);
}

void rows_pack(struct rows *rows, struct team *team, size_t m, size_t k, const float *x,
               size_t x_stride, bool transposed)
{
    size_t bytes = precision_bytes(rows->precision), per_group = GEMM_GROUP_BYTES / bytes;
    if (rows->precision == PRECISION_F32 && !transposed) {
        rows->operand = operand_f32(x, x_stride);
        return;
    }
    rows->operand = (struct operand){rows->precision, rows->data, operand_stride(k, bytes), NULL};
    assert(m * rows->operand.stride <= rows->bytes_max);
    struct packing packing = {
        &rows->operand, x, x_stride, m, k, per_group, (k + per_group - 1) / per_group};
    team_run(team, transposed ? share_columns : share_rows, &packing);
}
