/* config.json of encoders with decoders: what is read, the classes' defaults, and what is refused by
 * name. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/format/checkpoint.h"
#include "engine/model/decoder/pair_spec.h"
#include "engine/model/weights.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/golden/"

static struct spec source, target;
static struct err err;

static enum err_code read_config(const char *config)
{
    struct tempdir dir;
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", config, strlen(config));
    pair_spec_read(&source, &target, dir.path, &err);
    tempdir_close(&dir);
    return err.code;
}

static void ck_read(const char *config)
{
    ck_assert_msg(read_config(config) == ERR_OK, "%s: %s", config, err.text);
}

START_TEST(defaults_are_those_of_the_classes)
{
    ck_read("{\"model_type\": \"marian\"}");
    ck_assert_uint_eq(source.layers, 12);
    ck_assert_uint_eq(source.hidden, 1024);
    ck_assert_uint_eq(target.heads, 16);
    ck_assert_uint_eq(target.vocab_size, 58101);
    ck_assert_uint_eq(spec_text_tokens(&target), 1024);
    ck_assert(source.embedding_scale == 0 && spec_shares_words(&target));
    ck_assert(target.absent[TENSOR_OUTPUT] && target.output_scale == 0);
    ck_read("{\"model_type\": \"bart\"}");
    ck_assert_uint_eq(source.positions, 1026);
    ck_assert_uint_eq(spec_text_tokens(&source), 1024);
    ck_assert_int_eq(target.activation, ACTIVATION_GELU);
    ck_read("{\"model_type\": \"m2m_100\"}");
    ck_assert(source.embedding_scale == 32 && target.embedding_scale == 32);
    ck_assert_int_eq(source.activation, ACTIVATION_RELU);
    ck_assert_uint_eq(source.positions, 1026);
    ck_assert_uint_eq(spec_text_tokens(&source), 1024);
    ck_read("{\"model_type\": \"t5\", \"num_layers\": 4}");
    ck_assert_uint_eq(target.layers, 4);
    ck_assert_uint_eq(spec_head_width(&source), 64);
    ck_assert_uint_eq(spec_heads_width(&source), 512);
    ck_assert(!source.is_gated && source.relative.looks_forward && !target.relative.looks_forward);
    ck_assert(fabsf(target.output_scale - 1 / sqrtf(512)) < 1e-7f);
    ck_read("{\"model_type\": \"mt5\", \"num_decoder_layers\": 2}");
    ck_assert(source.is_gated && target.is_gated && !target.absent[TENSOR_OUTPUT]);
    ck_assert_int_eq(spec_gate(&source), ACTIVATION_GELU_TANH);
    ck_assert_uint_eq(source.layers, 8);
    ck_assert_uint_eq(target.layers, 2);
    ck_assert(target.output_scale == 0);
    ck_read("{\"model_type\": \"umt5\", \"num_layers\": 3}");
    ck_assert(source.is_gated && target.absent[TENSOR_OUTPUT] && target.output_scale > 0);
    ck_assert(source.buckets == 32 && target.layers == 3);
}
END_TEST

START_TEST(sides_have_sizes_of_their_own)
{
    ck_read("{\"model_type\": \"marian\", \"d_model\": 48, \"encoder_layers\": 3, "
            "\"decoder_layers\": 1, \"encoder_attention_heads\": 4, "
            "\"decoder_attention_heads\": 6, \"encoder_ffn_dim\": 50, \"decoder_ffn_dim\": 70, "
            "\"share_encoder_decoder_embeddings\": false, \"tie_word_embeddings\": false, "
            "\"vocab_size\": 300, \"decoder_vocab_size\": 200}");
    ck_assert(source.layers == 3 && target.layers == 1 && source.heads == 4 && target.heads == 6);
    ck_assert(source.intermediate == 50 && target.intermediate == 70);
    ck_assert(source.vocab_size == 300 && target.vocab_size == 200 && target.source == 48);
    ck_assert(!spec_shares_words(&target) && !target.absent[TENSOR_OUTPUT]);
    ck_read("{\"model_type\": \"t5\", \"feed_forward_proj\": \"gated-silu\", \"d_kv\": 5, "
            "\"num_heads\": 3, \"d_model\": 32}");
    ck_assert_int_eq(spec_gate(&source), ACTIVATION_SILU);
    ck_assert_uint_eq(spec_attended(&source, 0), 15);
}
END_TEST

#define IMAGE                                                                                      \
    "{\"model_type\": \"vision-encoder-decoder\", \"encoder\": {\"model_type\": \"vit\"}, "        \
    "\"decoder\": {\"model_type\": \"trocr\", \"d_model\": 768"

START_TEST(an_image_encoder_is_read_with_its_decoder)
{
    ck_read(IMAGE "}}");
    ck_assert_int_eq(source.family->kind, ENGINE_IMAGE);
    ck_assert_str_eq(source.root, "encoder.");
    ck_assert(!target.absent[TENSOR_EMBEDDING_NORM] && target.absent[TENSOR_OUTPUT]);
    ck_assert_uint_eq(target.positions, 514);
    ck_read(IMAGE ", \"layernorm_embedding\": false, \"use_learned_position_embeddings\": false, "
                  "\"scale_embedding\": true, \"tie_word_embeddings\": false, "
                  "\"cross_attention_hidden_size\": 768}}");
    ck_assert(target.absent[TENSOR_EMBEDDING_NORM] && !target.absent[TENSOR_OUTPUT]);
    ck_assert(target.embedding_scale > 0);
    ck_assert_int_eq(target.family->position_table, POSITIONS_SINES_FAIRSEQ);
    ck_assert(!target.projects_states && spec_states(&target) == 768);
    ck_read("{\"model_type\": \"vision-encoder-decoder\", \"encoder\": {\"model_type\": \"deit\"}, "
            "\"decoder\": {\"model_type\": \"trocr\", \"cross_attention_hidden_size\": null}}");
    ck_assert(target.projects_states && target.source == 768 && spec_states(&target) == 1024);
}
END_TEST

START_TEST(what_is_not_supported_is_refused_by_name)
{
    static const struct {
        const char *config, *words;
    } cases[] = {
        {"[1]", "config.json: "},
        {"{}", "(supported: marian, bart, mbart, pegasus, m2m_100, t5, mt5, "
               "umt5, vision-encoder-decoder)"},
        {"{\"model_type\": \"nllb-moe\"}", "model_type 'nllb-moe' is not supported: it is a "
                                           "model whose layers have several experts"},
        {"{\"model_type\": \"bert\"}", "model_type 'bert' is not supported"},
        {"{\"model_type\": 5}", "$.model_type: expected a string"},
        {"{\"model_type\": \"bart\", \"auto_map\": {\"a\": \"b\"}}", "$.auto_map"},
        {"{\"model_type\": \"bart\", \"quantization_config\": {\"a\": 1}}",
         "$.quantization_config"},
        {"{\"model_type\": \"bart\", \"d_model\": 0}", "$.d_model"},
        {"{\"model_type\": \"bart\", \"d_model\": 1e9}", "$.d_model"},
        {"{\"model_type\": \"bart\", \"decoder_layers\": 5000}", "$.decoder_layers"},
        {"{\"model_type\": \"bart\", \"decoder_attention_heads\": 5}",
         "d_model 1024 is not a multiple of decoder_attention_heads 5"},
        {"{\"model_type\": \"bart\", \"activation_function\": \"mish\"}",
         "activation_function 'mish' is not supported"},
        {"{\"model_type\": \"bart\", \"scale_embedding\": 1}", "$.scale_embedding"},
        {"{\"model_type\": \"marian\", \"share_encoder_decoder_embeddings\": \"no\"}",
         "$.share_encoder_decoder_embeddings"},
        {"{\"model_type\": \"marian\", \"share_encoder_decoder_embeddings\": false, "
         "\"decoder_vocab_size\": -4}",
         "$.decoder_vocab_size"},
        {"{\"model_type\": \"m2m_100\", \"pad_token_id\": 70000}", "$.pad_token_id"},
        {"{\"model_type\": \"t5\", \"d_kv\": 65536, \"num_heads\": 65536}",
         "num_heads 65536 times d_kv 65536 is more than 65536"},
        {"{\"model_type\": \"t5\", \"feed_forward_proj\": \"gated-\"}",
         "feed_forward_proj '' is not supported"},
        {"{\"model_type\": \"t5\", \"relative_attention_num_buckets\": 2}",
         "relative_attention_num_buckets 2 with relative_attention_max_distance 128"},
        {"{\"model_type\": \"t5\", \"relative_attention_max_distance\": 8}",
         "relative_attention_max_distance 8 is not supported"},
        {"{\"model_type\": \"vision-encoder-decoder\"}", "$.encoder: expected an object"},
        {"{\"model_type\": \"vision-encoder-decoder\", \"encoder\": {}, \"decoder\": 3}",
         "$.decoder: expected an object, found"},
        {"{\"model_type\": \"vision-encoder-decoder\", \"encoder\": {\"model_type\": "
         "\"swin\"}, \"decoder\": {}}",
         "config.json: encoder: model_type 'swin' is not supported (supported: vit, deit, beit)"},
        {"{\"model_type\": \"vision-encoder-decoder\", \"encoder\": {\"model_type\": \"vit\"}, "
         "\"decoder\": {\"model_type\": \"gpt2\"}}",
         "config.json: decoder: model_type 'gpt2' is not supported (supported: trocr)"},
        {IMAGE ", \"cross_attention_hidden_size\": 100}}",
         "cross_attention_hidden_size 100 is not supported (supported: null, and 768"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(read_config(cases[i].config) == ERR_UNSUPPORTED, "%s was not refused: %s",
                      cases[i].config, err.text);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "'%s' does not say '%s'", err.text,
                      cases[i].words);
        ck_assert_msg(strstr(err.text, "config.json: ") == err.text, "%s", err.text);
    }
}
END_TEST

/* ---- weights ---- */

