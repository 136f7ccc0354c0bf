/* export.h on models of a few numbers: config.json member by member for each family and head, and
 * what stops an export. test_export.c has the shipped models. */
#include "engine/base/doc.h"
#include "engine/format/checkpoint.h"
#include "learn/train/checkpoint/export.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir source, dir;
static struct parameters parameters;
static struct export what;
static struct err err;
static const char *names[] = {"x", "y \"z\""};

static void put(const char *name, const char *text)
{
    tempdir_write(&source, name, text, strlen(text));
}

static void open_model(const char *model_type, const char *architecture, enum family_head head)
{
    const struct family *family = family_find(model_type, architecture);
    bool is_text = family->kind == ENGINE_TEXT;
    struct spec spec = {.family = family,
                        .layers = 1,
                        .heads = 2,
                        .hidden = 8,
                        .intermediate = 4,
                        .qkv_bias = true,
                        .vocab_size = is_text ? 6 : 0,
                        .positions = is_text ? 5 : 0,
                        .token_types = is_text ? 2 : 0,
                        .image_size = extent_square(is_text ? 0 : 16),
                        .patch = extent_square(is_text ? 0 : 8),
                        .channels = 3,
                        .patches = is_text ? 0 : 4,
                        .labels = names,
                        .label_count = 2,
                        .scores = SCORES_SOFTMAX};
    err = (struct err){0};
    tempdir_open(&source);
    tempdir_open(&dir);
    put("config.json", "{\"num_labels\": 7, \"torch_dtype\": \"float64\", \"mine\": [3], "
                       "\"problem_type\": \"old\", \"id2label\": {\"0\": \"old\", \"5\": \"o\"}}");
    put("vocab.txt", "a\n");
    put("preprocessor_config.json", "{\"size\": 16, \"do_center_crop\": false}");
    ck_assert_msg(!parameters_open(&parameters, &spec, head, &err), "%s", err.text);
    for (size_t i = 0; i < parameters.numbers; i++)
        parameters.values[i] = (float)(i % 512);
    what = (struct export){.parameters = &parameters,
                           .values = parameters.values,
                           .dtype = DTYPE_F32,
                           .source_dir = source.path};
}

static void close_model(void)
{
    parameters_close(&parameters);
    tempdir_close(&source);
    tempdir_close(&dir);
}

static enum err_code try_export(void)
{
    err = (struct err){0};
    ck_assert_int_eq(export_checkpoint(dir.path, &what, &err), err.code);
    return err.code;
}

static struct json_t *json_of(const char *name)
{
    char path[128];
    struct json_t *root;
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    return root;
}

static struct json_t *exported(void)
{
    ck_assert_msg(!try_export(), "%s", err.text);
    return json_of("config.json");
}

static bool has(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return access(path, F_OK) == 0;
}

static void expect_text(const struct json_t *root, const char *path, const char *text)
{
    const char *found = doc_as_string(contract_at(root, path));
    ck_assert_msg(found != NULL && strcmp(found, text) == 0, "%s: %s", path,
                  found != NULL ? found : "nothing");
}

static const struct {
    const char *model_type, *architecture, *written;
} families[] = {
    {"bert", NULL, "BertForSequenceClassification"},
    {"distilbert", NULL, "DistilBertForSequenceClassification"},
    {"vit", NULL, "ViTForImageClassification"},
    {"deit", NULL, "DeiTForImageClassification"},
    {"deit", "DeiTForImageClassificationWithTeacher", "DeiTForImageClassificationWithTeacher"},
};

