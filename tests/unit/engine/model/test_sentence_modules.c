/* sentence_modules.h on directories made by hand: what is read, and what is refused by name. */
#include "engine/model/config/sentence_modules.h"

#include "engine/format/safetensors_write.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD(name) "sentence_transformers.models." name
#define ITEM(name, path, type)                                                                     \
    "{\"idx\": 0, \"name\": \"" name "\", \"path\": \"" path "\", \"type\": \"" type "\"}"
#define ENCODER ITEM("0", "", OLD("Transformer"))
#define POOLING ITEM("1", "1_Pooling", OLD("Pooling"))
#define DENSE ITEM("2", "2_Dense", OLD("Dense"))
#define NORMALIZE ITEM("3", "3_Normalize", OLD("Normalize"))
#define LIST(items) "[" items "]"
#define PROMPTS "config_sentence_transformers.json"
#define LIMITS "sentence_bert_config.json"
#define POOLING_FILE "1_Pooling/config.json"
#define DENSE_FILE "2_Dense/config.json"
#define NORMALIZE_FILE "3_Normalize/config.json"

enum { HIDDEN = 4, WIDTH = 3 };

static const char *const folders[] = {"0_Transformer", "1_Pooling", "2_Dense", "3_Normalize"};

static struct tempdir dir;
static struct arena arena;
static struct sentence_modules modules;

static void put(const char *name, const char *text)
{
    tempdir_write(&dir, name, text, strlen(text));
}

static void setup(void)
{
    char path[128];
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, folders[i]);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    put("modules.json", LIST(ENCODER "," POOLING "," DENSE "," NORMALIZE));
    put(POOLING_FILE, "{\"word_embedding_dimension\": 4, \"pooling_mode_mean_tokens\": true}");
    put(DENSE_FILE, "{\"in_features\": 4, \"out_features\": 3, \"bias\": true, "
                    "\"activation_function\": \"torch.nn.modules.activation.Tanh\"}");
    arena_init(&arena);
}

static void teardown(void)
{
    char path[128];
    arena_deinit(&arena);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir.path, folders[i]);
        tempdir_remove(path);
    }
    tempdir_close(&dir);
}

static enum err_code read_dir(struct err *err)
{
    *err = (struct err){0};
    const enum err_code code = sentence_modules_read(&modules, dir.path, &arena, err);
    ck_assert_int_eq(code, err->code);
    return code;
}

static void expect_read(void)
{
    struct err err;
    ck_assert_msg(read_dir(&err) == ERR_OK, "%s", err.text);
}

static void expect_refused(const char *file, const char *words, enum err_code code)
{
    struct err err;
    read_dir(&err);
    ck_assert_msg(err.code == code, "%s: code %s: %s", words, err_name(err.code), err.text);
    ck_assert_msg(strncmp(err.text, file, strlen(file)) == 0, "%s: %s", file, err.text);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' is not in: %s", words, err.text);
}

struct bad {
    const char *text, *words;
    enum err_code code;
};

/* Each text in place of `file` is refused; the file is then the one it was. */
static void expect_all_refused(const char *file, const struct bad *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        setup();
        put(file, bad[i].text);
        expect_refused(file, bad[i].words, bad[i].code);
        teardown();
    }
}
#define EXPECT_ALL_REFUSED(file, bad) expect_all_refused(file, bad, sizeof(bad) / sizeof *(bad))

/* ---- what is read ---- */

START_TEST(modules_are_read_in_their_order)
{
    char path[128];
    setup();
    expect_read();
    ck_assert_str_eq(modules.transformer_path, "");
    ck_assert_str_eq(modules.transformer_dir, dir.path);
    ck_assert_uint_eq(modules.hidden, HIDDEN);
    ck_assert_uint_eq(modules.pooling.count, 1);
    ck_assert_int_eq(modules.pooling.modes[0], SENTENCE_MEAN);
    ck_assert(modules.pooling.include_prompt);
    ck_assert_uint_eq(modules.step_count, 2);
    ck_assert_int_eq(modules.steps[0].kind, SENTENCE_DENSE);
    ck_assert_int_eq(modules.steps[0].dense.activation, SENTENCE_TANH);
    ck_assert(modules.steps[0].dense.has_bias);
    ck_assert_ptr_null(modules.steps[0].dense.weight);
    ck_assert_str_eq(modules.steps[0].path, "2_Dense");
    snprintf(path, sizeof path, "%s/2_Dense", dir.path);
    ck_assert_str_eq(modules.steps[0].dir, path);
    ck_assert_int_eq(modules.steps[1].kind, SENTENCE_NORMALIZE);
    ck_assert_uint_eq(modules.width, WIDTH);
    teardown();
}
END_TEST

