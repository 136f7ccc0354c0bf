/* attention_rows.h - rows of attention probabilities over all tokens of the sequence, which
 * explanations keep of a layer. A key beyond the layer's reach (reach.h) has 0.
 *
 * Threads: pure functions; scratch is the caller's.
 */
#ifndef ATTND_ENGINE_MODEL_ATTENTION_ROWS_H
#define ATTND_ENGINE_MODEL_ATTENTION_ROWS_H

#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sequence's query and key of one layer, side by side in rows of its product. */
struct attention_rows {
    const struct kernels *kernels;
    const float *qkv;           /* [N, 3 A] from the sequence's first token on; NULL: it is bf16 */
    const uint16_t *qkv_bf16;   /* for attention_bf16.h */
    size_t stride;              /* numbers from row to row */
    size_t tokens;              /* N */
    size_t attended, width;     /* A, the width of all heads; the width of one */
    struct attention_bias bias; /* the layer's, for the sequence's kind */
    unsigned reach;             /* 0: all tokens */
    bool has_global; /* the first token is global; its own row is not computed here: it is zero */
};

/* out [count][N], rows out_stride apart: the mean of `heads` heads from `head` on, for at most
 * ATTENTION_QUERIES queries from `first` on; if the layer has a reach, `first` is a multiple of
 * ATTENTION_QUERIES. `own`, if its `at` is not NULL, replaces the layer's bias; it starts at the
 * first of these queries and heads. scratch: attention_rows_scratch floats, 64-byte aligned. */
void attention_rows_mean(const struct attention_rows *rows, size_t first, size_t count, size_t head,
                         size_t heads, const struct attention_bias *own, float *out,
                         size_t out_stride, float *scratch);

/* Floats of scratch for at most `tokens` tokens and heads of width `width`. */
size_t attention_rows_scratch(size_t tokens, size_t width);

#endif
