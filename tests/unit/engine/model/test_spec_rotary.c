/* config.json of a family with rotary positions and local layers, as transformers 4 and 5 write it:
 * defaults, what both spellings say, and what is refused by name. */
#include "engine/model/spec.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;
static struct arena arena;
static struct spec spec;
static struct err err;

/* A ModernBERT of six layers with more members: ", \"a\": 1". */
static enum err_code read_with(const char *members)
{
    char config[2048];
    snprintf(config, sizeof config, "{\"model_type\": \"modernbert\", \"num_hidden_layers\": 6%s}",
             members);
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", config, strlen(config));
    spec_read(&spec, dir.path, &arena, &err);
    tempdir_close(&dir);
    return err.code;
}

static void ck_read(const char *members)
{
    ck_assert_msg(read_with(members) == ERR_OK, "%s: %s", members, err.text);
}

static void ck_reaches(const char *members, const unsigned expected[6])
{
    ck_read(members);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_msg(spec_reach(&spec, i) == expected[i], "%s: layer %u reaches %u", members, i,
                      spec_reach(&spec, i));
}

static void ck_bases(const char *members, double global, double local)
{
    ck_read(members);
    ck_assert_double_eq(spec.rotary_base[0], global);
    ck_assert_double_eq(spec.rotary_base[1], local);
}

START_TEST(modernbert_takes_the_defaults_of_its_hugging_face_class)
{
    ck_read("");
    ck_assert_uint_eq(spec.hidden, 768);
    ck_assert_uint_eq(spec.heads, 12);
    ck_assert_uint_eq(spec.intermediate, 1152);
    ck_assert_uint_eq(spec.vocab_size, 50368);
    ck_assert_uint_eq(spec_text_tokens(&spec), 8192);
    ck_assert_float_eq(spec.norm_eps, 1e-5f);
    ck_assert(spec.is_gated && !spec.pools_tokens && !spec_head_reads_all(&spec));
    ck_assert_int_eq(spec_gate(&spec), ACTIVATION_GELU);
    ck_assert_int_eq(spec_pooler_activation(&spec), ACTIVATION_GELU);
    ck_bases("", 160000, 10000);
    ck_reaches("", (const unsigned[]){0, 64, 64, 0, 64, 64});
}
END_TEST

START_TEST(activations_biases_and_pooling_are_config_jsons)
{
    static const char *const keys[] = {"norm_bias", "attention_bias", "mlp_bias",
                                       "classifier_bias"};
    static const enum tensor_field fields[] = {TENSOR_MLP_NORM, TENSOR_QKV, TENSOR_GATED_IN,
                                               TENSOR_POOLER};
    ck_read(", \"hidden_activation\": \"relu\", \"classifier_activation\": \"gelu_new\", "
            "\"classifier_pooling\": \"mean\", \"norm_eps\": 0.5");
    ck_assert_int_eq(spec_gate(&spec), ACTIVATION_RELU);
    ck_assert_int_eq(spec_pooler_activation(&spec), ACTIVATION_GELU_TANH);
    ck_assert_int_eq(spec_pooling(&spec), POOLING_TOKENS);
    ck_assert_uint_eq(spec_kept_tokens(&spec, 17), 17);
    ck_assert_uint_eq(spec_pooled_tokens(&spec, 17), 17);
    ck_assert_float_eq(spec.norm_eps, 0.5f);
    for (int k = 0; k < 4; k++) {
        char members[64];
        snprintf(members, sizeof members, ", \"%s\": true", keys[k]);
        ck_read(members);
        for (int f = 0; f < 4; f++)
            ck_assert_int_eq(spec.unbiased[fields[f]], f != k);
        ck_assert(!spec.unbiased[TENSOR_CLASSIFIER]);
    }
}
END_TEST

START_TEST(every_nth_layer_is_global_and_the_others_reach_half_a_window)
{
    ck_reaches(", \"global_attn_every_n_layers\": 2, \"local_attention\": 9",
               (const unsigned[]){0, 4, 0, 4, 0, 4});
    ck_reaches(", \"global_attn_every_n_layers\": 1", (const unsigned[]){0, 0, 0, 0, 0, 0});
    ck_reaches(", \"global_attn_every_n_layers\": 1024, \"local_attention\": 2",
               (const unsigned[]){0, 1, 1, 1, 1, 1});
}
END_TEST

