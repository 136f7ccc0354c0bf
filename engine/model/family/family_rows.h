/* family_rows.h - the table of families, in two files: those of texts and those of images. Private
 * to family.c, which searches it. Threads: constant data.
 */
#ifndef ATTND_ENGINE_MODEL_FAMILY_FAMILY_ROWS_H
#define ATTND_ENGINE_MODEL_FAMILY_FAMILY_ROWS_H

#include "engine/model/family/family.h"

extern const struct family family_texts[], family_images[];
extern const size_t family_text_count, family_image_count;

/* CLIP's second encoder, which is not searched for. */
extern const struct family family_clip_text;

#define ENCODER_KEYS                                                                               \
    .key_hidden = "hidden_size", .key_layers = "num_hidden_layers",                                \
    .key_heads = "num_attention_heads", .key_activation = "hidden_act", .default_layers = 12

#define COMMON_KEYS ENCODER_KEYS, .key_intermediate = "intermediate_size", .default_eps = 1e-12

/* CLIP's two encoders have the same blocks under different roots. */
#define CLIP_NAMES(root)                                                                           \
    .tensors[TENSOR_QUERY] = root ".encoder.layers.%u.self_attn.q_proj",                           \
    .tensors[TENSOR_KEY] = root ".encoder.layers.%u.self_attn.k_proj",                             \
    .tensors[TENSOR_VALUE] = root ".encoder.layers.%u.self_attn.v_proj",                           \
    .tensors[TENSOR_ATTENTION_OUT] = root ".encoder.layers.%u.self_attn.out_proj",                 \
    .tensors[TENSOR_ATTENTION_NORM] = root ".encoder.layers.%u.layer_norm1",                       \
    .tensors[TENSOR_MLP_IN] = root ".encoder.layers.%u.mlp.fc1",                                   \
    .tensors[TENSOR_MLP_OUT] = root ".encoder.layers.%u.mlp.fc2",                                  \
    .tensors[TENSOR_MLP_NORM] = root ".encoder.layers.%u.layer_norm2"

#define CLIP_KEYS                                                                                  \
    ENCODER_KEYS, .key_intermediate = "intermediate_size", .default_eps = 1e-5,                    \
                  .default_activation = "quick_gelu"

#endif
