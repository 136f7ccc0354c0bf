/* Explanations of the engine, compared with the functions that they are made of. */
#include "engine/engine.h"
#include "engine/explain/attention_map.h"
#include "engine/explain/gradient.h"
#include "engine/explain/patches.h"
#include "engine/explain/words.h"
#include "engine/format/checkpoint.h"
#include "engine/model/capture.h"
#include "engine/vision/png.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MODEL "tests/data/golden/bert-3"
#define IMAGE_MODEL "tests/data/golden/vit-1"
enum { LAYERS = 3, WIDTH = 50, HEIGHT = 31, LABELS_MAX = 16 };

/* An opened model, and its parts once more for the expected results. */
struct fixture {
    struct engine_model *model;
    struct engine_session *session;
    struct spec spec;
    struct weights weights;
    struct arena arena;
    struct engine_input input;
    struct err err;
};

static void prepare(struct fixture *f, const char *text)
{
    if (text != NULL) {
        engine_prepare(f->model, text_source(text), NULL, &f->arena, &f->input, &f->err);
    } else {
        unsigned char rgba[WIDTH * HEIGHT * 4];
        char *png;
        size_t len;
        for (size_t i = 0; i < sizeof rgba; i++)
            rgba[i] = i % 4 == 3 ? 255 : (unsigned char)(i * 7 + i / 90 * 31);
        ck_assert(!png_encode_rgba(&png, &len, WIDTH, HEIGHT, rgba, NULL, &f->err));
        engine_prepare(f->model, picture_source(png, len, 1 << 20), NULL, &f->arena, &f->input,
                       &f->err);
        free(png);
    }
    ck_assert_msg(f->err.code == ERR_OK, "%s", f->err.text);
}

static void setup(struct fixture *f, const char *dir, const char *text)
{
    struct checkpoint *checkpoint;
    const struct linear_backend *native = &linear_native[PRECISION_F32];
    *f = (struct fixture){0};
    arena_init(&f->arena);
    ck_assert(!engine_open(&f->model, dir, &(struct engine_options){0}, &f->err));
    ck_assert(!engine_session_open(&f->session, f->model, 1, 1, &f->err));
    ck_assert(!spec_read(&f->spec, dir, &f->arena, &f->err));
    ck_assert(!checkpoint_open(&checkpoint, dir, &f->err));
    ck_assert(!weights_open(&f->weights, &f->spec, checkpoint, native, native, 1, &f->err));
    checkpoint_close(checkpoint);
    ck_assert_uint_eq(f->spec.layers, LAYERS);
    prepare(f, text);
}

static void drop(struct fixture *f)
{
    engine_session_close(f->session);
    engine_close(f->model);
    weights_close(&f->weights, &f->spec);
    arena_deinit(&f->arena);
}

static void capture_and_run(struct fixture *f, const struct explain_options *options)
{
    float logits[LABELS_MAX];
    ck_assert(!engine_capture(f->model, &f->input, options, &f->arena, &f->err));
    run_logits_one(f->session, &f->input, logits);
}

/* The layers whose means a request keeps: [from, to). */
static const struct {
    struct explain_options options;
    unsigned from, to;
} requests[] = {
    {{.method = EXPLAIN_ROLLOUT}, 0, 2},
    {{.method = EXPLAIN_ROLLOUT, .layer = 1}, 0, 1},
    {{.method = EXPLAIN_ROLLOUT, .layer = 2}, 0, 2},
    {{.method = EXPLAIN_ROLLOUT, .layer = 3}, 0, 2},
    {{.method = EXPLAIN_ATTENTION}, 2, 2},
    {{.method = EXPLAIN_ATTENTION, .layer = 1}, 0, 1},
    {{.method = EXPLAIN_ATTENTION, .layer = 2}, 1, 2},
    {{.method = EXPLAIN_ATTENTION, .layer = 3}, 2, 2},
    {{.method = EXPLAIN_GRADIENT}, 0, 2},
    {{.method = EXPLAIN_GRADIENT_LAST}, 2, 2},
    {{.method = EXPLAIN_GRADIENT_LAST, .statistics = true}, 2, 2},
};
enum { REQUESTS = sizeof requests / sizeof requests[0], LABEL = 1 };