/* The source's labels, dtype and problem type are replaced; unknown fields stay. */
START_TEST(a_configuration_says_what_was_learnt)
{
    for (unsigned i = 0; i < 5; i++) {
        open_model(families[i].model_type, families[i].architecture, HEAD_CLASSIFIER);
        what.dtype = i % 2 ? DTYPE_F16 : DTYPE_F32;
        struct json_t *config = exported();
        bool is_text = parameters.spec.family->kind == ENGINE_TEXT;
        expect_text(config, "model_type", families[i].model_type);
        expect_text(config, "architectures.0", families[i].written);
        ck_assert_uint_eq(doc_array_count(contract_at(config, "architectures")), 1);
        expect_text(config, "dtype", i % 2 ? "float16" : "float32");
        expect_text(config, "problem_type", "single_label_classification");
        expect_text(config, "id2label.0", "x");
        expect_text(config, "id2label.1", "y \"z\"");
        outcome_expect_number(config, "label2id.x", 0);
        outcome_expect_number(config, "label2id.y \"z\"", 1);
        ck_assert_uint_eq(doc_object_count(doc_member(config, "id2label")), 2);
        ck_assert_uint_eq(doc_object_count(doc_member(config, "label2id")), 2);
        outcome_expect_number(config, is_text ? "vocab_size" : "image_size", is_text ? 6 : 16);
        ck_assert_ptr_null(doc_member(config, is_text ? "image_size" : "vocab_size"));
        outcome_expect_number(config, parameters.spec.family->key_intermediate,
                              parameters.spec.intermediate);
        ck_assert_ptr_null(doc_member(config, "pruned_heads"));
        outcome_expect_number(config, "mine.0", 3);
        ck_assert(doc_member(config, "num_labels") == NULL &&
                  doc_member(config, "torch_dtype") == NULL);
        ck_assert_uint_eq(doc_object_count(config), 9);
        doc_free(config);
        ck_assert(has("vocab.txt") == is_text && has("preprocessor_config.json") == !is_text);
        close_model();
    }
}
END_TEST

START_TEST(scores_are_named_as_problems)
{
    static const enum spec_scores scores[] = {SCORES_SIGMOID, SCORES_SOFTMAX, SCORES_NONE};
    static const char *const problems[] = {"multi_label_classification",
                                           "single_label_classification", "regression"};
    for (unsigned i = 0; i < 3; i++) {
        open_model("bert", NULL, HEAD_CLASSIFIER);
        parameters.spec.scores = scores[i];
        struct json_t *config = exported();
        expect_text(config, "problem_type", problems[i]);
        doc_free(config);
        close_model();
    }
}
END_TEST

/* Its bias is in the unit of the data, for which F16 is too coarse. */
START_TEST(export_config_of_a_regression_keeps_its_classifier_in_f32)
{
    struct checkpoint *checkpoint;
    open_model("bert", NULL, HEAD_CLASSIFIER);
    parameters.spec.scores = SCORES_NONE;
    parameters.values[parameters.map.classifier_bias] = 70001;
    what.dtype = DTYPE_F16;
    struct json_t *config = exported();
    expect_text(config, "dtype", "float32");
    doc_free(config);
    ck_assert(!checkpoint_open(&checkpoint, dir.path, &err));
    ck_assert_int_eq(checkpoint_find(checkpoint, "classifier.weight")->dtype, DTYPE_F32);
    ck_assert_int_eq(checkpoint_find(checkpoint, "classifier.bias")->dtype, DTYPE_F32);
    ck_assert_int_eq(checkpoint_find(checkpoint, "bert.pooler.dense.weight")->dtype, DTYPE_F16);
    checkpoint_close(checkpoint);
    close_model();
}
END_TEST

/* A model of masked words keeps the labels of the source: the head that knows them is not there. */
START_TEST(export_config_of_a_language_model_has_no_problem_type)
{
    open_model("bert", NULL, HEAD_MLM);
    struct json_t *config = exported();
    expect_text(config, "architectures.0", "BertForMaskedLM");
    ck_assert_ptr_null(doc_member(config, "problem_type"));
    expect_text(config, "id2label.5", "o");
    doc_free(config);
    close_model();
    open_model("distilbert", NULL, HEAD_CLASSIFIER);
    parameters.head = HEAD_MLM;
    char want[256];
    snprintf(want, sizeof want,
             "%s/config.json: a distilbert model with this head cannot be written", source.path);
    ck_assert_int_eq(try_export(), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, want);
    ck_assert(!has("config.json") && !has("vocab.txt"));
    close_model();
}
END_TEST

START_TEST(each_tensor_is_written_with_its_values)
{
    for (unsigned half = 0; half < 2; half++) {
        struct checkpoint *checkpoint;
        open_model("bert", NULL, HEAD_CLASSIFIER);
        what.dtype = half ? DTYPE_F16 : DTYPE_F32;
        doc_free(exported());
        ck_assert(!checkpoint_open(&checkpoint, dir.path, &err));
        ck_assert_uint_eq(checkpoint_count(checkpoint), parameters.count);
        for (unsigned i = 0; i < parameters.count; i++) {
            const struct parameter *parameter = &parameters.list[i];
            const struct tensor_info *info = checkpoint_find(checkpoint, parameter->row.name);
            float values[256];
            ck_assert(info != NULL && info->rank == parameter->row.rank);
            ck_assert_int_eq(info->dtype, what.dtype);
            ck_assert_mem_eq(info->shape, parameter->row.shape, info->rank * sizeof *info->shape);
            ck_assert(!checkpoint_read_f32(checkpoint, info, 0, info->count, values, &err));
            ck_assert_mem_eq(values, parameters.values + parameter->offset,
                             info->count * sizeof *values);
        }
        checkpoint_close(checkpoint);
        close_model();
    }
}
END_TEST

