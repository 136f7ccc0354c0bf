/* A probe of parts of a real wafer and a real report, compared with the engine asked directly. */
#include "engine/base/file.h"
#include "learn/eval/explain/probe.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 256, ASKED = 150 };

struct fixture {
    struct engine_model *model;
    struct arena arena;
    struct engine_input input;
    struct perturbation parts;
    struct probe probe;
    float logits[16], scores[16];
};

static void open_probe_with(struct fixture *fixture, const char *model, const char *prior)
{
    static const char report[] = "BUG: KASAN: use-after-free in tcp_v4_connect+0x1b2/0x310";
    static const char map[] = "tests/data/eval/wafer/none/none_0.png";
    struct err err = {0};
    char *bytes;
    size_t len;
    engine_open(&fixture->model, model, &(struct engine_options){.class_prior = prior}, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    const struct engine_info *info = engine_describe(fixture->model);
    arena_init(&fixture->arena);
    if (info->kind == ENGINE_TEXT) {
        engine_prepare(fixture->model, text_source(report), NULL, &fixture->arena, &fixture->input,
                       &err);
    } else {
        ck_assert_int_eq(file_read(&bytes, &len, map, 1 << 20, &err), ERR_OK);
        engine_prepare(fixture->model, picture_source(bytes, len, 1 << 20), NULL, &fixture->arena,
                       &fixture->input, &err);
        free(bytes);
    }
    perturbation_open(&fixture->parts, &fixture->input, info->patch_size,
                      extent_square(info->image_height), PERTURBATION_MEDIAN, &fixture->arena,
                      &err);
    probe_open(&fixture->probe, fixture->model, 1, &err);
    probe_run(&fixture->probe, &fixture->input, &(struct engine_result){.logits = fixture->logits});
    engine_scores(fixture->model, fixture->logits, fixture->scores);
    probe_take(&fixture->probe, &fixture->parts, 1, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
}

static void open_probe(struct fixture *fixture, const char *model)
{
    open_probe_with(fixture, model, NULL);
}

static void close_probe(struct fixture *fixture)
{
    probe_close(&fixture->probe);
    arena_deinit(&fixture->arena);
    engine_close(fixture->model);
}

static const char *const models[] = {"models/wafer-vit", "models/kernel-bert"};

START_TEST(probe_gives_the_score_of_the_whole_where_all_is_kept)
{
    static const char *const priors[] = {NULL, "equal"};
    for (unsigned m = 0; m < 4; m++) {
        struct fixture fixture;
        struct score score;
        bool kept[PARTS_MAX];
        memset(kept, true, sizeof kept);
        open_probe_with(&fixture, models[m % 2], priors[m / 2]);
        struct scorer scorer = probe_scorer(&fixture.probe);
        scorer.ask(scorer.context, kept, &score);
        scorer.flush(scorer.context);
        double p = (double)fixture.scores[1], odds = log(p / (1 - p));
        ck_assert(fabs(score.on[SCORE_PROBABILITY] - p) < 1e-5);
        ck_assert_msg(fabs(score.on[SCORE_LOG_ODDS] - odds) < 1e-3, "%g, %g",
                      score.on[SCORE_LOG_ODDS], odds);
        close_probe(&fixture);
    }
}
END_TEST

/* The probe gets more questions than a batch holds, each without another part. The scores are those
 * of one question at a time. */
START_TEST(probe_does_not_mix_up_what_shares_a_batch)
{
    for (unsigned m = 0; m < 2; m++) {
        struct fixture fixture;
        struct score together[ASKED], alone;
        bool kept[PARTS_MAX];
        memset(kept, true, sizeof kept);
        open_probe(&fixture, models[m]);
        struct scorer scorer = probe_scorer(&fixture.probe);
        for (unsigned i = 0; i < ASKED; i++) {
            kept[i % fixture.parts.count] = i / fixture.parts.count > 0;
            scorer.ask(scorer.context, kept, &together[i]);
        }
        scorer.flush(scorer.context);
        memset(kept, true, sizeof kept);
        for (unsigned i = 0; i < ASKED; i++) {
            kept[i % fixture.parts.count] = i / fixture.parts.count > 0;
            scorer.ask(scorer.context, kept, &alone);
            scorer.flush(scorer.context);
            ck_assert_msg(fabs(alone.on[SCORE_LOG_ODDS] - together[i].on[SCORE_LOG_ODDS]) < 1e-3,
                          "%s, %u: %g, %g", models[m], i, alone.on[SCORE_LOG_ODDS],
                          together[i].on[SCORE_LOG_ODDS]);
        }
        close_probe(&fixture);
    }
}
END_TEST

/* A class whose probability rounds to one still has log-odds. */
START_TEST(log_odds_do_not_saturate)
{
    struct fixture fixture;
    float logits[16] = {[2] = 40};
    open_probe(&fixture, models[0]);
    double temperature = engine_describe(fixture.model)->temperature;
    double expected = 40 / temperature - log(8); /* nine labels */
    ck_assert(fabs(probe_log_odds(fixture.model, logits, 2) - expected) < 1e-6);
    logits[2] = 80;
    ck_assert(probe_log_odds(fixture.model, logits, 2) > 1.9 * expected);
    close_probe(&fixture);
}
END_TEST

SUITE("probe", probe_gives_the_score_of_the_whole_where_all_is_kept,
      probe_does_not_mix_up_what_shares_a_batch, log_odds_do_not_saturate)