START_TEST(absent_options_are_the_packages_defaults)
{
    setup();
    expect_read();
    ck_assert_uint_eq(modules.options.prompt_count, 0);
    ck_assert_ptr_null(modules.options.default_prompt);
    ck_assert_str_eq(sentence_prompt_find(&modules.options, NULL), "");
    ck_assert_str_eq(sentence_prompt_find(&modules.options, "query"), "");
    ck_assert_ptr_null(sentence_prompt_find(&modules.options, "passage"));
    ck_assert_int_eq(modules.options.similarity, SENTENCE_COSINE);
    ck_assert_uint_eq(modules.options.truncate_width, 0);
    ck_assert_uint_eq(modules.options.max_tokens, 0);
    ck_assert(!modules.options.lower_case);
    teardown();
}
END_TEST

START_TEST(modules_of_version_6_are_read)
{
    setup();
    put("modules.json",
        LIST(
            ITEM("0", "0_Transformer", "sentence_transformers.base.modules.transformer.Transformer") "," ITEM(
                "1", "1_Pooling",
                "sentence_transformers.sentence_transformer.modules.pooling."
                "Pooling") "," ITEM("2", "2_Dense",
                                    "sentence_transformers.base.modules.dense.Dense") "," ITEM("3",
                                                                                               "3_"
                                                                                               "Nor"
                                                                                               "mal"
                                                                                               "iz"
                                                                                               "e",
                                                                                               "sen"
                                                                                               "ten"
                                                                                               "ce_"
                                                                                               "tra"
                                                                                               "nsf"
                                                                                               "orm"
                                                                                               "ers"
                                                                                               ".ba"
                                                                                               "se."
                                                                                               "mod"
                                                                                               "ule"
                                                                                               "s."
                                                                                               "nor"
                                                                                               "mal"
                                                                                               "ize"
                                                                                               ".No"
                                                                                               "rma"
                                                                                               "liz"
                                                                                               "e")));
    put("0_Transformer/" LIMITS,
        "{\"transformer_task\": \"feature-extraction\", \"modality_config\": {\"text\": "
        "{\"method\": \"forward\", \"method_output_name\": \"last_hidden_state\"}}, "
        "\"module_output_name\": \"token_embeddings\", \"max_seq_length\": 77}");
    put(POOLING_FILE, "{\"embedding_dimension\": 2, \"pooling_mode\": [\"mean\", \"cls\"], "
                      "\"include_prompt\": false}");
    put(DENSE_FILE,
        "{\"in_features\": 4, \"out_features\": 3, \"bias\": false, \"activation_function\": "
        "\"torch.nn.modules.linear.Identity\", \"module_input_name\": \"sentence_embedding\", "
        "\"module_output_name\": \"sentence_embedding\", \"use_residual\": false}");
    put(NORMALIZE_FILE, "{\"module_input_name\": \"sentence_embedding\", "
                        "\"module_output_name\": \"sentence_embedding\"}");
    expect_read();
    ck_assert_str_eq(modules.transformer_path, "0_Transformer");
    ck_assert_str_eq(strrchr(modules.transformer_dir, '/'), "/0_Transformer");
    ck_assert_uint_eq(modules.options.max_tokens, 77);
    ck_assert_uint_eq(modules.pooling.count, 2);
    ck_assert_int_eq(modules.pooling.modes[0], SENTENCE_MEAN); /* in the list's order */
    ck_assert_int_eq(modules.pooling.modes[1], SENTENCE_CLS);
    ck_assert(!modules.pooling.include_prompt);
    ck_assert_uint_eq(modules.hidden, 2);
    ck_assert(!modules.steps[0].dense.has_bias);
    teardown();
}
END_TEST

START_TEST(poolings_of_booleans_have_the_packages_order)
{
    static const enum sentence_mode order[] = {SENTENCE_CLS,           SENTENCE_MAX,
                                               SENTENCE_MEAN,          SENTENCE_MEAN_SQRT_LENGTH,
                                               SENTENCE_WEIGHTED_MEAN, SENTENCE_LAST_TOKEN};
    setup();
    put("modules.json", LIST(ENCODER "," POOLING));
    put(POOLING_FILE,
        "{\"word_embedding_dimension\": 4, \"pooling_mode_lasttoken\": true, "
        "\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": true, "
        "\"pooling_mode_weightedmean_tokens\": true, \"pooling_mode_max_tokens\": true, "
        "\"pooling_mode_mean_sqrt_len_tokens\": true}");
    expect_read();
    ck_assert_uint_eq(modules.pooling.count, SENTENCE_MODES);
    ck_assert_mem_eq(modules.pooling.modes, order, sizeof order);
    ck_assert_uint_eq(modules.width, SENTENCE_MODES * HIDDEN);
    ck_assert_uint_eq(modules.step_count, 0);
    teardown();
}
END_TEST

