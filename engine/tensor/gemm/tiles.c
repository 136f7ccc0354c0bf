#include "engine/tensor/gemm/tiles.h"

#include <string.h>

static size_t columns_of(size_t n, size_t first)
{
    return n - first < GEMM_COLUMNS ? n - first : GEMM_COLUMNS;
}

void tiles_rows(const struct tiles *tiles, float *c, size_t c_stride, const void *a,
                size_t a_stride, size_t rows, const void *panels, size_t groups, size_t n)
{
    for (size_t first = 0; first < n; first += GEMM_COLUMNS, c += GEMM_COLUMNS) {
        size_t columns = columns_of(n, first);
        const float *panel = (const float *)panels + first * groups;
        tiles->gemm->tile(tiles->sums, a, a_stride, panel, groups,
                          &(struct gemm_ahead){.at = panel}, (unsigned)rows, false);
        for (size_t r = 0; r < rows; r++) {
            const float *sums = tiles->sums + r * GEMM_COLUMNS;
            if (columns == GEMM_COLUMNS)
                memcpy(c + r * c_stride, sums, GEMM_COLUMNS * sizeof *c);
            else
                memcpy(c + r * c_stride, sums, columns * sizeof *c);
        }
    }
}

/* c [rows, columns] += a tile's sums */
static void add_sums(float *c, size_t c_stride, const float *sums, size_t rows, size_t columns)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < columns; i++)
            c[r * c_stride + i] += sums[r * GEMM_COLUMNS + i];
}

void tiles_columns(const struct tiles *tiles, float *c, size_t c_stride, const void *a,
                   size_t a_stride, size_t rows, const void *panels, size_t groups, size_t n)
{
    size_t rows_max = tiles->gemm->rows_max, count = (rows + rows_max - 1) / rows_max;
    for (size_t t = 0; t < count; t++) {
        size_t row = rows * t / count, height = rows * (t + 1) / count - row;
        for (size_t first = 0; first < n; first += GEMM_COLUMNS) {
            const float *panel = (const float *)panels + first * groups;
            tiles->gemm->tile_columns(tiles->sums, (const float *)a + row, a_stride, panel, groups,
                                      &(struct gemm_ahead){.at = panel}, (unsigned)height, false);
            add_sums(c + row * c_stride + first, c_stride, tiles->sums, height,
                     columns_of(n, first));
        }
    }
}
