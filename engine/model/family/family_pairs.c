/* family_pairs.c - the rows of encoders and decoders of one checkpoint. Marian, BART, mBART,
 * Pegasus and M2M100 descend from fairseq's transformer (Vaswani et al. 2017) and share names and
 * keys; they differ in positions, in the placement of norms and in what stands at the ends. */
#include "engine/model/family/family_rows.h"

#include <stdio.h>
#include <string.h>

/* The layers of one side, "encoder" or "decoder", under `root`. */
#define FAIRSEQ_NAMES(root, side)                                                                  \
    .tensors[TENSOR_WORD] = root side ".embed_tokens.weight",                                      \
    .tensors[TENSOR_QUERY] = root side ".layers.%u.self_attn.q_proj",                              \
    .tensors[TENSOR_KEY] = root side ".layers.%u.self_attn.k_proj",                                \
    .tensors[TENSOR_VALUE] = root side ".layers.%u.self_attn.v_proj",                              \
    .tensors[TENSOR_ATTENTION_OUT] = root side ".layers.%u.self_attn.out_proj",                    \
    .tensors[TENSOR_ATTENTION_NORM] = root side ".layers.%u.self_attn_layer_norm",                 \
    .tensors[TENSOR_MLP_IN] = root side ".layers.%u.fc1",                                          \
    .tensors[TENSOR_MLP_OUT] = root side ".layers.%u.fc2",                                         \
    .tensors[TENSOR_MLP_NORM] = root side ".layers.%u.final_layer_norm"

#define FAIRSEQ_CROSS_NAMES(root)                                                                  \
    .tensors[TENSOR_CROSS_QUERY] = root "decoder.layers.%u.encoder_attn.q_proj",                   \
    .tensors[TENSOR_CROSS_KEY] = root "decoder.layers.%u.encoder_attn.k_proj",                     \
    .tensors[TENSOR_CROSS_VALUE] = root "decoder.layers.%u.encoder_attn.v_proj",                   \
    .tensors[TENSOR_CROSS_OUT] = root "decoder.layers.%u.encoder_attn.out_proj",                   \
    .tensors[TENSOR_CROSS_NORM] = root "decoder.layers.%u.encoder_attn_layer_norm"

#define FAIRSEQ_KEYS(side)                                                                         \
    .kind = ENGINE_TEXT, .key_hidden = "d_model", .key_layers = side "_layers",                    \
    .key_heads = side "_attention_heads", .key_intermediate = side "_ffn_dim",                     \
    .key_activation = "activation_function", .key_embedding_scale = "scale_embedding",             \
    .key_pad = "pad_token_id", .pads_words = true, .key_eps = "", .default_eps = 1e-5,             \
    .default_hidden = 1024, .default_layers = 12, .default_heads = 16,                             \
    .default_intermediate = 4096

#define FAIRSEQ_ENCODER(placement)                                                                 \
    .block = {placement, .always_biased = true, .drops_attention_out = true,                       \
              .drops_activated = true},                                                            \
    FAIRSEQ_KEYS("encoder"), .shared_words = "model.shared.weight",                                \
    FAIRSEQ_NAMES("model.", "encoder")

#define FAIRSEQ_DECODER(placement)                                                                 \
    .block = {placement, .always_biased = true, .is_decoder = true, .drops_attention_out = true,   \
              .drops_activated = true},                                                            \
    FAIRSEQ_KEYS("decoder"), .shared_words = "model.shared.weight",                                \
    FAIRSEQ_NAMES("model.", "decoder"), FAIRSEQ_CROSS_NAMES("model."),                             \
    .tensors[TENSOR_OUTPUT] = "lm_head"

#define BIAS "final_logits_bias" /* a buffer of some classes, which is not learnt */

/* Junczys-Dowmunt et al. 2018 */
#define MARIAN(side)                                                                               \
    .default_vocab = 58101, .default_positions = 1024, .position_table = POSITIONS_SINES,          \
    .default_pad = 58100, .tensors[TENSOR_POSITION] = "model." side ".embed_positions.weight"

static const struct family marian_encoder = {
    .name = "marian", .model_type = "marian", FAIRSEQ_ENCODER(NORM_AFTER), MARIAN("encoder")};
