/* family.h - one row for each checkpoint family: the keys of its config.json, the names of its
 * tensors, the form of its block, and the differences of its inputs and head. Serving, training,
 * exporting, inspecting and explaining read this one description. A new family is a new row.
 *
 * Names of linear layers and norms are bases: ".weight" and ".bias" are appended. "%u" stands for
 * the layer's number; two "%u" for the group's number and the layer's in the group. NULL: the
 * family has no such tensor. Threads: constant data.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_FAMILY_H
#define ATTND_ENGINE_MODEL_FAMILY_FAMILY_H

#include "engine/base/err.h"
#include "engine/model/family/block_spec.h"
#include "engine/model/input.h"
#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>

/* The use of a tensor, or of the tensors of a linear layer or a norm. */
enum tensor_field {
    /* embeddings */
    TENSOR_WORD,
    TENSOR_POSITION,
    TENSOR_TOKEN_TYPE,
    TENSOR_EMBEDDING_NORM,    /* in images: behind the embeddings, before the first block */
    TENSOR_EMBEDDING_PROJECT, /* [D, E], if embeddings have E numbers */
    TENSOR_RELATIVE_BIAS,     /* [buckets, heads], for all layers: relative_bias.h */
    TENSOR_LAYER_BIAS,        /* the same, of one layer */
    TENSOR_RELATIVE_PLACES,   /* [2 span, D], for all layers: disentangled.h */
    TENSOR_RELATIVE_NORM,     /* norm of its rows */
    TENSOR_STATES_PROJECT,    /* [D, W]: an encoder's states for a decoder of another width */
    TENSOR_CLS_TOKEN,
    TENSOR_DISTILLATION_TOKEN,
    TENSOR_REGISTERS, /* learnt tokens behind [CLS], without position, which no head reads */
    TENSOR_PATCH,
    /* a block */
    TENSOR_QUERY,
    TENSOR_KEY,
    TENSOR_VALUE,
    TENSOR_QKV,          /* in place of the three: [3 D, D] */
    TENSOR_GLOBAL_QUERY, /* query of a global first token: global_token.h */
    TENSOR_GLOBAL_KEY,
    TENSOR_GLOBAL_VALUE,
    TENSOR_ATTENTION_OUT,
    TENSOR_WINDOW_BIAS,     /* added to the scores, by the positions of query and key */
    TENSOR_ATTENTION_SCALE, /* layer scale: the branch times a vector, before the residual sum */
    TENSOR_ATTENTION_NORM,
    TENSOR_CROSS_QUERY, /* a decoder's attention to the encoder's states */
    TENSOR_CROSS_KEY,
    TENSOR_CROSS_VALUE,
    TENSOR_CROSS_OUT,
    TENSOR_CROSS_NORM,
    TENSOR_MLP_IN,
    TENSOR_MLP_OUT,
    TENSOR_GATED_IN, /* replaces MLP_IN and MLP_OUT in a gated MLP */
    TENSOR_GATE_IN,  /* in place of GATED_IN: its two halves */
    TENSOR_VALUE_IN,
    TENSOR_GATED_OUT,
    TENSOR_MLP_SCALE,
    TENSOR_MLP_NORM,
    TENSOR_MERGE_NORM, /* behind a stage's last block: four patches side by side become one */
    TENSOR_MERGE,
    /* the classifier's head:
     * classifier(head_norm(activation(pooler(pooled_norm(pooling(final_norm(x))))))), or with the
     * unit length of a projection in place of activation and pooler */
    TENSOR_FINAL_NORM,
    TENSOR_POOLED_NORM,
    TENSOR_POOLER,
    TENSOR_BARE_POOLER, /* of the encoder alone, transformers' pooler_output: of embeddings, in
                           place of the head's pooler */
    TENSOR_PROJECTION,  /* [P, D], without bias: into the common space of texts and images */
    TENSOR_HEAD_NORM,
    TENSOR_CLASSIFIER,
    TENSOR_DISTILLATION_CLASSIFIER, /* on the second token; the logits are averaged */
    TENSOR_TAGS,    /* the classifier of each token: of final_norm(x) or, with tokens_dense, of
                    head_norm(activation(pooler(final_norm(x)))) */
    TENSOR_ANSWERS, /* in its place: where an answer begins and ends */
    /* the masked-language-model head: decoder(norm(activation(transform(x)))), the decoder's weight
     * being the word embedding (Devlin et al. 2019, section 3.1) */
    TENSOR_MLM_TRANSFORM,
    TENSOR_MLM_NORM,
    TENSOR_MLM_BIAS,
    /* a decoder's output: logits of the vocabulary */
    TENSOR_OUTPUT, /* [vocabulary, D]; absent if it is the word embedding */
    TENSOR_OUTPUT_BIAS,
    TENSOR_FIELDS
};

