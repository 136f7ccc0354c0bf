/* A model that leaves tokens out behind its first layers (model/spec.h), as the
 * engine runs it: against PyTorch, alone and in batches, with an explanation, and with means. */
#include "engine/base/file.h"
#include "engine/engine.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, LABELS_MAX = 16, IMAGE_TOKENS = 145, FEATURES_MAX = 1024 };
enum { TEXT_BYTES = 8 * 1024 };

static const char *const texts[ROWS] = {"FAIL 820 gross vddp site1 0.410 (-1.000ma .. 5.000ma) ma",
                                        "a scratch",
                                        "pass 2301 idd idle min vsup 2.501 fail lo 2304 idd load "
                                        "vsup site1 2.500 (4.094ma .. 21.290ma)",
                                        "FAIL 820 gross vddp site1 0.410 (-1.000ma .. 5.000ma) ma"};

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    struct arena arena;
    struct engine_input inputs[ROWS];
    struct err err;
    unsigned labels;
};

static void prepare(struct fixture *f)
{
    char *bytes = NULL;
    size_t len = 0;
    const bool is_image = engine_describe(f->model)->kind == ENGINE_IMAGE;
    for (size_t r = 0; r < ROWS && !is_image; r++)
        ck_assert(!engine_prepare(f->model, text_source(texts[r]), NULL, &f->arena, &f->inputs[r],
                                  &f->err));
    if (!is_image)
        return;
    ck_assert(!file_read(&bytes, &len, "tests/data/examples/wafer_map.png", 1 << 20, &f->err));
    for (size_t r = 0; r < ROWS; r++)
        ck_assert(!engine_prepare(f->model, picture_source(bytes, len, 1 << 20), NULL, &f->arena,
                                  &f->inputs[r], &f->err));
    free(bytes);
}

static void setup_as(struct fixture *f, const char *dir, const char *pruning, const char *dtype,
                     unsigned threads)
{
    *f = (struct fixture){0};
    arena_init(&f->arena);
    const struct engine_options options = {.dtype = dtype, .token_pruning = pruning};
    ck_assert_msg(!engine_open(&f->model, dir, &options, &f->err), "%s", f->err.text);
    ck_assert(!engine_session_open(&f->session, f->model, 1024, threads, &f->err));
    f->labels = engine_describe(f->model)->label_count;
    ck_assert_uint_le(f->labels, LABELS_MAX);
    prepare(f);
}

static void drop(struct fixture *f)
{
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
}

/* Rows [first, first + count) as one batch. */
static void run(struct fixture *f, unsigned first, unsigned count, float (*logits)[LABELS_MAX])
{
    run_logits_rows(f->session, &f->inputs[first], count, logits[0], LABELS_MAX);
}

START_TEST(logits_are_those_of_pytorch)
{
    /* models/wafer-vit, with attention, top-k and gather of PyTorch 2.15 */
    static const float kept_41[] = {1.30969F,  0.39811F,  -1.82971F, -0.83957F, -0.36214F,
                                    -1.61181F, -0.95522F, -1.50876F, 4.29097F};
    static const float kept_20[] = {1.30854F,  0.42405F,  -1.67108F, -0.86066F, -0.36664F,
                                    -1.63488F, -0.87440F, -1.48605F, 4.27541F};
    struct fixture f;
    float logits[1][LABELS_MAX];
    setup_as(&f, "models/wafer-vit", "2:0.28", "f32", 2);
    ck_assert_uint_eq(f.inputs[0].tokens, IMAGE_TOKENS);
    ck_assert_uint_eq(engine_kept_tokens(f.model, &f.inputs[0]), 41);
    run(&f, 0, 1, logits);
    ck_assert_double_lt(numbers_difference(logits[0], kept_41, f.labels), 2e-4);
    drop(&f);
    setup_as(&f, "models/wafer-vit", "2:0.138", "f32", 1);
    ck_assert_uint_eq(engine_kept_tokens(f.model, &f.inputs[0]), 20);
    run(&f, 0, 1, logits);
    ck_assert_double_lt(numbers_difference(logits[0], kept_20, f.labels), 2e-4);
    drop(&f);
}
END_TEST