START_TEST(a_null_local_base_is_the_global_one)
{
    ck_bases(", \"global_rope_theta\": 500", 500, 10000);
    ck_bases(", \"global_rope_theta\": 500, \"local_rope_theta\": 20.5", 500, 20.5);
    ck_bases(", \"global_rope_theta\": 500, \"local_rope_theta\": null", 500, 500);
    ck_bases(", \"local_rope_theta\": null", 160000, 160000);
}
END_TEST

#define LAYER_TYPES(a, b, c)                                                                       \
    ", \"layer_types\": [\"full_attention\", \"" a "_attention\", \"" b "_attention\", \"" c       \
    "_attention\", \"sliding_attention\", \"full_attention\"]"

START_TEST(the_spelling_of_transformers_5_says_the_same)
{
    ck_reaches(LAYER_TYPES("sliding", "full", "sliding"), (const unsigned[]){0, 64, 0, 64, 64, 0});
    ck_reaches(LAYER_TYPES("full", "sliding", "sliding") ", \"global_attn_every_n_layers\": 3, "
                                                         "\"local_attention\": 10",
               (const unsigned[]){0, 0, 5, 5, 5, 0});
    ck_bases(", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 300.0, \"rope_type\": "
             "\"default\"}, \"sliding_attention\": {\"rope_theta\": 40, \"rope_type\": "
             "\"default\"}}",
             300, 40);
    ck_bases(", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 300}}, "
             "\"global_rope_theta\": 300",
             300, 10000);
    ck_bases(", \"rope_parameters\": {\"sliding_attention\": null}, \"rope_scaling\": null", 160000,
             10000);
    ck_bases(", \"rope_scaling\": {\"type\": \"default\", \"factor\": null}", 160000, 10000);
}
END_TEST

