/* family.h - one row a checkpoint family: what its config.json calls things, what its tensors are
 * called, what its block is, and how its inputs and its head differ. Serving, training, exporting,
 * inspecting and explaining read this one description. A new family is a new row.
 *
 * Names of linear layers and norms are bases: ".weight" and ".bias" are appended. "%u" stands for
 * the layer's number, twice for that of its group and that in the group. NULL: the family has no
 * such thing. Threads: constant data.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_H
#define ATTND_ENGINE_MODEL_FAMILY_H

#include "engine/model/block_spec.h"
#include "engine/model/input.h"
#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>

/* What a tensor, or the tensors of a linear layer or a norm, are for. */
enum tensor_field {
    /* embeddings */
    TENSOR_WORD,
    TENSOR_POSITION,
    TENSOR_TOKEN_TYPE,
    TENSOR_EMBEDDING_NORM,
    TENSOR_EMBEDDING_PROJECT, /* [D, E], where embeddings have E numbers */
    TENSOR_RELATIVE_BIAS,     /* [buckets, heads], of all layers: relative_bias.h */
    TENSOR_CLS_TOKEN,
    TENSOR_DISTILLATION_TOKEN,
    TENSOR_PATCH,
    /* a block */
    TENSOR_QUERY,
    TENSOR_KEY,
    TENSOR_VALUE,
    TENSOR_ATTENTION_OUT,
    TENSOR_ATTENTION_NORM,
    TENSOR_MLP_IN,
    TENSOR_MLP_OUT,
    TENSOR_MLP_NORM,
    /* the classifier's head: classifier(activation(pooler(final_norm(x[CLS])))) */
    TENSOR_FINAL_NORM,
    TENSOR_POOLER,
    TENSOR_CLASSIFIER,
    TENSOR_DISTILLATION_CLASSIFIER, /* on the second token; the logits are averaged */
    /* the masked-language-model head: decoder(norm(activation(transform(x)))), the decoder's weight
     * being the word embedding (Devlin et al. 2019, section 3.1) */
    TENSOR_MLM_TRANSFORM,
    TENSOR_MLM_NORM,
    TENSOR_MLM_BIAS,
    TENSOR_FIELDS
};

/* How the positions of a text are counted. */
enum position_kind {
    POSITION_INDEX,    /* 0, 1, 2, ... */
    POSITION_PAST_PAD, /* pad id + 1, pad id + 2, ...; a literal pad token has its id's and is
                             not counted (Liu et al. 2019, as fairseq pads) */
};

/* What sits on the encoder. */
enum family_head { HEAD_CLASSIFIER, HEAD_MLM, HEAD_COUNT };

struct family {
    const char *name;         /* ours */
    const char *model_type;   /* config.json's */
    const char *architecture; /* config.json's architectures[0], where model_type is not enough */
    enum engine_kind kind;
    struct block_spec block;
    unsigned image_specials; /* learnt tokens in front of the patches: [CLS], distillation */
    enum activation pooler_activation;
    bool drops_classifier; /* training: dropout before the classifier */
    bool drops_features;   /* training: dropout before the pooler */
    bool always_projects;  /* embeddings, also to their own size */
    enum position_kind positions;
    unsigned default_pad; /* id of the pad token; without key_pad always */

    /* config.json's keys; its defaults are those of the Hugging Face class */
    const char *key_hidden, *key_layers, *key_heads, *key_intermediate, *key_activation;
    const char *key_embedding;          /* NULL: embeddings have the hidden size */
    const char *key_groups, *key_inner; /* NULL: no layers are alike */
    const char *key_pad;
    unsigned default_layers;
    double default_eps;
    unsigned default_hidden, default_heads, default_intermediate; /* 0: 768, 12, 3072 */
    unsigned default_vocab, default_embedding;                    /* 0: 30522, none */
    const char *default_activation;                               /* NULL: gelu */

    const char *tensors[TENSOR_FIELDS];
    const char *architectures[HEAD_COUNT]; /* the Hugging Face classes; NULL: not with this head */
};

/* The family of a model_type and architecture (either may be NULL); NULL if none fits. */
const struct family *family_find(const char *model_type, const char *architecture);

/* "bert, distilbert, vit, deit": the model types that family_find knows. Cut to fit. */
void family_model_types(char *out, size_t size);

/* Bytes of the prefix that a checkpoint of the bare encoder leaves out of its names: "bert.". */
size_t family_root(const struct family *family);

#endif
