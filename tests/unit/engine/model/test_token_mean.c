/* token_mean.h by its formula, on matrices made by hand; and what the engine gives of it. */
#include "engine/engine.h"
#include "engine/model/token_mean.h"
#include "tests/support/numbers.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 3, STRIDE = 5, TOKENS = 5, INPUTS = 2, LAYERS = 4 };

static float x[LAYERS][TOKENS * STRIDE], scratch[TOKENS * STRIDE], means[INPUTS * WIDTH];
static unsigned offsets[INPUTS + 1] = {0, 2, TOKENS};
static struct thread_pool *pool;

static struct workspace workspace_of(bool takes_means)
{
    return (struct workspace){.pool = pool,
                              .rows = INPUTS,
                              .offset = offsets,
                              .hidden_stride = STRIDE,
                              .y = scratch,
                              .means = means,
                              .takes_means = takes_means};
}

static void add_layers(unsigned layers, bool takes_means)
{
    const struct spec spec = {
        .family = family_find("bert", NULL), .layers = layers, .hidden = WIDTH};
    struct workspace workspace = workspace_of(takes_means);
    struct err err = {0};
    ck_assert(!thread_pool_open(&pool, 2, &err));
    workspace.pool = pool;
    for (unsigned l = 0; l < LAYERS; l++)
        for (unsigned i = 0; i < TOKENS * STRIDE; i++)
            x[l][i] = (float)((i * 7 + l * 5) % 11) - 4 + (float)l / 8;
    for (unsigned i = 0; i < INPUTS * WIDTH; i++)
        means[i] = 99;
    for (unsigned l = 0; l < layers; l++) {
        workspace.x = x[l];
        token_mean_add(&spec, &workspace, l);
    }
    thread_pool_close(pool);
}

/* The mean over the blocks from `first` on, in double. */
static double expected(unsigned input, unsigned at, unsigned first, unsigned layers)
{
    double sum = 0;
    for (unsigned l = first; l < layers; l++) {
        double mean[WIDTH] = {0}, squares = 0;
        for (unsigned t = offsets[input]; t < offsets[input + 1]; t++)
            for (unsigned i = 0; i < WIDTH; i++)
                mean[i] += (double)x[l][t * STRIDE + i];
        for (unsigned i = 0; i < WIDTH; i++)
            squares += mean[i] * mean[i];
        sum += mean[at] / sqrt(squares) / (layers - first);
    }
    return sum;
}

static void expect(unsigned first, unsigned layers)
{
    for (unsigned input = 0; input < INPUTS; input++)
        for (unsigned i = 0; i < WIDTH; i++)
            ck_assert_double_eq_tol((double)means[input * WIDTH + i],
                                    expected(input, i, first, layers), 1e-6);
}

START_TEST(directions_of_all_blocks_but_the_first_are_averaged)
{
    add_layers(LAYERS, true);
    expect(1, LAYERS);
    add_layers(2, true);
    expect(1, 2);
}
END_TEST

START_TEST(a_single_block_counts)
{
    add_layers(1, true);
    expect(0, 1);
}
END_TEST

START_TEST(token_mean_is_taken_only_on_request)
{
    add_layers(LAYERS, false);
    for (unsigned i = 0; i < INPUTS * WIDTH; i++)
        ck_assert_float_eq(means[i], 99);
}
END_TEST

START_TEST(tokens_of_zeros_have_no_direction)
{
    const struct spec spec = {.family = family_find("bert", NULL), .layers = 1, .hidden = WIDTH};
    struct workspace workspace = workspace_of(true);
    memset(x[0], 0, sizeof x[0]);
    workspace.x = x[0];
    workspace.rows = 1;
    token_mean_add(&spec, &workspace, 0);
    for (unsigned i = 0; i < WIDTH; i++)
        ck_assert_float_eq(means[i], 0);
}
END_TEST

/* ---- of images ---- */

enum { ACROSS = 5, IMAGE_TOKENS = 1 + ACROSS * ACROSS, IMAGES = 2 };

/* Rings of five patches across, by hand: centres are 0, 0.4 and 0.8 of the half side off the middle
 * each way; 0.57 is the way to (0.4, 0.4), 0.89 to (0.4, 0.8) and 1.13 to a corner's. */
static const unsigned ring_of[ACROSS * ACROSS] = {
    3, 3, 2, 3, 3, /* */
    3, 1, 1, 1, 3, /* */
    2, 1, 0, 1, 2, /* */
    3, 1, 1, 1, 3, /* */
    3, 3, 2, 3, 3,
};

static float tokens[IMAGES * IMAGE_TOKENS * STRIDE], rings[IMAGES * SPEC_RINGS * WIDTH];

