/* Images as attnd.json says that they are read: in views, against a model without views that is
 * given the turned images one by one; and with another reduction. */
#include "engine/engine.h"
#include "engine/prepare/views.h"
#include "engine/vision/preprocess.h"
#include "engine/vision/resize.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN "tests/data/golden/"
enum { SIDE = 64, PATCH = 16, ACROSS = SIDE / PATCH, PATCHES = ACROSS * ACROSS, LABELS = 4 };
enum { TOKENS = 1 + PATCHES, WIDTH = 48, BYTES = 3 * SIDE * SIDE, LABEL = 1 };
enum { FEATURES = 5 * WIDTH }; /* the classifier's features and the means of four rings */

struct fixture {
    struct tempdir dir;
    struct engine_model *model;
    struct engine_session *session; /* of room for one view */
    struct arena arena;
    struct err err;
};

/* A golden checkpoint with an attnd.json. */
static enum err_code try_open(struct fixture *f, const char *checkpoint, const char *attnd)
{
    static const char *const files[] = {
        "config.json",    "model.safetensors", "preprocessor_config.json",
        "tokenizer.json", "vocab.txt",         "tokenizer_config.json"};
    *f = (struct fixture){0};
    arena_init(&f->arena);
    tempdir_open(&f->dir);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[PATH_MAX], target[PATH_MAX], to[PATH_MAX];
        snprintf(from, sizeof from, GOLDEN "%s/%s", checkpoint, files[i]);
        snprintf(to, sizeof to, "%s/%s", f->dir.path, files[i]);
        if (realpath(from, target) != NULL)
            ck_assert_int_eq(symlink(target, to), 0);
    }
    tempdir_write(&f->dir, "attnd.json", attnd, strlen(attnd));
    return engine_open(&f->model, f->dir.path, &(struct engine_options){0}, &f->err);
}

static void setup(struct fixture *f, const char *attnd)
{
    ck_assert_msg(try_open(f, "vit-0", attnd) == ERR_OK, "%s", f->err.text);
    ck_assert_uint_eq(engine_describe(f->model)->feature_size, FEATURES);
    ck_assert(!engine_session_open(&f->session, f->model, 1, 1, &f->err));
    engine_session_take_means(f->session);
}

static void drop(struct fixture *f)
{
    engine_session_close(f->session);
    engine_close(f->model);
    arena_deinit(&f->arena);
    tempdir_close(&f->dir);
}

static struct image make_image(unsigned side, struct fixture *f)
{
    struct image image = {side, side, arena_alloc(&f->arena, (size_t)3 * side * side)};
    for (unsigned i = 0; i < 3 * side * side; i++)
        image.rgb[i] = (unsigned char)(i * 7 + i / 150 * i / 77);
    return image;
}

static struct engine_input prepare(struct fixture *f, const struct image *image)
{
    struct engine_input input;
    ck_assert(!engine_prepare(f->model,
                              &(struct engine_source){.kind = ENGINE_IMAGE, .image = image}, NULL,
                              &f->arena, &input, &f->err));
    return input;
}

/* An answer with its features and its explanation. */
struct answer {
    float logits[LABELS], scores[LABELS], features[FEATURES];
    const float *patches;
};

/* The relevance of an image in one view as the method gives it, not yet divided by its sum. */
static void explain(struct fixture *f, const struct engine_input *input,
                    const struct explain_options *how, struct answer *out)
{
    struct explanation explanation;
    if (input->windows == 0) {
        ck_assert(
            !engine_relevance(f->model, input, how, LABEL, &f->arena, &out->patches, &f->err));
        out->patches++; /* the class token's */
        return;
    }
    ck_assert(!engine_explain(f->model, NULL, input, how, LABEL, &f->arena, &explanation, &f->err));
    out->patches = explanation.patches;
}

