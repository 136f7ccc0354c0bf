/* window_bias.h - a learnt number for each head and relative position of two patches of a
 * window, added to the scores of attention (Liu et al. 2021, section 3.2, eq. 4;
 * SwinSelfAttention), and three more for [CLS] if there is one (Bao et al. 2022, section 2.1;
 * BeitRelativePositionBias).
 *
 *     struct window_bias shape = {.heads = heads, .window = {3, 20}, .specials = 1};
 *     float *matrix = arena_alloc_array(&arena, window_bias_floats(&shape), sizeof *matrix);
 *     struct attention_bias bias = window_bias_expand(&shape, matrix, table);
 *     ... kernels->attention with it, for [CLS] and 3 x 20 patches ...
 *     window_bias_fold(&shape, dtable, dmatrix);                     // training: the way back
 *
 * The table is [rows, heads]: (2 height - 1) (2 width - 1) rows for query minus key, in rows and
 * columns; then a row each for [CLS] to a patch, a patch to [CLS], and [CLS] to itself.
 *
 * A window that is no square has another table: transformers takes its rows for those of a window
 * turned by a quarter, 2 width - 1 times 2 height - 1, and resamples them bilinearly
 * (BeitRelativePositionBias.forward, which changes no square). Checkpoints were trained so, and so
 * it is read here.
 *
 * If windows are shifted, those at the right and lower edge hold patches from both sides of the
 * image, which must not see each other: -100 is added between them (ibid., figure 4;
 * get_attn_mask). Then there are four matrices, one a kind of window: kind 1 is at the right edge,
 * 2 at the lower edge, 3 in the corner, 0 elsewhere. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_BIAS_WINDOW_BIAS_H
#define ATTND_ENGINE_MODEL_BIAS_WINDOW_BIAS_H

#include "engine/tensor/attention_io.h"
#include "engine/vision/region.h"

#include <stddef.h>

struct window_bias {
    size_t heads;
    struct extent window; /* in patches */
    size_t specials;      /* 1: [CLS] is token 0; 0: there are patches only */
    size_t shift;         /* shift of the windows, below both sides; 0: there is one kind */
};

/* Rows of the table. */
size_t window_bias_rows(const struct window_bias *shape);

/* Returns the row of a query and a key, counted with [CLS] as token 0 if there is one. Of a window
 * that is no square it is the row in the resampled table. */
size_t window_bias_row(const struct window_bias *shape, size_t query, size_t key);

/* Floats of the matrices of all pairs of tokens, in tensor/attention_io.h's layout. */
size_t window_bias_floats(const struct window_bias *shape);

/* matrix <- table; the bias borrows the matrix. */
struct attention_bias window_bias_expand(const struct window_bias *shape, float *matrix,
                                         const float *table);

/* dtable += the sums of dmatrix over the pairs of each row. */
void window_bias_fold(const struct window_bias *shape, float *dtable, const float *dmatrix);

#endif
