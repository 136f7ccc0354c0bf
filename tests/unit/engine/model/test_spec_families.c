/* config.json of the text families beyond BERT: defaults, what layers share, where positions begin,
 * and what is refused by name. */
#include "engine/model/spec.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static struct tempdir dir;
static struct arena arena;
static struct spec spec;
static struct err err;

static enum err_code read_bytes(const char *config, size_t len)
{
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", config, len);
    spec_read(&spec, dir.path, &arena, &err);
    tempdir_close(&dir);
    return err.code;
}

static enum err_code read_config(const char *config)
{
    return read_bytes(config, strlen(config));
}

static void ck_read(const char *config)
{
    ck_assert_msg(read_config(config) == ERR_OK, "%s: %s", config, err.text);
}

static void ck_refused(const char *config, const char *words)
{
    ck_assert_msg(read_config(config) == ERR_UNSUPPORTED, "%s was not refused", config);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' does not say '%s'", err.text, words);
    ck_assert_msg(strstr(err.text, "config.json: ") == err.text, "'%s' names no file", err.text);
}

#define DEBERTA                                                                                    \
    "{\"model_type\": \"deberta-v2\", \"relative_attention\": true, \"share_att_key\": true, "     \
    "\"position_biased_input\": false"

START_TEST(deberta_takes_the_defaults_of_its_class_and_what_published_ones_say)
{
    ck_read(DEBERTA ", \"pos_att_type\": \"p2c|c2p\", \"norm_rel_ebd\": \"layer_norm\"}");
    ck_assert_uint_eq(spec.hidden, 1536);
    ck_assert_uint_eq(spec.layers, 24);
    ck_assert_uint_eq(spec.heads, 24);
    ck_assert_uint_eq(spec.intermediate, 6144);
    ck_assert_uint_eq(spec.vocab_size, 128100);
    ck_assert_uint_eq(spec.token_types, 0);
    ck_assert_uint_eq(spec_text_tokens(&spec), 512);
    ck_assert_uint_eq(spec.disentangled.span, 512);
    ck_assert_uint_eq(spec.disentangled.buckets, 0);
    ck_assert_float_eq(spec.norm_eps, 1e-7f);
    ck_read(DEBERTA
            ", \"pos_att_type\": [\"c2p\"], \"norm_rel_ebd\": \"layer_norm\", "
            "\"position_buckets\": 256, \"type_vocab_size\": 0, \"max_relative_positions\": -1}");
    ck_assert_uint_eq(spec.disentangled.span, 256);
    ck_assert_uint_eq(spec.disentangled.distance_max, 512);
    ck_assert(spec.disentangled.content_to_position && !spec.disentangled.position_to_content);
}
END_TEST

/* Configuration classes of transformers 4.57. */
START_TEST(families_of_texts_take_the_defaults_of_their_hugging_face_classes)
{
    static const struct {
        const char *type;
        unsigned hidden, heads, intermediate, vocab, embedding, blocks, tokens;
        enum activation activation;
    } cases[] = {
        {"roberta", 768, 12, 3072, 50265, 768, 12, 510, ACTIVATION_GELU},
        {"xlm-roberta", 768, 12, 3072, 30522, 768, 12, 510, ACTIVATION_GELU},
        {"electra", 256, 4, 1024, 30522, 128, 12, 512, ACTIVATION_GELU},
        {"albert", 4096, 64, 16384, 30000, 128, 1, 512, ACTIVATION_GELU_TANH},
        {"mpnet", 768, 12, 3072, 30527, 768, 12, 510, ACTIVATION_GELU},
        {"longformer", 768, 12, 3072, 30522, 768, 12, 510, ACTIVATION_GELU},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[64];
        snprintf(config, sizeof config, "{\"model_type\": \"%s\"}", cases[i].type);
        ck_read(config);
        ck_assert_str_eq(spec.family->name, cases[i].type);
        ck_assert_uint_eq(spec.hidden, cases[i].hidden);
        ck_assert_uint_eq(spec.layers, 12);
        ck_assert_uint_eq(spec.heads, cases[i].heads);
        ck_assert_uint_eq(spec.intermediate, cases[i].intermediate);
        ck_assert_uint_eq(spec.vocab_size, cases[i].vocab);
        ck_assert_uint_eq(spec_embedding(&spec), cases[i].embedding);
        ck_assert_uint_eq(spec_blocks(&spec), cases[i].blocks);
        ck_assert_uint_eq(spec_text_tokens(&spec), cases[i].tokens);
        ck_assert_int_eq(spec.activation, cases[i].activation);
        ck_assert_float_eq(spec.norm_eps, 1e-12f);
    }
}
END_TEST

