/* Every number of config.json and attnd.json: its default, its ends, and one beyond them. */
#include "engine/base/doc.h"
#include "engine/model/spec.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static struct spec spec;
static struct err err;

/* A field that is read without being set is then not zero by chance. */
__attribute__((noinline)) static void dirty_stack(void)
{
    volatile unsigned char bytes[32 * 1024];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = 0x55;
}

/* Reads files of these texts; NULL: there is none. The spec lives until the next is read. */
static enum err_code read_files(const char *config, const char *attnd)
{
    struct checkpoint_writer writer;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    if (attnd != NULL)
        checkpoint_writer_file(&writer, "attnd.json", attnd);
    dirty_stack();
    enum err_code code = spec_read(&spec, writer.dir, &arena, &err);
    ck_assert_int_eq(code, err.code);
    checkpoint_writer_close(&writer);
    return code;
}

static const struct {
    const char *family, *key;
    size_t member;
    unsigned fallback;
    unsigned long long max;
} sizes[] = {
#define MEMBER(name) offsetof(struct spec, name)
    {"bert", "hidden_size", MEMBER(hidden), 768, 65536},
    {"bert", "num_hidden_layers", MEMBER(layers), 12, 1024},
    {"bert", "num_attention_heads", MEMBER(heads), 12, 65536},
    {"bert", "intermediate_size", MEMBER(intermediate), 3072, 262144},
    {"bert", "vocab_size", MEMBER(vocab_size), 30522, 16777216},
    {"bert", "max_position_embeddings", MEMBER(positions), 512, 65536},
    {"bert", "type_vocab_size", MEMBER(token_types), 2, 65536},
    {"bert", "num_labels", MEMBER(label_count), 2, 100000},
    {"distilbert", "dim", MEMBER(hidden), 768, 65536},
    {"distilbert", "n_layers", MEMBER(layers), 6, 1024},
    {"distilbert", "n_heads", MEMBER(heads), 12, 65536},
    {"distilbert", "hidden_dim", MEMBER(intermediate), 3072, 262144},
    {"vit", "image_size", MEMBER(image_size.width), 224, 4096},
    {"vit", "patch_size", MEMBER(patch.width), 16, 4096},
    {"vit", "num_channels", MEMBER(channels), 3, 3},
    {"dinov2", "patch_size", MEMBER(patch.width), 14, 4096},
    {"dinov2_with_registers", "num_register_tokens", MEMBER(registers), 4, 1024},
    {"deit", "num_hidden_layers", MEMBER(layers), 12, 1024},
#undef MEMBER
};

/* The other members are such that the one in question may be anything. */
static enum err_code read_size(size_t i, unsigned long long number, bool given)
{
    char config[512], own[64];
    const char *heads =
        strcmp(sizes[i].family, "distilbert") == 0 ? "n_heads" : "num_attention_heads";
    bool is_heads = strcmp(sizes[i].key, heads) == 0;
    bool is_hidden = strstr("hidden_size dim", sizes[i].key) != NULL;
    bool is_patch = strcmp(sizes[i].key, "patch_size") == 0;
    snprintf(own, sizeof own, ", \"%s\": %llu", sizes[i].key, number);
    snprintf(config, sizeof config, "{\"model_type\": \"%s\"%s%s%s%s}", sizes[i].family,
             given ? own : "",
             given && is_hidden ? ", \"num_attention_heads\": 1, \"n_heads\": 1" : "",
             given && is_heads ? ", \"hidden_size\": 65536, \"dim\": 65536" : "",
             given && is_patch ? ", \"image_size\": 4096" : "");
    return read_files(config, NULL);
}

START_TEST(every_size_has_its_default_and_is_read_up_to_its_limit)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const unsigned *member =
            (const unsigned *)(const void *)((const char *)&spec + sizes[i].member);
        char text[96];
        ck_assert_msg(read_size(i, 0, false) == ERR_OK, "%s: %s", sizes[i].key, err.text);
        ck_assert_uint_eq(*member, sizes[i].fallback);
        ck_assert_msg(read_size(i, sizes[i].max, true) == ERR_OK, "%s: %s", sizes[i].key, err.text);
        ck_assert_uint_eq(*member, sizes[i].max);
        snprintf(text, sizeof text, "config.json: $.%s: must be from 1 to %llu", sizes[i].key,
                 sizes[i].max);
        ck_assert_int_eq(read_size(i, sizes[i].max + 1, true), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, text);
        ck_assert_int_eq(read_size(i, 0, true), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, text);
    }
}
END_TEST

