/* structured.h: places, turns and neighbours against the formulas of its header, and what
 * sharpening makes of them. A value is told from the plain initialisation of the same seed, which
 * structured_init begins with. */
#include "engine/base/rng.h"
#include "learn/train/network/network.h"
#include "learn/train/network/rng_streams.h"
#include "learn/train/network/structured.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Six heads of 8 channels: two frequencies an axis. */
enum { HIDDEN = 48, HEAD = 8, QUARTER = 2, PATCH = 4, LAYERS = 3, INNER = 16, SEED = 5 };

static const double pi = 3.14159265358979323846;

static struct spec spec;
static struct parameters found, plain;

static void open_parameters(const char *architecture, unsigned across)
{
    struct err err = {0};
    spec = (struct spec){.family = family_find(architecture != NULL ? "deit" : "vit", architecture),
                         .layers = LAYERS,
                         .heads = HIDDEN / HEAD,
                         .hidden = HIDDEN,
                         .intermediate = INNER,
                         .activation = ACTIVATION_GELU,
                         .norm_eps = 1e-6f,
                         .qkv_bias = true,
                         .label_count = 2,
                         .image_size = extent_square(across * PATCH),
                         .patch = extent_square(PATCH),
                         .channels = 3,
                         .patches = across * across};
    ck_assert_msg(!parameters_open(&found, &spec, HEAD_CLASSIFIER, &err) &&
                      !parameters_open(&plain, &spec, HEAD_CLASSIFIER, &err),
                  "%s", err.text);
    structured_init(&found, SEED);
    parameters_init(&plain, SEED);
}

static void close_parameters(void)
{
    parameters_close(&found);
    parameters_close(&plain);
}

/* found = factor x plain in `count` values from an offset on. */
static void expect_scaled(size_t offset, size_t count, double factor)
{
    for (size_t i = offset; i < offset + count; i++)
        ck_assert_double_eq_tol((double)found.values[i], factor * (double)plain.values[i],
                                1e-5 * fabs(factor * (double)plain.values[i]) + 1e-9);
}

/* The deviation goes from 0.02 to 1 / sqrt(D). */
static double normal(void)
{
    return 1 / (0.02 * sqrt(HIDDEN));
}

/* ---- places ---- */

/* Channels of a patch at (row, column): sines and cosines of the row, then of the column, of angles
 * pi (i + 1/2) / max(d / 4, across / 2) a step. */
static void expect_places(unsigned across, unsigned specials)
{
    double steps = fmax(QUARTER, across / 2.0);
    const float *positions = found.values + found.map.position;
    for (size_t i = 0; i < specials * HIDDEN; i++)
        ck_assert(positions[i] == 0);
    for (unsigned p = 0; p < across * across; p++) {
        const float *at = positions + (size_t)(specials + p) * HIDDEN;
        for (unsigned i = 0; i < QUARTER; i++) {
            double angle = pi * (i + 0.5) / steps;
            double down = p / across * angle, right = p % across * angle;
            ck_assert_double_eq_tol((double)at[i], sin(down), 1e-6);
            ck_assert_double_eq_tol((double)at[QUARTER + i], cos(down), 1e-6);
            ck_assert_double_eq_tol((double)at[2 * QUARTER + i], sin(right), 1e-6);
            ck_assert_double_eq_tol((double)at[3 * QUARTER + i], cos(right), 1e-6);
        }
        expect_scaled(found.map.position + (specials + p) * HIDDEN + HEAD, HIDDEN - HEAD, 1);
    }
}

START_TEST(positions_are_sines_and_cosines_of_row_and_column)
{
    static const unsigned grids[] = {2, 3, 6, 7};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        open_parameters(NULL, grids[i]);
        expect_places(grids[i], 1);
        close_parameters();
        open_parameters("DeiTForImageClassificationWithTeacher", grids[i]);
        expect_places(grids[i], 2);
        close_parameters();
    }
}
END_TEST

/* ---- heads ---- */

/* The values that the structure added to rows `first` .. of a [.., HIDDEN] matrix, applied to a
 * place. */
static double added(size_t offset, size_t row, const float *place)
{
    double sum = 0;
    for (size_t i = 0; i < HIDDEN; i++) {
        size_t at = offset + row * HIDDEN + i;
        sum += ((double)found.values[at] - (double)plain.values[at]) *
               (i < HEAD ? (double)place[i] : 0);
    }
    return sum;
}

/* q_i . k_j of a head, by the places alone. */
static double match(unsigned layer, unsigned head, unsigned i, unsigned j)
{
    const float *positions = found.values + found.map.position + HIDDEN;
    size_t query = found.map.layers[layer].qkv_weight + head * HEAD * HIDDEN;
    size_t key = query + (size_t)HIDDEN * HIDDEN;
    double sum = 0;
    for (size_t row = 0; row < HEAD; row++)
        sum += added(query, row, positions + i * HIDDEN) * added(key, row, positions + j * HIDDEN);
    return sum;
}

/* A patch in the middle of 5 x 5, which has all its neighbours: at the offset every pair of sine
 * and cosine agrees, so that the match is their number, 2 d / 4; nowhere else is it as much. */
START_TEST(each_of_five_heads_looks_at_one_neighbour)
{
    enum { ACROSS = 5, MIDDLE = 12 };
    static const int offsets[2][5] = {{1, -1, ACROSS, -ACROSS, 0},
                                      {ACROSS + 1, ACROSS - 1, -ACROSS + 1, -ACROSS - 1, 0}};
    open_parameters(NULL, ACROSS);
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned head = 0; head < 5; head++)
            for (unsigned j = 0; j < ACROSS * ACROSS; j++) {
                double value = match(layer, head, MIDDLE, j);
                if ((int)j == MIDDLE + offsets[layer % 2][head])
                    ck_assert_double_eq_tol(value, 2 * QUARTER, 1e-5);
                else
                    ck_assert_double_lt(value, 2 * QUARTER - 0.1);
            }
    close_parameters();
}
END_TEST