static const char *const dirs[] = {"models/wafer-vit", "models/testlog-bert"};
static const char *const dtypes[] = {"f32", "int8"};

START_TEST(a_share_of_1_changes_no_bit)
{
    for (size_t i = 0; i < 4; i++) {
        struct fixture f;
        float all[ROWS][LABELS_MAX], kept[ROWS][LABELS_MAX];
        setup_as(&f, dirs[i / 2], "none", dtypes[i % 2], 2);
        run(&f, 0, ROWS, all);
        drop(&f);
        setup_as(&f, dirs[i / 2], "1:1", dtypes[i % 2], 2);
        run(&f, 0, ROWS, kept);
        for (unsigned r = 0; r < ROWS; r++)
            ck_assert_mem_eq(all[r], kept[r], f.labels * sizeof(float));
        drop(&f);
    }
}
END_TEST

START_TEST(a_row_has_the_logits_that_it_has_alone_with_any_number_of_threads)
{
    for (size_t i = 0; i < 4; i++) {
        struct fixture f, other;
        float all[ROWS][LABELS_MAX], one[1][LABELS_MAX];
        setup_as(&f, dirs[i / 2], "1:0.4", dtypes[i % 2], 3);
        setup_as(&other, dirs[i / 2], "1:0.4", dtypes[i % 2], 1);
        run(&f, 0, ROWS, all);
        for (unsigned r = 0; r < ROWS; r++) {
            run(&f, r, 1, one);
            ck_assert_double_lt(numbers_difference(one[0], all[r], f.labels), 1e-5);
            run(&other, r, 1, one);
            ck_assert_double_lt(numbers_difference(one[0], all[r], f.labels), 1e-5);
        }
        ck_assert_double_lt(numbers_difference(all[0], all[3], f.labels), 1e-5);
        drop(&f);
        drop(&other);
    }
}
END_TEST

START_TEST(few_tokens_are_enough_for_a_run)
{
    struct fixture f;
    float logits[ROWS][LABELS_MAX];
    setup_as(&f, "models/testlog-bert", "1:0.001", "f32", 2);
    for (unsigned r = 0; r < ROWS; r++)
        ck_assert_uint_eq(engine_kept_tokens(f.model, &f.inputs[r]), 2);
    run(&f, 0, ROWS, logits);
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned c = 0; c < f.labels; c++)
            ck_assert_float_finite(logits[r][c]);
    drop(&f);
}
END_TEST

/* The explanation is of the pass with all tokens, the answer of the other. */
START_TEST(an_explanation_changes_no_answer_and_is_of_all_tokens)
{
    static const struct explain_options how = {.method = EXPLAIN_ROLLOUT};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f, whole;
        const float *relevance, *other;
        float before[ROWS][LABELS_MAX], after[ROWS][LABELS_MAX], all[ROWS][LABELS_MAX];
        setup_as(&f, dirs[i], "1:0.3", "f32", 2);
        setup_as(&whole, dirs[i], "none", "f32", 2);
        run(&f, 0, ROWS, before);
        ck_assert(!engine_capture(f.model, &f.inputs[2], &how, &f.arena, &f.err));
        ck_assert(!engine_capture(whole.model, &whole.inputs[2], &how, &whole.arena, &whole.err));
        run(&f, 0, ROWS, after);
        run(&whole, 0, ROWS, all);
        for (unsigned r = 0; r < ROWS; r++)
            ck_assert_double_lt(numbers_difference(before[r], after[r], f.labels), 1e-5);
        ck_assert_double_gt(numbers_difference(all[2], after[2], f.labels), 1e-3);
        ck_assert(!engine_relevance(f.model, &f.inputs[2], &how, 1, &f.arena, &relevance, &f.err));
        ck_assert(!engine_relevance(whole.model, &whole.inputs[2], &how, 1, &whole.arena, &other,
                                    &whole.err));
        ck_assert_double_lt(numbers_difference(relevance, other, f.inputs[2].tokens), 1e-5);
        drop(&f);
        drop(&whole);
    }
}
END_TEST