START_TEST(a_config_without_attnd_json_has_these_defaults)
{
    memset(&spec, 0x55, sizeof spec);
    ck_assert_int_eq(read_files("{\"model_type\": \"vit\"}", NULL), ERR_OK);
    ck_assert_str_eq(spec.family->name, "vit");
    ck_assert_int_eq(spec.activation, ACTIVATION_GELU);
    ck_assert_float_eq(spec.norm_eps, 1e-12f);
    ck_assert(spec.qkv_bias);
    ck_assert_uint_eq(spec.vocab_size, 0);
    ck_assert_uint_eq(spec.positions, 0);
    ck_assert_uint_eq(spec.patches, 196);
    ck_assert_str_eq(spec.version, "1");
    ck_assert_double_eq(spec.temperature, 1);
    ck_assert(!spec.grey16_minmax);
    ck_assert(image_reading_is_default(&spec.image_reading));
    ck_assert_ptr_null(spec.class_codes);
    ck_assert_int_eq(spec.policy.scores, SCORES_SOFTMAX);
    ck_assert_uint_eq(spec.policy.label_count, 2);
    ck_assert_ptr_null(spec.policy.thresholds);
    ck_assert_int_eq(spec.policy.ood.method, OOD_ENERGY);
    ck_assert_uint_eq(spec.policy.ood.hidden, 768);
    ck_assert_uint_eq(spec_image_tokens(&spec), 197);
    ck_assert_uint_eq(spec_head_tokens(&spec), 1);
    spec_set_image_size(&spec, extent_square(47));
    ck_assert_uint_eq(spec.image_size.width, 47);
    ck_assert_uint_eq(spec.patches, 4);
    ck_assert_int_eq(read_files("{\"model_type\": \"deit\", \"architectures\": "
                                "[\"DeiTForImageClassificationWithTeacher\"]}",
                                NULL),
                     ERR_OK);
    ck_assert_uint_eq(spec_head_tokens(&spec), 2);
}
END_TEST

/* The earlier values of the spec are forgotten. */
START_TEST(an_empty_attnd_json_gives_the_defaults)
{
    struct json_t *object;
    ck_assert_int_eq(read_files("{\"model_type\": \"bert\"}", NULL), ERR_OK);
    spec.version = "9";
    spec.temperature = 7;
    spec.grey16_minmax = true;
    spec.image_reading = (struct image_reading){4, REDUCTION_LINES};
    spec.class_codes = (const struct class_code[]){{.number = 1}, {.number = 2}};
    spec.policy.target_precision = 0.5;
    ck_assert_int_eq(doc_parse(&object, "{}", 2, &doc_limits_file, &err), ERR_OK);
    const struct class_code *codes = spec.class_codes;
    ck_assert_int_eq(class_codes_read(&codes, object, spec.labels, 2, &arena, &err), ERR_OK);
    ck_assert_ptr_null(codes);
    ck_assert_int_eq(spec_read_attnd(&spec, object, &arena, &err), ERR_OK);
    doc_free(object);
    ck_assert_str_eq(spec.version, "1");
    ck_assert_double_eq(spec.temperature, 1);
    ck_assert(!spec.grey16_minmax);
    ck_assert(image_reading_is_default(&spec.image_reading));
    ck_assert_ptr_null(spec.class_codes);
    ck_assert_double_eq(spec.policy.target_precision, 0);
}
END_TEST

START_TEST(activations_eps_and_biases_are_read)
{
    static const struct {
        const char *name;
        enum activation activation;
    } activations[] = {
        {"gelu", ACTIVATION_GELU}, {"gelu_new", ACTIVATION_GELU_TANH}, {"relu", ACTIVATION_RELU}};
    char config[256];
    for (size_t i = 0; i < 3; i++) {
        snprintf(config, sizeof config, "{\"model_type\": \"bert\", \"hidden_act\": \"%s\"}",
                 activations[i].name);
        ck_assert_int_eq(read_files(config, NULL), ERR_OK);
        ck_assert_int_eq(spec.activation, activations[i].activation);
    }
    ck_assert_int_eq(read_files("{\"model_type\": \"vit\", \"qkv_bias\": false}", NULL), ERR_OK);
    ck_assert(!spec.qkv_bias);
    ck_assert_int_eq(read_files("{\"model_type\": \"bert\", \"qkv_bias\": false}", NULL), ERR_OK);
    ck_assert(spec.qkv_bias);
    snprintf(config, sizeof config, "{\"model_type\": \"bert\", \"layer_norm_eps\": %.17g}",
             (double)FLT_MIN);
    ck_assert_int_eq(read_files(config, NULL), ERR_OK);
    ck_assert_float_eq(spec.norm_eps, FLT_MIN);
    ck_assert_int_eq(read_files("{\"model_type\": \"bert\", \"layer_norm_eps\": 0.75}", NULL),
                     ERR_OK);
    ck_assert_float_eq(spec.norm_eps, 0.75f);
}
END_TEST