static double expected_ring(unsigned image, unsigned ring, unsigned at)
{
    double sum[WIDTH] = {0}, squares = 0;
    for (unsigned p = 0; p < ACROSS * ACROSS; p++)
        for (unsigned i = 0; ring_of[p] == ring && i < WIDTH; i++)
            sum[i] += (double)tokens[(image * IMAGE_TOKENS + 1 + p) * STRIDE + i];
    for (unsigned i = 0; i < WIDTH; i++)
        squares += sum[i] * sum[i];
    return sum[at] / sqrt(squares);
}

START_TEST(an_image_has_means_of_rings_about_its_middle)
{
    const struct spec spec = {.family = family_find("vit", NULL),
                              .layers = 1,
                              .hidden = WIDTH,
                              .image_size = {4 * ACROSS, 4 * ACROSS},
                              .patch = {4, 4},
                              .patches = ACROSS * ACROSS};
    unsigned ends[IMAGES + 1] = {0, IMAGE_TOKENS, IMAGES * IMAGE_TOKENS};
    static float sums[IMAGES * IMAGE_TOKENS * STRIDE];
    struct workspace workspace = workspace_of(true);
    struct err err = {0};
    for (unsigned i = 0; i < IMAGES * IMAGE_TOKENS * STRIDE; i++)
        tokens[i] = (float)((i * i + 3 * i) % 17) - 8;
    ck_assert(!thread_pool_open(&pool, 2, &err));
    workspace.pool = pool;
    workspace.offset = ends;
    workspace.x = tokens;
    workspace.y = sums;
    workspace.means = rings;
    token_mean_add(&spec, &workspace, 0);
    thread_pool_close(pool);
    for (unsigned i = 0; i < IMAGES * SPEC_RINGS * WIDTH; i++)
        ck_assert_double_eq_tol(
            (double)rings[i],
            expected_ring(i / (SPEC_RINGS * WIDTH), i / WIDTH % SPEC_RINGS, i % WIDTH), 1e-6);
}
END_TEST

/* ---- in the engine ---- */

enum { LABELS_MAX = 16, FEATURES_MAX = 512 };

struct run {
    float logits[LABELS_MAX], features[FEATURES_MAX];
};

static void run_text(struct run *out, const char *dir, const char *dtype, const char *text,
                     const char *beside, bool takes_means)
{
    struct engine_model *model;
    struct engine_session *session;
    struct engine_input inputs[2];
    struct arena arena;
    struct err err = {0};
    float other[LABELS_MAX];
    arena_init(&arena);
    ck_assert(!engine_open(&model, dir, &(struct engine_options){.dtype = dtype}, &err));
    ck_assert(!engine_session_open(&session, model, 512, 2, &err));
    if (takes_means)
        engine_session_take_means(session);
    ck_assert(!engine_prepare(model, text_source(text), NULL, &arena, &inputs[0], &err));
    ck_assert(!engine_prepare(model, text_source(beside), NULL, &arena, &inputs[1], &err));
    run_logits(session, (const struct engine_input *[]){&inputs[1], &inputs[0]}, 2,
               (float *[]){other, out->logits});
    const struct engine_info *info = engine_describe(model);
    ck_assert_uint_le(info->feature_size, FEATURES_MAX);
    ck_assert_uint_eq(info->feature_size, info->classifier_size + info->hidden_size);
    memcpy(out->features, run_features[1], info->feature_size * sizeof(float));
    engine_session_close(session);
    engine_close(model);
    arena_deinit(&arena);
}

#define MODEL "tests/data/golden/bert-3"

START_TEST(means_do_not_depend_on_what_shares_the_batch_and_change_no_answer)
{
    struct run plain, near, far;
    run_text(&plain, MODEL, "f32", "the wafer has a scratch", "pin 7", false);
    run_text(&near, MODEL, "f32", "the wafer has a scratch", "pin 7", true);
    run_text(&far, MODEL, "f32", "the wafer has a scratch", "a die of the lot, and another one",
             true);
    ck_assert_double_lt(numbers_difference(plain.logits, near.logits, 2), 1e-5);
    unsigned width = 0;
    while (width < FEATURES_MAX && plain.features[width] != 0)
        width++; /* of the classifier: means are zeros */
    ck_assert_uint_gt(width, 0);
    for (unsigned i = 0; i < width; i++) {
        ck_assert_float_eq(plain.features[width + i], 0);
        ck_assert_float_eq_tol(near.features[width + i], far.features[width + i], 1e-5f);
    }
    ck_assert_double_gt(numbers_difference(near.features + width, plain.features + width, width),
                        1e-2);
}
END_TEST

SUITE("token_mean", directions_of_all_blocks_but_the_first_are_averaged, a_single_block_counts,
      token_mean_is_taken_only_on_request, tokens_of_zeros_have_no_direction,
      an_image_has_means_of_rings_about_its_middle,
      means_do_not_depend_on_what_shares_the_batch_and_change_no_answer)