/* How the positions of a text are counted. */
enum position_kind {
    POSITION_INDEX,      /* 0, 1, 2, ... */
    POSITION_PAST_PAD,   /* pad id + 1, pad id + 2, ...; a literal pad token has the position of its
                             id and is not counted (Liu et al. 2019, as fairseq pads) */
    POSITION_BEHIND_TWO, /* 2, 3, 4, ...: two rows of the table are not read (Lewis et al. 2020) */
};

/* The table of positions. Sines are read from the checkpoint if it has them, else computed
 * (positions.h). */
enum position_table { POSITIONS_LEARNT, POSITIONS_SINES, POSITIONS_SINES_FAIRSEQ };

/* The head on the encoder. That of an embedding is in files of its own (sentence_modules.h). */
enum family_head {
    HEAD_CLASSIFIER,
    HEAD_MLM, /* learnt; the same tensors are served as HEAD_FILL or HEAD_SPARSE */
    HEAD_EMBEDDING,
    HEAD_TAGS,
    HEAD_ANSWERS, /* where the answer to a question begins and ends */
    HEAD_FILL,    /* words for masked tokens */
    HEAD_SPARSE,  /* weights of the vocabulary for a text: sentence_modules.h */
    HEAD_STATES,  /* an encoder's last states, which a decoder reads */
    HEAD_WORDS,   /* a decoder's: the next token */
    HEAD_COUNT
};

/* The way in which the head pools a sequence's last hidden states. */
enum family_pooling {
    POOLING_FIRST,             /* the first token, [CLS], and a distilled DeiT's second one */
    POOLING_LAST,              /* the last token of a text with causal attention */
    POOLING_PATCHES,           /* the mean of an image's patches, or of the last stage's */
    POOLING_FIRST_AND_PATCHES, /* [CLS] and, beside it, the mean of the patches: twice as wide */
    POOLING_TOKENS,            /* the mean of all tokens, [CLS] and [SEP] too */
};

/* A switch of config.json that has only one value here; `fallback` is the Hugging Face class's. */
struct family_demand {
    const char *key; /* NULL: the list's end */
    bool value, fallback;
};

enum { FAMILY_DEMANDS = 5 };

struct family {
    const char *name;         /* attnd's name */
    const char *model_type;   /* config.json's */
    const char *architecture; /* config.json's architectures[0], if model_type is not enough */
    enum engine_kind kind;
    struct block_spec block;
    /* A classifier whose labels are texts, encoded by another family (engine/engine_labels.c): the
     * checkpoint has no classifier. Sizes are in config.json's member `part`. */
    bool is_zero_shot;
    const char *part;            /* NULL: config.json itself */
    const char *image_processor; /* the class if preprocessor_config.json names none, without
                                    "ImageProcessor" */
    bool prunes_heads;           /* layers may lack heads: config/pruned_heads.c */
    bool plain_tables;           /* image tables are [D] and [places, D], without dimensions of 1 */
    bool patch_unbiased;         /* the patches' convolution has no bias */
    unsigned image_specials;     /* learnt tokens with a position in front of the patches: [CLS],
                                distillation */
    enum family_pooling pooling;
    /* The image size is the preprocessor's: positions are interpolated when the model is opened. */
    bool takes_any_size;
    bool needs_squares;         /* config.json's images and patches are squares */
    bool positions_antialiased; /* positions.h */
    enum activation pooler_activation;
    bool tokens_dense;  /* the head of each token has the dense layer and norm of a text's */
    bool fills_by_gelu; /* the masked-language-model head has gelu, whatever key_activation says */
    bool drops_classifier; /* training: dropout before the classifier */
    bool drops_features;   /* training: dropout before the pooler */
    bool drops_states;     /* training: dropout behind the last norm */
    bool pads_words;       /* training: the pad token's word is not learnt where it is read
                              (PyTorch's padding_idx) */
    bool always_projects;  /* projects embeddings even to the same size */
    bool is_unbiased;      /* no linear layer has a bias, no norm a beta */
    enum position_kind positions;
    enum position_table position_table;
    unsigned default_pad; /* id of the pad token; without key_pad it always counts */