START_TEST(a_pooling_that_says_nothing_is_the_mean)
{
    static const char *const texts[] = {
        "{\"word_embedding_dimension\": 4}",
        "{\"word_embedding_dimension\": 4, \"pooling_mode_cls_token\": false}",
        "{\"word_embedding_dimension\": 4, \"pooling_mode\": \"mean\", "
        "\"pooling_mode_cls_token\": true}", /* the newer member wins */
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        setup();
        put(POOLING_FILE, texts[i]);
        expect_read();
        ck_assert_uint_eq(modules.pooling.count, 1);
        ck_assert_int_eq(modules.pooling.modes[0], SENTENCE_MEAN);
        teardown();
    }
}
END_TEST

START_TEST(options_of_a_directory_are_read)
{
    setup();
    put(PROMPTS, "{\"model_type\": \"SentenceTransformer\", \"__version__\": {}, \"prompts\": "
                 "{\"query\": \"query: \", \"document\": null, \"topic\": \"\"}, "
                 "\"default_prompt_name\": \"query\", \"similarity_fn_name\": \"dot\", "
                 "\"truncate_dim\": 2}");
    put(LIMITS, "{\"max_seq_length\": 1e30, \"do_lower_case\": true, \"model_args\": {}, "
                "\"query_length\": null}");
    expect_read();
    const struct sentence_options *options = &modules.options;
    ck_assert_uint_eq(options->prompt_count, 3);
    ck_assert_str_eq(options->default_prompt->name, "query");
    ck_assert_str_eq(sentence_prompt_find(options, NULL), "query: ");
    ck_assert_str_eq(sentence_prompt_find(options, "document"), "");
    ck_assert_str_eq(sentence_prompt_find(options, "topic"), "");
    ck_assert_ptr_null(sentence_prompt_find(options, "topi"));
    ck_assert_int_eq(options->similarity, SENTENCE_DOT);
    ck_assert_str_eq(sentence_similarity_name(options->similarity), "dot");
    ck_assert_uint_eq(options->truncate_width, 2);
    ck_assert_uint_ge(options->max_tokens, 1u << 30);
    ck_assert(options->lower_case);
    teardown();
}
END_TEST

START_TEST(limits_are_read_from_the_older_names_too)
{
    setup();
    put("sentence_xlnet_config.json", "{\"max_seq_length\": 9}");
    put("sentence_roberta_config.json", "{\"max_seq_length\": 128}"); /* sought before */
    expect_read();
    ck_assert_uint_eq(modules.options.max_tokens, 128);
    teardown();
}
END_TEST

START_TEST(sizes_of_one_are_read)
{
    static const char *const poolings[] = {"{\"word_embedding_dimension\": 1}",
                                           "{\"embedding_dimension\": 1}"};
    for (size_t i = 0; i < 2; i++) {
        setup();
        put(POOLING_FILE, poolings[i]);
        put(DENSE_FILE, "{\"in_features\": 1, \"out_features\": 1}");
        put(LIMITS, "{\"max_seq_length\": 1}");
        put(PROMPTS, "{\"truncate_dim\": 1}");
        expect_read();
        ck_assert_uint_eq(modules.hidden, 1);
        ck_assert_uint_eq(modules.width, 1);
        ck_assert_uint_eq(modules.options.max_tokens, 1);
        ck_assert_uint_eq(modules.options.truncate_width, 1);
        teardown();
    }
}
END_TEST

START_TEST(a_default_prompt_of_the_packages_own_is_no_prompt)
{
    setup();
    put(PROMPTS, "{\"default_prompt_name\": \"document\"}");
    expect_read();
    ck_assert_ptr_null(modules.options.default_prompt);
    ck_assert_str_eq(sentence_prompt_find(&modules.options, NULL), "");
    teardown();
}
END_TEST

START_TEST(each_activation_is_read_by_its_class)
{
    static const char *const names[SENTENCE_ACTIVATIONS] = {
        "linear.Identity", "activation.Tanh", "activation.ReLU",
        "activation.GELU", "activation.SiLU", "activation.Sigmoid"};
    for (int i = 0; i < SENTENCE_ACTIVATIONS; i++) {
        char text[256];
        setup();
        snprintf(text, sizeof text,
                 "{\"in_features\": 4, \"out_features\": 3, \"activation_function\": "
                 "\"torch.nn.modules.%s\"}",
                 names[i]);
        put(DENSE_FILE, text);
        expect_read();
        ck_assert_int_eq(modules.steps[0].dense.activation, i);
        ck_assert(modules.steps[0].dense.has_bias); /* the default */
        teardown();
    }
}
END_TEST