static const struct family marian_decoder = {.name = "marian-decoder",
                                             .model_type = "marian",
                                             FAIRSEQ_DECODER(NORM_AFTER),
                                             MARIAN("decoder"),
                                             .tensors[TENSOR_OUTPUT_BIAS] = BIAS};

/* Lewis et al. 2020 */
#define BART(side)                                                                                 \
    .default_vocab = 50265, .default_positions = 1024, .positions = POSITION_BEHIND_TWO,           \
    .default_pad = 1, .tensors[TENSOR_POSITION] = "model." side ".embed_positions.weight",         \
    .tensors[TENSOR_EMBEDDING_NORM] = "model." side ".layernorm_embedding"

static const struct family bart_encoder = {
    .name = "bart", .model_type = "bart", FAIRSEQ_ENCODER(NORM_AFTER), BART("encoder")};
static const struct family bart_decoder = {.name = "bart-decoder",
                                           .model_type = "bart",
                                           FAIRSEQ_DECODER(NORM_AFTER),
                                           BART("decoder"),
                                           .tensors[TENSOR_OUTPUT_BIAS] = BIAS};

/* Liu et al. 2020 */
static const struct family mbart_encoder = {.name = "mbart",
                                            .model_type = "mbart",
                                            FAIRSEQ_ENCODER(NORM_BEFORE),
                                            BART("encoder"),
                                            .tensors[TENSOR_FINAL_NORM] =
                                                "model.encoder.layer_norm"};
static const struct family mbart_decoder = {.name = "mbart-decoder",
                                            .model_type = "mbart",
                                            FAIRSEQ_DECODER(NORM_BEFORE),
                                            BART("decoder"),
                                            .tensors[TENSOR_FINAL_NORM] =
                                                "model.decoder.layer_norm",
                                            .tensors[TENSOR_OUTPUT_BIAS] = BIAS};

/* Zhang et al. 2020 */
#define PEGASUS(side)                                                                              \
    .default_vocab = 50265, .default_positions = 1024, .position_table = POSITIONS_SINES,          \
    .tensors[TENSOR_POSITION] = "model." side ".embed_positions.weight",                           \
    .tensors[TENSOR_FINAL_NORM] = "model." side ".layer_norm"

static const struct family pegasus_encoder = {
    .name = "pegasus", .model_type = "pegasus", FAIRSEQ_ENCODER(NORM_BEFORE), PEGASUS("encoder")};
static const struct family pegasus_decoder = {.name = "pegasus-decoder",
                                              .model_type = "pegasus",
                                              FAIRSEQ_DECODER(NORM_BEFORE),
                                              PEGASUS("decoder"),
                                              .tensors[TENSOR_OUTPUT_BIAS] = BIAS};

/* Fan et al. 2021; NLLB (Costa-jussà et al. 2022). Older files hold the sines, which transformers
 * ignores: they are computed. */
#define M2M100(side)                                                                               \
    .default_vocab = 128112, .default_positions = 1024, .default_activation = "relu",              \
    .scales_embedding = true, .positions = POSITION_PAST_PAD, .default_pad = 1,                    \
    .position_table = POSITIONS_SINES_FAIRSEQ,                                                     \
    .tensors[TENSOR_FINAL_NORM] = "model." side ".layer_norm"

static const struct family m2m100_encoder = {
    .name = "m2m100", .model_type = "m2m_100", FAIRSEQ_ENCODER(NORM_BEFORE), M2M100("encoder")};
static const struct family m2m100_decoder = {.name = "m2m100-decoder",
                                             .model_type = "m2m_100",
                                             FAIRSEQ_DECODER(NORM_BEFORE),
                                             M2M100("decoder")};

/* Raffel et al. 2020; the gated form: Shazeer 2020. Its positions have no end; 512 are those that
 * it was trained with. */
