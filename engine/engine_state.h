/* engine_state.h - what is behind a struct engine_model. Private to engine/engine*.c; immutable
 * once open. */
#ifndef ATTND_ENGINE_ENGINE_STATE_H
#define ATTND_ENGINE_ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/model/weights.h"
#include "engine/ngrams/ngram_table.h"
#include "engine/prepare/pipeline.h"

struct text_tower;

enum {
    LABELLER_TOKENS =
        256 /* of labels encoded at a time: 0.2 s of one thread with ViT-B's encoder */
};

/* A zero-shot model with other labels is a model of its own that shares all but them with its base.
 */
struct engine_model {
    const struct engine_model *base; /* whose weights these are; NULL: its own */
    struct text_tower *tower;        /* of a zero-shot model: its base's; else NULL */
    float *embeddings;               /* [label_count, P] while labels are encoded; else NULL */
    unsigned encoded;                /* labels of them */
    struct spec spec;
    struct weights weights;
    struct ngram_table ngrams; /* its weight is NULL: the encoder answers alone */
    struct pipeline pipeline;
    const struct kernels *kernels;
    const struct linear_backend *encoder; /* multiplies in the blocks */
    struct engine_info info;
    struct arena arena;
};

/* Encodes the labels of a zero-shot model that was just opened, if it has some. */
enum err_code engine_encode_own(struct engine_model *model, unsigned threads, struct err *err);

/* Gives back what belongs to the labels. */
void engine_close_labels(struct engine_model *model);

#endif
