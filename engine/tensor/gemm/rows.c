/* rows.c - A of a product, packed; see product.h.
 *
 * fp32 is read in place. Packed rows are filled with zeros to the end of their last cache line, or
 * of their panel: a buffer reused for another shape holds no numbers of the previous one.
 */
#include "engine/tensor/gemm/groups.h"
#include "engine/tensor/gemm/product.h"

#include <assert.h>
#include <string.h>

struct packing {
    const struct operand *operand;
    const float *x;
    size_t x_stride;
    size_t m, k;
};

enum err_code rows_alloc(struct rows *out, struct arena *arena, enum precision precision,
                         size_t rows_max, size_t width_max, struct err *err)
{
    size_t stride = operand_stride(width_max, precision_bytes(precision));
    *out = (struct rows){.precision = precision};
    if (precision == PRECISION_F32)
        return ERR_OK;
    rows_max = gemm_padded(rows_max);
    out->bytes_max = rows_max * stride;
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

/* ---- x not transposed ---- */

static void share_rows(void *context, unsigned index, unsigned count)
{
    const struct packing *packing = context;
    for (size_t r = packing->m * index / count; r < packing->m * (index + 1) / count; r++) {
        operand_store(packing->operand, kernels_best(), r, packing->x + r * packing->x_stride,
                      packing->k);
        clear_rest(packing, r);
    }
}

/* ---- x transposed: its pairs of rows are groups of panels, as B's ---- */

/* Each task is a stretch of k: members never write to the same cache line. */
static void share_columns(void *context, unsigned index, unsigned count)
{
    const struct packing *packing = context;
    size_t groups = (packing->k + 1) / 2;
    size_t first = groups * index / count, last = groups * (index + 1) / count;
    groups_pairs_to_panels((uint32_t *)packing->operand->data + first * GEMM_COLUMNS, groups,
                           packing->x + 2 * first * packing->x_stride, packing->x_stride,
                           smaller(packing->k, 2 * last) - 2 * first, packing->m);
}

static void pack_transposed(struct rows *rows, struct thread_pool *pool, size_t m, size_t k,
                            const float *x, size_t x_stride)
{
    const size_t line = GEMM_COLUMNS * GEMM_GROUP_BYTES;
    rows->transposed = true;
    rows->panel_bytes = line;
    rows->operand = operand_f32(x, x_stride);
    if (rows->precision == PRECISION_F32)
        return;
    rows->panel_bytes = (k + 1) / 2 * line;
    rows->operand =
        (struct operand){.precision = rows->precision, .data = rows->data, .stride = line};
    assert((m + GEMM_COLUMNS - 1) / GEMM_COLUMNS * rows->panel_bytes <= rows->bytes_max);
    thread_pool_run(pool, share_columns, &(struct packing){&rows->operand, x, x_stride, m, k});
}

void rows_pack(struct rows *rows, struct thread_pool *pool, size_t m, size_t k, const float *x,
               size_t x_stride, bool transposed)
{
    if (transposed) {
        pack_transposed(rows, pool, m, k, x, x_stride);
        return;
    }
    rows->transposed = false;
    rows->operand = operand_f32(x, x_stride);
    if (rows->precision == PRECISION_F32)
        return;
    rows->operand = (struct operand){.precision = rows->precision,
                                     .data = rows->data,
                                     .stride = operand_stride(k, precision_bytes(rows->precision))};
    assert(m * rows->operand.stride <= rows->bytes_max);
    thread_pool_run(pool, share_rows, &(struct packing){&rows->operand, x, x_stride, m, k});
}