/* ---- what is refused ---- */

START_TEST(a_list_of_modules_that_is_not_served_is_refused)
{
    static const struct bad bad[] = {
        {"[", "", ERR_MALFORMED},
        {"", "", ERR_MALFORMED},
        {"{}", "expected an array, found an object", ERR_UNUSABLE},
        {"[]", "0 modules", ERR_UNSUPPORTED},
        {LIST(ENCODER), "1 modules", ERR_UNSUPPORTED},
        {LIST("1, 2"), "$[0]: expected an object, found a number", ERR_UNUSABLE},
        {LIST("{}," POOLING), "$[0].type is missing", ERR_UNSUPPORTED},
        {LIST("{\"type\": 7}," POOLING), "$[0].type: expected a string", ERR_UNUSABLE},
        {LIST("{\"type\": \"a\"}," POOLING), "$[0].name is missing", ERR_UNSUPPORTED},
        {LIST("{\"type\": \"a\", \"name\": \"b\", \"path\": null}," POOLING),
         "$[0].path is missing", ERR_UNSUPPORTED},
        {LIST("{\"code\": \"a\"}," POOLING), "$[0].code is not supported", ERR_UNSUPPORTED},
        {LIST(POOLING "," ENCODER), "$[0]: Pooling is not supported in this place",
         ERR_UNSUPPORTED},
        {LIST(ENCODER "," DENSE), "$[1]: Dense is not supported in this place", ERR_UNSUPPORTED},
        {LIST(ENCODER "," POOLING "," ITEM("2", "2_Pooling", OLD("Pooling"))),
         "$[2]: Pooling is not supported in this place", ERR_UNSUPPORTED},
        {LIST(ENCODER "," POOLING "," ITEM("2", "2_Dense", OLD("Transformer"))),
         "$[2]: Transformer is not supported in this place", ERR_UNSUPPORTED},
        {LIST(ENCODER "," ITEM("0", "1_Pooling", OLD("Pooling"))), "$[1].name is that of $[0] too",
         ERR_UNSUPPORTED},
        {LIST(ENCODER "," POOLING "," ITEM("1", "3_Normalize", OLD("Normalize"))),
         "$[2].name is that of $[1] too", ERR_UNSUPPORTED},
    };
    EXPECT_ALL_REFUSED("modules.json", bad);
}
END_TEST

START_TEST(other_modules_are_refused_by_name)
{
    static const char *const types[] = {
        OLD("LSTM"),
        OLD("CNN"),
        OLD("Router"),
        OLD("WeightedLayerPooling"),
        OLD("CLIPModel"),
        OLD("WordWeights"),
        OLD("Pooling.Other"),
        "sentence_transformers.sparse_encoder.models.SparseAutoEncoder",
        "pylate.models.Dense.Dense",
        "custom_st.Transformer",
        "sentence_transformers2.models.Pooling",
        "Pooling",
        "",
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[512], words[128];
        setup();
        snprintf(text, sizeof text, LIST(ENCODER "," ITEM("1", "1_Pooling", "%s")), types[i]);
        snprintf(words, sizeof words, "$[1].type '%s' is not supported", types[i]);
        put("modules.json", text);
        expect_refused("modules.json", words, ERR_UNSUPPORTED);
        teardown();
    }
}
END_TEST

START_TEST(paths_that_may_lead_outside_are_refused)
{
    static const char *const paths[] = {"",
                                        "/etc",
                                        "..",
                                        "../1_Pooling",
                                        "1_Pooling/..",
                                        "1_Pooling/../x",
                                        "1_Pooling/",
                                        "a//b",
                                        ".",
                                        "./1_Pooling",
                                        ".hidden",
                                        "a\\\\b",
                                        "C:",
                                        "a b",
                                        "\\u00e9",
                                        "a\\nb",
                                        "~",
                                        "%s%n"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char text[512];
        setup();
        snprintf(text, sizeof text, LIST(ENCODER "," ITEM("1", "%s", OLD("Pooling"))), paths[i]);
        put("modules.json", text);
        expect_refused("modules.json", "$[1].path must be the name of a sub-directory",
                       ERR_UNSUPPORTED);
        teardown();
    }
}
END_TEST

