#include "engine/model/family/family_rows.h"

/* Families derived from BERT have its tensors under another root. */
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

/* A head with a class of its own: dense, activation, out_proj, with dropout before both layers. */
#define DENSE_HEAD(activation)                                                                     \
    .drops_features = true, .drops_classifier = true,                                              \
    .tensors[TENSOR_POOLER] = "classifier.dense", .pooler_activation = activation,                 \
    .tensors[TENSOR_CLASSIFIER] = "classifier.out_proj"

/* The Hugging Face classes of a family, and the last layers of those that answer each token. */
#define TEXT_AND_TAG_HEADS(class)                                                                  \
    .tensors[TENSOR_TAGS] = "classifier",                                                          \
    .architectures[HEAD_CLASSIFIER] = class "ForSequenceClassification",                           \
    .architectures[HEAD_TAGS] = class "ForTokenClassification"
#define TEXT_HEADS(class)                                                                          \
    TEXT_AND_TAG_HEADS(class), .tensors[TENSOR_ANSWERS] = "qa_outputs",                            \
                               .architectures[HEAD_ANSWERS] = class "ForQuestionAnswering"

/* RoBERTa and XLM-R differ in their vocabulary only; Longformer in its attention. */
#define ROBERTA(root)                                                                              \
    .kind = ENGINE_TEXT,                                                                           \
    .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},                     \
    .positions = POSITION_PAST_PAD, .key_pad = "pad_token_id", .default_pad = 1, COMMON_KEYS,      \
    BERT_NAMES(root), .tensors[TENSOR_BARE_POOLER] = root ".pooler.dense",                         \
    DENSE_HEAD(ACTIVATION_TANH)

/* RobertaLMHead, which these families share. */
#define ROBERTA_HEADS(class)                                                                       \
    .fills_by_gelu = true, .tensors[TENSOR_MLM_TRANSFORM] = "lm_head.dense",                       \
    .tensors[TENSOR_MLM_NORM] = "lm_head.layer_norm", .tensors[TENSOR_MLM_BIAS] = "lm_head",       \
    .architectures[HEAD_FILL] = class "ForMaskedLM", TEXT_HEADS(class)

