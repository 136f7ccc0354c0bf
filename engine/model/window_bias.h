/* window_bias.h - a learnt number for each head and relative place of two patches of a square
 * window, added to the scores of attention, with three more for [CLS] (Bao et al. 2022, section
 * 2.1, after Liu et al. 2021, section 3.2; BeitRelativePositionBias).
 *
 *     float *matrix = arena_alloc_array(&arena, window_bias_floats(heads, side), sizeof *matrix);
 *     struct attention_bias bias = window_bias_expand(matrix, table, heads, side);
 *     ... kernels->attention_biased with it, for [CLS] and side x side patches ...
 *     window_bias_fold(dtable, dmatrix, heads, side);                // training: the way back
 *
 * The table is [rows, heads]: (2 side - 1)^2 rows for query less key, rows and columns; then those
 * of [CLS] to a patch, a patch to [CLS], and [CLS] to itself. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_WINDOW_BIAS_H
#define ATTND_ENGINE_MODEL_WINDOW_BIAS_H

#include "engine/tensor/attention_bias.h"

#include <stddef.h>

/* Of the table. */
size_t window_bias_rows(size_t side);

/* The row for a query and a key, counted with [CLS] as token 0. */
size_t window_bias_row(size_t side, size_t query, size_t key);

/* Of a matrix of all pairs of tokens, as tensor/attention_bias.h lays it out. */
size_t window_bias_floats(size_t heads, size_t side);

/* matrix <- table; the bias borrows the matrix. */
struct attention_bias window_bias_expand(float *matrix, const float *table, size_t heads,
                                         size_t side);

/* dtable += the sums of dmatrix over the pairs of each row. */
void window_bias_fold(float *dtable, const float *dmatrix, size_t heads, size_t side);

#endif
