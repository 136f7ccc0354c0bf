#include "learn/eval/measure/evaluation.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ITEMS = 70, HIDDEN_MAX = 768, LABELS_MAX = 16 }; /* more than one chunk of items */

static const char *const texts[] = {"INFO: task hung in x", "KASAN: use-after-free in f",
                                    "general protection fault", ""};
static const size_t lengths[] = {20, 26, 24, 0};

static void open_texts(struct dataset *dataset)
{
    static struct dataset_item items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = (struct dataset_item){.name = "line",
                                         .input = texts[i * i % 3],
                                         .input_len = lengths[i * i % 3],
                                         .label = "hang_stall"};
    items[ITEMS - 1].input = texts[3]; /* no token: it fails */
    items[ITEMS - 1].input_len = 0;
    *dataset = (struct dataset){.kind = ENGINE_TEXT, .items = items, .count = ITEMS};
}

/* One item by itself. */
static void run_alone(const struct engine_model *model, const struct dataset_item *item,
                      float *logits, float *features)
{
    struct err err = {0};
    struct arena arena;
    struct engine_input input;
    struct engine_session *session;
    arena_init(&arena);
    ck_assert_int_eq(engine_session_open(&session, model, 0, 1, &err), ERR_OK);
    engine_prepare(model, text_source_len(item->input, item->input_len), NULL, &arena, &input,
                   &err);
    ck_assert_int_eq(err.code, ERR_OK);
    engine_session_take_means(session);
    run_logits_one(session, &input, logits);
    memcpy(features, run_features[0], engine_describe(model)->feature_size * sizeof *features);
    engine_session_close(session);
    arena_deinit(&arena);
}

static void expect_close(const float *found, const float *expected, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ck_assert_float_le(fabsf(found[i] - expected[i]), 1e-4f);
}

static void open_model(struct engine_model **model)
{
    struct err err = {0};
    engine_open(model, "models/kernel-bert", &(struct engine_options){0}, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

START_TEST(evaluation_keeps_logits_and_features_of_each_item)
{
    struct err err = {0};
    struct engine_model *model;
    struct dataset dataset;
    struct evaluation evaluation;
    open_model(&model);
    open_texts(&dataset);
    const struct evaluation_options options = {.threads = 2, .features = true};
    ck_assert_int_eq(evaluation_run(&evaluation, model, &dataset, &options, &err), ERR_OK);
    unsigned hidden = evaluation.feature_size, labels = evaluation.label_count;
    ck_assert(hidden > 0 && hidden <= HIDDEN_MAX && labels <= LABELS_MAX);
    for (size_t i = 0; i < ITEMS - 1; i += 23) {
        float logits[LABELS_MAX], features[HIDDEN_MAX];
        run_alone(model, &dataset.items[i], logits, features);
        expect_close(evaluation_logits(&evaluation, i), logits, labels);
        expect_close(evaluation_features(&evaluation, i), features, hidden);
    }
    ck_assert_ptr_nonnull(evaluation.problems[ITEMS - 1]);
    for (unsigned d = 0; d < hidden; d++)
        ck_assert_float_eq(evaluation_features(&evaluation, ITEMS - 1)[d], 0);
    evaluation_close(&evaluation);
    engine_close(model);
}
END_TEST

START_TEST(evaluation_takes_no_memory_for_features_unasked)
{
    struct err err = {0};
    struct engine_model *model;
    struct dataset dataset;
    struct evaluation evaluation;
    open_model(&model);
    open_texts(&dataset);
    dataset.count = 3;
    const struct evaluation_options options = {.threads = 1};
    ck_assert_int_eq(evaluation_run(&evaluation, model, &dataset, &options, &err), ERR_OK);
    ck_assert_ptr_null(evaluation.features);
    evaluation_close(&evaluation);
    engine_close(model);
}
END_TEST

SUITE("evaluation", evaluation_keeps_logits_and_features_of_each_item,
      evaluation_takes_no_memory_for_features_unasked)
