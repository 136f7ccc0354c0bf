/* attnd-selftest.json: files that are read or refused, and models that pass or fail. */
#include "engine/decide/argmax.h"
#include "engine/selftest.h"
#include "tests/support/run_logits.h"

#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/golden/bert-3"
#define TEXT "\"text\": \"vdd_io 3.97 V FAIL\""
#define CASES(item) "{\"format\": 1, \"cases\": [" item "]}"

static struct tempdir dir;

static enum err_code open_text(struct selftest **out, const char *json, struct err *err)
{
    tempdir_write(&dir, SELFTEST_FILE, json, strlen(json));
    return selftest_open(out, dir.path, err);
}

static struct selftest *opened(const char *json)
{
    struct selftest *selftest;
    struct err err = {0};
    ck_assert_msg(open_text(&selftest, json, &err) == ERR_OK, "%s", err.text);
    ck_assert_ptr_nonnull(selftest);
    return selftest;
}

/* ---- reading ---- */

START_TEST(a_directory_without_the_file_has_no_selftest)
{
    struct selftest *selftest = (struct selftest *)&dir;
    struct err err = {0};
    tempdir_open(&dir);
    ck_assert_int_eq(selftest_open(&selftest, dir.path, &err), ERR_OK);
    ck_assert_ptr_null(selftest);
    selftest_close(NULL);
    tempdir_close(&dir);
}
END_TEST

START_TEST(tolerances_of_other_dtypes_are_wider_and_never_below_that_of_f32)
{
    tempdir_open(&dir);
    struct selftest *selftest = opened(CASES("{" TEXT ", \"label\": \"a\"}"));
    ck_assert_uint_eq(selftest_count(selftest), 1);
    ck_assert_double_eq(selftest_tolerance(selftest, "f32"), SELFTEST_TOLERANCE);
    ck_assert_double_eq(selftest_tolerance(selftest, NULL), SELFTEST_TOLERANCE);
    ck_assert_double_eq(selftest_tolerance(selftest, "bf16"), 0.02);
    ck_assert_double_eq(selftest_tolerance(selftest, "int8"), 0.1);
    selftest_close(selftest);
    selftest =
        opened("{\"format\": 1, \"tolerance\": 0.5, \"tolerance_bf16\": 0.6, \"cases\": [{" TEXT
               ", \"label\": \"a\"}]}");
    ck_assert_double_eq(selftest_tolerance(selftest, "f32"), 0.5);
    ck_assert_double_eq(selftest_tolerance(selftest, "bf16"), 0.6);
    ck_assert_double_eq(selftest_tolerance(selftest, "int8"), 0.5);
    selftest_close(selftest);
    tempdir_close(&dir);
}
END_TEST

/* Faulty documents, with the place that the error names and a word of what was expected. */
static const struct {
    const char *json, *told;
} hostile[] = {
    {"", "JSON ends too early"},
    {"[]", "$: expected an object, found an array"},
    {"{}", "$.format: found 0; this program reads 1"},
    {"{\"format\": 2, \"cases\": [{" TEXT ", \"label\": \"a\"}]}", "$.format: found 2"},
    {"{\"format\": 1}", "$.cases: expected a list of 1 to 64 cases, found 0"},
    {"{\"format\": 1, \"cases\": {}}", "$.cases: expected a list of 1 to 64 cases, found 0"},
    {"{\"format\": 1, \"tolerence\": 1, \"cases\": []}", "did you mean \"tolerance\"?"},
    {"{\"format\": 1, \"tolerance\": 0, \"cases\": []}", "$.tolerance: must be above 0"},
    {"{\"format\": 1, \"tolerance\": -1, \"cases\": []}", "$.tolerance: must be above 0"},
    {"{\"format\": 1, \"tolerance_int8\": 1e9, \"cases\": []}", "$.tolerance_int8: must be above"},
    {"{\"format\": 1, \"tolerance\": \"1\", \"cases\": []}", "$.tolerance: expected a number"},
    {CASES("7"), "$.cases[0]: expected an object, found a number"},
    {CASES("{}"), "$.cases[0]: expected one of \"text\", \"image\" and \"image_file\", found 0"},
    {CASES("{" TEXT ", \"image\": \"\", \"label\": \"a\"}"), "found 2"},
    {CASES("{" TEXT "}"), "$.cases[0]: expected \"scores\", \"label\" or both"},
    {CASES("{\"text\": 7, \"label\": \"a\"}"), "$.cases[0].text: expected a string"},
    {CASES("{" TEXT ", \"text_pair\": 7, \"label\": \"a\"}"),
     "$.cases[0].text_pair: expected a string"},
    {CASES("{\"image\": \"\", \"text_pair\": \"b\", \"label\": \"a\"}"),
     "$.cases[0].text_pair: it goes with \"text\""},
    {CASES("{" TEXT ", \"label\": 7}"), "$.cases[0].label: expected a string"},
    {CASES("{" TEXT ", \"lable\": \"a\"}"), "$.cases[0]: a member is unknown; did you mean "
                                            "\"label\"?"},
    {CASES("{" TEXT ", \"scores\": {}}"), "$.cases[0].scores: expected an object with at least"},
    {CASES("{" TEXT ", \"scores\": [1]}"), "$.cases[0].scores: expected an object with at least"},
    {CASES("{" TEXT ", \"scores\": {\"a\": \"1\"}}"),
     "$.cases[0].scores: expected numbers, found a string"},
    {CASES("{" TEXT ", \"scores\": {\"a\": 1e999}}"), "number out of range"},
    {CASES("{" TEXT ", \"scores\": {\"a\": 1, \"a\": 2}}"), "duplicate key"},
    {CASES("{\"image\": \"=\", \"label\": \"a\"}"), "$.cases[0].image: "},
    {CASES("{\"image_file\": \"../model.safetensors\", \"label\": \"a\"}"),
     "$.cases[0].image_file: must be the name of a file"},
    {CASES("{\"image_file\": \".hidden\", \"label\": \"a\"}"), "$.cases[0].image_file: must be"},
    {CASES("{\"image_file\": \"\", \"label\": \"a\"}"), "$.cases[0].image_file: must be"},
    {CASES("{\"image_file\": \"a\\u0000b\", \"label\": \"a\"}"), "$.cases[0].image_file: expected"},
    {CASES("{" TEXT ", \"scores\": {\"a\": [[[[[1]]]]]}}"), "nested deeper than 4 levels"},
};

