/* family_tensors.h - the tensors of a model, one after another: use, name in the checkpoint, shape.
 * Loading, training, exporting and measuring a model all read this list.
 *
 *     struct tensor_walk walk = {.spec = spec, .head = HEAD_CLASSIFIER};
 *     for (struct tensor_row row; family_tensors_next(&walk, &row);)
 *         ... row.field, row.part, row.name, row.shape ...
 *
 * The order is that of the computation: embeddings, blocks, head. Training assigns its flat array
 * and its random numbers in this order: a row may only be added to families without a trained
 * model.
 *
 * Threads: no state but the caller's.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_TENSORS_H
#define ATTND_ENGINE_MODEL_FAMILY_TENSORS_H

#include "engine/base/err.h"
#include "engine/format/checkpoint.h"
#include "engine/model/spec.h"

enum { TENSOR_NAME_BYTES = 192 };

enum tensor_part {
    TENSOR_TABLE,  /* a single tensor: an embedding */
    TENSOR_WEIGHT, /* linear layer: [out, in]; the patches' convolution: [out, C, P, P] */
    TENSOR_BIAS,
    TENSOR_GAMMA, /* a norm's gamma */
    TENSOR_BETA,
    TENSOR_SCALE, /* a layer scale: [D] */
};

struct tensor_row {
    enum tensor_field field;
    enum tensor_part part;
    unsigned layer;   /* the block's layer; if layers share blocks, the block's number */
    unsigned depth;   /* 0: embeddings, 1 .. spec_blocks: a block, spec_blocks + 1: the head */
    bool is_of_head;  /* absent from a checkpoint of the encoder alone */
    bool is_optional; /* a checkpoint may lack it: sines are computed, a bias is zero */
    unsigned rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t count; /* numbers of the tensor */
    char name[TENSOR_NAME_BYTES];
};

struct tensor_walk {
    const struct spec *spec;
    enum family_head head;
    unsigned depth, at; /* the next row; initially zero */
};

/* Writes the next row. False behind the last one. */
bool family_tensors_next(struct tensor_walk *walk, struct tensor_row *row);

/* Returns the row's tensor in a checkpoint, by its name. A norm's may end in ".gamma" and ".beta",
 * as in checkpoints from before 2019, which transformers still reads. With `bare`, the row's
 * family, the family's root may be absent, as in an encoder that was saved alone. NULL: there is
 * none. */
const struct tensor_info *family_tensors_find(const struct tensor_row *row,
                                              const struct checkpoint *checkpoint,
                                              const struct family *bare);

bool family_tensors_fits(const struct tensor_row *row, const struct tensor_info *info);

/* Sets ERR_UNSUPPORTED for a tensor whose shape does not fit the row. */
enum err_code family_tensors_misfit(const struct tensor_row *row, const struct tensor_info *info,
                                    struct err *err);

#endif