START_TEST(an_encoder_outside_a_nul_and_a_long_path_are_refused)
{
    char long_path[512];
    setup();
    put("modules.json", LIST(ITEM("0", "../other", OLD("Transformer")) "," POOLING));
    expect_refused("modules.json", "$[0].path must be", ERR_UNSUPPORTED);
    put("modules.json", LIST(ENCODER "," ITEM("1", "a\\u0000b", OLD("Pooling"))));
    expect_refused("modules.json", "$[1].path", ERR_UNUSABLE);
    snprintf(long_path, sizeof long_path, LIST(ENCODER "," ITEM("1", "a%0200d", OLD("Pooling"))),
             0);
    put("modules.json", long_path);
    expect_refused("modules.json", "at most 200 bytes", ERR_UNSUPPORTED);
    teardown();
}
END_TEST

START_TEST(ten_thousand_modules_are_refused)
{
    enum { COUNT = 10000, ITEM_BYTES_MAX = 100 };
    char *text = malloc(COUNT * ITEM_BYTES_MAX);
    size_t len = 0;
    ck_assert_ptr_nonnull(text);
    text[len++] = '[';
    for (int i = 0; i < COUNT; i++)
        len +=
            (size_t)sprintf(text + len, "%s{\"name\": \"%d\", \"path\": \"a\", \"type\": \"%s\"}",
                            i > 0 ? "," : "", i, OLD("Normalize"));
    text[len++] = ']';
    setup();
    tempdir_write(&dir, "modules.json", text, len);
    expect_refused("modules.json", "10000 modules", ERR_UNSUPPORTED);
    teardown();
    free(text);
}
END_TEST

START_TEST(eight_modules_behind_the_pooling_are_read_and_nine_refused)
{
    for (int behind = SENTENCE_STEPS_MAX; behind <= SENTENCE_STEPS_MAX + 1; behind++) {
        char text[2048];
        int len = snprintf(text, sizeof text, "[" ENCODER "," POOLING);
        for (int i = 0; i < behind; i++)
            len += snprintf(text + len, sizeof text - (size_t)len,
                            "," ITEM("n%d", "3_Normalize", OLD("Normalize")), i);
        snprintf(text + len, sizeof text - (size_t)len, "]");
        setup();
        put("modules.json", text);
        if (behind > SENTENCE_STEPS_MAX)
            expect_refused("modules.json", "11 modules", ERR_UNSUPPORTED);
        else
            expect_read();
        teardown();
    }
}
END_TEST

START_TEST(a_pooling_that_is_not_served_is_refused)
{
#define SIZED(more) "{\"word_embedding_dimension\": 4" more "}"
    static const struct bad bad[] = {
        {"[]", "expected an object, found an array", ERR_UNUSABLE},
        {"{}", "$.word_embedding_dimension is missing", ERR_UNSUPPORTED},
        {"{\"word_embedding_dimension\": 0}", "must be from 1 to 65536", ERR_UNUSABLE},
        {"{\"word_embedding_dimension\": -4}", "must be from 1 to 65536", ERR_UNUSABLE},
        {"{\"word_embedding_dimension\": 65537}", "must be from 1 to 65536", ERR_UNUSABLE},
        {"{\"word_embedding_dimension\": 1e300}", "must be from 1 to 65536", ERR_UNUSABLE},
        {"{\"embedding_dimension\": 2.5}", "expected an integer", ERR_UNUSABLE},
        {"{\"embedding_dimension\": \"4\"}", "expected an integer", ERR_UNUSABLE},
        {SIZED(", \"pooling_mode\": \"median\""), "$.pooling_mode 'median' is not supported",
         ERR_UNSUPPORTED},
        {SIZED(", \"pooling_mode\": []"), "expected 1 to 6 names, found 0", ERR_UNSUPPORTED},
        {SIZED(", \"pooling_mode\": [\"cls\", 1]"), "$.pooling_mode '' is not", ERR_UNSUPPORTED},
        {SIZED(", \"pooling_mode\": [\"cls\", \"cls\", \"cls\", \"cls\", \"cls\", \"cls\", "
               "\"cls\"]"),
         "found 7", ERR_UNSUPPORTED},
        {SIZED(", \"pooling_mode\": true"), "expected a string or a list", ERR_UNUSABLE},
        {SIZED(", \"pooling_mode_cls_token\": true"),
         "$.pooling_mode_mean_tokens is missing: versions", ERR_UNSUPPORTED},
        {SIZED(", \"pooling_mode_cls_token\": 1"), "$.pooling_mode_cls_token: expected",
         ERR_UNUSABLE},
        {SIZED(", \"include_prompt\": \"no\""), "$.include_prompt: expected", ERR_UNUSABLE},
        {SIZED(", \"pooling_mode_min_tokens\": true"), "$.pooling_mode_min_tokens is not supported",
         ERR_UNSUPPORTED},
    };
#undef SIZED
    EXPECT_ALL_REFUSED(POOLING_FILE, bad);
}
END_TEST

