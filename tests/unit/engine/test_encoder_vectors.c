/* Vectors of encoders without modules.json against those of transformers: images, bare texts, and
 * CLIP's two encoders in one space. tests/reference/encoder_vectors.py made the expected ones. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS_MAX = 1 << 20, ROWS = 4, BATCH_TOKENS = 256, FILE_MAX = 1 << 20 };

#define GOLDEN "tests/data/golden/"

static struct json_t *cases;
static struct arena arena;
static struct tempdir dir;
static struct err err;

static void setup(void)
{
    err = (struct err){0};
    arena_init(&arena);
    ck_assert_msg(!doc_parse_file(&cases, "tests/data/embedding/encoders.json", FILE_MAX, &err),
                  "%s", err.text);
}

static void teardown(void)
{
    doc_free(cases);
    arena_deinit(&arena);
}

/* Opens a golden checkpoint with an attnd.json of its own. */
static enum err_code open_with(struct engine_model **out, const char *name, const char *attnd)
{
    static const char *const files[] = {
        "config.json",    "model.safetensors",     "preprocessor_config.json",
        "tokenizer.json", "tokenizer_config.json", "vocab.txt"};
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[256];
        bool found;
        snprintf(path, sizeof path, GOLDEN "%s/%s", name, files[i]);
        ck_assert(!file_exists(path, &found, &err));
        if (found)
            tempdir_copy(&dir, files[i], path);
    }
    tempdir_write(&dir, "attnd.json", attnd, strlen(attnd));
    err = (struct err){0};
    engine_open(out, dir.path, &(struct engine_options){0}, &err);
    return err.code;
}

static void prepare(const struct engine_model *model, const struct json_t *one,
                    struct engine_input *input)
{
    const char *text = doc_as_string(doc_member(one, "text"));
    char path[256], *bytes = NULL;
    size_t len = 0;
    if (text == NULL) {
        snprintf(path, sizeof path, GOLDEN "images/%s", doc_as_string(doc_member(one, "image")));
        ck_assert(!file_read(&bytes, &len, path, FILE_MAX, &err));
    }
    const struct engine_source *source =
        text != NULL ? text_source(text) : picture_source(bytes, len, PIXELS_MAX);
    const struct engine_need need = engine_need(model, source);
    struct arena own;
    arena_init(&own);
    ck_assert_msg(!engine_prepare(model, source, NULL, &own, input, &err), "%s", err.text);
    ck_assert_uint_ge(need.kept, own.bytes);
    arena_deinit(&own);
    ck_assert(!engine_prepare(model, source, NULL, &arena, input, &err));
    free(bytes);
}

static void expect_vector(const struct json_t *one, const float *vector, unsigned size)
{
    const struct json_t *numbers = doc_member(one, "embedding");
    double largest = 1e-3, number;
    ck_assert_uint_eq(doc_array_count(numbers), size);
    for (unsigned i = 0; i < size; i++)
        if (doc_as_number(doc_array_item(numbers, i), &number))
            largest = fmax(largest, fabs(number));
    for (unsigned i = 0; i < size; i++) {
        ck_assert(doc_as_number(doc_array_item(numbers, i), &number));
        ck_assert_double_eq_tol((double)vector[i], number, 1e-5 * largest);
    }
}

static void expect_case(const struct json_t *one)
{
    const char *name = doc_as_string(doc_member(one, "dir"));
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input input;
    struct engine_result result;
    ck_assert_msg(!open_with(&model, name, doc_as_string(doc_member(one, "attnd"))), "%s: %s", name,
                  err.text);
    ck_assert(!engine_session_open(&session, model, BATCH_TOKENS, 1, &err));
    ck_assert(!engine_result_init(&result, model, &arena, &err));
    prepare(model, one, &input);
    engine_run(session, &(const struct engine_input *){&input}, 1,
               &(struct engine_result *){&result});
    ck_assert(result.is_finite && result.task == ENGINE_EMBED);
    expect_vector(one, result.vector, engine_describe(model)->vector_size);
    engine_session_close(session);
    engine_close(model);
    tempdir_close(&dir);
}

START_TEST(vectors_of_encoders_are_those_of_transformers)
{
    setup();
    const size_t count = doc_array_count(cases);
    ck_assert_uint_gt(count, 80);
    for (size_t i = 0; i < count; i++)
        expect_case(doc_array_item(cases, i));
    teardown();
}
END_TEST

