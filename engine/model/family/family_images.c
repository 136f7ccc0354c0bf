#include "engine/model/family/family_rows.h"

/* ViT and DeiT have the same tensors under different roots. */
#define VIT_NAMES(root)                                                                            \
    .tensors[TENSOR_POSITION] = root ".embeddings.position_embeddings",                            \
    .tensors[TENSOR_PATCH] = root ".embeddings.patch_embeddings.projection",                       \
    .tensors[TENSOR_CLS_TOKEN] = root ".embeddings.cls_token",                                     \
    .tensors[TENSOR_QUERY] = root ".encoder.layer.%u.attention.attention.query",                   \
    .tensors[TENSOR_KEY] = root ".encoder.layer.%u.attention.attention.key",                       \
    .tensors[TENSOR_VALUE] = root ".encoder.layer.%u.attention.attention.value",                   \
    .tensors[TENSOR_ATTENTION_OUT] = root ".encoder.layer.%u.attention.output.dense",              \
    .tensors[TENSOR_ATTENTION_NORM] = root ".encoder.layer.%u.layernorm_before",                   \
    .tensors[TENSOR_MLP_IN] = root ".encoder.layer.%u.intermediate.dense",                         \
    .tensors[TENSOR_MLP_OUT] = root ".encoder.layer.%u.output.dense",                              \
    .tensors[TENSOR_MLP_NORM] = root ".encoder.layer.%u.layernorm_after",                          \
    .tensors[TENSOR_FINAL_NORM] = root ".layernorm"

/* DINOv2 with and without registers differ in the tokens and in the interpolation of positions. */
#define DINOV2_BLOCK                                                                               \
    {                                                                                              \
        NORM_BEFORE, .drops_attention_out = true, .keeps_mlp_out = true, .gate = ACTIVATION_SILU   \
    }

#define DINOV2_NAMES(root)                                                                         \
    .tensors[TENSOR_POSITION] = root ".embeddings.position_embeddings",                            \
    .tensors[TENSOR_PATCH] = root ".embeddings.patch_embeddings.projection",                       \
    .tensors[TENSOR_CLS_TOKEN] = root ".embeddings.cls_token",                                     \
    .tensors[TENSOR_QUERY] = root ".encoder.layer.%u.attention.attention.query",                   \
    .tensors[TENSOR_KEY] = root ".encoder.layer.%u.attention.attention.key",                       \
    .tensors[TENSOR_VALUE] = root ".encoder.layer.%u.attention.attention.value",                   \
    .tensors[TENSOR_ATTENTION_OUT] = root ".encoder.layer.%u.attention.output.dense",              \
    .tensors[TENSOR_ATTENTION_SCALE] = root ".encoder.layer.%u.layer_scale1.lambda1",              \
    .tensors[TENSOR_ATTENTION_NORM] = root ".encoder.layer.%u.norm1",                              \
    .tensors[TENSOR_MLP_IN] = root ".encoder.layer.%u.mlp.fc1",                                    \
    .tensors[TENSOR_MLP_OUT] = root ".encoder.layer.%u.mlp.fc2",                                   \
    .tensors[TENSOR_GATED_IN] = root ".encoder.layer.%u.mlp.weights_in",                           \
    .tensors[TENSOR_GATED_OUT] = root ".encoder.layer.%u.mlp.weights_out",                         \
    .tensors[TENSOR_MLP_SCALE] = root ".encoder.layer.%u.layer_scale2.lambda1",                    \
    .tensors[TENSOR_MLP_NORM] = root ".encoder.layer.%u.norm2",                                    \
    .tensors[TENSOR_FINAL_NORM] = root ".layernorm", .tensors[TENSOR_CLASSIFIER] = "classifier"

#define DINOV2_KEYS                                                                                \
    ENCODER_KEYS, .key_mlp_ratio = "mlp_ratio", .key_gated = "use_swiglu_ffn", .default_eps = 1e-6

