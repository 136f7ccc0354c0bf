/* operand.h - the activations of a product: rows of fp32, bf16 or int8.
 *
 *     fp32   the numbers themselves; or each in three parts, for products that multiply bf16 with
 *            sums of fp32: the upper 8 bits of the number, of the rest, and of the rest of that.
 *            Their sum is the number, if it is not below 2^-110 (Henry, Tang and Heinecke 2019,
 *            arXiv 1904.06376, section III). Each 32 numbers of a row are 64 bytes of first parts,
 *            of second, of third.
 *     bf16   rounded to nearest even, ties to even
 *     int8   q = round(x / scale) + 128 + zero as a byte; scale and zero of each row (token) are
 *            chosen so that its smallest and its largest number, and 0, lie in 1..255: no data is
 *            needed for that, and a row with numbers of one sign has all steps for them (dynamic,
 *            asymmetric quantisation: Jacob et al. 2018, eq. 1)
 *
 * Rows start on cache lines, and an odd number of lines apart: rows whose distance is a multiple of
 * 4 KB would all fall into one set of the first-level cache, and a tile reads 14 of them at once.
 * The padding between two rows is zero and stays zero: a product reads whole groups and tiles of
 * it.
 */
#ifndef ATTND_ENGINE_TENSOR_GEMM_OPERAND_H
#define ATTND_ENGINE_TENSOR_GEMM_OPERAND_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum precision { PRECISION_F32, PRECISION_BF16, PRECISION_INT8, PRECISION_COUNT };

/* "f32", "bf16", "int8". */
const char *precision_name(enum precision precision);
/* False for an unknown name. */
bool precision_find(const char *name, enum precision *out);
/* Bytes of one number: 4, 2, 1. */
size_t precision_bytes(enum precision precision);

struct operand {
    enum precision precision;
    bool in_parts; /* fp32 only */
    void *data;
    size_t stride; /* bytes from one row to the next */
    float *scale;  /* [rows]; int8 only */
    int32_t *zero; /* [rows], -127..127; int8 only */
};

/* Bytes from row to row for rows of `width` numbers of `bytes` bytes each. */
size_t operand_stride(size_t width, size_t bytes);

/* Zeroed room for `rows` rows of `width` numbers. ERR_NO_MEMORY. */
enum err_code operand_alloc(struct operand *out, struct arena *arena, enum precision precision,
                            size_t rows, size_t width, struct err *err);
/* The same for fp32 in parts. */
enum err_code operand_alloc_parts(struct operand *out, struct arena *arena, size_t rows,
                                  size_t width, struct err *err);
/* Bytes from row to row of fp32 in parts. */
size_t operand_parts_stride(size_t width);

/* fp32 rows that already lie in memory, `stride` floats apart. */
static inline struct operand operand_f32(const float *x, size_t stride)
{
    return (struct operand){
        .precision = PRECISION_F32, .data = (void *)(size_t)x, .stride = stride * sizeof *x};
}

/* Returns the operand from row `first` on. */
struct operand operand_from(const struct operand *operand, size_t first);

/* Writes one row: x [width], which may be the operand's own row if it is fp32. */
void operand_store(const struct operand *operand, const struct kernels *kernels, size_t row,
                   const float *x, size_t width);

#endif