/* The numbers of a row do not depend on the other kind in its batch. */
START_TEST(texts_and_images_share_a_batch_and_a_space)
{
    setup();
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input inputs[ROWS];
    struct engine_result results[ROWS];
    const struct engine_input *rows[ROWS];
    struct engine_result *answers[ROWS];
    const struct json_t *wanted[ROWS];
    unsigned found = 0;
    ck_assert_msg(!open_with(&model, "clip-0", "{\"task\": \"embed\"}"), "%s", err.text);
    const struct engine_info *info = engine_describe(model);
    ck_assert(info->reads_both && engine_reads(info, ENGINE_TEXT) && !info->is_zero_shot);
    ck_assert(!engine_session_open(&session, model, BATCH_TOKENS, 2, &err));
    for (size_t i = 0; i < doc_array_count(cases) && found < ROWS; i++) {
        const struct json_t *one = doc_array_item(cases, i);
        if (strcmp(doc_as_string(doc_member(one, "attnd")), "{\"task\": \"embed\"}") != 0 ||
            strcmp(doc_as_string(doc_member(one, "dir")), "clip-0") != 0)
            continue;
        prepare(model, one, &inputs[found]);
        ck_assert(!engine_result_init(&results[found], model, &arena, &err));
        rows[found] = &inputs[found];
        answers[found] = &results[found];
        wanted[found++] = one;
    }
    ck_assert_uint_eq(found, ROWS);
    engine_run(session, rows, ROWS, answers);
    for (unsigned i = 0; i < ROWS; i++)
        expect_vector(wanted[i], results[i].vector, info->vector_size);
    engine_session_close(session);
    engine_close(model);
    tempdir_close(&dir);
    teardown();
}
END_TEST

START_TEST(what_a_directory_cannot_obey_is_refused_by_name)
{
    setup();
    static const struct {
        const char *name, *attnd, *text;
    } wrong[] = {
        {"bert-5", "{\"task\": \"embed\"}", "attnd.json: $.pooling is missing: take the one that"},
        {"bert-5", "{\"pooling\": \"middle\"}", "$.pooling 'middle' is not supported"},
        {"bert-5", "{\"pooling\": []}", "$.pooling: expected 1 to 6 names, found 0"},
        {"bert-5", "{\"pooling\": \"mean\", \"long_text\": \"windows\"}", "$.long_text"},
        {"bert-5", "{\"task\": \"dream\"}", "$.task 'dream' is not supported (supported: embed)"},
        {"bert-5", "{\"pooling\": \"mean\", \"ranges\": [[1]]}", "$.ranges must be two lists of"},
        {"bert-5", "{\"ranges\": []}", "$.ranges is of vectors"},
        {"bert-5", "{\"task\": 7}", "$.task: expected a string"},
        {"bert-5", "{\"pooling\": \"mean\", \"normalize\": 1}", "$.normalize: expected"},
        {"distilbert-0", "{\"pooling\": \"pooler\"}", "$.pooling: 'distilbert' has no pooler"},
        {"vit-0", "{\"pooling\": \"lasttoken\"}", "an image has cls, mean, max or pooler"},
        {"vit-0", "{\"pooling\": \"pooler\"}", "tensor 'vit.pooler.dense.weight' is missing"},
        {"vit-0", "{\"task\": \"embed\", \"views\": 8}", "views: an image has one vector"},
        {"swin-0", "{\"pooling\": \"cls\"}", "$.pooling: 'swin' has no class token"},
        {"clip-0", "{\"pooling\": \"cls\"}", "the vectors of 'clip' are its projections"},
        {"clip-0", "{\"task\": \"embed\", \"candidate_labels\": [\"a\"]}", "$.candidate_labels"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct engine_model *model;
        ck_assert_int_eq(open_with(&model, wrong[i].name, wrong[i].attnd), ERR_UNSUPPORTED);
        ck_assert_msg(strstr(err.text, wrong[i].text) != NULL, "%s", err.text);
        tempdir_close(&dir);
    }
    teardown();
}
END_TEST

START_TEST(an_attnd_json_that_is_large_does_not_tell_of_vectors)
{
    setup();
    enum { LARGE = 1100000 };
    struct engine_model *model;
    char *text = malloc(LARGE + 64);
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', LARGE);
    strcpy(text + LARGE, "{\"pooling\": \"mean\"}");
    ck_assert_int_eq(open_with(&model, "bert-5", text), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "are read from a file of at most 1048576 bytes") != NULL, "%s",
                  err.text);
    free(text);
    tempdir_close(&dir);
    teardown();
}
END_TEST

/* Both encoders of CLIP are a part of each session. */
START_TEST(the_cost_of_an_encoder_is_an_upper_bound)
{
    setup();
    static const char *const names[] = {"clip-0", "swin-0", "bert-5"};
    static const char *const attnd[] = {"{\"task\": \"embed\"}", "{\"pooling\": \"max\"}",
                                        "{\"pooling\": \"pooler\"}"};
    for (int i = 0; i < 3; i++) {
        struct engine_model *model;
        struct engine_cost cost;
        ck_assert(!open_with(&model, names[i], attnd[i]));
        ck_assert(
            !engine_measure(&cost, dir.path, &(struct engine_options){0}, BATCH_TOKENS, 1, &err));
        ck_assert(!engine_check(dir.path, &(struct engine_options){0}, &err));
        ck_assert_uint_ge(cost.model_bytes, engine_describe(model)->weight_bytes);
        ck_assert_uint_eq(cost.labeller_bytes, 0);
        engine_close(model);
        tempdir_close(&dir);
    }
    teardown();
}
END_TEST

SUITE("encoder_vectors", vectors_of_encoders_are_those_of_transformers,
      texts_and_images_share_a_batch_and_a_space, what_a_directory_cannot_obey_is_refused_by_name,
      an_attnd_json_that_is_large_does_not_tell_of_vectors,
      the_cost_of_an_encoder_is_an_upper_bound)
