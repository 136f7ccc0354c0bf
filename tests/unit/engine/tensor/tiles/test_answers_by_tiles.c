/* Whole models with products and attention by tiles. */
#include "engine/engine.h"
#include "engine/tensor/attention_bf16.h"
#include "engine/tensor/gemm/gemm.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_WIDTH = 32, TEXTS = 4, LABELS_MAX = 32, TEXT_BYTES = 1200 };

struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    struct arena arena;
    struct engine_input inputs[TEXTS];
    unsigned labels;
};

/* Texts of 1 to some 200 tokens, so that rows and keys fill tiles in part. */
static void setup(struct fixture *f, const char *dir, const char *backend)
{
    static const unsigned words[TEXTS] = {1, 5, 40, 110};
    const struct engine_options options = {.linear_backend = backend, .dtype = "int8"};
    unsigned tokens = 0;
    struct err err = {0};
    *f = (struct fixture){0};
    arena_init(&f->arena);
    ck_assert_msg(!engine_open(&f->model, dir, &options, &err), "%s", err.text);
    for (unsigned i = 0; i < TEXTS; i++) {
        char text[TEXT_BYTES] = "";
        for (unsigned w = 0, len = 0; w < words[i]; w++)
            len += (unsigned)snprintf(text + len, sizeof text - len, "fail %u ", w * (i + 3) % 97);
        ck_assert(
            !engine_prepare(f->model, text_source(text), NULL, &f->arena, &f->inputs[i], &err));
        tokens += f->inputs[i].tokens;
    }
    ck_assert(!engine_session_open(&f->session, f->model, tokens, 2, &err));
    f->labels = engine_describe(f->model)->label_count;
    ck_assert_uint_le(f->labels, LABELS_MAX);
}

static void drop(struct fixture *f)
{
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
}

static void run(struct fixture *f, unsigned first, unsigned count, float (*logits)[LABELS_MAX])
{
    run_logits_rows(f->session, &f->inputs[first], count, logits[first], LABELS_MAX);
}

static const char *const models[] = {"models/testlog-bert", "models/kernel-bert"};

/* Bytes are rounded again after each layer, so that small differences grow: 0.11 was seen. Products
 * of bytes are the same to the bit but where vectors have scales of their own (gemm.h: paired);
 * attention is by tiles only where the processor multiplies bf16. */
START_TEST(answers_by_tiles_are_those_by_vectors_but_for_rounding)
{
    const bool differs = attention_bf16_runnable(HEAD_WIDTH) || gemm_best(PRECISION_INT8)->paired;
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct fixture f;
        float by_tiles[TEXTS][LABELS_MAX], by_vectors[TEXTS][LABELS_MAX];
        setup(&f, models[m], "auto");
        run(&f, 0, TEXTS, by_tiles);
        drop(&f);
        setup(&f, models[m], "native");
        run(&f, 0, TEXTS, by_vectors);
        for (unsigned r = 0; r < TEXTS; r++) {
            double difference = numbers_difference(by_tiles[r], by_vectors[r], f.labels);
            ck_assert_msg((difference > 0) == differs && difference < 0.5, "%s, text %u: %g",
                          models[m], r, difference);
        }
        drop(&f);
    }
}
END_TEST

START_TEST(a_row_by_tiles_does_not_depend_on_its_batch)
{
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct fixture f;
        float all[TEXTS][LABELS_MAX], alone[TEXTS][LABELS_MAX];
        setup(&f, models[m], "auto");
        run(&f, 0, TEXTS, all);
        for (unsigned r = 0; r < TEXTS; r++) {
            run(&f, r, 1, alone);
            ck_assert_msg(memcmp(alone[r], all[r], f.labels * sizeof(float)) == 0, "%s, text %u",
                          models[m], r);
        }
        drop(&f);
    }
}
END_TEST

SUITE("answers_by_tiles", answers_by_tiles_are_those_by_vectors_but_for_rounding,
      a_row_by_tiles_does_not_depend_on_its_batch)
