/* A capture is compared with softmaxes, in double, of the queries and keys that it holds too. */
#include "engine/engine.h"
#include "engine/model/capture.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS_MAX = 200, NUMBERS = 64 * 3 * 64 * 64, LABELS_MAX = 16 };

static const struct {
    const char *dir;
    unsigned first;   /* patch, of an image: what is before it are tokens of the classifier */
    const char *text; /* NULL: an image */
} models[] = {
    {"tests/data/golden/bert-3", 0,
     "the wafer, the die and a scratch of the lot: pin 7 and pin 12, then the next one, and all"},
    {"tests/data/golden/vit-1", 1, NULL},
    {"tests/data/golden/deit-1", 2, NULL},
};
enum { MODELS = sizeof models / sizeof models[0] };

struct fixture {
    struct engine_model *model;
    struct arena arena;
    struct engine_input input;
    const struct capture *capture;
    unsigned layers, heads, hidden;
};

/* Patches of noise, or a text; run once with a capture of all layers. */
static void setup(struct fixture *f, size_t i, const char *dtype)
{
    const struct explain_options options = {.method = EXPLAIN_ROLLOUT, .statistics = true};
    struct engine_session *session;
    struct err err = {0};
    float logits[LABELS_MAX];
    *f = (struct fixture){0};
    arena_init(&f->arena);
    ck_assert_msg(
        !engine_open(&f->model, models[i].dir, &(struct engine_options){.dtype = dtype}, &err),
        "%s", err.text);
    const struct engine_info *info = engine_describe(f->model);
    if (models[i].text != NULL) {
        ck_assert(!engine_prepare(f->model, text_source(models[i].text), NULL, &f->arena, &f->input,
                                  &err));
    } else {
        f->input = (struct engine_input){.kind = ENGINE_IMAGE, .tokens = info->tokens_max};
        float *patches = arena_alloc(&f->arena, NUMBERS * sizeof *patches);
        numbers_fill(patches, NUMBERS, 1, 5);
        f->input.patches = patches;
    }
    ck_assert_uint_le(f->input.tokens, TOKENS_MAX);
    ck_assert(!engine_capture(f->model, &f->input, &options, &f->arena, &err));
    ck_assert(!engine_session_open(&session, f->model, f->input.tokens, 2, &err));
    for (int times = 0; times < 2; times++) /* a run forgets the one before */
        run_logits_one(session, &f->input, logits);
    engine_session_close(session);
    f->capture = f->input.capture;
    f->layers = info->layers;
    f->heads = info->heads;
    f->hidden = info->hidden_size;
}

static void drop(struct fixture *f)
{
    engine_close(f->model);
    arena_deinit(&f->arena);
}

/* Row `query` of one head's attention in the last layer. */
static void attend(const struct fixture *f, size_t head, size_t query, float *p)
{
    size_t n = f->capture->tokens, hidden = f->hidden, width = hidden / f->heads;
    const float *qkv = f->capture->projected;
    double scores[TOKENS_MAX], largest = -INFINITY, total = 0;
    for (size_t j = 0; j < n; j++) {
        scores[j] = 0;
        for (size_t c = head * width; c < (head + 1) * width; c++)
            scores[j] += (double)qkv[query * 3 * hidden + c] *
                         (double)qkv[j * 3 * hidden + hidden + c] / sqrt((double)width);
        largest = fmax(largest, scores[j]);
    }
    for (size_t j = 0; j < n; j++)
        total += scores[j] = exp(scores[j] - largest);
    for (size_t j = 0; j < n; j++)
        p[j] = (float)(scores[j] / total);
}

static void expect_close(const float *found, const float *expected, size_t n, const char *what)
{
    double difference = numbers_difference(found, expected, n);
    ck_assert_msg(difference < 1e-4, "%s: %g", what, difference);
}

/* The layout by the kind of input: [CLS] and [SEP] enclose a text, patches end an image. */
static struct attention_layout layout_of(const struct fixture *f, size_t i)
{
    const struct engine_info *info = engine_describe(f->model);
    unsigned n = f->capture->tokens;
    if (models[i].text != NULL)
        return (struct attention_layout){.tokens = n, .first = 1, .end = n - 1};
    return (struct attention_layout){.tokens = n,
                                     .first = models[i].first,
                                     .end = n,
                                     .columns = info->image_width / info->patch_size.width};
}

