/* attention_rows.h - what queries attend to, as rows of probabilities over all tokens of their
 * sequence: what explanations keep of a layer. A key beyond the layer's reach (reach.h) has 0.
 *
 * Threads: pure functions; scratch is the caller's.
 */
#ifndef ATTND_ENGINE_MODEL_ATTENTION_ROWS_H
#define ATTND_ENGINE_MODEL_ATTENTION_ROWS_H

#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sequence's query and key of one layer, side by side as its product has them. */
struct attention_rows {
    const struct kernels *kernels;
    const float *qkv;           /* [N, 3 A] of the sequence's first token; NULL: it is bf16 */
    const uint16_t *qkv_bf16;   /* for attention_bf16.h */
    size_t stride;              /* numbers from row to row */
    size_t tokens;              /* N */
    size_t attended, width;     /* A, of all heads, and of one */
    struct attention_bias bias; /* the layer's, of the sequence's kind */
    unsigned reach;             /* 0: all tokens */
    bool has_global; /* all see the first token, whose own row is not made here: it is zero */
};

/* out [count][N], rows out_stride apart: the mean of `heads` heads from `head` on, of at most
 * ATTENTION_QUERIES queries from `first` on, which of a layer with a reach is a multiple of that.
 * `own`, if its `at` is not NULL, is added in place of the layer's bias: of the first of these
 * queries and heads. scratch: attention_rows_scratch floats, 64-byte aligned. */
void attention_rows_mean(const struct attention_rows *rows, size_t first, size_t count, size_t head,
                         size_t heads, const struct attention_bias *own, float *out,
                         size_t out_stride, float *scratch);

/* For at most so many tokens and heads of that width. */
size_t attention_rows_scratch(size_t tokens, size_t width);

#endif