/* Opens the weights of a golden checkpoint with a text of config.json changed. */
static void open_changed(const char *name, const char *from, const char *to)
{
    char path[256], changed[4096], *text;
    size_t bytes;
    struct tempdir dir;
    struct checkpoint *checkpoint;
    struct weights encoder = {0}, decoder = {0};
    const struct linear_backend *backend = &linear_native[PRECISION_F32];
    err = (struct err){0};
    snprintf(path, sizeof path, GOLDEN "%s/config.json", name);
    ck_assert_int_eq(file_read(&text, &bytes, path, 1 << 20, &err), ERR_OK);
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s: no %s", name, from);
    const int len = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to,
                             at + strlen(from));
    ck_assert_int_lt(len, (int)sizeof changed);
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", changed, (size_t)len);
    ck_assert_msg(pair_spec_read(&source, &target, dir.path, &err) == ERR_OK, "%s", err.text);
    snprintf(path, sizeof path, GOLDEN "%s", name);
    ck_assert_int_eq(checkpoint_open(&checkpoint, path, &err), ERR_OK);
    if (!weights_open(&encoder, &source, checkpoint, backend, backend, 1, &err)) {
        weights_open_target(&decoder, &target, &encoder, checkpoint, backend, backend, 1, &err);
        weights_close(&decoder, &target);
    }
    weights_close(&encoder, &source);
    checkpoint_close(checkpoint);
    tempdir_close(&dir);
    free(text);
}

