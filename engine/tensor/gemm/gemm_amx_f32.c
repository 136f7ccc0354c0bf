/* fp32 by tile registers: both factors in three parts of bf16. The weights stay in memory as fp32
 * and are cut here, some groups of a panel at a time: 4 bytes a weight are read, not 6. */
#ifndef VECTOR_BYTES
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#define VECTOR_BYTES 64
#endif
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/vector_body.h"

#include "engine/tensor/tile_registers.h"

/* Pairs of rows k and k + 1 of a panel, in parts: one vector of columns. */
INLINE void cut_pairs(char *parts, vec even, vec odd)
{
    const vec_int upper = (vec_int){0} - 0x10000;
    for (unsigned part = 0; part < OPERAND_PARTS; part++) {
        const vec_int a = (vec_int)even, b = (vec_int)odd;
        store((float *)(void *)parts, (vec)((a >> 16 & ~upper) | (b & upper)));
        even -= (vec)(a & upper);
        odd -= (vec)(b & upper);
        parts += OPERAND_STEP / 2 * GEMM_COLUMNS * GEMM_GROUP_BYTES;
    }
}

/* parts: [groups / 32, part, pair of rows, 32 columns] */
static void cut(void *parts, const void *panel, size_t first, size_t last)
{
    const size_t pairs = OPERAND_STEP / 2, pair_bytes = GEMM_COLUMNS * GEMM_GROUP_BYTES;
    const float *row = (const float *)panel + first * GEMM_COLUMNS;
    for (size_t k = first; k < last; k += 2, row += 2 * GEMM_COLUMNS) {
        char *to = (char *)parts + k / OPERAND_STEP * (OPERAND_PARTS * pairs * pair_bytes) +
                   k % OPERAND_STEP / 2 * pair_bytes;
        for (size_t c = 0; c < GEMM_COLUMNS; c += LANES)
            cut_pairs(to + c * GEMM_GROUP_BYTES, load(row + c), load(row + GEMM_COLUMNS + c));
    }
}

#define GEMM gemm_amx_f32
#define NAME "amx-f32"
#define PRECISION PRECISION_F32
#define PARTS 3
#define CUT cut
#define DOT DOT_BF16
#include "engine/tensor/gemm/gemm_tiles_body.h"
