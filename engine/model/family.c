#include "engine/model/family.h"

#include <stdio.h>
#include <string.h>

#define ENCODER_KEYS                                                                               \
    .key_hidden = "hidden_size", .key_layers = "num_hidden_layers",                                \
    .key_heads = "num_attention_heads", .key_activation = "hidden_act", .default_layers = 12
#define COMMON_KEYS ENCODER_KEYS, .key_intermediate = "intermediate_size", .default_eps = 1e-12

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

/* DINOv2 with and without registers differ in the tokens, and in how positions are interpolated. */
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

/* What was made from BERT has its tensors under another root. */
#define BERT_NAMES(root)                                                                           \
    .tensors[TENSOR_WORD] = root ".embeddings.word_embeddings.weight",                             \
    .tensors[TENSOR_POSITION] = root ".embeddings.position_embeddings.weight",                     \
    .tensors[TENSOR_TOKEN_TYPE] = root ".embeddings.token_type_embeddings.weight",                 \
    .tensors[TENSOR_EMBEDDING_NORM] = root ".embeddings.LayerNorm",                                \
    .tensors[TENSOR_QUERY] = root ".encoder.layer.%u.attention.self.query",                        \
    .tensors[TENSOR_KEY] = root ".encoder.layer.%u.attention.self.key",                            \
    .tensors[TENSOR_VALUE] = root ".encoder.layer.%u.attention.self.value",                        \
    .tensors[TENSOR_ATTENTION_OUT] = root ".encoder.layer.%u.attention.output.dense",              \
    .tensors[TENSOR_ATTENTION_NORM] = root ".encoder.layer.%u.attention.output.LayerNorm",         \
    .tensors[TENSOR_MLP_IN] = root ".encoder.layer.%u.intermediate.dense",                         \
    .tensors[TENSOR_MLP_OUT] = root ".encoder.layer.%u.output.dense",                              \
    .tensors[TENSOR_MLP_NORM] = root ".encoder.layer.%u.output.LayerNorm"

#define ALBERT_LAYER "albert.encoder.albert_layer_groups.%u.albert_layers.%u."

/* A head of its own class: dense, activation, out_proj, with dropout before both layers. */
#define DENSE_HEAD(activation)                                                                     \
    .drops_features = true, .drops_classifier = true,                                              \
    .tensors[TENSOR_POOLER] = "classifier.dense", .pooler_activation = activation,                 \
    .tensors[TENSOR_CLASSIFIER] = "classifier.out_proj"

/* RoBERTa and XLM-R differ in their vocabulary only; Longformer in its attention. */
#define ROBERTA(root)                                                                              \
    .kind = ENGINE_TEXT,                                                                           \
    .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},                     \
    .positions = POSITION_PAST_PAD, .key_pad = "pad_token_id", .default_pad = 1, COMMON_KEYS,      \
    BERT_NAMES(root), DENSE_HEAD(ACTIVATION_TANH)