    /* config.json's keys; its defaults are those of the Hugging Face class */
    const char *key_hidden, *key_layers, *key_heads, *key_intermediate, *key_activation;
    const char *key_mlp_ratio; /* instead of key_intermediate: a multiple of the hidden size */
    const char *key_gated;     /* true: the MLP has the block's gate; NULL: as the block */
    const char *key_gated_activation; /* in place of key_gated and key_activation: "gated-gelu" */
    const char *key_head_width;       /* width of a head; NULL: the hidden size over the heads */
    const char *key_embedding_scale;  /* true: embeddings are multiplied by the root of D */
    bool scales_embedding;            /* the class's value of it */
    const char *key_embedding_norm;   /* false: there is no embedding norm */
    bool has_embedding_norm;          /* the class's value of it */
    const char *key_buckets, *key_distance; /* relative_bias.h; NULL: MPNet's */
    const char *key_positions;              /* NULL: max_position_embeddings */
    const char *key_registers;              /* the number of registers */
    const char *key_layer_scale;            /* must be above 0 */
    const char *key_embedding;              /* NULL: embeddings have the hidden size */
    const char *key_groups, *key_inner;     /* NULL: layers share no blocks */
    bool has_stages; /* config/stage_config.c reads the sizes; attention has windows */
    /* Tokens that a query sees, half on each side; one number, or one a layer. NULL: all tokens. */
    const char *key_window;
    const char *key_pad;
    const char *key_eps;               /* NULL: layer_norm_eps; "": it is default_eps */
    const char *key_pooling;           /* "cls" or "mean": POOLING_FIRST or POOLING_TOKENS */
    const char *key_pooler_activation; /* NULL: it is pooler_activation */
    /* Keys that tell if a field has a bias (a norm a beta), false if absent. NULL: it has. */
    const char *key_bias[TENSOR_FIELDS];
    bool is_rotary; /* positions rotate query and key (rotary.h): config/rotary_config.c */
    struct family_demand demands[FAMILY_DEMANDS];
    unsigned default_layers, default_patch; /* a patch of 0: 16 */
    double default_eps;
    double embedding_eps; /* eps of the norm behind the patches and of mergings; 0: the config's */
    unsigned default_hidden, default_heads, default_intermediate; /* 0: 768, 12, 3072 */
    unsigned default_vocab, default_embedding, default_positions; /* 0: 30522, none, 512 */
    const char *default_activation;                               /* NULL: gelu */

    const char *tensors[TENSOR_FIELDS];
    const char *shared_words; /* the word embedding of encoder and decoder, if they share it */
    const char *architectures[HEAD_COUNT]; /* the Hugging Face classes; NULL: not with this head */
};

/* An encoder and a decoder of one checkpoint. */
struct family_pair {
    const char *model_type; /* config.json's */
    const struct family *source, *target;
    bool is_untied;          /* the class's tie_word_embeddings is false */
    bool has_as_many_layers; /* a decoder without its key has the encoder's number of layers */
    bool scales_output;      /* a tied output reads the states times D^-1/2 */
    bool reads_last_first;   /* training: a decoder reads the target's last token first, in place of
                                decoder_start_token_id */
    const char *key_sharing; /* false: each has words of its own, the decoder's vocabulary has
                                decoder_vocab_size; NULL: they share them */
};

/* Returns the pair of a model_type; NULL: none. An image's encoder is any family of images:
 * family_find, and family_trocr is its decoder. */
const struct family_pair *family_pair_find(const char *model_type);
/* Returns TrOCR's decoder, with learnt positions or with sines (Li et al. 2021). */
const struct family *family_trocr(bool has_learnt_positions);
/* Writes the model types that family_pair_find knows, as family_model_types does. */
void family_pair_types(char *out, size_t size);

/* Returns the encoder of labels for families that are zero-shot. No model_type finds it. */
const struct family *family_of_labels(void);

/* Returns the family of a model_type and architecture (either may be NULL); NULL if none fits. */
const struct family *family_find(const char *model_type, const char *architecture);

/* Writes the model types that family_find knows: "bert, distilbert, vit, deit". Cut to fit. */
void family_model_types(char *out, size_t size);

/* Bytes of the prefix that names lack in a checkpoint of the bare encoder: "bert.". */
size_t family_root(const struct family *family);

struct json_t;

/* Finds an activation by its name in transformers' ACT2FN. ERR_UNSUPPORTED names `key`, the member
 * that has it, and the supported names. */
enum err_code activation_find(const char *name, const char *key, enum activation *out,
                              struct err *err);

/* Reads the name of an activation, of those in transformers' ACT2FN that the kernels have, from the
 * member `key`; if absent, `fallback`, or "gelu" if that is NULL. ERR_UNSUPPORTED has the member's
 * value and the supported names. */
enum err_code activation_name_read(const struct json_t *config, const char *key,
                                   const char *fallback, enum activation *out, struct err *err);

#endif