/* DistilBERT's class has it in its code: config.json is not asked. */
START_TEST(distilbert_has_one_epsilon_whatever_its_config_says)
{
    ck_read("{\"model_type\": \"distilbert\", \"layer_norm_eps\": 0.1}");
    ck_assert_float_eq(spec.norm_eps, 1e-12F);
    ck_read("{\"model_type\": \"electra\", \"layer_norm_eps\": 0.1}");
    ck_assert_float_eq(spec.norm_eps, 0.1F);
}
END_TEST

/* AlbertTransformer: group int(i / (layers / groups)), all of its blocks in turn. */
START_TEST(layers_share_blocks_as_albert_divides_them)
{
    static const struct {
        unsigned layers, groups, inner, expected[12];
    } cases[] = {
        {5, 1, 1, {0, 0, 0, 0, 0}},
        {5, 2, 1, {0, 0, 0, 1, 1}},
        {3, 1, 2, {0, 1, 0, 1, 0, 1}},
        {4, 2, 2, {0, 1, 0, 1, 2, 3, 2, 3}},
        {3, 3, 1, {0, 1, 2}},
        {2, 4, 1, {0, 2}},
        {7, 3, 1, {0, 0, 0, 1, 1, 2, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[160];
        snprintf(config, sizeof config,
                 "{\"model_type\": \"albert\", \"num_hidden_layers\": %u, "
                 "\"num_hidden_groups\": %u, \"inner_group_num\": %u}",
                 cases[i].layers, cases[i].groups, cases[i].inner);
        ck_read(config);
        ck_assert_uint_eq(spec.layers, cases[i].layers * cases[i].inner);
        ck_assert_uint_eq(spec_blocks(&spec), cases[i].groups * cases[i].inner);
        for (unsigned l = 0; l < spec.layers; l++)
            ck_assert_msg(spec_block(&spec, l) == cases[i].expected[l], "case %zu, layer %u: %u", i,
                          l, spec_block(&spec, l));
    }
}
END_TEST

START_TEST(embeddings_are_projected_where_sizes_differ_and_always_in_albert)
{
    ck_read("{\"model_type\": \"electra\", \"embedding_size\": 256}");
    ck_assert(!spec_projects(&spec));
    ck_read("{\"model_type\": \"electra\"}");
    ck_assert(spec_projects(&spec));
    ck_read("{\"model_type\": \"albert\", \"embedding_size\": 4096}");
    ck_assert(spec_projects(&spec));
    ck_read("{\"model_type\": \"bert\", \"embedding_size\": 3}"); /* not a member of BERT's */
    ck_assert(!spec_projects(&spec));
    ck_assert_uint_eq(spec_embedding(&spec), 768);
}
END_TEST

START_TEST(positions_begin_behind_the_pad_token_and_mpnets_is_always_one)
{
    ck_read("{\"model_type\": \"roberta\", \"pad_token_id\": 7}");
    ck_assert_uint_eq(spec.pad_id, 7);
    ck_assert_uint_eq(spec_text_tokens(&spec), 504);
    ck_read("{\"model_type\": \"mpnet\", \"pad_token_id\": 7}");
    ck_assert_uint_eq(spec.pad_id, 1);
    ck_assert_uint_eq(spec_text_tokens(&spec), 510);
    ck_read("{\"model_type\": \"electra\", \"pad_token_id\": 7}");
    ck_assert_uint_eq(spec_text_tokens(&spec), 512);
    ck_read("{\"model_type\": \"roberta\", \"max_position_embeddings\": 5}");
    ck_assert_uint_eq(spec_text_tokens(&spec), 3);
}
END_TEST

START_TEST(half_of_a_window_is_a_layers_reach)
{
    ck_read("{\"model_type\": \"longformer\"}");
    for (unsigned i = 0; i < spec.layers; i++)
        ck_assert_uint_eq(spec_reach(&spec, i), 256);
    ck_assert(spec_has_global(&spec));
    ck_read("{\"model_type\": \"longformer\", \"attention_window\": 64, "
            "\"max_position_embeddings\": 4098}");
    ck_assert_uint_eq(spec_reach(&spec, 11), 32);
    ck_assert_uint_eq(spec_text_tokens(&spec), 4096);
    ck_read("{\"model_type\": \"longformer\", \"num_hidden_layers\": 3, "
            "\"attention_window\": [2, 131072, 40]}");
    ck_assert_uint_eq(spec_reach(&spec, 0), 1);
    ck_assert_uint_eq(spec_reach(&spec, 1), 65536);
    ck_assert_uint_eq(spec_reach(&spec, 2), 20);
    ck_read("{\"model_type\": \"longformer\", \"attention_window\": null}");
    ck_assert_uint_eq(spec_reach(&spec, 5), 256);
    ck_read("{\"model_type\": \"roberta\", \"attention_window\": 7}"); /* not RoBERTa's */
    ck_assert_uint_eq(spec_reach(&spec, 5), 0);
    ck_assert(!spec_has_global(&spec));
}
END_TEST

START_TEST(windows_that_cannot_be_are_refused_by_name)
{
    static const char *const cases[][2] = {
        {"0", "attention_window 0 is not supported (supported: even numbers from 2 to 131072)"},
        {"-2", "attention_window -2 is not supported"},
        {"511", "attention_window 511 is not supported"},
        {"131074", "attention_window 131074 is not supported"},
        {"1e300", "attention_window 1e+300 is not supported"},
        {"99999999999999999999999", "attention_window"},
        {"2.5", "attention_window 2.5 is not supported"},
        {"\"512\"", "attention_window must be a number, or one for each layer, not a string"},
        {"{\"0\": 512}", "not an object"},
        {"[]", "not an array"},
        {"true", "attention_window must be a number"},
        {"[512]", "attention_window has 1 numbers; num_hidden_layers 2 needs one for each"},
        {"[512, 512, 512]", "attention_window has 3 numbers"},
        {"[512, \"a\"]", "not a string"},
        {"[512, [2]]", "not an array"},
        {"[512, 3]", "attention_window 3 is not supported"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[160];
        snprintf(config, sizeof config,
                 "{\"model_type\": \"longformer\", \"num_hidden_layers\": 2, "
                 "\"attention_window\": %s}",
                 cases[i][0]);
        ck_refused(config, cases[i][1]);
    }
}
END_TEST

START_TEST(sizes_that_cannot_be_are_refused_by_name)
{
    static const char *const cases[][2] = {
        {"{\"model_type\": \"roberta\", \"pad_token_id\": 50265}", "pad_token_id"},
        {"{\"model_type\": \"roberta\", \"pad_token_id\": -1}", "pad_token_id"},
        {"{\"model_type\": \"roberta\", \"pad_token_id\": \"1\"}", "pad_token_id"},
        {"{\"model_type\": \"roberta\", \"pad_token_id\": 600}", "pad token, 600"},
        {"{\"model_type\": \"roberta\", \"max_position_embeddings\": 4}", "no three positions"},
        {"{\"model_type\": \"mpnet\", \"max_position_embeddings\": 2}", "at least 3"},
        {"{\"model_type\": \"mpnet\", \"relative_attention_num_buckets\": 16}",
         "relative_attention_num_buckets 16 is not supported (supported: at least 32"},
        {"{\"model_type\": \"mpnet\", \"relative_attention_num_buckets\": 1e9}",
         "relative_attention_num_buckets"},
        {"{\"model_type\": \"albert\", \"num_hidden_groups\": 0}", "num_hidden_groups"},
        {"{\"model_type\": \"albert\", \"inner_group_num\": 1025}", "inner_group_num"},
        {"{\"model_type\": \"albert\", \"inner_group_num\": 1024}", "1024, the most"},
        {"{\"model_type\": \"albert\", \"num_hidden_groups\": 1024, \"inner_group_num\": 2, "
         "\"num_hidden_layers\": 1}",
         "1024, the most"},
        {"{\"model_type\": \"electra\", \"embedding_size\": 0}", "embedding_size"},
        {"{\"model_type\": \"electra\", \"embedding_size\": 70000}", "embedding_size"},
        {"{\"model_type\": \"albert\", \"position_embedding_type\": \"relative_key\"}",
         "relative_key"},
        {"{\"model_type\": \"electra\", \"hidden_act\": \"mish\"}", "mish"},
        {"{\"model_type\": \"deberta-v2\"}", "relative_attention false is not supported"},
        {"{\"model_type\": \"deberta-v2\", \"relative_attention\": true}", "share_att_key false"},
        {"{\"model_type\": \"deberta-v2\", \"relative_attention\": true, \"share_att_key\": true}",
         "position_biased_input true"},
        {DEBERTA "}", "norm_rel_ebd 'none'"},
        {DEBERTA ", \"norm_rel_ebd\": \"layer_norm\"}", "pos_att_type names no term"},
        {DEBERTA ", \"norm_rel_ebd\": \"layer_norm\", \"pos_att_type\": [\"c2p\"], "
                 "\"max_position_embeddings\": 0}",
         "max_position_embeddings"},
        {DEBERTA ", \"conv_kernel_size\": 3}", "conv_kernel_size 3 is not supported"},
        {DEBERTA ", \"num_attention_heads\": 7}", "is not a multiple of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_refused(cases[i][0], cases[i][1]);
}
END_TEST

START_TEST(members_that_would_change_the_answer_are_refused_and_unused_ones_pass)
{
    ck_refused("{\"model_type\": \"bert\", \"auto_map\": {\"AutoModel\": \"m.M\"}}",
               "$.auto_map is not supported: it names Python code");
    ck_refused("{\"model_type\": \"roberta\", \"is_decoder\": true}", "$.is_decoder");
    ck_refused("{\"model_type\": \"electra\", \"add_cross_attention\": true}", "cross_attention");
    ck_refused("{\"model_type\": \"albert\", \"pruned_heads\": {\"0\": [1]}}", "$.pruned_heads");
    ck_refused("{\"model_type\": \"vit\", \"quantization_config\": {\"bits\": 4}}",
               "$.quantization_config is not supported: its weights are packed numbers");
    ck_refused("{\"model_type\": \"bert\", \"auto_map\": \"code\"}", "$.auto_map");
    ck_refused("{\"model_type\": \"bert\", \"is_decoder\": 1}", "$.is_decoder");
    ck_read("{\"model_type\": \"bert\", \"is_decoder\": false, \"pruned_heads\": {}, "
            "\"auto_map\": null, \"quantization_config\": null, \"add_cross_attention\": false}");
}
END_TEST

START_TEST(spec_names_a_replacement_for_other_kinds_of_models)
{
    ck_refused("{\"model_type\": \"resnet\"}",
               "it is a convolutional network, and has no attention "
               "to explain: fine-tune a vision transformer");
    ck_refused("{\"model_type\": \"convnext\"}", "a convolutional network");
    ck_refused("{\"model_type\": \"gpt2\"}", "it is a decoder that predicts the next token: "
                                             "fine-tune an encoder on the same texts");
    ck_refused("{\"model_type\": \"llama\"}", "a decoder");
    ck_refused("{\"model_type\": \"t5\"}", "an encoder with a decoder that writes text");
    ck_refused("{\"model_type\": \"t5\"}", "(supported: bert, distilbert, roberta");
    ck_refused("{\"model_type\": \"whisper\"}", "it is for sound");
    ck_refused("{\"model_type\": \"no\\u001bsuch\"}", "model_type 'no?such' is not supported (");
}
END_TEST

/* Cut at every byte, and with bytes that are no UTF-8: an error, and nothing else. */
START_TEST(a_damaged_config_is_an_error_wherever_it_is_cut)
{
    static const char whole[] = "{\"model_type\": \"albert\", \"num_hidden_groups\": 2, "
                                "\"inner_group_num\": 2, \"id2label\": {\"0\": \"a\"}}";
    char changed[sizeof whole];
    ck_read(whole);
    for (size_t len = 0; len + 1 < sizeof whole; len++)
        ck_assert_int_ne(read_bytes(whole, len), ERR_OK);
    for (size_t i = 0; i + 1 < sizeof whole; i++) {
        memcpy(changed, whole, sizeof whole);
        changed[i] = '\xFF';
        ck_assert_int_ne(read_bytes(changed, sizeof whole - 1), ERR_OK);
    }
}
END_TEST

SUITE("spec_families", deberta_takes_the_defaults_of_its_class_and_what_published_ones_say,
      families_of_texts_take_the_defaults_of_their_hugging_face_classes,
      distilbert_has_one_epsilon_whatever_its_config_says,
      layers_share_blocks_as_albert_divides_them,
      embeddings_are_projected_where_sizes_differ_and_always_in_albert,
      positions_begin_behind_the_pad_token_and_mpnets_is_always_one,
      half_of_a_window_is_a_layers_reach, windows_that_cannot_be_are_refused_by_name,
      sizes_that_cannot_be_are_refused_by_name,
      members_that_would_change_the_answer_are_refused_and_unused_ones_pass,
      spec_names_a_replacement_for_other_kinds_of_models,
      a_damaged_config_is_an_error_wherever_it_is_cut)