START_TEST(a_dense_that_is_not_served_is_refused)
{
#define SIZED(more) "{\"in_features\": 4, \"out_features\": 3" more "}"
    static const struct bad bad[] = {
        {"{}", "$.in_features is missing", ERR_UNSUPPORTED},
        {"{\"in_features\": 4}", "$.out_features is missing", ERR_UNSUPPORTED},
        {"{\"in_features\": 4, \"out_features\": 0}", "must be from 1 to", ERR_UNUSABLE},
        {"{\"in_features\": 4, \"out_features\": 99999999999}", "must be from 1", ERR_UNUSABLE},
        {"{\"in_features\": 5, \"out_features\": 3}",
         "$.in_features is 5; the modules before give 4 numbers", ERR_UNSUPPORTED},
        {SIZED(", \"bias\": \"yes\""), "$.bias: expected", ERR_UNUSABLE},
        {SIZED(", \"use_residual\": true"), "$.use_residual true is not", ERR_UNSUPPORTED},
        {SIZED(", \"module_input_name\": \"token_embeddings\""),
         "$.module_input_name 'token_embeddings' is not supported", ERR_UNSUPPORTED},
        {SIZED(", \"module_output_name\": \"x\""), "$.module_output_name 'x'", ERR_UNSUPPORTED},
        {SIZED(", \"activation_function\": null"), "$.activation_function: expected a string",
         ERR_UNUSABLE},
        {SIZED(", \"activation_function\": \"Tanh\""), "$.activation_function 'Tanh' is not",
         ERR_UNSUPPORTED},
        {SIZED(", \"activation_function\": \"torch.nn.modules.activation.ELU\""), "ELU' is not",
         ERR_UNSUPPORTED},
        {SIZED(", \"activation_function\": \"mine.Tanh\""), "'mine.Tanh' is not", ERR_UNSUPPORTED},
        {SIZED(", \"dropout\": 0.5"), "$.dropout is not supported", ERR_UNSUPPORTED},
    };
#undef SIZED
    EXPECT_ALL_REFUSED(DENSE_FILE, bad);
}
END_TEST

START_TEST(options_that_are_not_served_are_refused)
{
    static const struct bad bad[] = {
        {"[]", "expected an object", ERR_UNUSABLE},
        {"{\"model_type\": \"SparseEncoder\"}", "$.model_type 'SparseEncoder'", ERR_UNSUPPORTED},
        {"{\"prompts\": []}", "$.prompts: expected an object", ERR_UNUSABLE},
        {"{\"prompts\": {\"a\": 1}}", "prompt 'a': expected a string", ERR_UNUSABLE},
        {"{\"prompts\": {\"a\": \"\\u0000\"}}", "prompt 'a': expected a string", ERR_UNUSABLE},
        {"{\"default_prompt_name\": \"a\"}", "$.default_prompt_name 'a' is not one",
         ERR_UNSUPPORTED},
        {"{\"default_prompt_name\": 3}", "$.default_prompt_name: expected", ERR_UNUSABLE},
        {"{\"similarity_fn_name\": \"maxsim\"}", "$.similarity_fn_name 'maxsim'", ERR_UNSUPPORTED},
        {"{\"truncate_dim\": 0}", "$.truncate_dim: must be from 1", ERR_UNUSABLE},
        {"{\"truncate_dim\": \"2\"}", "$.truncate_dim: expected", ERR_UNUSABLE},
    };
    static const struct bad limits[] = {
        {"{\"max_seq_length\": 0}", "$.max_seq_length must be", ERR_UNSUPPORTED},
        {"{\"max_seq_length\": -1}", "$.max_seq_length must be", ERR_UNSUPPORTED},
        {"{\"max_seq_length\": 1.5}", "$.max_seq_length must be", ERR_UNSUPPORTED},
        {"{\"max_seq_length\": \"9\"}", "$.max_seq_length: expected", ERR_UNUSABLE},
        {"{\"do_lower_case\": 1}", "$.do_lower_case: expected", ERR_UNUSABLE},
        {"{\"tokenizer_args\": {\"a\": 1}}", "$.tokenizer_args is not", ERR_UNSUPPORTED},
        {"{\"processor_kwargs\": []}", "$.processor_kwargs is not", ERR_UNSUPPORTED},
        {"{\"query_length\": 32}", "$.query_length is not supported", ERR_UNSUPPORTED},
        {"{\"transformer_task\": \"fill-mask\"}", "'fill-mask' is not", ERR_UNSUPPORTED},
        {"{\"module_output_name\": \"scores\"}", "'scores' is not", ERR_UNSUPPORTED},
        {"{\"modality_config\": {\"image\": {}}}", "$.modality_config.text", ERR_UNSUPPORTED},
        {"{\"modality_config\": {\"text\": {\"method_output_name\": \"pooler_output\"}}}",
         "'pooler_output' is not", ERR_UNSUPPORTED},
        {"{\"modality_config\": {\"text\": {\"method\": \"get_text_features\"}}}",
         "'get_text_features' is not", ERR_UNSUPPORTED},
        {"{\"pad\": 1}", "$.pad is not supported", ERR_UNSUPPORTED},
    };
    static const struct bad normalize[] = {
        {"{\"module_input_name\": \"token_embeddings\"}", "'token_embeddings' is not",
         ERR_UNSUPPORTED},
        {"{\"module_output_name\": 1}", "$.module_output_name: expected", ERR_UNUSABLE},
    };
    EXPECT_ALL_REFUSED(PROMPTS, bad);
    EXPECT_ALL_REFUSED(LIMITS, limits);
    EXPECT_ALL_REFUSED(NORMALIZE_FILE, normalize);
}
END_TEST