static const struct family families[] = {
    {
        /* Devlin et al. 2019 */
        .name = "bert",
        .model_type = "bert",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        .drops_classifier = true,
        COMMON_KEYS,
        BERT_NAMES("bert"),
        .tensors[TENSOR_POOLER] = "bert.pooler.dense",
        .pooler_activation = ACTIVATION_TANH,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .tensors[TENSOR_MLM_TRANSFORM] = "cls.predictions.transform.dense",
        .tensors[TENSOR_MLM_NORM] = "cls.predictions.transform.LayerNorm",
        .tensors[TENSOR_MLM_BIAS] = "cls.predictions",
        .architectures =
            {[HEAD_CLASSIFIER] = "BertForSequenceClassification", [HEAD_MLM] = "BertForMaskedLM"},
    },
    {
        /* Sanh et al. 2019 */
        .name = "distilbert",
        .model_type = "distilbert",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true},
        .drops_classifier = true,
        .key_hidden = "dim",
        .key_layers = "n_layers",
        .key_heads = "n_heads",
        .key_intermediate = "hidden_dim",
        .key_activation = "activation",
        .default_layers = 6,
        .default_eps = 1e-12,
        .tensors[TENSOR_WORD] = "distilbert.embeddings.word_embeddings.weight",
        .tensors[TENSOR_POSITION] = "distilbert.embeddings.position_embeddings.weight",
        .tensors[TENSOR_EMBEDDING_NORM] = "distilbert.embeddings.LayerNorm",
        .tensors[TENSOR_QUERY] = "distilbert.transformer.layer.%u.attention.q_lin",
        .tensors[TENSOR_KEY] = "distilbert.transformer.layer.%u.attention.k_lin",
        .tensors[TENSOR_VALUE] = "distilbert.transformer.layer.%u.attention.v_lin",
        .tensors[TENSOR_ATTENTION_OUT] = "distilbert.transformer.layer.%u.attention.out_lin",
        .tensors[TENSOR_ATTENTION_NORM] = "distilbert.transformer.layer.%u.sa_layer_norm",
        .tensors[TENSOR_MLP_IN] = "distilbert.transformer.layer.%u.ffn.lin1",
        .tensors[TENSOR_MLP_OUT] = "distilbert.transformer.layer.%u.ffn.lin2",
        .tensors[TENSOR_MLP_NORM] = "distilbert.transformer.layer.%u.output_layer_norm",
        .tensors[TENSOR_POOLER] = "pre_classifier",
        .pooler_activation = ACTIVATION_RELU,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "DistilBertForSequenceClassification"},
    },
    {
        /* Liu et al. 2019 */
        .name = "roberta",
        .model_type = "roberta",
        ROBERTA("roberta"),
        .default_vocab = 50265,
        .architectures = {[HEAD_CLASSIFIER] = "RobertaForSequenceClassification"},
    },
    {
        /* Conneau et al. 2020 */
        .name = "xlm-roberta",
        .model_type = "xlm-roberta",
        ROBERTA("roberta"),
        .architectures = {[HEAD_CLASSIFIER] = "XLMRobertaForSequenceClassification"},
    },
    {
        /* Beltagy et al. 2020 */
        .name = "longformer",
        .model_type = "longformer",
        ROBERTA("longformer"),
        .key_window = "attention_window",
        .tensors[TENSOR_GLOBAL_QUERY] = "longformer.encoder.layer.%u.attention.self.query_global",
        .tensors[TENSOR_GLOBAL_KEY] = "longformer.encoder.layer.%u.attention.self.key_global",
        .tensors[TENSOR_GLOBAL_VALUE] = "longformer.encoder.layer.%u.attention.self.value_global",
        .architectures = {[HEAD_CLASSIFIER] = "LongformerForSequenceClassification"},
    },
    {
        /* Clark et al. 2020, the discriminator */
        .name = "electra",
        .model_type = "electra",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        COMMON_KEYS,
        .key_embedding = "embedding_size",
        .default_embedding = 128,
        .default_hidden = 256,
        .default_heads = 4,
        .default_intermediate = 1024,
        BERT_NAMES("electra"),
        .tensors[TENSOR_EMBEDDING_PROJECT] = "electra.embeddings_project",
        DENSE_HEAD(ACTIVATION_GELU),
        .architectures = {[HEAD_CLASSIFIER] = "ElectraForSequenceClassification"},
    },
    {
        /* Lan et al. 2020 */
        .name = "albert",
        .model_type = "albert",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true,
                  .keeps_mlp_out = true},
        .drops_classifier = true,
        .always_projects = true,
        COMMON_KEYS,
        .key_embedding = "embedding_size",
        .key_groups = "num_hidden_groups",
        .key_inner = "inner_group_num",
        .default_embedding = 128,
        .default_hidden = 4096,
        .default_heads = 64,
        .default_intermediate = 16384,
        .default_vocab = 30000,
        .default_activation = "gelu_new",
        .tensors[TENSOR_WORD] = "albert.embeddings.word_embeddings.weight",
        .tensors[TENSOR_POSITION] = "albert.embeddings.position_embeddings.weight",
        .tensors[TENSOR_TOKEN_TYPE] = "albert.embeddings.token_type_embeddings.weight",
        .tensors[TENSOR_EMBEDDING_NORM] = "albert.embeddings.LayerNorm",
        .tensors[TENSOR_EMBEDDING_PROJECT] = "albert.encoder.embedding_hidden_mapping_in",
        .tensors[TENSOR_QUERY] = ALBERT_LAYER "attention.query",
        .tensors[TENSOR_KEY] = ALBERT_LAYER "attention.key",
        .tensors[TENSOR_VALUE] = ALBERT_LAYER "attention.value",
        .tensors[TENSOR_ATTENTION_OUT] = ALBERT_LAYER "attention.dense",
        .tensors[TENSOR_ATTENTION_NORM] = ALBERT_LAYER "attention.LayerNorm",
        .tensors[TENSOR_MLP_IN] = ALBERT_LAYER "ffn",
        .tensors[TENSOR_MLP_OUT] = ALBERT_LAYER "ffn_output",
        .tensors[TENSOR_MLP_NORM] = ALBERT_LAYER "full_layer_layer_norm",
        .tensors[TENSOR_POOLER] = "albert.pooler",
        .pooler_activation = ACTIVATION_TANH,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "AlbertForSequenceClassification"},
    },
    {
        /* Song et al. 2020 */
        .name = "mpnet",
        .model_type = "mpnet",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        .positions = POSITION_PAST_PAD,
        .default_pad = 1, /* in MPNetEmbeddings itself */
        COMMON_KEYS,
        .default_vocab = 30527,
        .tensors[TENSOR_WORD] = "mpnet.embeddings.word_embeddings.weight",
        .tensors[TENSOR_POSITION] = "mpnet.embeddings.position_embeddings.weight",
        .tensors[TENSOR_EMBEDDING_NORM] = "mpnet.embeddings.LayerNorm",
        .tensors[TENSOR_RELATIVE_BIAS] = "mpnet.encoder.relative_attention_bias.weight",
        .tensors[TENSOR_QUERY] = "mpnet.encoder.layer.%u.attention.attn.q",
        .tensors[TENSOR_KEY] = "mpnet.encoder.layer.%u.attention.attn.k",
        .tensors[TENSOR_VALUE] = "mpnet.encoder.layer.%u.attention.attn.v",
        .tensors[TENSOR_ATTENTION_OUT] = "mpnet.encoder.layer.%u.attention.attn.o",
        .tensors[TENSOR_ATTENTION_NORM] = "mpnet.encoder.layer.%u.attention.LayerNorm",
        .tensors[TENSOR_MLP_IN] = "mpnet.encoder.layer.%u.intermediate.dense",
        .tensors[TENSOR_MLP_OUT] = "mpnet.encoder.layer.%u.output.dense",
        .tensors[TENSOR_MLP_NORM] = "mpnet.encoder.layer.%u.output.LayerNorm",
        DENSE_HEAD(ACTIVATION_TANH),
        .architectures = {[HEAD_CLASSIFIER] = "MPNetForSequenceClassification"},
    },
    {
        /* Warner et al. 2024 */
        .name = "modernbert",
        .model_type = "modernbert",
        .kind = ENGINE_TEXT,
        .block = {NORM_BEFORE, .always_biased = true, .skips_first_norm = true,
                  .drops_attention_out = true, .drops_out_as_attention = true,
                  .keeps_mlp_out = true, .drops_activated = true, .gates_by_activation = true},
        .drops_classifier = true,
        .is_rotary = true,
        .key_hidden = "hidden_size",
        .key_layers = "num_hidden_layers",
        .key_heads = "num_attention_heads",
        .key_activation = "hidden_activation",
        .key_intermediate = "intermediate_size",
        .key_eps = "norm_eps",
        .key_pooling = "classifier_pooling",
        .key_pooler_activation = "classifier_activation",
        .key_bias = {[TENSOR_EMBEDDING_NORM] = "norm_bias",
                     [TENSOR_QKV] = "attention_bias",
                     [TENSOR_ATTENTION_OUT] = "attention_bias",
                     [TENSOR_ATTENTION_NORM] = "norm_bias",
                     [TENSOR_GATED_IN] = "mlp_bias",
                     [TENSOR_GATED_OUT] = "mlp_bias",
                     [TENSOR_MLP_NORM] = "norm_bias",
                     [TENSOR_FINAL_NORM] = "norm_bias",
                     [TENSOR_POOLER] = "classifier_bias",
                     [TENSOR_HEAD_NORM] = "norm_bias"},
        .default_layers = 22,
        .default_eps = 1e-5,
        .default_intermediate = 1152,
        .default_vocab = 50368,
        .default_positions = 8192,
        .tensors[TENSOR_WORD] = "model.embeddings.tok_embeddings.weight",
        .tensors[TENSOR_EMBEDDING_NORM] = "model.embeddings.norm",
        .tensors[TENSOR_QKV] = "model.layers.%u.attn.Wqkv",
        .tensors[TENSOR_ATTENTION_OUT] = "model.layers.%u.attn.Wo",
        .tensors[TENSOR_ATTENTION_NORM] = "model.layers.%u.attn_norm",
        .tensors[TENSOR_GATED_IN] = "model.layers.%u.mlp.Wi",
        .tensors[TENSOR_GATED_OUT] = "model.layers.%u.mlp.Wo",
        .tensors[TENSOR_MLP_NORM] = "model.layers.%u.mlp_norm",
        .tensors[TENSOR_FINAL_NORM] = "model.final_norm",
        .tensors[TENSOR_POOLER] = "head.dense",
        .tensors[TENSOR_HEAD_NORM] = "head.norm",
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "ModernBertForSequenceClassification"},
    },
    {
        /* Dosovitskiy et al. 2021 */
        .name = "vit",
        .model_type = "vit",
        .kind = ENGINE_IMAGE,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 1,
        COMMON_KEYS,
        VIT_NAMES("vit"),
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "ViTForImageClassification"},
    },
    {
        /* Touvron et al. 2021, both heads averaged */
        .name = "deit-distilled",
        .model_type = "deit",
        .architecture = "DeiTForImageClassificationWithTeacher",
        .kind = ENGINE_IMAGE,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 2,
        COMMON_KEYS,
        VIT_NAMES("deit"),
        .tensors[TENSOR_DISTILLATION_TOKEN] = "deit.embeddings.distillation_token",
        .tensors[TENSOR_CLASSIFIER] = "cls_classifier",
        .tensors[TENSOR_DISTILLATION_CLASSIFIER] = "distillation_classifier",
        .architectures = {[HEAD_CLASSIFIER] = "DeiTForImageClassificationWithTeacher"},
    },
    {
        .name = "deit",
        .model_type = "deit",
        .kind = ENGINE_IMAGE,
        .block = {NORM_BEFORE, .drops_attention_out = true},
        .image_specials = 2,
        COMMON_KEYS,
        VIT_NAMES("deit"),
        .tensors[TENSOR_DISTILLATION_TOKEN] = "deit.embeddings.distillation_token",
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .architectures = {[HEAD_CLASSIFIER] = "DeiTForImageClassification"},
    },
    {
        /* Oquab et al. 2023 */
        .name = "dinov2",
        .model_type = "dinov2",
        .kind = ENGINE_IMAGE,
        .block = DINOV2_BLOCK,
        .image_specials = 1,
        .pooling = POOLING_FIRST_AND_PATCHES,
        .takes_any_size = true,
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
        .block = DINOV2_BLOCK,
        .image_specials = 1,
        .pooling = POOLING_FIRST_AND_PATCHES,
        .takes_any_size = true,
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

/* Families that share a model_type stand side by side in the table. */
void family_model_types(char *out, size_t size)
{
    const char *last = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof families / sizeof families[0] && used < size; i++) {
        if (strcmp(families[i].model_type, last) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                                     families[i].model_type);
        last = families[i].model_type;
    }
}

size_t family_root(const struct family *family)
{
    return strcspn(family->tensors[TENSOR_ATTENTION_OUT], ".") + 1;
}
