/* family.h - one row a checkpoint family: what its config.json calls things, what its tensors are
 * called, and the few ways in which its encoder differs. The next family is a row, not a fork.
 *
 * Names of linear layers and norms are bases: ".weight" and ".bias" are appended. "%u" stands for
 * the layer's number. NULL: the family has no such thing. Threads: constant data.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_H
#define ATTND_ENGINE_MODEL_FAMILY_H

#include "engine/model/input.h"
#include "engine/tensor/kernels.h"

#include <stdbool.h>

struct family {
    const char *name;         /* ours */
    const char *model_type;   /* config.json's */
    const char *architecture; /* config.json's architectures[0], where model_type is not enough */
    enum engine_kind kind;
    bool post_norm;     /* norm after the residual sum (BERT) instead of before the block (ViT) */
    bool token_types;   /* adds the embedding of token type 0 */
    bool always_biased; /* query, key and value have biases whatever qkv_bias says */
    unsigned image_specials; /* learnt tokens in front of the patches: [CLS], distillation */

    /* config.json's keys; its defaults are those of the Hugging Face class */
    const char *key_hidden, *key_layers, *key_heads, *key_intermediate, *key_activation;
    unsigned default_layers;
    double default_eps;

    /* embeddings */
    const char *word, *position, *token_type, *embedding_norm;
    const char *patch, *cls_token, *distillation_token;

    /* block */
    const char *query, *key, *value, *attention_out, *attention_norm;
    const char *mlp_in, *mlp_out, *mlp_norm;

    /* head: classifier(activation(pooler(final_norm(x[CLS])))) */
    const char *final_norm, *pooler;
    enum activation pooler_activation;
    const char *classifier;
    const char *distillation_classifier; /* on the second token; the logits are averaged */
};

/* The family of a model_type and architecture (either may be NULL); NULL if none fits. */
const struct family *family_find(const char *model_type, const char *architecture);

/* "bert, distilbert, vit, deit": the model types that family_find knows. */
const char *family_model_types(void);

#endif