static void check_last_layer(const struct fixture *f, size_t i)
{
    const struct attention_layout layout = layout_of(f, i);
    const char *family = engine_describe(f->model)->family;
    size_t n = f->capture->tokens, kept = strcmp(family, "deit-distilled") == 0 ? 2 : 1;
    static float rows[TOKENS_MAX * TOKENS_MAX];
    for (size_t h = 0; h < f->heads; h++) {
        struct attention_stats expected = {0};
        for (size_t query = 0; query < n; query++)
            attend(f, h, query, rows + query * n);
        for (size_t token = 0; token < kept; token++)
            expect_close(f->capture->last + (token * f->heads + h) * n, rows + token * n, n,
                         "last");
        attention_stats_add(&expected, &layout, rows, 0, n);
        attention_stats_finish(&expected, &layout);
        expect_close(&f->capture->stats[(f->layers - 1) * f->heads + h].entropy, &expected.entropy,
                     5, "statistics");
    }
}

/* Quantities that are linear in the probabilities follow from the mean over the heads. */
static void check_lower_layers(const struct fixture *f, size_t i)
{
    const struct attention_layout layout = layout_of(f, i);
    size_t n = f->capture->tokens;
    for (size_t l = 0; l + 1 < f->layers; l++) {
        const float *mean = capture_mean(f->capture, l);
        struct attention_stats whole = {0};
        float diagonal = 0, neighbour = 0;
        attention_stats_add(&whole, &layout, mean, 0, n);
        attention_stats_finish(&whole, &layout);
        for (size_t h = 0; h < f->heads; h++) {
            diagonal += f->capture->stats[l * f->heads + h].diagonal / (float)f->heads;
            neighbour += f->capture->stats[l * f->heads + h].neighbour / (float)f->heads;
        }
        expect_close(&diagonal, &whole.diagonal, 1, "diagonal");
        expect_close(&neighbour, &whole.neighbour, 1, "neighbour");
        ck_assert_float_gt(diagonal, 0);
        for (size_t query = 0; query < n; query++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += (double)mean[query * n + j];
            ck_assert_double_eq_tol(sum, 1, 1e-4);
        }
    }
}

START_TEST(a_trace_holds_the_attention_of_the_queries_and_keys_that_it_holds)
{
    for (size_t i = 0; i < MODELS; i++) {
        struct fixture f;
        setup(&f, i, "f32");
        check_last_layer(&f, i);
        check_lower_layers(&f, i);
        drop(&f);
    }
}
END_TEST

/* int8 keeps queries and keys in bf16 if attention multiplies bf16. */
START_TEST(a_trace_in_fewer_bits_holds_the_attention_of_what_it_holds)
{
    for (size_t i = 0; i < MODELS; i++) {
        struct fixture f;
        setup(&f, i, "int8");
        check_last_layer(&f, i);
        check_lower_layers(&f, i);
        drop(&f);
    }
}
END_TEST

START_TEST(the_bytes_of_a_trace_are_those_of_its_five_arrays)
{
    static const struct family plain = {.name = "plain"};
    static const struct family distilled = {.name = "distilled",
                                            .tensors[TENSOR_DISTILLATION_CLASSIFIER] = "d"};
    for (size_t kept = 1; kept <= 2; kept++) {
        const struct spec spec = {
            .family = kept == 1 ? &plain : &distilled, .heads = 3, .hidden = 24, .layers = 5};
        const struct capture_wish wish = {.from = 1, .to = 4};
        const size_t n = 11, hidden = 24;
        ck_assert_uint_eq(capture_bytes(&spec, n, &wish),
                          4 * (n * (n * 3 + kept * 3 + 3 * hidden) + 2 * kept * hidden));
    }
}
END_TEST

SUITE("trace", the_bytes_of_a_trace_are_those_of_its_five_arrays,
      a_trace_holds_the_attention_of_the_queries_and_keys_that_it_holds,
      a_trace_in_fewer_bits_holds_the_attention_of_what_it_holds)