#define BEIT_NAMES(root)                                                                           \
    .tensors[TENSOR_PATCH] = root ".embeddings.patch_embeddings.projection",                       \
    .tensors[TENSOR_CLS_TOKEN] = root ".embeddings.cls_token",                                     \
    .tensors[TENSOR_QUERY] = root ".encoder.layer.%u.attention.attention.query",                   \
    .tensors[TENSOR_KEY] = root ".encoder.layer.%u.attention.attention.key",                       \
    .tensors[TENSOR_VALUE] = root ".encoder.layer.%u.attention.attention.value",                   \
    .tensors[TENSOR_WINDOW_BIAS] =                                                                 \
        root ".encoder.layer.%u.attention.attention.relative_position_bias"                        \
             ".relative_position_bias_table",                                                      \
    .tensors[TENSOR_ATTENTION_OUT] = root ".encoder.layer.%u.attention.output.dense",              \
    .tensors[TENSOR_ATTENTION_SCALE] = root ".encoder.layer.%u.lambda_1",                          \
    .tensors[TENSOR_ATTENTION_NORM] = root ".encoder.layer.%u.layernorm_before",                   \
    .tensors[TENSOR_MLP_IN] = root ".encoder.layer.%u.intermediate.dense",                         \
    .tensors[TENSOR_MLP_OUT] = root ".encoder.layer.%u.output.dense",                              \
    .tensors[TENSOR_MLP_SCALE] = root ".encoder.layer.%u.lambda_2",                                \
    .tensors[TENSOR_MLP_NORM] = root ".encoder.layer.%u.layernorm_after",                          \
    .tensors[TENSOR_POOLED_NORM] = root ".pooler.layernorm"

#define SWIN_BLOCK "swin.encoder.layers.%u.blocks.%u."

#define SWIN_MERGE "swin.encoder.layers.%u.downsample."

