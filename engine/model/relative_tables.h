/* relative_tables.h - what a layer's queries and keys add to its scores for their distance, made
 * once when a model is opened: the table of relative places is normalised, goes in fp32 through the
 * layer's query and key projections as they are multiplied (rounded in bf16 or int8), and is packed
 * by distance (tensor/gemm/relative_scores.h).
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

/* One layer after another, in the same room. */
struct relative_tables {
    const struct spec *spec;
    const struct gemm *gemm;
    struct thread_pool *pool;
    size_t rows, tokens; /* of the places: 2 span; of the longest text: N */
    float *places;       /* [rows, D] normalised */
    float *weight;       /* [2 D, D] of query and key */
    float *projected;    /* [rows, 2 D] */
    float *room;         /* of relative_scores_pack */
    unsigned *row_of;    /* [2 N - 1] by distance, from the lowest on */
    struct panels panels;
    struct rows operand;
    struct arena arena;
};

/* For a family that has relative places. gemm: of the attention, see struct relative_scores.
 * ERR_NO_MEMORY. Yours to close, also after a failure. */
enum err_code relative_tables_open(struct relative_tables *out, const struct spec *spec,
                                   const struct gemm *gemm, unsigned threads, struct err *err);
void relative_tables_close(struct relative_tables *tables);

/* From places [2 span, D] as they are learnt. */
void relative_tables_normalise(struct relative_tables *tables, const float *places,
                               const float *gamma, const float *beta);

/* A layer's, whose qkv [3 D, D] is open. Its tables are the arena's. ERR_NO_MEMORY. */
enum err_code relative_tables_make(struct relative_tables *tables, struct relative_scores *out,
                                   const struct linear *qkv, struct arena *arena, struct err *err);

/* Floats of all layers' tables, at most. */
size_t relative_tables_floats(const struct spec *spec);

#endif
