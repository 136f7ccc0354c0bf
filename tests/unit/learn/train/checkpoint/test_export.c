/* A shipped model's own tensors, taken as if they had just been learnt, are exported and opened
 * again. */
#include "learn/train/checkpoint/export.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "engine/format/checkpoint.h"
#include "engine/vision/preprocess.h"
#include "tests/support/contract.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAFER "models/wafer-vit"
#define KERNEL "models/kernel-bert"

enum { LOGITS_MAX = 16 };

struct fixture {
    struct tempdir source, dir;
    struct parameters parameters;
    struct export what;
    struct err err;
};

/* Every tensor of a checkpoint, one after another. */
static void take(struct parameters *parameters, const struct checkpoint *checkpoint)
{
    struct err err = {0};
    parameters->count = (unsigned)checkpoint_count(checkpoint);
    parameters->list =
        arena_alloc_array(&parameters->arena, parameters->count, sizeof *parameters->list);
    for (unsigned i = 0; i < parameters->count; i++) {
        const struct tensor_info *info = checkpoint_at(checkpoint, i);
        struct parameter *parameter = &parameters->list[i];
        *parameter = (struct parameter){.row = {.rank = info->rank, .count = info->count},
                                        .offset = parameters->numbers};
        ck_assert_uint_lt(strlen(info->name), sizeof parameter->row.name);
        strcpy(parameter->row.name, info->name);
        for (unsigned d = 0; d < info->rank; d++)
            parameter->row.shape[d] = info->shape[d];
        parameters->numbers += (info->count + 15) / 16 * 16;
    }
    parameters->values =
        arena_alloc_array(&parameters->arena, parameters->numbers, sizeof *parameters->values);
    for (unsigned i = 0; i < parameters->count; i++)
        ck_assert_int_eq(checkpoint_read_f32(checkpoint, checkpoint_at(checkpoint, i), 0,
                                             parameters->list[i].row.count,
                                             parameters->values + parameters->list[i].offset, &err),
                         ERR_OK);
}

static void setup(struct fixture *fixture, const char *model)
{
    struct checkpoint *checkpoint;
    struct parameters *parameters = &fixture->parameters;
    *fixture = (struct fixture){.what = {.parameters = parameters, .source_dir = model}};
    tempdir_open(&fixture->source);
    tempdir_open(&fixture->dir);
    arena_init(&parameters->arena);
    ck_assert_int_eq(spec_read(&parameters->spec, model, &parameters->arena, &fixture->err),
                     ERR_OK);
    ck_assert_int_eq(checkpoint_open(&checkpoint, model, &fixture->err), ERR_OK);
    take(parameters, checkpoint);
    checkpoint_close(checkpoint);
    fixture->what.values = parameters->values;
    fixture->what.dtype = DTYPE_F32;
}

static void drop(struct fixture *fixture)
{
    arena_deinit(&fixture->parameters.arena);
    tempdir_close(&fixture->source);
    tempdir_close(&fixture->dir);
}

static void export_it(struct fixture *fixture)
{
    ck_assert_msg(!export_checkpoint(fixture->dir.path, &fixture->what, &fixture->err), "%s",
                  fixture->err.text);
}

static struct json_t *json_of(const struct fixture *fixture, const char *name)
{
    char path[128];
    struct json_t *root;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", fixture->dir.path, name);
    ck_assert_msg(!doc_parse_file(&root, path, 1 << 20, &err), "%s", err.text);
    return root;
}

static void expect_text(const struct json_t *root, const char *path, const char *expected)
{
    const char *text = doc_as_string(contract_at(root, path));
    ck_assert_msg(text != NULL && strcmp(text, expected) == 0, "%s: %s instead of %s", path,
                  text != NULL ? text : "nothing", expected);
}

static void expect_number(const struct json_t *root, const char *path, double expected)
{
    double number = -1;
    ck_assert_msg(doc_as_number(contract_at(root, path), &number), "%s", path);
    ck_assert_msg(number == expected, "%s: %g instead of %g", path, number, expected);
}

static void prepare(const struct engine_model *model, struct arena *arena,
                    struct engine_input *input)
{
    bool is_text = engine_describe(model)->kind == ENGINE_TEXT;
    struct err err = {0};
    char *bytes;
    size_t len;
    ck_assert_int_eq(file_read(&bytes, &len,
                               is_text ? "tests/data/examples/kernel_report.txt"
                                       : "tests/data/examples/wafer_map.png",
                               1 << 20, &err),
                     ERR_OK);
    ck_assert_int_eq(
        is_text
            ? engine_prepare(model, text_source_len(bytes, len), NULL, arena, input, &err)
            : engine_prepare(model, picture_source(bytes, len, 1 << 24), NULL, arena, input, &err),
        ERR_OK);
    free(bytes);
}