/* The relevance by the functions of engine/explain, [tokens]. */
static float *expected_relevance(struct fixture *f, const struct explain_options *options)
{
    const struct capture *capture = f->input.capture;
    size_t n = f->input.tokens;
    unsigned layer = options->layer > 0 ? options->layer : LAYERS;
    float *out = arena_alloc(&f->arena, 2 * n * sizeof *out);
    if (options->method == EXPLAIN_ROLLOUT)
        attention_map_rollout(&f->spec, capture, layer, out, out + n);
    else if (options->method == EXPLAIN_ATTENTION)
        attention_map_layer(&f->spec, capture, layer, out);
    else
        ck_assert(!(options->method == EXPLAIN_GRADIENT ? gradient_map : gradient_map_last)(
            &f->spec, &f->weights, capture, LABEL, &f->arena, out, &f->err));
    return out;
}

static void check_request(struct fixture *f, size_t i)
{
    const struct explain_options *options = &requests[i].options;
    const struct capture_wish wish = {requests[i].from, requests[i].to, options->statistics, false};
    const float *found;
    double sum = 0;
    capture_and_run(f, options);
    ck_assert_uint_eq(f->input.capture->from, wish.from);
    ck_assert_uint_eq(f->input.capture->to, wish.to);
    ck_assert_int_eq(f->input.capture->stats != NULL, options->statistics);
    ck_assert_uint_eq(engine_capture_bytes(f->model, &f->input, options),
                      capture_bytes(&f->spec, f->input.tokens, &wish));
    ck_assert(!engine_relevance(f->model, &f->input, options, LABEL, &f->arena, &found, &f->err));
    const float *expected = expected_relevance(f, options);
    ck_assert_msg(memcmp(found, expected, f->input.tokens * sizeof *found) == 0, "request %zu", i);
    for (size_t t = 0; t < f->input.tokens; t++)
        sum += (double)found[t];
    ck_assert_double_eq_tol(sum, 1, 1e-4);
}

START_TEST(every_method_keeps_what_it_reads_and_gives_its_own_map)
{
    struct fixture text, image;
    setup(&text, TEXT_MODEL, "wafer");
    setup(&image, IMAGE_MODEL, NULL);
    for (size_t i = 0; i < REQUESTS; i++) {
        check_request(&text, i);
        check_request(&image, i);
    }
    drop(&text);
    drop(&image);
}
END_TEST

START_TEST(the_default_method_is_that_of_the_kind)
{
    struct fixture f;
    struct explanation explanation;
    struct explain_options options = {.method = EXPLAIN_DEFAULT};
    setup(&f, TEXT_MODEL, "wafer");
    capture_and_run(&f, &options);
    ck_assert(
        !engine_explain(f.model, NULL, &f.input, &options, LABEL, &f.arena, &explanation, &f.err));
    ck_assert_int_eq(explanation.method, EXPLAIN_GRADIENT_LAST);
    drop(&f);
    setup(&f, IMAGE_MODEL, NULL);
    capture_and_run(&f, &options);
    ck_assert(
        !engine_explain(f.model, NULL, &f.input, &options, LABEL, &f.arena, &explanation, &f.err));
    ck_assert_int_eq(explanation.method, EXPLAIN_ROLLOUT);
    drop(&f);
}
END_TEST

/* Checks of the fields that both kinds share. */
static void expect_head(const struct fixture *f, const struct explanation *found,
                        const struct explain_options *options)
{
    ck_assert_int_eq(found->method, options->method);
    ck_assert_uint_eq(found->layer, options->layer);
    ck_assert_ptr_eq(found->stats, f->input.capture->stats);
    ck_assert_ptr_nonnull(found->stats);
    ck_assert_uint_eq(found->layers, f->spec.layers);
    ck_assert_uint_eq(found->heads, f->spec.heads);
    ck_assert_ptr_null(found->overlay);
}

static void expect_excerpts(const struct excerpt *found, const struct excerpt *expected,
                            unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert_uint_eq(found[i].start, expected[i].start);
        ck_assert_uint_eq(found[i].end, expected[i].end);
        ck_assert_float_eq(found[i].relevance, expected[i].relevance);
        ck_assert_int_eq(found[i].of_pair, expected[i].of_pair);
    }
}