START_TEST(missing_and_large_files_are_refused_by_name)
{
    static const char *const needed[] = {"modules.json", POOLING_FILE, DENSE_FILE};
    enum { LARGE = 1024 * 1024 + 1 };
    char path[128], *large = malloc(LARGE);
    ck_assert_ptr_nonnull(large);
    memset(large, ' ', LARGE);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        setup();
        tempdir_write(&dir, needed[i], large, LARGE);
        expect_refused(needed[i], "larger than 1048576 bytes", ERR_TOO_LARGE);
        snprintf(path, sizeof path, "%s/%s", dir.path, needed[i]);
        ck_assert_int_eq(unlink(path), 0);
        expect_refused(needed[i], "No such file", ERR_IO);
        ck_assert_int_eq(mkfifo(path, 0600), 0); /* never waits for a writer */
        expect_refused(needed[i], "is a FIFO", ERR_IO);
        teardown();
    }
    free(large);
}
END_TEST

START_TEST(a_linked_file_is_read)
{
    char path[128];
    setup();
    put("pooling", "{\"word_embedding_dimension\": 4, \"pooling_mode\": \"max\"}");
    snprintf(path, sizeof path, "%s/%s", dir.path, POOLING_FILE);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("../pooling", path), 0);
    expect_read();
    ck_assert_int_eq(modules.pooling.modes[0], SENTENCE_MAX);
    teardown();
}
END_TEST

START_TEST(too_many_prompts_are_refused)
{
    enum { BYTES = 32 * (SENTENCE_PROMPTS_MAX + 2) };
    for (int count = SENTENCE_PROMPTS_MAX; count <= SENTENCE_PROMPTS_MAX + 1; count++) {
        char *text = malloc(BYTES);
        ck_assert_ptr_nonnull(text);
        int len = snprintf(text, BYTES, "{\"prompts\": {");
        for (int i = 0; i < count; i++)
            len += snprintf(text + len, (size_t)(BYTES - len), "%s\"%d\": \"%d\"", i > 0 ? "," : "",
                            i, i);
        snprintf(text + len, (size_t)(BYTES - len), "}}");
        setup();
        put(PROMPTS, text);
        if (count > SENTENCE_PROMPTS_MAX)
            expect_refused(PROMPTS, "1025 prompts are not supported", ERR_UNSUPPORTED);
        else
            expect_read();
        teardown();
        free(text);
    }
}
END_TEST

/* ---- weights ---- */

static float weight[WIDTH * HIDDEN], bias[WIDTH];

/* Writes tensors of Dense: a weight [rows, HIDDEN], a bias [rows] of this name, unless it is
 * NULL. */
static void put_weights(size_t rows, const char *bias_name)
{
    const struct tensor_out tensors[] = {
        {"linear.weight", DTYPE_F32, 2, {rows, HIDDEN}, weight},
        {bias_name, DTYPE_F32, 1, {rows}, bias},
    };
    char path[128];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/2_Dense/model.safetensors", dir.path);
    ck_assert_msg(safetensors_write(path, tensors, bias_name != NULL ? 2 : 1, "pt", &err) == ERR_OK,
                  "%s", err.text);
}