static void run(const char *dir, float logits[LOGITS_MAX])
{
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!engine_open(&model, dir, &(struct engine_options){0}, &err), "%s", err.text);
    ck_assert_uint_eq(engine_describe(model)->unbound_count, 0);
    ck_assert_int_eq(engine_session_open(&session, model, 1, 1, &err), ERR_OK);
    prepare(model, &arena, &input);
    input.evidence = NULL; /* a table of n-grams is no part of the weights */
    run_logits_one(session, &input, logits);
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}

static void expect_logits(const char *model, enum dtype dtype, float tolerance)
{
    float before[LOGITS_MAX] = {0}, after[LOGITS_MAX] = {0};
    struct fixture fixture;
    setup(&fixture, model);
    fixture.what.dtype = dtype;
    export_it(&fixture);
    run(model, before);
    run(fixture.dir.path, after);
    for (unsigned i = 0; i < LOGITS_MAX; i++)
        ck_assert_float_le(fabsf(before[i] - after[i]), tolerance);
    drop(&fixture);
}

/* One of the shipped models stores f16, the other f32. */
START_TEST(export_of_a_model_gives_the_same_logits)
{
    expect_logits(WAFER, DTYPE_F32, 0);
    expect_logits(WAFER, DTYPE_F16, 0);
    expect_logits(KERNEL, DTYPE_F32, 0);
    expect_logits(KERNEL, DTYPE_F16, 5e-3f);
}
END_TEST

START_TEST(export_writes_the_values_it_is_given)
{
    struct fixture fixture;
    float logits[LOGITS_MAX];
    setup(&fixture, KERNEL);
    float *zeros = calloc(fixture.parameters.numbers, sizeof *zeros);
    fixture.what.values = zeros;
    export_it(&fixture);
    run(fixture.dir.path, logits);
    for (unsigned i = 0; i < fixture.parameters.spec.label_count; i++)
        ck_assert_float_eq(logits[i], 0);
    free(zeros);
    drop(&fixture);
}
END_TEST

START_TEST(export_names_what_was_learnt_in_the_configuration)
{
    static const char *labels[] = {"good", "b\"ad"};
    struct fixture fixture;
    setup(&fixture, WAFER);
    fixture.what.dtype = DTYPE_F16;
    fixture.parameters.spec.labels = labels;
    fixture.parameters.spec.label_count = 2;
    fixture.parameters.spec.scores = SCORES_SIGMOID;
    export_it(&fixture);
    struct json_t *config = json_of(&fixture, "config.json");
    expect_text(config, "architectures.0", "ViTForImageClassification");
    expect_text(config, "model_type", "vit");
    expect_text(config, "dtype", "float16");
    expect_text(config, "problem_type", "multi_label_classification");
    expect_text(config, "id2label.0", "good");
    expect_text(config, "id2label.1", "b\"ad");
    expect_number(config, "label2id.b\"ad", 1);
    ck_assert_uint_eq(doc_object_count(doc_member(config, "id2label")), 2);
    ck_assert_uint_eq(doc_object_count(doc_member(config, "label2id")), 2);
    expect_number(config, "encoder_stride", 4);
    expect_number(config, "layer_norm_eps", 1e-12);
    doc_free(config);
    drop(&fixture);
}
END_TEST

START_TEST(export_of_a_pretrained_encoder_names_the_mlm_class)
{
    struct fixture fixture;
    setup(&fixture, KERNEL);
    fixture.parameters.head = HEAD_MLM;
    fixture.parameters.spec.vocab_size = 2000;
    export_it(&fixture);
    struct json_t *config = json_of(&fixture, "config.json");
    expect_text(config, "architectures.0", "BertForMaskedLM");
    expect_number(config, "vocab_size", 2000);
    expect_text(config, "id2label.3", "kasan_memory_error");
    ck_assert_ptr_null(doc_member(config, "problem_type"));
    doc_free(config);
    drop(&fixture);
}
END_TEST

static unsigned opens_at(const struct fixture *fixture, unsigned image_size)
{
    struct preprocess preprocess;
    struct err err = {0};
    return preprocess_open(&preprocess, fixture->dir.path, "ViT", extent_square(image_size),
                           &err) == ERR_OK;
}

START_TEST(export_at_another_resolution_resizes_to_it)
{
    struct fixture fixture;
    setup(&fixture, WAFER);
    fixture.parameters.spec.image_size = extent_square(48);
    export_it(&fixture);
    struct json_t *config = json_of(&fixture, "config.json");
    expect_number(config, "image_size", 48);
    doc_free(config);
    ck_assert(opens_at(&fixture, 48));
    config = json_of(&fixture, "preprocessor_config.json");
    expect_number(config, "rescale_factor", 0.00392156862745098);
    doc_free(config);
    fixture.what.source_dir = fixture.dir.path;
    fixture.parameters.spec.image_size = extent_square(72);
    export_it(&fixture);
    ck_assert(opens_at(&fixture, 72));
    drop(&fixture);
}
END_TEST