START_TEST(selftest_file_errors_give_the_place_of_the_fault)
{
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        struct selftest *selftest;
        struct err err = {0};
        ck_assert_int_ne(open_text(&selftest, hostile[i].json, &err), ERR_OK);
        ck_assert_ptr_null(selftest);
        ck_assert_msg(strncmp(err.text, SELFTEST_FILE ": ", strlen(SELFTEST_FILE) + 2) == 0, "%s",
                      err.text);
        ck_assert_msg(strstr(err.text, hostile[i].told) != NULL, "'%s' lacks '%s'", err.text,
                      hostile[i].told);
    }
    tempdir_close(&dir);
}
END_TEST

START_TEST(cases_beyond_the_limit_are_refused)
{
    static const char item[] = "{\"text\": \"a\", \"label\": \"a\"},";
    char *json = calloc(SELFTEST_CASES_MAX + 3, sizeof item);
    struct selftest *selftest;
    struct err err = {0};
    ck_assert_ptr_nonnull(json);
    tempdir_open(&dir);
    strcpy(json, "{\"format\": 1, \"cases\": [");
    for (int i = 0; i <= SELFTEST_CASES_MAX; i++)
        strcat(json, item);
    strcpy(json + strlen(json) - 1, "]}");
    ck_assert_int_eq(open_text(&selftest, json, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "1 to 64 cases, found 65"));
    free(json);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_file_of_too_many_bytes_is_refused)
{
    char *json = malloc(SELFTEST_FILE_BYTES_MAX + 1);
    struct selftest *selftest;
    struct err err = {0};
    ck_assert_ptr_nonnull(json);
    memset(json, ' ', SELFTEST_FILE_BYTES_MAX + 1);
    tempdir_open(&dir);
    tempdir_write(&dir, SELFTEST_FILE, json, SELFTEST_FILE_BYTES_MAX + 1);
    ck_assert_int_eq(selftest_open(&selftest, dir.path, &err), ERR_TOO_LARGE);
    free(json);
    tempdir_close(&dir);
}
END_TEST

/* ---- running ---- */

struct bench {
    struct engine_model *model;
    struct engine_session *session;
    float *scores;
};

/* The model, and what it scores for the text. */
static void bench_open(struct bench *bench)
{
    static const char text[] = "vdd_io 3.97 V FAIL";
    const struct engine_options options = {.linear_backend = "native"};
    struct engine_input input;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_msg(!engine_open(&bench->model, MODEL, &options, &err), "%s", err.text);
    ck_assert_int_eq(engine_session_open(&bench->session, bench->model, 64, 1, &err), ERR_OK);
    bench->scores = calloc(engine_describe(bench->model)->label_count, sizeof(float));
    ck_assert_int_eq(engine_prepare(bench->model, text_source(text), NULL, &arena, &input, &err),
                     ERR_OK);
    run_logits_one(bench->session, &input, bench->scores);
    ck_assert(engine_scores(bench->model, bench->scores, bench->scores));
    arena_deinit(&arena);
    tempdir_open(&dir);
}

