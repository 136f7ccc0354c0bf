/* family_tensors.h - the tensors of a model, one after another: what each is for, its name in the
 * checkpoint, its shape. Loading, training, exporting and measuring a model all walk this list.
 *
 *     struct tensor_walk walk = {.spec = spec, .head = HEAD_CLASSIFIER};
 *     for (struct tensor_row row; family_tensors_next(&walk, &row);)
 *         ... row.field, row.part, row.name, row.shape ...
 *
 * The order is that of the computation: embeddings, blocks, head. Training deals out its flat array
 * and its random numbers in it: a row may only be added where no model has been trained yet.
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
    TENSOR_TABLE,  /* by itself: an embedding */
    TENSOR_WEIGHT, /* of a linear layer: [out, in]; of the patches' convolution [out, C, P, P] */
    TENSOR_BIAS,
    TENSOR_GAMMA, /* of a norm */
    TENSOR_BETA,
    TENSOR_SCALE, /* a layer scale: [D] */
};

struct tensor_row {
    enum tensor_field field;
    enum tensor_part part;
    unsigned layer;  /* of a block's; where layers share blocks, the block's number */
    unsigned depth;  /* 0: embeddings, 1 .. spec_blocks: a block, spec_blocks + 1: the head */
    bool is_of_head; /* absent from a checkpoint of the encoder alone */
    unsigned rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t count; /* of numbers */
    char name[TENSOR_NAME_BYTES];
};

struct tensor_walk {
    const struct spec *spec;
    enum family_head head;
    unsigned depth, at; /* what comes next; zero to begin with */
};

/* False behind the last one. */
bool family_tensors_next(struct tensor_walk *walk, struct tensor_row *row);

/* The row's tensor in a checkpoint: by its name or, of a norm, with the endings ".gamma" and
 * ".beta" of checkpoints from before 2019, as transformers still reads them. With `bare`, the row's
 * family, also without the family's root, as an encoder that was saved alone has it. NULL: there is
 * none. */
const struct tensor_info *family_tensors_find(const struct tensor_row *row,
                                              const struct checkpoint *checkpoint,
                                              const struct family *bare);

bool family_tensors_fits(const struct tensor_row *row, const struct tensor_info *info);

/* ERR_UNSUPPORTED for one that does not fit. */
enum err_code family_tensors_misfit(const struct tensor_row *row, const struct tensor_info *info,
                                    struct err *err);

#endif