static void ask(struct fixture *f, const struct image *image, enum explain_method method,
                struct answer *out)
{
    struct engine_input input = prepare(f, image);
    const struct explain_options how = {.method = method};
    ck_assert(!engine_capture(f->model, &input, &how, &f->arena, &f->err));
    run_logits_one(f->session, &input, out->logits);
    memcpy(out->features, run_features[0], sizeof out->features);
    ck_assert(engine_scores(f->model, out->logits, out->scores));
    explain(f, &input, &how, out);
}

/* ---- views ---- */

/* The mean over the views of the answers to each, by a model that has none; its maps weighted by
 * the label's score and turned back, pixel by pixel of a picture of patches. */
static void ask_each(struct fixture *plain, const struct image *image, unsigned views,
                     enum explain_method method, struct answer *out, float *map)
{
    static unsigned char rgb[BYTES];
    float total = 0;
    memset(out, 0, sizeof *out);
    memset(map, 0, PATCHES * sizeof *map);
    for (unsigned v = 0; v < views; v++) {
        struct answer one;
        views_turn(image, v, rgb);
        ask(plain, &(struct image){SIDE, SIDE, rgb}, method, &one);
        for (unsigned i = 0; i < LABELS; i++)
            out->logits[i] += one.logits[i] / (float)views;
        for (unsigned i = 0; i < FEATURES; i++)
            out->features[i] += one.features[i] / (float)views;
        for (unsigned p = 0; p < PATCHES; p++) {
            map[views_source(v, ACROSS, p)] += one.patches[p] * one.scores[LABEL];
            total += one.patches[p] * one.scores[LABEL];
        }
    }
    for (unsigned p = 0; p < PATCHES; p++)
        map[p] /= total;
}

static void check_views(unsigned views)
{
    struct fixture f, plain;
    struct answer found, expected;
    float map[PATCHES];
    char attnd[32];
    snprintf(attnd, sizeof attnd, "{\"views\": %u}", views);
    setup(&f, attnd);
    setup(&plain, "{}");
    ck_assert_uint_eq(engine_describe(f.model)->views, views);
    const struct image image = make_image(SIDE, &f);
    ask(&f, &image, EXPLAIN_GRADIENT, &found);
    ask_each(&plain, &image, views, EXPLAIN_GRADIENT, &expected, map);
    ck_assert_double_lt(numbers_difference(found.logits, expected.logits, LABELS), 1e-5);
    ck_assert_double_lt(numbers_difference(found.features, expected.features, FEATURES), 1e-5);
    drop(&plain);
    drop(&f);
}

START_TEST(an_answer_is_the_mean_over_the_views_and_so_are_its_features)
{
    for (unsigned views = 1; views <= VIEWS_MAX; views *= 2)
        check_views(views);
}
END_TEST

START_TEST(an_explanation_is_of_the_views_turned_back_each_weighted_by_its_score)
{
    static const enum explain_method methods[] = {EXPLAIN_ROLLOUT, EXPLAIN_ATTENTION,
                                                  EXPLAIN_GRADIENT, EXPLAIN_GRADIENT_LAST};
    struct fixture f, plain;
    struct answer found, expected;
    float map[PATCHES];
    setup(&f, "{\"views\": 8}");
    setup(&plain, "{}");
    const struct image image = make_image(SIDE, &f);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        ask(&f, &image, methods[i], &found);
        ask_each(&plain, &image, 8, methods[i], &expected, map);
        ck_assert_double_lt(numbers_difference(found.patches, map, PATCHES), 1e-5);
    }
    drop(&plain);
    drop(&f);
}
END_TEST

