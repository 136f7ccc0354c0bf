/* A batch as the engine runs it: whose row is whose, and what a run leaves behind. */
#include "engine/engine.h"
#include "engine/model/capture.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <string.h>

#define MODEL "tests/data/golden/bert-3"
enum { ROWS = 4, LABELS_MAX = 16, WIDTH_MAX = 256 };

static const char *const texts[ROWS] = {"the wafer", "a scratch, and the die of the lot", "pin 7",
                                        "the wafer"};

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    struct arena arena;
    struct engine_input inputs[ROWS];
    struct err err;
    unsigned labels, width;
};

static void setup_as(struct fixture *f, const char *backend, const char *dtype)
{
    unsigned tokens = 0;
    *f = (struct fixture){0};
    arena_init(&f->arena);
    const struct engine_options options = {.linear_backend = backend, .dtype = dtype};
    ck_assert(!engine_open(&f->model, MODEL, &options, &f->err));
    for (size_t r = 0; r < ROWS; r++) {
        ck_assert(!engine_prepare(f->model, text_source(texts[r]), NULL, &f->arena, &f->inputs[r],
                                  &f->err));
        tokens += f->inputs[r].tokens;
    }
    ck_assert(!engine_session_open(&f->session, f->model, tokens, 2, &f->err));
    f->labels = engine_describe(f->model)->label_count;
    f->width = engine_describe(f->model)->hidden_size;
    ck_assert_uint_le(f->labels, LABELS_MAX);
    ck_assert_uint_le(f->width, WIDTH_MAX);
}

static void setup(struct fixture *f, const char *backend)
{
    setup_as(f, backend, "f32");
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
    for (unsigned r = 0; r < count; r++)
        for (size_t c = 0; c < LABELS_MAX; c++)
            logits[r][c] = 77;
    run_logits_rows(f->session, &f->inputs[first], count, logits[0], LABELS_MAX);
    for (unsigned r = 0; r < count; r++)
        for (size_t c = f->labels; c < LABELS_MAX; c++)
            ck_assert_float_eq(logits[r][c], 77);
}

START_TEST(a_row_has_the_logits_and_features_that_it_has_alone)
{
    struct fixture f;
    float all[ROWS][LABELS_MAX], one[1][LABELS_MAX], features[ROWS][WIDTH_MAX];
    setup(&f, NULL);
    run(&f, 0, ROWS, all);
    for (unsigned r = 0; r < ROWS; r++)
        memcpy(features[r], run_features[r], f.width * sizeof(float));
    for (unsigned r = 0; r < ROWS; r++) {
        run(&f, r, 1, one);
        ck_assert_double_lt(numbers_difference(one[0], all[r], f.labels), 1e-5);
        ck_assert_double_lt(numbers_difference(run_features[0], features[r], f.width), 1e-4);
    }
    ck_assert_double_lt(numbers_difference(all[0], all[3], f.labels), 1e-5); /* the same text */
    ck_assert_double_gt(numbers_difference(all[0], all[1], f.labels), 1e-3);
    ck_assert_double_gt(numbers_difference(features[0], features[2], f.width), 1e-3);
    drop(&f);
}
END_TEST

/* The classifier reads the first token alone: the others reach it through the attention. */
START_TEST(every_token_has_its_part_in_the_logits)
{
    struct fixture f;
    float before[1][LABELS_MAX], after[1][LABELS_MAX];
    int32_t ids[64];
    setup(&f, NULL);
    struct engine_input *input = &f.inputs[1];
    ck_assert_uint_le(input->tokens, 64);
    run(&f, 1, 1, before);
    for (unsigned t = 1; t < input->tokens; t++) {
        const int32_t *whole = input->ids;
        memcpy(ids, whole, input->tokens * sizeof *ids);
        ids[t] = ids[t] == 20 ? 21 : 20;
        input->ids = ids;
        run(&f, 1, 1, after);
        input->ids = whole;
        ck_assert_double_gt(numbers_difference(before[0], after[0], f.labels), 1e-6);
    }
    drop(&f);
}
END_TEST

START_TEST(backends_agree_on_the_logits)
{
    static const char *const backends[] = {"native", "openblas"};
    struct fixture f;
    float expected[ROWS][LABELS_MAX], found[ROWS][LABELS_MAX];
    setup(&f, "reference");
    run(&f, 0, ROWS, expected);
    drop(&f);
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        setup(&f, backends[i]);
        run(&f, 0, ROWS, found);
        for (unsigned r = 0; r < ROWS; r++)
            ck_assert_double_lt(numbers_difference(found[r], expected[r], f.labels), 1e-4);
        drop(&f);
    }
}
END_TEST

/* The reference always multiplies in bf16; the others where the processor gains by it. */
START_TEST(logits_in_fewer_bits_stay_near_those_of_fp32)
{
    static const char *const ways[][2] = {
        {"native", "int8"}, {"reference", "int8"}, {"reference", "bf16"}};
    struct fixture f;
    float expected[ROWS][LABELS_MAX], found[ROWS][LABELS_MAX];
    setup(&f, "reference");
    run(&f, 0, ROWS, expected);
    drop(&f);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        setup_as(&f, ways[i][0], ways[i][1]);
        run(&f, 0, ROWS, found);
        for (unsigned r = 0; r < ROWS; r++) {
            double difference = numbers_difference(found[r], expected[r], f.labels);
            ck_assert_msg(difference > 0 && difference < 0.05, "%s %s, row %u: %g", ways[i][0],
                          ways[i][1], r, difference);
        }
        drop(&f);
    }
}
END_TEST

/* Two of four rows of a batch are captured. A row of the capture is a softmax. */
START_TEST(rows_with_a_trace_are_traced_and_no_others)
{
    const struct explain_options options = {.method = EXPLAIN_ROLLOUT};
    struct fixture f;
    float captured[ROWS][LABELS_MAX], plain[ROWS][LABELS_MAX];
    setup(&f, NULL);
    run(&f, 0, ROWS, plain);
    for (unsigned r = 1; r < 3; r++) {
        ck_assert(!engine_capture(f.model, &f.inputs[r], &options, &f.arena, &f.err));
        struct capture *capture = f.inputs[r].capture;
        memset(capture->mean, 0xFF, (size_t)capture->tokens * capture->tokens * 2 * sizeof(float));
    }
    run(&f, 0, ROWS, captured);
    for (unsigned r = 0; r < ROWS; r++)
        ck_assert(memcmp(captured[r], plain[r], f.labels * sizeof(float)) == 0);
    for (unsigned r = 1; r < 3; r++) {
        const struct capture *capture = f.inputs[r].capture;
        for (size_t i = 0; i < (size_t)2 * capture->tokens; i++) {
            double sum = 0;
            for (size_t j = 0; j < capture->tokens; j++)
                sum += (double)capture->mean[i * capture->tokens + j];
            ck_assert_double_eq_tol(sum, 1, 1e-5);
        }
    }
    drop(&f);
}
END_TEST

SUITE("run", a_row_has_the_logits_and_features_that_it_has_alone,
      every_token_has_its_part_in_the_logits, backends_agree_on_the_logits,
      logits_in_fewer_bits_stay_near_those_of_fp32, rows_with_a_trace_are_traced_and_no_others)
