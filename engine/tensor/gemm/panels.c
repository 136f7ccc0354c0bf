/* panels.c - B of a product, packed into panels; see product.h.
 *
 * Work is cut into stretches of STRETCH groups of k, which the members of the pool share evenly. A
 * stretch of one panel is 8 KB and is written from beginning to end; its source, a strip of 32
 * numbers of some rows, was just fetched for the neighbouring panels. Columns behind the last one
 * and the second number of an odd last pair are written as zeros each time: a buffer reused for
 * another shape holds no numbers of the previous one.
 */
#include "engine/tensor/gemm/groups.h"
#include "engine/tensor/gemm/product.h"

#include <assert.h>
#include <string.h>

enum { STRETCH = 64 };

struct packing {
    const struct panels *panels;
    const float *b;
    size_t b_stride;
    size_t per_group, groups;
};

enum err_code panels_alloc(struct panels *out, struct arena *arena, const struct gemm *gemm,
                           size_t numbers_max, struct err *err)
{
    size_t bytes = precision_bytes(gemm->precision);
    *out = (struct panels){.gemm = gemm, .numbers_max = numbers_max};
    out->data = arena_alloc_array(arena, numbers_max, bytes);
    return out->data != NULL ? ERR_OK : err_no_memory(err, numbers_max * bytes);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the start of group g of a panel. */
static uint32_t *place(const struct packing *packing, size_t panel, size_t g)
{
    return (uint32_t *)packing->panels->data + (panel * packing->groups + g) * GEMM_COLUMNS;
}

/* ---- b not transposed: a row of it is a row of every panel ---- */

static void pack_rows(const struct packing *packing, size_t first, size_t count)
{
    size_t n = packing->panels->n;
    if (packing->per_group == 1) {
        groups_to_panels(place(packing, 0, first), packing->groups,
                         packing->b + first * packing->b_stride, packing->b_stride, count, n);
        return;
    }
    groups_pairs_to_panels(place(packing, 0, first), packing->groups,
                           packing->b + 2 * first * packing->b_stride, packing->b_stride,
                           smaller(packing->panels->k - 2 * first, 2 * count), n);
}

/* ---- b transposed: 32 rows of it are a panel ---- */

static void transpose_pairs(const struct packing *packing, uint32_t *to, const float *rows,
                            size_t columns, size_t numbers, size_t groups)
{
    const struct kernels *kernels = kernels_best();
    uint16_t halves[GEMM_COLUMNS][2 * STRETCH];
    if (columns < GEMM_COLUMNS)
        memset(to, 0, groups * GEMM_COLUMNS * sizeof *to);
    for (size_t c = 0; c < columns; c++) {
        kernels->round_bf16(halves[c], rows + c * packing->b_stride, numbers);
        if (numbers % 2 != 0)
            halves[c][numbers] = 0;
    }
    groups_transpose(to, GEMM_COLUMNS, halves, STRETCH, columns, groups);
}

static void pack_columns(const struct packing *packing, size_t first, size_t count)
{
    const struct panels *panels = packing->panels;
    size_t from = first * packing->per_group;
    size_t numbers = smaller(panels->k - from, count * packing->per_group);
    if (packing->per_group == 1) {
        groups_to_panels_transposed(place(packing, 0, first), packing->groups, packing->b + from,
                                    packing->b_stride, count, panels->n);
        return;
    }
    for (size_t column = 0; column < panels->n; column += GEMM_COLUMNS)
        transpose_pairs(packing, place(packing, column / GEMM_COLUMNS, first),
                        packing->b + column * packing->b_stride + from,
                        smaller(panels->n - column, GEMM_COLUMNS), numbers, count);
}

/* ---- shared between the members of a pool ---- */

static void share(const struct packing *packing, unsigned index, unsigned count,
                  void (*pack)(const struct packing *packing, size_t first, size_t count))
{
    size_t stretches = (packing->groups + STRETCH - 1) / STRETCH;
    for (size_t s = stretches * index / count; s < stretches * (index + 1) / count; s++)
        pack(packing, s * STRETCH, smaller(packing->groups - s * STRETCH, STRETCH));
}

static void share_rows(void *context, unsigned index, unsigned count)
{
    share(context, index, count, pack_rows);
}

static void share_columns(void *context, unsigned index, unsigned count)
{
    share(context, index, count, pack_columns);
}

void panels_pack(struct panels *panels, struct thread_pool *pool, size_t k, size_t n,
                 const float *b, size_t b_stride, bool transposed)
{
    size_t per_group = GEMM_GROUP_BYTES / precision_bytes(panels->gemm->precision);
    struct packing packing = {panels, b, b_stride, per_group, (k + per_group - 1) / per_group};
    panels->k = k;
    panels->n = n;
    assert(gemm_padded(n) * packing.groups * per_group <= panels->numbers_max);
    thread_pool_run(pool, transposed ? share_columns : share_rows, &packing);
}
