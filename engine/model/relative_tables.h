/* relative_tables.h - makes the tables of relative positions of each layer, once when a model is
 * opened: the table of relative places is normalised, projected in fp32 by the layer's query and
 * key weights with the values that are multiplied (rounded in bf16 or int8), and packed by distance
 * (tensor/gemm/relative_scores.h).
 *
 *     relative_tables_open(&tables, &spec, gemm, threads, &err);
 *     relative_tables_normalise(&tables, places, gamma, beta);
 *     relative_tables_make(&tables, &layer->relative, &layer->qkv, &arena, &err);   each layer
 *     relative_tables_close(&tables);
 *
 * Cost: 8 span D D flops a layer and 2 N D numbers for each of its terms. Threads: one at a time; a
 * pool of its own.
 */
#ifndef ATTND_ENGINE_MODEL_RELATIVE_TABLES_H
#define ATTND_ENGINE_MODEL_RELATIVE_TABLES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/model/spec.h"
#include "engine/tensor/gemm/product.h"
#include "engine/tensor/gemm/relative_scores.h"
#include "engine/tensor/linear/linear.h"

/* Buffers for one layer after another. */
struct relative_tables {
    const struct spec *spec;
    const struct gemm *gemm;
    struct thread_pool *pool;
    size_t rows, tokens; /* 2 span, rows of the places; N, tokens of the longest text */
    float *places;       /* [rows, D] normalised */
    float *weight;       /* [2 D, D] of query and key */
    float *projected;    /* [rows, 2 D] */
    float *room;         /* scratch of relative_scores_pack */
    unsigned *row_of;    /* [2 N - 1] by distance, from the lowest on */
    struct panels panels;
    struct rows operand;
    struct arena arena;
};

/* Opens the tables of a family that has relative places. gemm: the attention's, see struct
 * relative_scores. ERR_NO_MEMORY. Yours to close, also after a failure. */
enum err_code relative_tables_open(struct relative_tables *out, const struct spec *spec,
                                   const struct gemm *gemm, unsigned threads, struct err *err);
void relative_tables_close(struct relative_tables *tables);

/* Normalises learnt places [2 span, D]. */
void relative_tables_normalise(struct relative_tables *tables, const float *places,
                               const float *gamma, const float *beta);

/* Makes a layer's tables, whose qkv [3 D, D] is open. The arena owns them. ERR_NO_MEMORY. */
enum err_code relative_tables_make(struct relative_tables *tables, struct relative_scores *out,
                                   const struct linear *qkv, struct arena *arena, struct err *err);

/* Upper bound of the floats of all layers' tables. */
size_t relative_tables_floats(const struct spec *spec);

#endif
