#include "engine/model/family.h"

#include <string.h>

#define COMMON_KEYS                                                                                \
    .key_hidden = "hidden_size", .key_layers = "num_hidden_layers",                                \
    .key_heads = "num_attention_heads", .key_intermediate = "intermediate_size",                   \
    .key_activation = "hidden_act", .default_layers = 12, .default_eps = 1e-12

/* ViT and DeiT have the same tensors under different roots. */
#define VIT_NAMES(root)                                                                            \
    .position = root ".embeddings.position_embeddings",                                            \
    .patch = root ".embeddings.patch_embeddings.projection",                                       \
    .cls_token = root ".embeddings.cls_token",                                                     \
    .query = root ".encoder.layer.%u.attention.attention.query",                                   \
    .key = root ".encoder.layer.%u.attention.attention.key",                                       \
    .value = root ".encoder.layer.%u.attention.attention.value",                                   \
    .attention_out = root ".encoder.layer.%u.attention.output.dense",                              \
    .attention_norm = root ".encoder.layer.%u.layernorm_before",                                   \
    .mlp_in = root ".encoder.layer.%u.intermediate.dense",                                         \
    .mlp_out = root ".encoder.layer.%u.output.dense",                                              \
    .mlp_norm = root ".encoder.layer.%u.layernorm_after", .final_norm = root ".layernorm"

static const struct family families[] = {
    {
        /* Devlin et al. 2019 */
        .name = "bert",
        .model_type = "bert",
        .kind = ENGINE_TEXT,
        .post_norm = true,
        .token_types = true,
        .always_biased = true,
        COMMON_KEYS,
        .word = "bert.embeddings.word_embeddings.weight",
        .position = "bert.embeddings.position_embeddings.weight",
        .token_type = "bert.embeddings.token_type_embeddings.weight",
        .embedding_norm = "bert.embeddings.LayerNorm",
        .query = "bert.encoder.layer.%u.attention.self.query",
        .key = "bert.encoder.layer.%u.attention.self.key",
        .value = "bert.encoder.layer.%u.attention.self.value",
        .attention_out = "bert.encoder.layer.%u.attention.output.dense",
        .attention_norm = "bert.encoder.layer.%u.attention.output.LayerNorm",
        .mlp_in = "bert.encoder.layer.%u.intermediate.dense",
        .mlp_out = "bert.encoder.layer.%u.output.dense",
        .mlp_norm = "bert.encoder.layer.%u.output.LayerNorm",
        .pooler = "bert.pooler.dense",
        .pooler_activation = ACTIVATION_TANH,
        .classifier = "classifier",
    },
    {
        /* Sanh et al. 2019 */
        .name = "distilbert",
        .model_type = "distilbert",
        .kind = ENGINE_TEXT,
        .post_norm = true,
        .always_biased = true,
        .key_hidden = "dim",
        .key_layers = "n_layers",
        .key_heads = "n_heads",
        .key_intermediate = "hidden_dim",
        .key_activation = "activation",
        .default_layers = 6,
        .default_eps = 1e-12,
        .word = "distilbert.embeddings.word_embeddings.weight",
        .position = "distilbert.embeddings.position_embeddings.weight",
        .embedding_norm = "distilbert.embeddings.LayerNorm",
        .query = "distilbert.transformer.layer.%u.attention.q_lin",
        .key = "distilbert.transformer.layer.%u.attention.k_lin",
        .value = "distilbert.transformer.layer.%u.attention.v_lin",
        .attention_out = "distilbert.transformer.layer.%u.attention.out_lin",
        .attention_norm = "distilbert.transformer.layer.%u.sa_layer_norm",
        .mlp_in = "distilbert.transformer.layer.%u.ffn.lin1",
        .mlp_out = "distilbert.transformer.layer.%u.ffn.lin2",
        .mlp_norm = "distilbert.transformer.layer.%u.output_layer_norm",
        .pooler = "pre_classifier",
        .pooler_activation = ACTIVATION_RELU,
        .classifier = "classifier",
    },
    {
        /* Dosovitskiy et al. 2021 */
        .name = "vit",
        .model_type = "vit",
        .kind = ENGINE_IMAGE,
        .image_specials = 1,
        COMMON_KEYS,
        VIT_NAMES("vit"),
        .classifier = "classifier",
    },
    {
        /* Touvron et al. 2021, both heads averaged */
        .name = "deit-distilled",
        .model_type = "deit",
        .architecture = "DeiTForImageClassificationWithTeacher",
        .kind = ENGINE_IMAGE,
        .image_specials = 2,
        COMMON_KEYS,
        VIT_NAMES("deit"),
        .distillation_token = "deit.embeddings.distillation_token",
        .classifier = "cls_classifier",
        .distillation_classifier = "distillation_classifier",
    },
    {
        .name = "deit",
        .model_type = "deit",
        .kind = ENGINE_IMAGE,
        .image_specials = 2,
        COMMON_KEYS,
        VIT_NAMES("deit"),
        .distillation_token = "deit.embeddings.distillation_token",
        .classifier = "classifier",
    },
};

const struct family *family_find(const char *model_type, const char *architecture)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        const struct family *family = &families[i];
        if (model_type == NULL || strcmp(family->model_type, model_type) != 0)
            continue;
        if (family->architecture == NULL ||
            (architecture != NULL && strcmp(family->architecture, architecture) == 0))
            return family;
    }
    return NULL;
}

const char *family_model_types(void)
{
    return "bert, distilbert, vit, deit";
}