START_TEST(rotary_spec_refuses_unsupported_scaling_by_name)
{
    static const char *const cases[][2] = {
        {", \"rope_scaling\": {\"rope_type\": \"yarn\"}",
         "$.rope_scaling.rope_type 'yarn' is not supported (supported: default)"},
        {", \"rope_scaling\": {\"type\": 7}", "$.rope_scaling.type '' is not supported"},
        {", \"rope_scaling\": {\"factor\": 2}",
         "$.rope_scaling.factor is not supported (supported: rope_type, rope_theta)"},
        {", \"rope_scaling\": {\"rope_theta\": 2}", "$.rope_scaling.rope_theta is not supported"},
        {", \"rope_scaling\": \"linear\"", "$.rope_scaling: expected an object, found a string"},
        {", \"rope_parameters\": 7", "$.rope_parameters: expected an object"},
        {", \"rope_parameters\": {\"rope_theta\": 2}",
         "$.rope_parameters.rope_theta is not supported (supported: full_attention"},
        {", \"rope_parameters\": {\"full_attention\": [1]}",
         "$.rope_parameters.full_attention: expected an object, found an array"},
        {", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": \"1\"}}",
         "$.rope_parameters.full_attention.rope_theta: expected a number"},
        {", \"rope_parameters\": {\"full_attention\": {\"rope_theta\": 0}}",
         "$.rope_parameters.full_attention.rope_theta 0 is not supported (supported: at least 1)"},
        {", \"rope_parameters\": {\"sliding_attention\": {\"rope_type\": \"linear\"}}",
         "$.rope_parameters.sliding_attention.rope_type 'linear'"},
        {", \"rope_parameters\": {\"sliding_attention\": {\"partial_rotary_factor\": 0.5}}",
         "$.rope_parameters.sliding_attention.partial_rotary_factor is not supported"},
        {", \"local_rope_theta\": 7, \"rope_parameters\": {\"sliding_attention\": "
         "{\"rope_theta\": 8}}",
         "$.rope_parameters.sliding_attention.rope_theta 8 is not local_rope_theta 7"},
        {", \"global_rope_theta\": 0", "$.global_rope_theta 0 is not supported"},
        {", \"global_rope_theta\": -1e4", "$.global_rope_theta -10000 is not supported"},
        {", \"global_rope_theta\": 1e-300", "$.global_rope_theta 1e-300 is not supported"},
        {", \"local_rope_theta\": 0.5", "$.local_rope_theta 0.5 is not supported"},
        {", \"local_rope_theta\": \"x\"", "$.local_rope_theta: expected a number"},
        {", \"layer_types\": \"full_attention\"",
         "$.layer_types: expected an array of 6 strings, for as many layers"},
        {", \"layer_types\": [\"full_attention\"]", "expected an array of 6 strings"},
        {", \"layer_types\": [1, 2, 3, 4, 5, 6]", "$.layer_types[0] is not supported"},
        {LAYER_TYPES("full", "chunked", "full"),
         "$.layer_types[2] is not supported (supported: full_attention, sliding_attention)"},
        {", \"local_attention\": 1", "local_attention"},
        {", \"local_attention\": 0", "local_attention"},
        {", \"local_attention\": -1", "local_attention"},
        {", \"local_attention\": 1e9", "local_attention"},
        {", \"local_attention\": [128]", "local_attention"},
        {", \"global_attn_every_n_layers\": 0", "global_attn_every_n_layers"},
        {", \"global_attn_every_n_layers\": 99999", "global_attn_every_n_layers"},
        {", \"num_attention_heads\": 256, \"hidden_size\": 768",
         "hidden_size 768 for num_attention_heads 256 makes heads of 3 numbers"},
        {", \"classifier_pooling\": \"max\"",
         "classifier_pooling 'max' is not supported (supported: cls, mean)"},
        {", \"classifier_pooling\": 1", "classifier_pooling"},
        {", \"classifier_activation\": \"mish\"",
         "classifier_activation 'mish' is not supported (supported: gelu, gelu_new, relu, silu, "
         "tanh and quick_gelu, under all names of transformers)"},
        {", \"hidden_activation\": \"relu6\"", "hidden_activation 'relu6' is not supported"},
        {", \"norm_bias\": 1", "$.norm_bias: expected true or false"},
        {", \"norm_eps\": 0", "norm_eps must be between 0 and 1"},
        {", \"max_position_embeddings\": 2", "at least 3"},
        {", \"max_position_embeddings\": 70000", "max_position_embeddings"},
        {", \"position_embedding_type\": \"relative_key\"", "relative_key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(read_with(cases[i][0]) == ERR_UNSUPPORTED, "%s was not refused: %s",
                      cases[i][0], err.text);
        ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "'%s' does not say '%s'", err.text,
                      cases[i][1]);
        ck_assert_msg(strstr(err.text, "config.json: ") == err.text, "'%s'", err.text);
    }
}
END_TEST

START_TEST(rotary_members_are_ignored_by_other_families)
{
    arena_deinit(&arena);
    arena_init(&arena);
    static const char config[] = "{\"model_type\": \"bert\", \"layer_types\": 7, "
                                 "\"rope_scaling\": {\"rope_type\": \"yarn\"}, "
                                 "\"classifier_pooling\": \"mean\", \"norm_bias\": false}";
    err = (struct err){0};
    tempdir_open(&dir);
    tempdir_write(&dir, "config.json", config, strlen(config));
    ck_assert_int_eq(spec_read(&spec, dir.path, &arena, &err), ERR_OK);
    tempdir_close(&dir);
    ck_assert_ptr_null(spec.reaches);
    ck_assert(!spec.pools_tokens && !spec.unbiased[TENSOR_MLP_NORM]);
}
END_TEST

SUITE("spec_rotary", modernbert_takes_the_defaults_of_its_hugging_face_class,
      activations_biases_and_pooling_are_config_jsons,
      every_nth_layer_is_global_and_the_others_reach_half_a_window,
      a_null_local_base_is_the_global_one, the_spelling_of_transformers_5_says_the_same,
      rotary_spec_refuses_unsupported_scaling_by_name, rotary_members_are_ignored_by_other_families)