/* One capture, explained by every method in turn, and in turn again. */
START_TEST(a_second_method_explains_the_views_as_it_would_alone)
{
    const struct explain_options all = {.method = EXPLAIN_GRADIENT};
    struct explanation first[EXPLAIN_LABEL_METHODS], again;
    struct answer alone;
    float logits[LABELS];
    struct fixture f;
    setup(&f, "{\"views\": 8}");
    const struct image image = make_image(SIDE, &f);
    struct engine_input input = prepare(&f, &image);
    ck_assert(!engine_capture(f.model, &input, &all, &f.arena, &f.err));
    run_logits_one(f.session, &input, logits);
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned m = EXPLAIN_ROLLOUT; m < EXPLAIN_LABEL_METHODS; m++) {
            const struct explain_options how = {.method = m};
            ck_assert(!engine_explain(f.model, NULL, &input, &how, LABEL, &f.arena,
                                      turn == 0 ? &first[m] : &again, &f.err));
            ask(&f, &image, m, &alone);
            ck_assert_mem_eq(first[m].patches, alone.patches, PATCHES * sizeof *alone.patches);
            if (turn > 0)
                ck_assert_mem_eq(again.patches, alone.patches, PATCHES * sizeof *alone.patches);
        }
    drop(&f);
}
END_TEST

START_TEST(a_turned_image_has_the_same_answer_and_the_turned_map)
{
    static unsigned char rgb[BYTES];
    struct fixture f;
    struct answer straight, turned;
    setup(&f, "{\"views\": 8}");
    const struct image image = make_image(SIDE, &f);
    ask(&f, &image, EXPLAIN_ROLLOUT, &straight);
    for (unsigned v = 1; v < VIEWS_MAX; v++) {
        views_turn(&image, v, rgb);
        ask(&f, &(struct image){SIDE, SIDE, rgb}, EXPLAIN_ROLLOUT, &turned);
        ck_assert_double_lt(numbers_difference(turned.logits, straight.logits, LABELS), 1e-5);
        ck_assert_double_lt(numbers_difference(turned.features, straight.features, FEATURES), 1e-5);
        for (unsigned p = 0; p < PATCHES; p++)
            ck_assert_float_eq_tol(turned.patches[p], straight.patches[views_source(v, ACROSS, p)],
                                   1e-5);
    }
    drop(&f);
}
END_TEST

/* The server does the same: between two steps, other inputs run. */
START_TEST(views_that_run_in_steps_give_the_same_answer)
{
    struct fixture f;
    struct answer whole;
    float logits[LABELS], one[LABELS], kept[FEATURES];
    setup(&f, "{\"views\": 4}");
    const struct image image = make_image(SIDE, &f);
    ask(&f, &image, EXPLAIN_ROLLOUT, &whole);
    const struct engine_input input = prepare(&f, &image);
    const struct engine_input view = engine_input_window(&input, 1);
    ck_assert_uint_eq(input.windows, 4);
    ck_assert_uint_eq(input.tokens, 4 * TOKENS);
    ck_assert_uint_eq(engine_input_tokens(&input, 1, 3), 3 * TOKENS);
    struct engine_result result = {.logits = logits, .pooled = kept, .step = 1};
    while (!result.is_done) {
        run_logits_one(f.session, &view, one);
        engine_step(f.session, (const struct engine_input *const[]){&input}, 1,
                    (struct engine_result *const[]){&result});
    }
    ck_assert_uint_eq(result.windows_done, 4);
    ck_assert_double_lt(numbers_difference(logits, whole.logits, LABELS), 1e-6);
    ck_assert_double_lt(numbers_difference(result.features, whole.features, FEATURES), 1e-6);
    drop(&f);
}
END_TEST

START_TEST(need_counts_the_bytes_of_all_views)
{
    struct fixture f;
    struct engine_input input;
    char bytes[4096];
    setup(&f, "{\"views\": 8}");
    FILE *file = fopen("tests/data/golden/images/0_center.png", "rb");
    ck_assert_ptr_nonnull(file);
    const size_t len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert(!engine_prepare(f.model, picture_source(bytes, len, 1 << 20), NULL, &f.arena, &input,
                              &f.err));
    const struct engine_need need = engine_need(f.model, picture_source(bytes, len, 1 << 20));
    ck_assert_uint_eq(need.windows, 8);
    ck_assert_uint_eq(input.windows, 8);
    ck_assert_uint_le(f.arena.bytes, need.kept);
    ck_assert_uint_ge(need.kept, 8 * PATCHES * 3 * PATCH * PATCH * sizeof(float));
    drop(&f);
}
END_TEST