START_TEST(all_other_weights_are_normal_and_nothing_writes_into_the_place)
{
    open_parameters(NULL, 5);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        const struct parameters_layer *map = &found.map.layers[layer];
        size_t square = (size_t)HIDDEN * HIDDEN, heads = 5 * HEAD * HIDDEN;
        expect_scaled(map->qkv_weight + heads, square - heads, normal());
        expect_scaled(map->qkv_weight + square + heads, square - heads, normal());
        expect_scaled(map->qkv_weight + 2 * square, square, normal());
        expect_scaled(map->out_weight, HEAD * HIDDEN, 0);
        expect_scaled(map->out_weight + HEAD * HIDDEN, square - HEAD * HIDDEN, 0.5 * normal());
        expect_scaled(map->mlp_in_weight, HIDDEN * INNER, 0.7 * normal());
        expect_scaled(map->mlp_out_weight, HEAD * INNER, 0);
        expect_scaled(map->mlp_out_weight + HEAD * INNER, (HIDDEN - HEAD) * INNER, 0.5 * normal());
        expect_scaled(map->qkv_bias, 3 * HIDDEN, 1);
        expect_scaled(map->attention_gamma, HIDDEN, 1);
    }
    expect_scaled(found.map.classifier_weight, 2 * HIDDEN, 1);
    close_parameters();
}
END_TEST

START_TEST(patches_write_softly_into_the_place_and_the_class_token_not_at_all)
{
    enum { NUMBERS = 3 * PATCH * PATCH };
    struct rng rng = rng_for(SEED, STREAM_INIT, 1);
    open_parameters(NULL, 5);
    expect_scaled(found.map.patch_weight, HEAD * NUMBERS, 0.1 * normal() / sqrt(3));
    expect_scaled(found.map.patch_weight + HEAD * NUMBERS, (HIDDEN - HEAD) * NUMBERS,
                  normal() / sqrt(3));
    const float *cls = found.values + found.map.cls_token;
    for (unsigned i = 0; i < HIDDEN; i++)
        ck_assert_double_eq_tol((double)cls[i], i < HEAD ? 0 : 0.3 * (double)rng_normal(&rng),
                                1e-7);
    close_parameters();
}
END_TEST

/* ---- sharpening ---- */

enum { ROWS = 2, ACROSS = 5, TOKENS = ACROSS * ACROSS + 1 };

static float *patches;

static void fill_batch(struct engine_input *inputs, const struct engine_input **listed,
                       struct network_batch *batch)
{
    size_t numbers = (size_t)ACROSS * ACROSS * 3 * PATCH * PATCH;
    patches = numbers_new(ROWS * numbers, 1, 7);
    for (unsigned r = 0; r < ROWS; r++) {
        inputs[r] = (struct engine_input){
            .kind = ENGINE_IMAGE, .tokens = TOKENS, .patches = patches + r * numbers};
        listed[r] = &inputs[r];
    }
    *batch = (struct network_batch){.inputs = listed, .rows = ROWS};
}

/* Mean of |place|^2 over the patches that a layer reads, divided by sqrt(d). */
static double mean_square(const struct network *network, unsigned layer)
{
    size_t stride;
    double sum = 0;
    const float *x = network_attention_input(network, layer, &stride);
    for (unsigned t = 0; t < ROWS * TOKENS; t++)
        for (unsigned i = 0; t % TOKENS > 0 && i < HEAD; i++)
            sum += (double)x[t * stride + i] * (double)x[t * stride + i];
    return sum / (ROWS * ACROSS * ACROSS) / sqrt(HEAD);
}

START_TEST(sharpened_heads_have_a_mean_logit_of_eight)
{
    struct network_options options = {.threads = 1, .tokens_max = ROWS * TOKENS};
    struct engine_input inputs[ROWS];
    const struct engine_input *listed[ROWS];
    struct network_batch batch;
    struct network *network;
    struct err err = {0};
    open_parameters(NULL, ACROSS);
    fill_batch(inputs, listed, &batch);
    ck_assert(!network_open(&network, &found, &options, &err));
    structured_init(&plain, SEED); /* as it was before */
    structured_sharpen(&found, network, &batch);
    network_forward(network, &batch);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        size_t query = found.map.layers[layer].qkv_weight, square = (size_t)HIDDEN * HIDDEN;
        size_t heads = 5 * HEAD * HIDDEN;
        double gain = (double)found.values[query] / (double)plain.values[query];
        ck_assert_double_eq_tol(gain * gain * mean_square(network, layer), 8, 1e-3);
        expect_scaled(query, heads, gain);
        expect_scaled(query + heads, square - heads, 1);
        expect_scaled(query + square, heads, gain);
        expect_scaled(query + square + heads, 2 * square - heads, 1);
    }
    network_close(network);
    free(patches);
    close_parameters();
}
END_TEST

SUITE("structured", positions_are_sines_and_cosines_of_row_and_column,
      each_of_five_heads_looks_at_one_neighbour,
      all_other_weights_are_normal_and_nothing_writes_into_the_place,
      patches_write_softly_into_the_place_and_the_class_token_not_at_all,
      sharpened_heads_have_a_mean_logit_of_eight)