static void fill_weights(void)
{
    for (size_t i = 0; i < WIDTH * HIDDEN; i++)
        weight[i] = (float)i / 4 - 1;
    for (size_t i = 0; i < WIDTH; i++)
        bias[i] = (float)i + 7;
}

START_TEST(the_weights_of_dense_are_loaded)
{
    struct err err = {0};
    setup();
    fill_weights();
    put_weights(WIDTH, "linear.bias");
    expect_read();
    ck_assert_msg(sentence_modules_load(&modules, &arena, &err) == ERR_OK, "%s", err.text);
    ck_assert_mem_eq(modules.steps[0].dense.weight, weight, sizeof weight);
    ck_assert_mem_eq(modules.steps[0].dense.bias, bias, sizeof bias);
    teardown();
}
END_TEST

static void expect_not_loaded(const char *words)
{
    struct err err = {0};
    expect_read();
    ck_assert_int_eq(sentence_modules_load(&modules, &arena, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strncmp(err.text, "2_Dense: ", 9) == 0, "%s", err.text);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' is not in: %s", words, err.text);
}

START_TEST(weights_that_do_not_fit_are_refused_by_name)
{
    setup();
    fill_weights();
    put_weights(WIDTH - 1, "linear.bias");
    expect_not_loaded("tensor 'linear.weight' must have the shape [3, 4]");
    put_weights(WIDTH, NULL);
    expect_not_loaded("tensor 'linear.bias' is missing");
    put_weights(WIDTH, "residual.weight");
    expect_not_loaded("tensor 'linear.bias' is missing");
    put_weights(WIDTH - 2, "linear.bias");
    put(DENSE_FILE, "{\"in_features\": 4, \"out_features\": 1, \"bias\": false}");
    expect_not_loaded("tensor 'linear.bias' is not supported");
    teardown();
}
END_TEST

START_TEST(a_weight_that_is_not_finite_is_refused)
{
    static const float nan = NAN;
    char path[128];
    setup();
    fill_weights();
    put_weights(WIDTH, "linear.bias");
    snprintf(path, sizeof path, "%s/2_Dense/model.safetensors", dir.path);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, -(long)sizeof nan, SEEK_END), 0);
    ck_assert_uint_eq(fwrite(&nan, sizeof nan, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
    expect_not_loaded("tensor 'linear.bias'");
    ck_assert_ptr_null(modules.steps[0].dense.bias);
    teardown();
}
END_TEST

START_TEST(huge_sizes_take_no_memory)
{
    setup();
    put_weights(WIDTH, "linear.bias");
    put(POOLING_FILE, "{\"word_embedding_dimension\": 65536, \"pooling_mode\": [\"cls\", \"max\", "
                      "\"mean\", \"cls\", \"max\", \"mean\"]}");
    put(DENSE_FILE, "{\"in_features\": 393216, \"out_features\": 393216}");
    expect_not_loaded("must have the shape [393216, 393216]");
    ck_assert_uint_lt(arena.bytes, 1 << 20);
    teardown();
}
END_TEST

START_TEST(pickled_weights_are_refused_with_advice)
{
    setup();
    expect_not_loaded("neither model.safetensors nor");
    put("2_Dense/pytorch_model.bin", "PK");
    expect_not_loaded("pytorch_model.bin, which is not read; to make model.safetensors");
    teardown();
}
END_TEST

SUITE("sentence_modules", modules_are_read_in_their_order, absent_options_are_the_packages_defaults,
      modules_of_version_6_are_read, poolings_of_booleans_have_the_packages_order,
      a_pooling_that_says_nothing_is_the_mean, options_of_a_directory_are_read,
      sizes_of_one_are_read, limits_are_read_from_the_older_names_too,
      a_default_prompt_of_the_packages_own_is_no_prompt, each_activation_is_read_by_its_class,
      a_list_of_modules_that_is_not_served_is_refused, other_modules_are_refused_by_name,
      paths_that_may_lead_outside_are_refused, an_encoder_outside_a_nul_and_a_long_path_are_refused,
      ten_thousand_modules_are_refused, eight_modules_behind_the_pooling_are_read_and_nine_refused,
      a_pooling_that_is_not_served_is_refused, a_dense_that_is_not_served_is_refused,
      options_that_are_not_served_are_refused, missing_and_large_files_are_refused_by_name,
      a_linked_file_is_read, too_many_prompts_are_refused, the_weights_of_dense_are_loaded,
      weights_that_do_not_fit_are_refused_by_name, a_weight_that_is_not_finite_is_refused,
      huge_sizes_take_no_memory, pickled_weights_are_refused_with_advice)