const struct family family_images[] = {
    {
        /* Dosovitskiy et al. 2021 */
        .name = "vit",
        .model_type = "vit",
        .kind = ENGINE_IMAGE,
        .image_processor = "ViT",
        .prunes_heads = true,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 1,
        COMMON_KEYS,
        VIT_NAMES("vit"),
        .tensors[TENSOR_BARE_POOLER] = "vit.pooler.dense",
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "ViTForImageClassification"},
    },
    {
        /* Assran et al. 2022: ViT, trained differently */
        .name = "vit-msn",
        .model_type = "vit_msn",
        .kind = ENGINE_IMAGE,
        .image_processor = "ViT",
        .prunes_heads = true,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 1,
        ENCODER_KEYS,
        .key_intermediate = "intermediate_size",
        .default_eps = 1e-6,
        VIT_NAMES("vit"),
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "ViTMSNForImageClassification"},
    },
    {
        /* Touvron et al. 2021, both heads averaged */
        .name = "deit-distilled",
        .model_type = "deit",
        .architecture = "DeiTForImageClassificationWithTeacher",
        .kind = ENGINE_IMAGE,
        .image_processor = "DeiT",
        .prunes_heads = true,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 2,
        COMMON_KEYS,
        VIT_NAMES("deit"),
        .tensors[TENSOR_DISTILLATION_TOKEN] = "deit.embeddings.distillation_token",
        .tensors[TENSOR_BARE_POOLER] = "deit.pooler.dense",
        .tensors[TENSOR_CLASSIFIER] = "cls_classifier",
        .tensors[TENSOR_DISTILLATION_CLASSIFIER] = "distillation_classifier",
        .architectures = {[HEAD_CLASSIFIER] = "DeiTForImageClassificationWithTeacher"},
    },
    {
        .name = "deit",
        .model_type = "deit",
        .kind = ENGINE_IMAGE,
        .image_processor = "DeiT",
        .prunes_heads = true,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 2,
        COMMON_KEYS,
        VIT_NAMES("deit"),
        .tensors[TENSOR_DISTILLATION_TOKEN] = "deit.embeddings.distillation_token",
        .tensors[TENSOR_BARE_POOLER] = "deit.pooler.dense",
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "DeiTForImageClassification"},
    },
    {
        /* Oquab et al. 2023 */
        .name = "dinov2",
        .model_type = "dinov2",
        .kind = ENGINE_IMAGE,
        .image_processor = "Bit",
        .block = DINOV2_BLOCK,
        .image_specials = 1,
        .pooling = POOLING_FIRST_AND_PATCHES,
        .takes_any_size = true,
        .needs_squares = true,
        DINOV2_KEYS,
        .default_patch = 14,
        DINOV2_NAMES("dinov2"),
        .architectures = {[HEAD_CLASSIFIER] = "Dinov2ForImageClassification"},
    },
    {
        /* Darcet et al. 2024 */
        .name = "dinov2-with-registers",
        .model_type = "dinov2_with_registers",
        .kind = ENGINE_IMAGE,
        .image_processor = "Bit",
        .block = DINOV2_BLOCK,
        .image_specials = 1,
        .pooling = POOLING_FIRST_AND_PATCHES,
        .takes_any_size = true,
        .needs_squares = true,
        .positions_antialiased = true,
        DINOV2_KEYS,
        .key_registers = "num_register_tokens",
        DINOV2_NAMES("dinov2_with_registers"),
        .tensors[TENSOR_REGISTERS] = "dinov2_with_registers.embeddings.register_tokens",
        .architectures = {[HEAD_CLASSIFIER] = "Dinov2WithRegistersForImageClassification"},
    },
    {
        /* Bao et al. 2022 */
        .name = "beit",
        .model_type = "beit",
        .kind = ENGINE_IMAGE,
        .image_processor = "Beit",
        .block = {NORM_BEFORE, .always_biased = true, .key_unbiased = true,
                  .drops_attention_out = true},
        .image_specials = 1,
        .pooling = POOLING_PATCHES,
        COMMON_KEYS,
        .key_layer_scale = "layer_scale_init_value",
        .demands = {{"use_absolute_position_embeddings", false, false},
                    {"use_relative_position_bias", true, false},
                    {"use_shared_relative_position_bias", false, false},
                    {"use_mean_pooling", true, true}},
        BEIT_NAMES("beit"),
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "BeitForImageClassification"},
    },
    {
        /* Radford et al. 2021, the image encoder */
        .name = "clip",
        .model_type = "clip",
        .kind = ENGINE_IMAGE,
        .image_processor = "CLIP",
        .block = {NORM_BEFORE, .always_biased = true},
        .is_zero_shot = true,
        .part = "vision_config",
        .needs_squares = true,
        .plain_tables = true,
        .patch_unbiased = true,
        .image_specials = 1,
        CLIP_KEYS,
        .default_patch = 32,
        .tensors[TENSOR_CLS_TOKEN] = "vision_model.embeddings.class_embedding",
        .tensors[TENSOR_POSITION] = "vision_model.embeddings.position_embedding.weight",
        .tensors[TENSOR_PATCH] = "vision_model.embeddings.patch_embedding",
        .tensors[TENSOR_EMBEDDING_NORM] = "vision_model.pre_layrnorm",
        CLIP_NAMES("vision_model"),
        .tensors[TENSOR_FINAL_NORM] = "vision_model.post_layernorm",
        .tensors[TENSOR_PROJECTION] = "visual_projection",
        .architectures = {[HEAD_CLASSIFIER] = "CLIPModel"},
    },
    {
        /* Liu et al. 2021 */
        .name = "swin",
        .model_type = "swin",
        .kind = ENGINE_IMAGE,
        .image_processor = "ViT",
        .block = {NORM_BEFORE, .drops_attention_out = true, .drops_out_as_attention = true},
        .pooling = POOLING_PATCHES,
        .has_stages = true,
        .needs_squares = true,
        .key_activation = "hidden_act",
        .key_mlp_ratio = "mlp_ratio",
        .demands = {{"use_absolute_embeddings", false, false}},
        .default_patch = 4,
        .default_eps = 1e-5,
        .embedding_eps = 1e-5,
        .tensors[TENSOR_PATCH] = "swin.embeddings.patch_embeddings.projection",
        .tensors[TENSOR_EMBEDDING_NORM] = "swin.embeddings.norm",
        .tensors[TENSOR_QUERY] = SWIN_BLOCK "attention.self.query",
        .tensors[TENSOR_KEY] = SWIN_BLOCK "attention.self.key",
        .tensors[TENSOR_VALUE] = SWIN_BLOCK "attention.self.value",
        .tensors[TENSOR_WINDOW_BIAS] = SWIN_BLOCK "attention.self.relative_position_bias_table",
        .tensors[TENSOR_ATTENTION_OUT] = SWIN_BLOCK "attention.output.dense",
        .tensors[TENSOR_ATTENTION_NORM] = SWIN_BLOCK "layernorm_before",
        .tensors[TENSOR_MLP_IN] = SWIN_BLOCK "intermediate.dense",
        .tensors[TENSOR_MLP_OUT] = SWIN_BLOCK "output.dense",
        .tensors[TENSOR_MLP_NORM] = SWIN_BLOCK "layernorm_after",
        .tensors[TENSOR_MERGE_NORM] = SWIN_MERGE "norm",
        .tensors[TENSOR_MERGE] = SWIN_MERGE "reduction",
        .tensors[TENSOR_FINAL_NORM] = "swin.layernorm",
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "SwinForImageClassification"},
    },
};

const size_t family_image_count = sizeof family_images / sizeof family_images[0];
