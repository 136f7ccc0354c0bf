/* gemm.h - the inner loop of every matrix product: one tile of rows times one panel of weights.
 *
 * The weights W [out, in] are packed once, at load, into panels of 32 output columns. Within a
 * panel the numbers of k lie in groups of four bytes: one fp32, two bf16 or four int8. So in every
 * precision one broadcast of four bytes of an activation row is used with two loads of weights:
 *
 *     panel p, group g, column c, element e  =  W[32 p + c, G g + e],   G = 1, 2 or 4 numbers
 *
 * A tile keeps rows x 32 sums in registers for a whole run over k (Goto and van de Geijn 2008). For
 * int8 the activations are unsigned with zero point 128 and the sums are int32:
 *
 *     sum = Σ_k (a[k] + 128) w[k],     of which the caller subtracts 128 Σ_k w[k]
 *
 * unless `biased` is false: then the variant itself subtracts the 128. A row's own zero (operand.h)
 * is subtracted by the epilogue.
 *
 * A product of fp32 by tile registers multiplies parts of both factors (operand.h). Of x = x1 + x2
 * + x3 and w = w1 + w2 + w3 it takes the six products that fp32 would not round away, so that its
 * error is less than that of a sum in fp32 (tdpbf16ps rounds the sum once for 32 numbers).
 *
 *     x1 w1 + x1 w2 + x1 w3 + x3 w1 + x2 w1 + x2 w2
 *
 * There is one variant per instruction set and precision, from gemm_body.h. Peak per core on a
 * Zen 5 with AVX-512 is about 255 GFLOP/s in fp32, 510 in bf16, 1050 GOP/s in int8; the tiles reach
 * 235-250, 480-500 and 1020-1050 on the shapes of BERT-base.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_TENSOR_GEMM_GEMM_H
#define ATTND_ENGINE_TENSOR_GEMM_GEMM_H

#include "engine/tensor/gemm/operand.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    GEMM_COLUMNS = 32,                      /* columns of a panel */
    GEMM_ROWS_MAX = 32,                     /* rows of the largest variant's tile */
    GEMM_GROUP_BYTES = 4,                   /* bytes of a row that are multiplied at once */
    GEMM_PAIR_MAX = 128,                    /* int8: of two weights of one sign, if `paired` */
    GEMM_CUT_ROW_BYTES = 2 * OPERAND_PARTS, /* of a number in parts */
    GEMM_CUT_BYTES = GEMM_COLUMNS * GEMM_CUT_ROW_BYTES
};

/* n rounded up to the columns of whole panels. */
static inline size_t gemm_padded(size_t n)
{
    return (n + GEMM_COLUMNS - 1) / GEMM_COLUMNS * GEMM_COLUMNS;
}

/* A product prefetches `step` bytes from `at` on for each group that it multiplies; `at` need not
 * be valid memory. So weights are loaded at the pace of their use: a core can wait for some ten
 * cache lines at once, and more of them come late. A product by tiles (AMX) also calls `part` from
 * time to time, for work that the core does meanwhile; the others never do. The struct is passed by
 * pointer: a copy waits for all stores of the epilogue before it (2 % of a product on Zen 4). */
struct gemm_ahead {
    const void *at;
    size_t step;
    void (*part)(void *context); /* NULL: none */
    void *context;
};

/* Returns the share of tile t of `tiles` in the panel's groups x 128 bytes at `next`. */
static inline struct gemm_ahead gemm_share(const void *next, size_t groups, size_t t, size_t tiles)
{
    size_t step = (GEMM_COLUMNS * GEMM_GROUP_BYTES + tiles - 1) / tiles;
    return (struct gemm_ahead){.at = (const char *)next + t * groups * step, .step = step};
}

struct gemm {
    const char *name; /* "avx512", "avx512-vnni", "avx512-bf16", "avx2", "avx2-vnni",
                         "generic", "amx-f32", "amx-int8", "amx-bf16" */
    enum precision precision;
    unsigned rows_max;   /* most rows of a tile */
    unsigned rows_whole; /* fewer rows take as long as this many; 0: they are faster */
    unsigned group_unit; /* the groups of a panel are a multiple of it, with zeros behind k */
    unsigned groups_max; /* groups of a panel that stay in the cache while a block uses them */
    bool biased;         /* int8: the sums still hold the activations' zero point */
    bool paired;         /* int8: weights 2 i and 2 i + 1 of a column, if they have one sign, are at
                            most GEMM_PAIR_MAX together: more would saturate */

    /* sums[r][c] (+)= Σ_g a[r][g] . b[g][c] over `groups` groups; sums is [rows][32], dense, fp32
     * or int32, 64-byte aligned; rows of a are a_stride bytes apart; 1 <= rows <= rows_max. */
    void (*tile)(void *sums, const void *a, size_t a_stride, const void *panel, size_t groups,
                 const struct gemm_ahead *ahead, unsigned rows, bool accumulate);
    /* NULL but for fp32 in parts: there rows of a are in parts, GEMM_CUT_ROW_BYTES a group, and
     * `tile` reads in place of the panel what this writes, GEMM_CUT_BYTES a group, 64-byte
     * aligned. Cuts groups [first, last), which are even. */
    void (*cut)(void *parts, const void *panel, size_t first, size_t last);
    /* This is `tile` with a transposed: rows lie side by side, groups are a_stride bytes apart.
     * NULL for variants by tiles (AMX). */
    void (*tile_columns)(void *sums, const void *a, size_t a_stride, const void *panel,
                         size_t groups, const struct gemm_ahead *ahead, unsigned rows,
                         bool accumulate);
};

/* Bytes of a group in a row of a. */
static inline size_t gemm_row_bytes(const struct gemm *gemm)
{
    return gemm->cut != NULL ? GEMM_CUT_ROW_BYTES : GEMM_GROUP_BYTES;
}

extern const struct gemm gemm_avx512, gemm_avx512_bf16, gemm_avx512_vnni;
extern const struct gemm gemm_avx2, gemm_avx2_vnni, gemm_avx2_int8;
extern const struct gemm gemm_amx_f32, gemm_amx_int8, gemm_amx_bf16;
extern const struct gemm gemm_generic, gemm_generic_bf16, gemm_generic_int8;

/* Every variant that reads numbers as they are, fastest first within its precision, then NULL. */
extern const struct gemm *const gemm_variants[];

bool gemm_runnable(const struct gemm *gemm);

/* The fastest variant of a precision that this CPU can run. */
const struct gemm *gemm_best(enum precision precision);

#endif