START_TEST(export_scales_the_size_before_a_crop)
{
    static const char config[] = "{\"model_type\": \"deit\"}";
    static const char crops[] = "{\"image_processor_type\": \"DeiTImageProcessor\", \"size\": "
                                "{\"height\": 256, \"width\": 256}, \"crop_size\": 224}";
    static const char edge[] = "{\"image_processor_type\": \"CLIPImageProcessor\", \"size\": "
                               "{\"shortest_edge\": 256}, \"crop_size\": 224}";
    struct fixture fixture;
    setup(&fixture, WAFER);
    fixture.what.source_dir = fixture.source.path;
    fixture.parameters.spec.image_size = extent_square(112);
    tempdir_write(&fixture.source, "config.json", config, strlen(config));
    tempdir_write(&fixture.source, "preprocessor_config.json", crops, strlen(crops));
    export_it(&fixture);
    struct json_t *root = json_of(&fixture, "preprocessor_config.json");
    expect_number(root, "size.height", 128);
    expect_number(root, "crop_size.width", 112);
    doc_free(root);
    tempdir_write(&fixture.source, "preprocessor_config.json", edge, strlen(edge));
    export_it(&fixture);
    root = json_of(&fixture, "preprocessor_config.json");
    expect_number(root, "size.shortest_edge", 128);
    doc_free(root);
    ck_assert(opens_at(&fixture, 112));
    drop(&fixture);
}
END_TEST

START_TEST(export_takes_a_preprocessor_from_a_shipped_configuration)
{
    struct fixture fixture;
    setup(&fixture, WAFER);
    fixture.what.source_dir = "models/configs/vit-scratch";
    export_it(&fixture);
    struct json_t *root = json_of(&fixture, "preprocessor_config.json");
    expect_text(root, "image_processor_type", "ViTImageProcessor");
    expect_number(root, "rescale_factor", 1.0 / 255.0);
    doc_free(root);
    ck_assert(opens_at(&fixture, 48));
    drop(&fixture);
}
END_TEST

START_TEST(export_takes_the_tokenizer_from_the_given_directory)
{
    struct fixture fixture;
    char path[128];
    setup(&fixture, KERNEL);
    fixture.what.tokenizer_dir = fixture.source.path;
    tempdir_write(&fixture.source, "vocab.txt", "[PAD]\n", 6);
    tempdir_write(&fixture.dir, "tokenizer.json", "{}", 2);
    tempdir_write(&fixture.dir, "attnd.json", "{}", 2);
    export_it(&fixture);
    char *bytes;
    size_t len;
    snprintf(path, sizeof path, "%s/vocab.txt", fixture.dir.path);
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 20, &fixture.err), ERR_OK);
    ck_assert_str_eq(bytes, "[PAD]\n");
    free(bytes);
    snprintf(path, sizeof path, "%s/tokenizer.json", fixture.dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/attnd.json", fixture.dir.path);
    ck_assert_int_eq(access(path, F_OK), 0);
    drop(&fixture);
}
END_TEST

/* A directory whose other files could not be written gets no model.safetensors. */
START_TEST(export_says_what_the_source_lacks)
{
    struct fixture fixture;
    char path[128];
    setup(&fixture, KERNEL);
    fixture.what.tokenizer_dir = fixture.source.path;
    ck_assert_int_eq(export_checkpoint(fixture.dir.path, &fixture.what, &fixture.err),
                     ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(
        strstr(fixture.err.text, ": there is neither a vocab.txt nor a tokenizer.json"));
    fixture.err = (struct err){0};
    fixture.what.source_dir = fixture.source.path;
    ck_assert_int_eq(export_checkpoint(fixture.dir.path, &fixture.what, &fixture.err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "config.json: cannot be opened"));
    fixture.err = (struct err){0};
    fixture.what.source_dir = KERNEL;
    snprintf(path, sizeof path, "%s/a/b", fixture.dir.path);
    ck_assert_int_eq(export_checkpoint(path, &fixture.what, &fixture.err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "/a/b: cannot be made a directory"));
    snprintf(path, sizeof path, "%s/model.safetensors", fixture.dir.path);
    ck_assert_int_ne(access(path, F_OK), 0);
    drop(&fixture);
}
END_TEST

SUITE("export", export_of_a_model_gives_the_same_logits, export_writes_the_values_it_is_given,
      export_names_what_was_learnt_in_the_configuration,
      export_of_a_pretrained_encoder_names_the_mlm_class,
      export_at_another_resolution_resizes_to_it, export_scales_the_size_before_a_crop,
      export_takes_a_preprocessor_from_a_shipped_configuration,
      export_takes_the_tokenizer_from_the_given_directory, export_says_what_the_source_lacks)