const struct family family_texts[] = {
    {
        /* Devlin et al. 2019 */
        .name = "bert",
        .model_type = "bert",
        .kind = ENGINE_TEXT,
        .prunes_heads = true,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        .drops_classifier = true,
        COMMON_KEYS,
        BERT_NAMES("bert"),
        .tensors[TENSOR_POOLER] = "bert.pooler.dense",
        .tensors[TENSOR_BARE_POOLER] = "bert.pooler.dense",
        .pooler_activation = ACTIVATION_TANH,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        .tensors[TENSOR_MLM_TRANSFORM] = "cls.predictions.transform.dense",
        .tensors[TENSOR_MLM_NORM] = "cls.predictions.transform.LayerNorm",
        .tensors[TENSOR_MLM_BIAS] = "cls.predictions",
        TEXT_HEADS("Bert"),
        .architectures[HEAD_MLM] = "BertForMaskedLM",
        .architectures[HEAD_FILL] = "BertForMaskedLM",
    },
    {
        /* Sanh et al. 2019 */
        .name = "distilbert",
        .model_type = "distilbert",
        .kind = ENGINE_TEXT,
        .prunes_heads = true,
        .block = {NORM_AFTER, .always_biased = true},
        .drops_classifier = true,
        .key_hidden = "dim",
        .key_layers = "n_layers",
        .key_heads = "n_heads",
        .key_intermediate = "hidden_dim",
        .key_activation = "activation",
        .default_layers = 6,
        .key_eps = "",
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
        TEXT_HEADS("DistilBert"),
    },
    {
        /* Liu et al. 2019 */
        .name = "roberta",
        .model_type = "roberta",
        ROBERTA("roberta"),
        .prunes_heads = true,
        .default_vocab = 50265,
        ROBERTA_HEADS("Roberta"),
    },
    {
        /* Conneau et al. 2020 */
        .name = "xlm-roberta",
        .model_type = "xlm-roberta",
        ROBERTA("roberta"),
        .prunes_heads = true,
        ROBERTA_HEADS("XLMRoberta"),
    },
    {
        /* Martin et al. 2020: RoBERTa under another name */
        .name = "camembert",
        .model_type = "camembert",
        ROBERTA("roberta"),
        .prunes_heads = true,
        ROBERTA_HEADS("Camembert"),
    },
    {
        /* Baevski et al. 2022 */
        .name = "data2vec-text",
        .model_type = "data2vec-text",
        ROBERTA("data2vec_text"),
        .prunes_heads = true,
        ROBERTA_HEADS("Data2VecText"),
    },
    {
        /* Sun et al. 2019: BERT, except embeddings of tasks, which few checkpoints use */
        .name = "ernie",
        .model_type = "ernie",
        .kind = ENGINE_TEXT,
        .prunes_heads = true,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        .drops_classifier = true,
        COMMON_KEYS,
        .demands = {{"use_task_id", false, false}},
        BERT_NAMES("ernie"),
        .tensors[TENSOR_POOLER] = "ernie.pooler.dense",
        .tensors[TENSOR_BARE_POOLER] = "ernie.pooler.dense",
        .pooler_activation = ACTIVATION_TANH,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        TEXT_HEADS("Ernie"),
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
        TEXT_AND_TAG_HEADS("Longformer"), /* of answers all tokens of the question are global */
    },
    {
        /* Clark et al. 2020, the discriminator */
        .name = "electra",
        .model_type = "electra",
        .kind = ENGINE_TEXT,
        .prunes_heads = true,
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
        TEXT_HEADS("Electra"),
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
        .tensors[TENSOR_BARE_POOLER] = "albert.pooler",
        .pooler_activation = ACTIVATION_TANH,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        TEXT_HEADS("Albert"),
    },
    {
        /* Song et al. 2020 */
        .name = "mpnet",
        .model_type = "mpnet",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        .positions = POSITION_PAST_PAD,
        .default_pad = 1, /* fixed in MPNetEmbeddings */
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
        .tensors[TENSOR_BARE_POOLER] = "mpnet.pooler.dense",
        DENSE_HEAD(ACTIVATION_TANH),
        TEXT_HEADS("MPNet"),
    },
    {
        /* He, Gao and Chen 2023, and He et al. 2021 in its second form */
        .name = "deberta-v2",
        .model_type = "deberta-v2",
        .kind = ENGINE_TEXT,
        .block = {NORM_AFTER, .always_biased = true, .drops_attention_out = true},
        .drops_classifier = true,
        .key_hidden = "hidden_size",
        .key_layers = "num_hidden_layers",
        .key_heads = "num_attention_heads",
        .key_intermediate = "intermediate_size",
        .key_activation = "hidden_act",
        .default_layers = 24,
        .default_hidden = 1536,
        .default_heads = 24,
        .default_intermediate = 6144,
        .default_vocab = 128100,
        .default_eps = 1e-7,
        .demands = {{"relative_attention", true, false},
                    {"share_att_key", true, false},
                    {"position_biased_input", false, true}},
        .tensors[TENSOR_WORD] = "deberta.embeddings.word_embeddings.weight",
        .tensors[TENSOR_EMBEDDING_NORM] = "deberta.embeddings.LayerNorm",
        .tensors[TENSOR_RELATIVE_PLACES] = "deberta.encoder.rel_embeddings.weight",
        .tensors[TENSOR_RELATIVE_NORM] = "deberta.encoder.LayerNorm",
        .tensors[TENSOR_QUERY] = "deberta.encoder.layer.%u.attention.self.query_proj",
        .tensors[TENSOR_KEY] = "deberta.encoder.layer.%u.attention.self.key_proj",
        .tensors[TENSOR_VALUE] = "deberta.encoder.layer.%u.attention.self.value_proj",
        .tensors[TENSOR_ATTENTION_OUT] = "deberta.encoder.layer.%u.attention.output.dense",
        .tensors[TENSOR_ATTENTION_NORM] = "deberta.encoder.layer.%u.attention.output.LayerNorm",
        .tensors[TENSOR_MLP_IN] = "deberta.encoder.layer.%u.intermediate.dense",
        .tensors[TENSOR_MLP_OUT] = "deberta.encoder.layer.%u.output.dense",
        .tensors[TENSOR_MLP_NORM] = "deberta.encoder.layer.%u.output.LayerNorm",
        .tensors[TENSOR_POOLER] = "pooler.dense",
        .pooler_activation = ACTIVATION_GELU,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        TEXT_HEADS("DebertaV2"),
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
        .tokens_dense = true,
        .tensors[TENSOR_CLASSIFIER] = "classifier",
        TEXT_AND_TAG_HEADS("ModernBert"),
        .tensors[TENSOR_ANSWERS] = "classifier",
        .architectures[HEAD_ANSWERS] = "ModernBertForQuestionAnswering",
    },
};

const size_t family_text_count = sizeof family_texts / sizeof family_texts[0];

const struct family family_clip_text = {
    /* Radford et al. 2021, section 2.4 */
    .name = "clip-text",
    .model_type = "clip",
    .kind = ENGINE_TEXT,
    .block = {NORM_BEFORE, .always_biased = true, .is_causal = true},
    .part = "text_config",
    .pooling = POOLING_LAST,
    CLIP_KEYS,
    .default_hidden = 512,
    .default_heads = 8,
    .default_intermediate = 2048,
    .default_vocab = 49408,
    .default_positions = 77,
    .tensors[TENSOR_WORD] = "text_model.embeddings.token_embedding.weight",
    .tensors[TENSOR_POSITION] = "text_model.embeddings.position_embedding.weight",
    CLIP_NAMES("text_model"),
    .tensors[TENSOR_FINAL_NORM] = "text_model.final_layer_norm",
    .tensors[TENSOR_PROJECTION] = "text_projection",
    .architectures = {[HEAD_CLASSIFIER] = "CLIPModel"},
};