#define T5_KEYS                                                                                    \
    .kind = ENGINE_TEXT, .is_unbiased = true, .drops_states = true, .key_hidden = "d_model",       \
    .key_heads = "num_heads", .key_intermediate = "d_ff", .key_head_width = "d_kv",                \
    .key_gated_activation = "feed_forward_proj", .key_eps = "layer_norm_epsilon",                  \
    .key_buckets = "relative_attention_num_buckets",                                               \
    .key_distance = "relative_attention_max_distance", .key_positions = "n_positions",             \
    .shared_words = "shared.weight", .default_eps = 1e-6, .default_hidden = 512,                   \
    .default_positions = 512

#define T5_ENCODER                                                                                 \
    .block = {NORM_BEFORE,                                                                         \
              .always_biased = true,                                                               \
              .has_rms_norms = true,                                                               \
              .is_unscaled = true,                                                                 \
              .gates_by_activation = true,                                                         \
              .drops_attention_out = true,                                                         \
              .drops_activated = true},                                                            \
    T5_KEYS, .key_layers = "num_layers", T5_SIDE("encoder", "1")

#define T5_DECODER                                                                                 \
    .block = {NORM_BEFORE,                                                                         \
              .always_biased = true,                                                               \
              .is_decoder = true,                                                                  \
              .has_rms_norms = true,                                                               \
              .is_unscaled = true,                                                                 \
              .gates_by_activation = true,                                                         \
              .drops_attention_out = true,                                                         \
              .drops_activated = true},                                                            \
    T5_KEYS, .key_layers = "num_decoder_layers", T5_SIDE("decoder", "2"),                          \
    .tensors[TENSOR_CROSS_QUERY] = "decoder.block.%u.layer.1.EncDecAttention.q",                   \
    .tensors[TENSOR_CROSS_KEY] = "decoder.block.%u.layer.1.EncDecAttention.k",                     \
    .tensors[TENSOR_CROSS_VALUE] = "decoder.block.%u.layer.1.EncDecAttention.v",                   \
    .tensors[TENSOR_CROSS_OUT] = "decoder.block.%u.layer.1.EncDecAttention.o",                     \
    .tensors[TENSOR_CROSS_NORM] = "decoder.block.%u.layer.1.layer_norm",                           \
    .tensors[TENSOR_OUTPUT] = "lm_head"

/* The first layer has the bias of all; UMT5's layers have one each. */
#define T5_BIAS(side)                                                                              \
    .tensors[TENSOR_RELATIVE_BIAS] =                                                               \
        side ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"
#define UMT5_BIAS(side)                                                                            \
    .tensors[TENSOR_LAYER_BIAS] =                                                                  \
        side ".block.%u.layer.0.SelfAttention.relative_attention_bias.weight"

/* `mlp` is the number of the layer in a block that holds the MLP. */
#define T5_SIDE(side, mlp)                                                                         \
    .tensors[TENSOR_WORD] = "shared.weight",                                                       \
    .tensors[TENSOR_QUERY] = side ".block.%u.layer.0.SelfAttention.q",                             \
    .tensors[TENSOR_KEY] = side ".block.%u.layer.0.SelfAttention.k",                               \
    .tensors[TENSOR_VALUE] = side ".block.%u.layer.0.SelfAttention.v",                             \
    .tensors[TENSOR_ATTENTION_OUT] = side ".block.%u.layer.0.SelfAttention.o",                     \
    .tensors[TENSOR_ATTENTION_NORM] = side ".block.%u.layer.0.layer_norm",                         \
    .tensors[TENSOR_MLP_IN] = side ".block.%u.layer." mlp ".DenseReluDense.wi",                    \
    .tensors[TENSOR_MLP_OUT] = side ".block.%u.layer." mlp ".DenseReluDense.wo",                   \
    .tensors[TENSOR_GATE_IN] = side ".block.%u.layer." mlp ".DenseReluDense.wi_0",                 \
    .tensors[TENSOR_VALUE_IN] = side ".block.%u.layer." mlp ".DenseReluDense.wi_1",                \
    .tensors[TENSOR_GATED_OUT] = side ".block.%u.layer." mlp ".DenseReluDense.wo",                 \
    .tensors[TENSOR_MLP_NORM] = side ".block.%u.layer." mlp ".layer_norm",                         \
    .tensors[TENSOR_FINAL_NORM] = side ".final_layer_norm"