/* The pass with all tokens pools the windows of its step, too. */
START_TEST(an_explanation_changes_no_answer_that_takes_several_steps)
{
    static const struct explain_options how = {.method = EXPLAIN_ROLLOUT};
    static char text[TEXT_BYTES];
    struct fixture f;
    float before[1][LABELS_MAX], logits[LABELS_MAX], pooled[FEATURES_MAX];
    for (size_t at = 0; at + 1 < sizeof text; at++)
        text[at] = texts[2][at % strlen(texts[2])];
    setup_as(&f, "models/testlog-bert", "1:0.3", "f32", 2);
    struct engine_source source = *text_source(text);
    source.reading.long_text = LONG_TEXT_WINDOWS;
    struct engine_input *input = &f.inputs[0];
    ck_assert(!engine_prepare(f.model, &source, NULL, &f.arena, input, &f.err));
    ck_assert_uint_gt(input->windows, 2);
    ck_assert_uint_le(engine_describe(f.model)->feature_size, FEATURES_MAX);
    run(&f, 0, 1, before);
    ck_assert(!engine_capture(f.model, input, &how, &f.arena, &f.err));
    struct engine_result result = {.logits = logits, .pooled = pooled, .step = 1};
    while (!result.is_done)
        engine_step(f.session, (const struct engine_input *const[]){input}, 1,
                    (struct engine_result *const[]){&result});
    ck_assert_double_lt(numbers_difference(before[0], logits, f.labels), 1e-5);
    drop(&f);
}
END_TEST

/* The means are over the layers that read all tokens, so the share does not change them. */
START_TEST(means_are_of_all_tokens)
{
    struct fixture f;
    float means[2][FEATURES_MAX], logits[ROWS][LABELS_MAX];
    static const char *const prunings[] = {"2:0.2", "2:1"};
    for (unsigned i = 0; i < 2; i++) {
        setup_as(&f, "models/wafer-vit", prunings[i], "f32", 2);
        const struct engine_info *info = engine_describe(f.model);
        const unsigned width = info->feature_size - info->classifier_size;
        ck_assert_uint_le(width, FEATURES_MAX);
        engine_session_take_means(f.session);
        run(&f, 0, ROWS, logits);
        memcpy(means[i], run_features[1] + info->classifier_size, width * sizeof(float));
        ck_assert_float_ne(means[i][0], 0);
        if (i == 1)
            ck_assert_mem_eq(means[0], means[1], width * sizeof(float));
        drop(&f);
    }
}
END_TEST

START_TEST(examples_of_other_means_give_no_ood_score_and_are_not_served)
{
    static const char *const files[] = {"config.json", "model.safetensors",
                                        "preprocessor_config.json", "attnd_head.safetensors"};
    static const char attnd[] = "{\"head\": \"attnd_head.safetensors\", \"ood\": {\"method\": "
                                "\"neighbours\", \"neighbours\": 10}, "
                                "\"token_pruning\": {\"full_layers\": 2, \"share\": 0.5}}";
    struct fixture f;
    struct tempdir dir;
    struct err err = {0};
    setup_as(&f, "models/wafer-vit", "2:0.28", "f32", 1);
    ck_assert_ptr_null(engine_describe(f.model)->ood_method);
    ck_assert_uint_eq(engine_describe(f.model)->full_layers, 2);
    drop(&f);
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[128];
        snprintf(from, sizeof from, "models/wafer-vit/%s", files[i]);
        tempdir_copy(&dir, files[i], from);
    }
    tempdir_write(&dir, "attnd.json", attnd, strlen(attnd));
    ck_assert_int_eq(engine_check(dir.path, &(struct engine_options){0}, &err), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "it was made with 0 full_layers of token_pruning, not with 2") !=
                      NULL,
                  "%s", err.text);
    tempdir_close(&dir);
}
END_TEST

SUITE("token_pruning_run", logits_are_those_of_pytorch, a_share_of_1_changes_no_bit,
      a_row_has_the_logits_that_it_has_alone_with_any_number_of_threads,
      few_tokens_are_enough_for_a_run, an_explanation_changes_no_answer_and_is_of_all_tokens,
      an_explanation_changes_no_answer_that_takes_several_steps, means_are_of_all_tokens,
      examples_of_other_means_give_no_ood_score_and_are_not_served)