START_TEST(spec_errors_name_the_field_and_its_limit)
{
    static const struct {
        const char *config, *attnd, *text;
    } cases[] = {
        {"{}", NULL,
         "config.json: model_type '' is not supported (supported: bert, distilbert, roberta, "
         "xlm-roberta, camembert, data2vec-text, ernie, longformer, electra, albert, mpnet, "
         "deberta-v2, modernbert, vit, vit_msn, deit, dinov2, dinov2_with_registers, beit, clip, "
         "swin)"},
        {"{\"model_type\": \"bert\", \"hidden_act\": \"mish\"}", NULL,
         "config.json: hidden_act 'mish' is not supported (supported: gelu, gelu_new, relu, silu, "
         "tanh and quick_gelu, under all names of transformers)"},
        {"{\"model_type\": \"bert\", \"hidden_size\": 10, \"num_attention_heads\": 4}", NULL,
         "config.json: hidden_size 10 is not a multiple of num_attention_heads 4"},
        {"{\"model_type\": \"bert\", \"layer_norm_eps\": 1}", NULL,
         "config.json: layer_norm_eps must be between 0 and 1, and a normal float"},
        {"{\"model_type\": \"vit\", \"num_channels\": 2}", NULL,
         "config.json: num_channels 2 is not supported (supported: 3)"},
        {"{\"model_type\": \"vit\", \"image_size\": 15}", NULL,
         "config.json: patch_size 16 is larger than image_size 15"},
        {"{\"model_type\": \"bert\", \"problem_type\": \"ranking\"}", NULL,
         "config.json: problem_type 'ranking' is not supported"},
        {"{\"model_type\": \"bert\", \"id2label\": {\"0\": \"a\", \"2\": \"c\"}}", NULL,
         "config.json: $.id2label has 2 members but none named '1'"},
        {"[]", NULL, "config.json: expected an object, found an array"},
        {"[]", "7", "config.json: expected an object, found an array"},
        {"{\"model_type\": \"bert\"}", "7", "attnd.json: expected an object, found a number"},
        {"{\"model_type\": \"bert\"}", "{\"temprature\": 1}",
         "attnd.json: $.temprature is not supported (supported: version, temperature, grey16, "
         "target_precision, thresholds, truncation, aggregation, transitions, uncalibrated, "
         "class_codes, ood, "
         "reference, long_text, window_stride, window_pooling, views, reduction, token_pruning, "
         "candidate_labels, hypothesis_template, head, fitted_prior, class_prior, colours, dtype, "
         "agreement, task, pooling, normalize, ranges)"},
        {"{\"model_type\": \"bert\"}", "{\"aggregation\": \"path\"}",
         "attnd.json: $.aggregation is for models that tag tokens"},
        {"{\"model_type\": \"bert\"}", "{\"transitions\": {}}",
         "attnd.json: $.transitions is for models that tag tokens"},
        {"{\"model_type\": \"bert\"}", "{\"dtype\": \"auto\"}",
         "attnd.json: $.dtype must be \"f32\", \"bf16\" or \"int8\""},
        {"{\"model_type\": \"bert\"}", "{\"agreement\": {\"int8\": {}}}",
         "attnd.json: $.agreement.int8 must have \"inputs\" and \"same_winner\""},
        {"{\"model_type\": \"bert\"}", "{\"colours\": \"grey\"}",
         "attnd.json: $.colours is for images, not for 'bert'"},
        {"{\"model_type\": \"bert\"}", "{\"reference\": {\"count\": 5, \"labels\": {}}}",
         "attnd.json: $.reference.labels lacks the label 'LABEL_0'"},
        {"{\"model_type\": \"bert\", \"problem_type\": \"regression\", \"num_labels\": 1}",
         "{\"reference\": {}}", "attnd.json: $.reference.count is missing"},
        {"{\"model_type\": \"bert\", \"problem_type\": \"regression\", \"num_labels\": 2}",
         "{\"reference\": {}}", "attnd.json: $.reference is of one number; this model answers 2"},
        {"{\"model_type\": \"bert\"}", "{\"temperature\": 0.0009}",
         "attnd.json: $.temperature must be from 0.001 to 1000"},
        {"{\"model_type\": \"bert\"}", "{\"temperature\": 1000.5}",
         "attnd.json: $.temperature must be from 0.001 to 1000"},
        {"{\"model_type\": \"bert\"}", "{\"grey16\": \"clip\"}",
         "attnd.json: $.grey16 must be \"range\" or \"minmax\""},
        {"{\"model_type\": \"vit\"}", "{\"views\": 16}",
         "attnd.json: $.views must be 1, 2, 4 or 8"},
        {"{\"model_type\": \"vit\"}", "{\"views\": 1.5}",
         "attnd.json: $.views must be 1, 2, 4 or 8"},
        {"{\"model_type\": \"vit\"}", "{\"reduction\": \"\"}",
         "attnd.json: $.reduction must be \"filter\" or \"lines\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(read_files(cases[i].config, cases[i].attnd), ERR_UNSUPPORTED);
        ck_assert_str_eq(err.text, cases[i].text);
    }
}
END_TEST

START_TEST(attnd_json_is_read_up_to_its_limits)
{
    static const char config[] = "{\"model_type\": \"bert\"}";
    ck_assert_int_eq(read_files(config, "{\"temperature\": 0.001, \"grey16\": \"range\"}"), ERR_OK);
    ck_assert_double_eq(spec.temperature, 0.001);
    ck_assert(!spec.grey16_minmax);
    ck_assert_int_eq(read_files(config, "{\"temperature\": 1000, \"version\": \"\"}"), ERR_OK);
    ck_assert_double_eq(spec.temperature, 1000);
    ck_assert_str_eq(spec.version, "");
    ck_assert_int_eq(
        read_files("{\"model_type\": \"vit\"}", "{\"views\": 8, \"reduction\": \"lines\"}"),
        ERR_OK);
    ck_assert_uint_eq(spec.image_reading.views, 8);
    ck_assert_int_eq(spec.image_reading.reduction, REDUCTION_LINES);
    ck_assert_int_eq(read_files(config, "{\"views\": 1, \"reduction\": \"filter\"}"), ERR_OK);
    ck_assert(image_reading_is_default(&spec.image_reading));
}
END_TEST

/* {"0": "a", ...} with so many labels; yours to free. */
static char *many_labels(unsigned count)
{
    char *text = malloc((size_t)count * 16 + 64);
    size_t at = (size_t)sprintf(text, "{\"model_type\":\"bert\",\"id2label\":{");
    for (unsigned i = 0; i < count; i++)
        at += (size_t)sprintf(text + at, "%s\"%u\":\"l\"", i > 0 ? "," : "", i);
    memcpy(text + at, "}}", 3);
    return text;
}

START_TEST(a_hundred_thousand_labels_are_the_most)
{
    char *text = many_labels(SPEC_LABELS_MAX);
    ck_assert_msg(read_files(text, NULL) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(spec.label_count, SPEC_LABELS_MAX);
    ck_assert_str_eq(spec.labels[SPEC_LABELS_MAX - 1], "l");
    free(text);
    text = many_labels(SPEC_LABELS_MAX + 1);
    ck_assert_int_eq(read_files(text, NULL), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text,
                     "config.json: $.id2label has 100001 labels; at most 100000 are supported");
    free(text);
}
END_TEST

START_TEST(a_missing_directory_and_a_path_too_long_are_errors_of_the_files)
{
    static char path[PATH_MAX + 1];
    err = (struct err){0};
    ck_assert_int_eq(spec_read(&spec, "tests/data/nowhere", &arena, &err), ERR_IO);
    ck_assert_str_eq(err.text, "there is no directory tests/data/nowhere");
    err = (struct err){0};
    ck_assert_int_eq(spec_read(&spec, "tests/data", &arena, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the directory has no config.json");
    memset(path, 'x', PATH_MAX - sizeof "/config.json" + 1);
    err = (struct err){0};
    ck_assert_int_eq(spec_read(&spec, path, &arena, &err), ERR_IO);
    char text[160];
    snprintf(text, sizeof text, "config.json: %.100s...: the directory's path is too long", path);
    ck_assert_str_eq(err.text, text);
}
END_TEST

SUITE("spec_limits", every_size_has_its_default_and_is_read_up_to_its_limit,
      a_config_without_attnd_json_has_these_defaults, an_empty_attnd_json_gives_the_defaults,
      activations_eps_and_biases_are_read, spec_errors_name_the_field_and_its_limit,
      attnd_json_is_read_up_to_its_limits, a_hundred_thousand_labels_are_the_most,
      a_missing_directory_and_a_path_too_long_are_errors_of_the_files)