START_TEST(a_text_is_explained_by_its_words_and_spans)
{
    const struct explain_options options = {
        .method = EXPLAIN_ATTENTION, .layer = 2, .statistics = true};
    struct fixture f;
    struct explanation found;
    struct excerpt words[64], spans[EXPLANATION_SPANS];
    setup(&f, TEXT_MODEL, "the wafer, the die and a scratch: pin 7 of lot 12");
    capture_and_run(&f, &options);
    memset(&found, 0x55, sizeof found);
    ck_assert(!engine_explain(f.model, NULL, &f.input, &options, LABEL, &f.arena, &found, &f.err));
    expect_head(&f, &found, &options);
    ck_assert_uint_le(f.input.tokens, 64);
    unsigned count = words_fold(&f.input, expected_relevance(&f, &options), words);
    ck_assert_uint_gt(count, 5);
    ck_assert_uint_eq(found.word_count, count);
    expect_excerpts(found.words, words, count);
    unsigned span_count = words_spans(words, count, EXPLANATION_SPANS, spans);
    ck_assert_uint_eq(found.span_count, span_count);
    expect_excerpts(found.spans, spans, span_count);
    ck_assert_ptr_null(found.patches);
    ck_assert_uint_eq(found.box_count, 0);
    drop(&f);
}
END_TEST

START_TEST(an_image_is_explained_by_its_patches_and_boxes)
{
    const struct explain_options options = {.method = EXPLAIN_GRADIENT, .statistics = true};
    struct fixture f;
    struct explanation found;
    struct patch_box boxes[EXPLANATION_BOXES];
    setup(&f, IMAGE_MODEL, NULL);
    capture_and_run(&f, &options);
    memset(&found, 0x55, sizeof found);
    ck_assert(!engine_explain(f.model, NULL, &f.input, &options, LABEL, &f.arena, &found, &f.err));
    expect_head(&f, &found, &options);
    float *patches = arena_alloc(&f.arena, f.spec.patches * sizeof *patches);
    patches_fold(&f.spec, expected_relevance(&f, &options), patches);
    ck_assert(memcmp(found.patches, patches, f.spec.patches * sizeof *patches) == 0);
    ck_assert_uint_eq(found.view.width, WIDTH);
    ck_assert_uint_eq(found.view.height, HEIGHT);
    ck_assert_uint_eq(found.view.rows * found.view.columns, f.spec.patches);
    ck_assert_double_eq_tol(found.view.all.width, WIDTH, 1e-9);
    ck_assert_uint_eq(found.box_count, patches_top(&found.view, patches, EXPLANATION_BOXES, boxes));
    ck_assert(memcmp(found.boxes, boxes, found.box_count * sizeof *boxes) == 0);
    ck_assert_ptr_null(found.words);
    ck_assert_uint_eq(found.word_count, 0);
    drop(&f);
}
END_TEST

START_TEST(the_overlay_is_a_png_of_the_image_s_size)
{
    const struct explain_options options = {.method = EXPLAIN_ROLLOUT};
    struct fixture f;
    struct explanation found;
    char *png;
    size_t len;
    unsigned width, height;
    setup(&f, IMAGE_MODEL, NULL);
    capture_and_run(&f, &options);
    ck_assert(!engine_explain(f.model, NULL, &f.input, &options, LABEL, &f.arena, &found, &f.err));
    ck_assert(!engine_overlay(&found, NULL, &png, &len, &f.err));
    ck_assert(png_probe(png, len, &width, &height));
    ck_assert_uint_eq(width, WIDTH);
    ck_assert_uint_eq(height, HEIGHT);
    free(png);
    drop(&f);
}
END_TEST

static void expect_refusal(struct fixture *f, struct explain_options options, const char *text)
{
    f->err = (struct err){0};
    ck_assert_int_eq(engine_capture(f->model, &f->input, &options, &f->arena, &f->err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(f->err.text, text);
    ck_assert_ptr_null(f->input.capture);
}

START_TEST(a_layer_that_the_model_or_the_method_has_not_is_refused)
{
    static const char gradients[] =
        "explain_layer is for rollout and attention; the gradient is of "
        "the last layer";
    struct fixture f;
    setup(&f, TEXT_MODEL, "wafer");
    expect_refusal(&f, (struct explain_options){.method = EXPLAIN_ROLLOUT, .layer = 4},
                   "explain_layer is 4, but the model has 3 layers");
    expect_refusal(&f, (struct explain_options){.method = EXPLAIN_GRADIENT, .layer = 1}, gradients);
    expect_refusal(&f, (struct explain_options){.method = EXPLAIN_GRADIENT_LAST, .layer = 3},
                   gradients);
    expect_refusal(&f, (struct explain_options){.method = EXPLAIN_DEFAULT, .layer = 3}, gradients);
    drop(&f);
}
END_TEST

SUITE("explain", every_method_keeps_what_it_reads_and_gives_its_own_map,
      the_default_method_is_that_of_the_kind, a_text_is_explained_by_its_words_and_spans,
      an_image_is_explained_by_its_patches_and_boxes, the_overlay_is_a_png_of_the_image_s_size,
      a_layer_that_the_model_or_the_method_has_not_is_refused)