/* The preprocessor is for the size that was learnt; 224 is what a source without a size has. */
START_TEST(a_size_before_a_crop_is_that_of_the_source)
{
    static const char crops[] = "{\"image_processor_type\": \"DeiTImageProcessor\", \"size\": "
                                "{\"height\": 448, \"width\": 448}, \"crop_size\": 224}";
    open_model("deit", NULL, HEAD_CLASSIFIER);
    put("preprocessor_config.json", crops);
    doc_free(exported());
    struct json_t *root = json_of("preprocessor_config.json");
    outcome_expect_number(root, "size.height", 32);
    outcome_expect_number(root, "crop_size.height", 16);
    doc_free(root);
    put("config.json", "{\"image_size\": 112}");
    put("preprocessor_config.json", "{\"image_processor_type\": \"DeiTImageProcessor\", \"size\": "
                                    "{\"height\": 140, \"width\": 140}, \"crop_size\": 112}");
    doc_free(exported());
    root = json_of("preprocessor_config.json");
    outcome_expect_number(root, "size.width", 20);
    doc_free(root);
    close_model();
}
END_TEST

START_TEST(export_config_refuses_a_bad_size)
{
    static const char *const sizes[] = {"0", "65537", "\"16\"", "-1", "65536", "1"};
    char config[64], want[128];
    open_model("vit", NULL, HEAD_CLASSIFIER);
    for (unsigned i = 0; i < 6; i++) {
        snprintf(config, sizeof config, "{\"image_size\": %s}", sizes[i]);
        put("config.json", config);
        ck_assert_int_eq(try_export() != ERR_OK, i < 4);
        snprintf(want, sizeof want, "%s/config.json: ", source.path);
        ck_assert(i >= 4 || strncmp(err.text, want, strlen(want)) == 0);
    }
    close_model();
}
END_TEST

/* Weights do not appear beside files that could not be written. Each file is tried in turn. */
START_TEST(an_export_that_fails_has_no_weights)
{
    static const char *const blocked[] = {"vocab.txt", "config.json", "model.safetensors"};
    for (unsigned i = 0; i < 3; i++) {
        char path[128];
        open_model("bert", NULL, HEAD_CLASSIFIER);
        snprintf(path, sizeof path, "%s/%s", dir.path, blocked[i]);
        ck_assert_int_eq(mkdir(path, 0777), 0);
        ck_assert_int_eq(try_export(), ERR_IO);
        ck_assert_int_eq(has("config.json"), i > 0);
        ck_assert_int_eq(has("model.safetensors"), i == 2);
        ck_assert_int_eq(rmdir(path), 0);
        close_model();
    }
    open_model("bert", NULL, HEAD_CLASSIFIER);
    what.dtype = DTYPE_F16;
    parameters.values[parameters.map.classifier_bias] = 1e6f;
    ck_assert_int_eq(try_export(), ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "classifier.bias"));
    ck_assert(!has("model.safetensors"));
    what.source_dir = "/no/where";
    ck_assert_int_eq(try_export(), ERR_IO);
    close_model();
}
END_TEST

START_TEST(export_config_writes_the_length_of_a_text_if_it_is_known)
{
    for (unsigned tokens = 0; tokens < 8; tokens += 7) {
        open_model("bert", NULL, HEAD_CLASSIFIER);
        what.tokens_max = tokens;
        doc_free(exported());
        ck_assert_int_eq(has("tokenizer_config.json"), tokens > 0);
        close_model();
    }
}
END_TEST

SUITE("export_config", a_configuration_says_what_was_learnt, scores_are_named_as_problems,
      export_config_of_a_regression_keeps_its_classifier_in_f32,
      export_config_of_a_language_model_has_no_problem_type, each_tensor_is_written_with_its_values,
      a_size_before_a_crop_is_that_of_the_source, export_config_refuses_a_bad_size,
      an_export_that_fails_has_no_weights, export_config_writes_the_length_of_a_text_if_it_is_known)