#define T5                                                                                         \
    .name = "t5", .model_type = "t5", .default_vocab = 32128, .default_layers = 6,                 \
    .default_heads = 8, .default_intermediate = 2048, .default_activation = "relu"

/* Xue et al. 2021; Chung et al. 2023 */
#define MT5(type)                                                                                  \
    .name = (type), .model_type = (type), .default_vocab = 250112, .default_layers = 8,            \
    .default_heads = 6, .default_intermediate = 1024, .default_activation = "gated-gelu"

static const struct family t5_encoder = {T5, T5_ENCODER, T5_BIAS("encoder")};
static const struct family t5_decoder = {T5, T5_DECODER, T5_BIAS("decoder")};
static const struct family mt5_encoder = {MT5("mt5"), T5_ENCODER, T5_BIAS("encoder")};
static const struct family mt5_decoder = {MT5("mt5"), T5_DECODER, T5_BIAS("decoder")};
static const struct family umt5_encoder = {MT5("umt5"), T5_ENCODER, UMT5_BIAS("encoder")};
static const struct family umt5_decoder = {MT5("umt5"), T5_DECODER, UMT5_BIAS("decoder")};

/* Li et al. 2021. Tensors of the decoder are under a second "decoder.". */
#define TROCR                                                                                      \
    .model_type = "trocr",                                                                         \
    .block = {NORM_AFTER, .always_biased = true, .is_decoder = true, .drops_attention_out = true,  \
              .drops_activated = true},                                                            \
    FAIRSEQ_KEYS("decoder"), FAIRSEQ_NAMES("decoder.model.", "decoder"),                           \
    FAIRSEQ_CROSS_NAMES("decoder.model."), .default_vocab = 50265, .default_positions = 512,       \
    .key_embedding_norm = "layernorm_embedding", .has_embedding_norm = true, .default_pad = 1,     \
    .tensors[TENSOR_EMBEDDING_NORM] = "decoder.model.decoder.layernorm_embedding",                 \
    .tensors[TENSOR_STATES_PROJECT] = "enc_to_dec_proj",                                           \
    .tensors[TENSOR_OUTPUT] = "decoder.output_projection"

static const struct family trocr_learnt = {.name = "trocr",
                                           TROCR,
                                           .positions = POSITION_BEHIND_TWO,
                                           .tensors[TENSOR_POSITION] =
                                               "decoder.model.decoder.embed_positions.weight"};
static const struct family trocr_sines = {.name = "trocr",
                                          TROCR,
                                          .positions = POSITION_PAST_PAD,
                                          .position_table = POSITIONS_SINES_FAIRSEQ};

static const struct family_pair pairs[] = {
    {.model_type = "marian",
     .source = &marian_encoder,
     .target = &marian_decoder,
     .key_sharing = "share_encoder_decoder_embeddings"},
    {.model_type = "bart", .source = &bart_encoder, .target = &bart_decoder},
    {.model_type = "mbart",
     .source = &mbart_encoder,
     .target = &mbart_decoder,
     .reads_last_first = true},
    {.model_type = "pegasus", .source = &pegasus_encoder, .target = &pegasus_decoder},
    {.model_type = "m2m_100", .source = &m2m100_encoder, .target = &m2m100_decoder},
    {.model_type = "t5",
     .source = &t5_encoder,
     .target = &t5_decoder,
     .has_as_many_layers = true,
     .scales_output = true},
    {.model_type = "mt5",
     .source = &mt5_encoder,
     .target = &mt5_decoder,
     .is_untied = true,
     .has_as_many_layers = true,
     .scales_output = true},
    {.model_type = "umt5",
     .source = &umt5_encoder,
     .target = &umt5_decoder,
     .has_as_many_layers = true,
     .scales_output = true},
};

const struct family_pair *family_pair_find(const char *model_type)
{
    for (size_t i = 0; model_type != NULL && i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(pairs[i].model_type, model_type) == 0)
            return &pairs[i];
    return NULL;
}

const struct family *family_trocr(bool has_learnt_positions)
{
    return has_learnt_positions ? &trocr_learnt : &trocr_sines;
}

void family_pair_types(char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s, ", pairs[i].model_type);
    if (used < size)
        snprintf(out + used, size - used, "vision-encoder-decoder");
}