static void bench_close(struct bench *bench)
{
    free(bench->scores);
    engine_session_close(bench->session);
    engine_close(bench->model);
    tempdir_close(&dir);
}

static enum err_code run(const struct bench *bench, const char *json, struct err *err)
{
    struct selftest *selftest = opened(json);
    ck_assert_uint_gt(selftest_bytes(selftest, bench->model), strlen(json));
    enum err_code code = selftest_run(selftest, bench->model, bench->session, err);
    selftest_close(selftest);
    return code;
}

/* A case of the text with one score that is off by so much, and a label. */
static void one_case(const struct bench *bench, double off, unsigned winner, char out[1024])
{
    const struct engine_info *info = engine_describe(bench->model);
    snprintf(out, 1024,
             CASES("{" TEXT ", \"label\": \"%s\"}, {" TEXT
                   ", \"scores\": {\"%s\": %.9g}, \"label\": \"%s\"}"),
             info->labels[argmax(bench->scores, info->label_count)], info->labels[0],
             (double)bench->scores[0] + off, info->labels[winner]);
}

START_TEST(a_model_passes_within_the_tolerance_and_not_beyond)
{
    struct bench bench;
    struct err err = {0};
    char json[1024];
    bench_open(&bench);
    unsigned winner = argmax(bench.scores, engine_describe(bench.model)->label_count);
    one_case(&bench, 0.0009, winner, json);
    ck_assert_msg(run(&bench, json, &err) == ERR_OK, "%s", err.text);
    one_case(&bench, -0.0011, winner, json);
    ck_assert_int_eq(run(&bench, json, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "case 2 of 2: label \""));
    ck_assert_ptr_nonnull(strstr(err.text, "expected a score of 0."));
    ck_assert_ptr_nonnull(strstr(err.text, "within 0.001 in f32, found 0."));
    bench_close(&bench);
}
END_TEST

/* Both texts are read: the scores of the first alone are wrong by more than the tolerance. */
START_TEST(selftest_scores_both_texts_of_a_pair_together)
{
    struct bench bench;
    struct err err = {0};
    char json[1024];
    bench_open(&bench);
    const struct engine_info *info = engine_describe(bench.model);
    snprintf(json, sizeof json,
             "{\"format\": 1, \"tolerance\": 1e-7, \"cases\": [{" TEXT
             ", \"text_pair\": \"PLL unlock\", \"scores\": {\"%s\": %.9g}}]}",
             info->labels[0], (double)bench.scores[0]);
    ck_assert_int_eq(run(&bench, json, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "expected a score of "));
    bench_close(&bench);
}
END_TEST

START_TEST(selftest_fails_if_another_label_wins)
{
    struct bench bench;
    struct err err = {0};
    char json[1024];
    bench_open(&bench);
    unsigned winner = argmax(bench.scores, engine_describe(bench.model)->label_count);
    one_case(&bench, 0, winner == 0 ? 1 : 0, json);
    ck_assert_int_eq(run(&bench, json, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "case 2 of 2: expected the label \""));
    bench_close(&bench);
}
END_TEST

static const struct {
    const char *json, *told;
} unusable[] = {
    {CASES("{" TEXT ", \"label\": \"nobody's\"}"),
     "case 1 of 1: the model has no label \"nobody's\""},
    {CASES("{" TEXT ", \"scores\": {\"nobody's\": 1}}"), "the model has no label \"nobody's\""},
    {CASES("{\"text\": \"\", \"label\": \"a\"}"), "case 1 of 1: "},
    {CASES("{\"image\": \"AAAA\", \"label\": \"a\"}"), "is an image, and the model reads texts"},
    {CASES("{\"image_file\": \"x.png\", \"label\": \"a\"}"), "is an image, and the model reads"},
};

START_TEST(a_case_that_the_model_cannot_read_fails)
{
    struct bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < sizeof unusable / sizeof unusable[0]; i++) {
        struct err err = {0};
        ck_assert_int_eq(run(&bench, unusable[i].json, &err), ERR_UNUSABLE);
        ck_assert_msg(strstr(err.text, unusable[i].told) != NULL, "%s", err.text);
    }
    bench_close(&bench);
}
END_TEST

SUITE("engine/selftest", a_directory_without_the_file_has_no_selftest,
      tolerances_of_other_dtypes_are_wider_and_never_below_that_of_f32,
      selftest_file_errors_give_the_place_of_the_fault, cases_beyond_the_limit_are_refused,
      a_file_of_too_many_bytes_is_refused, a_model_passes_within_the_tolerance_and_not_beyond,
      selftest_scores_both_texts_of_a_pair_together, selftest_fails_if_another_label_wins,
      a_case_that_the_model_cannot_read_fails)