/* ---- reduction ---- */

START_TEST(a_larger_image_is_shrunk_so_that_lines_stay_and_a_smaller_one_as_ever)
{
    enum { NUMBERS = PATCHES * 3 * PATCH * PATCH };
    static float expected[NUMBERS];
    struct fixture f, plain;
    struct preprocess preprocess;
    struct image fitted, lines;
    setup(&f, "{\"reduction\": \"lines\"}");
    setup(&plain, "{\"reduction\": \"filter\"}");
    const struct image large = make_image(150, &f), small = make_image(50, &f);
    const struct resize_window whole = {.width = SIDE, .height = SIDE};
    ck_assert(!preprocess_open(&preprocess, GOLDEN "vit-0", "ViT", extent_square(SIDE), &f.err));
    ck_assert(!resize_lines(&large, SIDE, SIDE, whole, NULL, &f.arena, &lines, &f.err));
    ck_assert(!resize_rgb(&large, SIDE, SIDE, RESAMPLE_BILINEAR, &f.arena, &fitted, &f.err));
    for (unsigned i = 0; i < BYTES; i++)
        fitted.rgb[i] = (unsigned char)((fitted.rgb[i] + lines.rgb[i] + 1) / 2);
    preprocess_patches(&preprocess, &fitted, extent_square(PATCH), expected);
    ck_assert_mem_eq(prepare(&f, &large).patches, expected, sizeof expected);
    ck_assert(memcmp(prepare(&plain, &large).patches, expected, sizeof expected) != 0);
    ck_assert_mem_eq(prepare(&f, &small).patches, prepare(&plain, &small).patches, sizeof expected);
    drop(&plain);
    drop(&f);
}
END_TEST

/* ---- refusals ---- */

static void expect_refused(const char *checkpoint, const char *attnd, const char *text)
{
    struct fixture f;
    ck_assert_int_eq(try_open(&f, checkpoint, attnd), ERR_UNSUPPORTED);
    ck_assert_msg(strstr(f.err.text, text) != NULL, "'%s' lacks '%s'", f.err.text, text);
    drop(&f);
}

START_TEST(views_and_reduction_are_refused_for_models_that_have_none)
{
    expect_refused("vit-0", "{\"views\": 3}", "attnd.json: $.views must be 1, 2, 4 or 8");
    expect_refused("vit-0", "{\"views\": 0}", "attnd.json: $.views must be 1, 2, 4 or 8");
    expect_refused("vit-0", "{\"reduction\": \"max\"}",
                   "attnd.json: $.reduction must be \"filter\" or \"lines\"");
    expect_refused("bert-3", "{\"views\": 2}",
                   "attnd.json: views and reduction are for images, not for 'bert'");
    expect_refused("bert-3", "{\"reduction\": \"lines\"}",
                   "attnd.json: views and reduction are for images, not for 'bert'");
    expect_refused("deit-1", "{\"views\": 2}",
                   "attnd.json: 'deit-distilled' has no views: it reads an image once");
    expect_refused("clip-0", "{\"views\": 2}",
                   "attnd.json: 'clip' has no views: it reads an image once");
}
END_TEST

SUITE("image_reading", an_answer_is_the_mean_over_the_views_and_so_are_its_features,
      an_explanation_is_of_the_views_turned_back_each_weighted_by_its_score,
      a_second_method_explains_the_views_as_it_would_alone,
      a_turned_image_has_the_same_answer_and_the_turned_map,
      views_that_run_in_steps_give_the_same_answer, need_counts_the_bytes_of_all_views,
      a_larger_image_is_shrunk_so_that_lines_stay_and_a_smaller_one_as_ever,
      views_and_reduction_are_refused_for_models_that_have_none)
