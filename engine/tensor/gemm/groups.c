/* groups.c - see groups.h. Vectors have 16 bytes, which every CPU of the architecture has: memory
 * bounds these moves, not arithmetic. So each loop prefetches the next lines, which hardware
 * prefetchers miss. One thread of a Zen 5, 2048 rows of 384 to 1536 fp32 in memory, GB/s read,
 * without and with prefetching: transposed 7 to 8 and 11 to 14, into panels 11 and 14 to 15. From
 * the last cache: 8 to 20 and 18 to 33, 12 to 35 and 18 to 36.
 */
#define VECTOR_BYTES 16
#include "engine/tensor/gemm/groups.h"

#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/vector_body.h"

enum { STRIP = 64, PIECE = 256, LINE = 16, AHEAD = 8, PAIR_AHEAD = 4 };
_Static_assert(PIECE % GEMM_COLUMNS == 0, "pairs are made for whole panels");

static void move_group(char *to, size_t to_stride, const char *from, size_t from_stride, size_t r,
                       size_t c)
{
    memcpy(to + (c * to_stride + r) * 4, from + (r * from_stride + c) * 4, 4);
}

/* Transposes four rows of a strip, whose width is a multiple of four. Each 4 x 4 matrix prefetches
 * a line of the rows after the next and one of `ahead`, the same place in the next strip of `to`,
 * which need not be valid memory: hardware prefetchers miss both. */
INLINE void transpose_four(float *to, size_t to_stride, const float *from, size_t from_stride,
                           size_t columns, const float *ahead)
{
    const float *rows[4] = {from, from + from_stride, from + 2 * from_stride,
                            from + 3 * from_stride};
    for (size_t c = 0; c < columns; c += 4) {
        vec v[4];
        __builtin_prefetch(from + (AHEAD + c / 4 % 4) * from_stride + c / LINE * LINE);
        __builtin_prefetch(ahead + c * to_stride, 1);
        load_quads_of(v, rows, c);
        transpose_lanes(v);
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; k++)
            store(to + (c + k) * to_stride, v[k]);
    }
}

/* Works in strips of columns whose lines of `to` stay in the first-level cache until they are
 * full. */
void groups_transpose(void *to, size_t to_stride, const void *from, size_t from_stride, size_t rows,
                      size_t columns)
{
    size_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    for (size_t c = 0; c < whole_columns; c += STRIP)
        for (size_t r = 0; r < whole_rows; r += 4) {
            float *place = (float *)to + c * to_stride + r;
            transpose_four(place, to_stride, (const float *)from + r * from_stride + c, from_stride,
                           whole_columns - c < STRIP ? whole_columns - c : STRIP,
                           (float *)to + (c + STRIP + r / 4 % 4) * to_stride + r / LINE * LINE);
        }
    for (size_t r = 0; r < rows; r++)
        for (size_t c = r < whole_rows ? whole_columns : 0; c < columns; c++)
            move_group(to, to_stride, from, from_stride, r, c);
}

/* Copies a panel's whole groups; prefetches the same groups of the next panel on both sides. */
static void copy_groups(float *to, size_t panel_groups, const float *from, size_t from_stride,
                        size_t count)
{
    const float *next = to + panel_groups * GEMM_COLUMNS;
    for (size_t g = 0; g < count; g++, from += from_stride) {
        __builtin_prefetch(from + GEMM_COLUMNS);
        __builtin_prefetch(from + GEMM_COLUMNS + LINE);
        __builtin_prefetch(next + g * GEMM_COLUMNS, 1);
        __builtin_prefetch(next + g * GEMM_COLUMNS + LINE, 1);
        memcpy(to + g * GEMM_COLUMNS, from, GEMM_COLUMNS * sizeof *to);
    }
}

/* Copies the last panel's groups, with zeros behind their columns. */
static void copy_part(float *to, const float *from, size_t from_stride, size_t count,
                      size_t columns)
{
    memset(to, 0, count * GEMM_COLUMNS * sizeof *to);
    for (size_t g = 0; g < count; g++)
        memcpy(to + g * GEMM_COLUMNS, from + g * from_stride, columns * sizeof *to);
}

void groups_to_panels(void *to, size_t panel_groups, const float *from, size_t from_stride,
                      size_t count, size_t n)
{
    size_t whole = n / GEMM_COLUMNS * GEMM_COLUMNS;
    for (size_t c = 0; c < whole; c += GEMM_COLUMNS)
        copy_groups((float *)to + c * panel_groups, panel_groups, from + c, from_stride, count);
    if (whole < n)
        copy_part((float *)to + whole * panel_groups, from + whole, from_stride, count, n - whole);
}

void groups_to_panels_transposed(void *to, size_t panel_groups, const float *from,
                                 size_t from_stride, size_t count, size_t n)
{
    for (size_t c = 0; c < n; c += GEMM_COLUMNS, from += GEMM_COLUMNS * from_stride) {
        float *group = (float *)to + c * panel_groups;
        size_t columns = n - c < GEMM_COLUMNS ? n - c : GEMM_COLUMNS;
        if (columns < GEMM_COLUMNS)
            memset(group, 0, count * GEMM_COLUMNS * sizeof *group);
        groups_transpose(group, GEMM_COLUMNS, from, from_stride, columns, count);
    }
}

/* Writes group g of the panels from a column on; prefetches the numbers read `ahead` numbers
 * later. */
static void pair_columns(uint32_t *to, size_t panel_groups, const float *low, const float *high,
                         size_t columns, size_t ahead)
{
    const struct kernels *kernels = kernels_best();
    size_t whole = columns / GEMM_COLUMNS * GEMM_COLUMNS;
    for (size_t c = 0; c < whole; c += GEMM_COLUMNS, to += panel_groups * GEMM_COLUMNS) {
        __builtin_prefetch(low + ahead + c);
        __builtin_prefetch(low + ahead + c + LINE);
        __builtin_prefetch(high + ahead + c);
        __builtin_prefetch(high + ahead + c + LINE);
        kernels->pair_bf16(to, low + c, high + c, GEMM_COLUMNS);
    }
    if (whole == columns)
        return;
    memset(to, 0, GEMM_COLUMNS * sizeof *to);
    kernels->pair_bf16(to, low + whole, high + whole, columns - whole);
}

void groups_pairs_to_panels(void *to, size_t panel_groups, const float *from, size_t from_stride,
                            size_t rows, size_t n)
{
    static const float zeros[PIECE];
    for (size_t g = 0; 2 * g < rows; g++) {
        const float *low = from + 2 * g * from_stride;
        for (size_t c = 0; c < n; c += PIECE)
            pair_columns((uint32_t *)to + c * panel_groups + g * GEMM_COLUMNS, panel_groups,
                         low + c, 2 * g + 1 < rows ? low + c + from_stride : zeros,
                         n - c < PIECE ? n - c : PIECE, PAIR_AHEAD * from_stride);
    }
}