START_TEST(tensors_that_are_missing_or_of_another_shape_are_named)
{
    static const struct {
        const char *name, *from, *to, *text;
    } cases[] = {
        {"marian-0", "\"decoder_ffn_dim\": 64", "\"decoder_ffn_dim\": 63",
         "tensor 'model.decoder.layers.0.fc1.weight' has shape [64, 32]; config.json asks for [63, "
         "32]"},
        {"marian-0", "\"decoder_layers\": 2", "\"decoder_layers\": 3",
         "tensor 'model.decoder.layers.2.self_attn.q_proj.weight' is missing"},
        {"marian-0", "\"encoder_layers\": 2", "\"encoder_layers\": 3",
         "tensor 'model.encoder.layers.2.self_attn.q_proj.weight' is missing"},
        {"marian-0", "\"share_encoder_decoder_embeddings\": true",
         "\"share_encoder_decoder_embeddings\": false",
         "tensor 'model.encoder.embed_tokens.weight' is missing"},
        {"bart-0", "\"vocab_size\": 500", "\"vocab_size\": 499",
         "tensor 'model.shared.weight' has shape [500, 32]; config.json asks for [499, 32]"},
        {"bart-0", "\"max_position_embeddings\": 64", "\"max_position_embeddings\": 66",
         "tensor 'model.encoder.embed_positions.weight' has shape [66, 32]; config.json asks for "
         "[68, 32]"},
        {"t5-0", "\"relative_attention_num_buckets\": 16", "\"relative_attention_num_buckets\": 18",
         "tensor 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight' has shape "
         "[16, 4]; config.json asks for [18, 4]"},
        {"t5-0", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\"",
         "tensor 'encoder.block.0.layer.1.DenseReluDense.wi_0.weight' is missing"},
        {"t5-gated-0", "\"d_kv\": 6", "\"d_kv\": 7",
         "tensor 'encoder.block.0.layer.0.SelfAttention.q.weight' has shape [36, 40]; config.json "
         "asks for [42, 40]"},
        {"trocr-1", "\"use_learned_position_embeddings\": false",
         "\"use_learned_position_embeddings\": true",
         "tensor 'decoder.model.decoder.embed_positions.weight' is missing"},
        {"trocr-1", "\"layernorm_embedding\": false", "\"layernorm_embedding\": true",
         "tensor 'decoder.model.decoder.layernorm_embedding.weight' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_changed(cases[i].name, cases[i].from, cases[i].to);
        ck_assert_msg(err.code == ERR_UNSUPPORTED && strcmp(err.text, cases[i].text) == 0,
                      "case %zu: '%s'", i, err.text);
    }
}
END_TEST

/* Every tensor of the files is used, but those that transformers ignores, too. */
START_TEST(all_tensors_of_both_sides_are_bound)
{
    static const char *const names[] = {"marian-0", "marian-1", "bart-0", "m2m100-0", "t5-gated-0"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char path[256];
        struct checkpoint *checkpoint;
        struct weights encoder, decoder;
        const struct linear_backend *backend = &linear_native[PRECISION_F32];
        err = (struct err){0};
        snprintf(path, sizeof path, GOLDEN "%s", names[n]);
        pair_spec_read(&source, &target, path, &err);
        ck_assert_int_eq(checkpoint_open(&checkpoint, path, &err), ERR_OK);
        weights_open(&encoder, &source, checkpoint, backend, backend, 1, &err);
        weights_open_target(&decoder, &target, &encoder, checkpoint, backend, backend, 1, &err);
        ck_assert_msg(err.code == ERR_OK, "%s", err.text);
        for (unsigned e = 0; e < encoder.unbound_count; e++)
            for (unsigned d = 0; d < decoder.unbound_count; d++)
                ck_assert_msg(strcmp(encoder.unbound[e], decoder.unbound[d]) != 0, "%s: %s",
                              names[n], encoder.unbound[e]);
        ck_assert_uint_gt(weights_bytes(&decoder, &target), decoder.output.bytes);
        weights_close(&decoder, &target);
        weights_close(&encoder, &source);
        checkpoint_close(checkpoint);
    }
}
END_TEST

START_TEST(a_confidence_that_would_not_be_obeyed_is_refused_by_name)
{
    static const struct {
        const char *text, *what; /* NULL: it is obeyed */
    } rows[] = {
        {"{\"confidence\": {\"scale\": 0.5, \"shift\": -4}}", NULL},
        {"{\"confidence\": {\"scale\": 1e-40}}", NULL},
        {"{\"confidence\": {\"scale\": 1e-50}}",
         "$.confidence: scale is above 0"}, /* 0 as a float */
        {"{\"confidence\": {\"Scale\": 2}}",
         "$.confidence.Scale is not supported (supported: scale, shift)"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct json_t *object;
        struct arena arena;
        arena_init(&arena);
        err = (struct err){0};
        source = (struct spec){.version = "1",
                               .family = family_find("vit", NULL),
                               .image_reading = image_reading_default};
        ck_assert(!doc_parse(&object, rows[r].text, strlen(rows[r].text), &doc_limits_file, &err));
        pair_spec_read_attnd(&source, object, &arena, &err);
        ck_assert_msg(err.code == (rows[r].what != NULL ? ERR_UNSUPPORTED : ERR_OK), "%s: %s",
                      rows[r].text, err.text);
        ck_assert_msg(rows[r].what == NULL || strstr(err.text, rows[r].what) != NULL, "%s: %s",
                      rows[r].text, err.text);
        ck_assert(err.code != ERR_OK || source.policy.confidence.scale > 0);
        doc_free(object);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(settings_that_are_no_object_are_not_taken_for_none)
{
    struct tempdir dir;
    struct arena arena;
    arena_init(&arena);
    tempdir_open(&dir);
    err = (struct err){0};
    source = (struct spec){
        .version = "1", .family = family_find("vit", NULL), .image_reading = image_reading_default};
    tempdir_write(&dir, "attnd.json", "[]", 2);
    ck_assert_int_eq(pair_spec_read_settings(&source, dir.path, &arena, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "attnd.json: expected an object, found an array");
    tempdir_close(&dir);
    arena_deinit(&arena);
}
END_TEST

SUITE("pair_spec", settings_that_are_no_object_are_not_taken_for_none,
      defaults_are_those_of_the_classes, sides_have_sizes_of_their_own,
      an_image_encoder_is_read_with_its_decoder, what_is_not_supported_is_refused_by_name,
      tensors_that_are_missing_or_of_another_shape_are_named, all_tensors_of_both_sides_are_bound,
      a_confidence_that_would_not_be_obeyed_is_refused_by_name)
