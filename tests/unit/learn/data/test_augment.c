#include "learn/data/samples.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 3, HEIGHT = 2, PIXELS = WIDTH * HEIGHT };

static const unsigned char plain[PIXELS] = {1, 2, 3, 4, 5, 6};

static struct augment_pixels image_of(const unsigned char *values)
{
    return (struct augment_pixels){
        .width = WIDTH, .height = HEIGHT, .channels = 1, .values = values};
}

/* A wafer map of `side` x `side` dies, all of one value but a corner off the wafer. */
static struct augment_pixels big_map(unsigned char *values, unsigned side, unsigned char value)
{
    memset(values, value, (size_t)side * side);
    values[0] = 0;
    return (struct augment_pixels){
        .width = side, .height = side, .channels = 1, .values = values, .pass = 127, .fail = 255};
}

static size_t count_of(const struct augment_pixels *pixels, unsigned char value)
{
    size_t found = 0;
    for (size_t i = 0; i < (size_t)pixels->width * pixels->height; i++)
        found += pixels->values[i] == value;
    return found;
}

START_TEST(augment_of_nothing_changes_and_draws_nothing)
{
    struct augment_pixels in = image_of(plain), out;
    unsigned char room[PIXELS];
    struct rng rng = rng_for(1, 2, 3), before = rng;
    augment_apply(&(struct augment){0}, &in, &rng, room, &out);
    ck_assert_uint_eq(out.width, WIDTH);
    ck_assert_uint_eq(out.height, HEIGHT);
    ck_assert_mem_eq(out.values, plain, PIXELS);
    ck_assert_uint_eq(rng.state, before.state);
}
END_TEST

START_TEST(augment_mirrors_left_and_right)
{
    static const unsigned char mirrored[PIXELS] = {3, 2, 1, 6, 5, 4};
    struct augment_pixels in = image_of(plain), out;
    unsigned char room[PIXELS];
    struct rng rng = rng_for(1, 2, 3);
    augment_apply(&(struct augment){.mirror = 1}, &in, &rng, room, &out);
    ck_assert_mem_eq(out.values, mirrored, PIXELS);
}
END_TEST

/* Every turn comes up about as often, and with a mirror all eight pictures of the square do. */
START_TEST(augment_turns_by_quarters)
{
    static const unsigned char turned[8][PIXELS] = {
        {1, 2, 3, 4, 5, 6}, {4, 1, 5, 2, 6, 3}, {6, 5, 4, 3, 2, 1}, {3, 6, 2, 5, 1, 4},
        {3, 2, 1, 6, 5, 4}, {6, 3, 5, 2, 4, 1}, {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}};
    struct augment_pixels in = image_of(plain), out;
    unsigned seen[8] = {0};
    for (unsigned i = 0; i < 800; i++) {
        unsigned char room[PIXELS];
        struct rng rng = rng_for(1, 2, i);
        unsigned at = 0;
        augment_apply(&(struct augment){.mirror = 0.5f, .turn = 1}, &in, &rng, room, &out);
        while (at < 8 && memcmp(turned[at], room, PIXELS) != 0)
            at++;
        ck_assert_uint_lt(at, 8);
        ck_assert_uint_eq(out.width, at % 2 == 1 ? HEIGHT : WIDTH);
        ck_assert_uint_eq(out.height, at % 2 == 1 ? WIDTH : HEIGHT);
        seen[at]++;
    }
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_gt(seen[i], 60);
}
END_TEST

/* A disc of passing dies with one failing die off the middle: it moves on a circle, and the outline
 * does not move at all. */
START_TEST(augment_spins_dies_within_the_outline)
{
    enum { SIDE = 41, MIDDLE = SIDE / 2, RADIUS = 12 };
    unsigned char values[SIDE * SIDE], room[2 * SIDE * SIDE];
    struct augment_pixels in = {.width = SIDE,
                                .height = SIDE,
                                .channels = 1,
                                .values = values,
                                .pass = 127,
                                .fail = 255},
                          out;
    unsigned quadrants[4] = {0};
    for (int i = 0; i < SIDE * SIDE; i++) {
        int x = i % SIDE - MIDDLE, y = i / SIDE - MIDDLE;
        values[i] = x * x + y * y > MIDDLE * MIDDLE ? 0 : 127;
    }
    for (int i = -1; i <= 1; i++) /* three dies wide, so that no angle loses it */
        for (int k = -1; k <= 1; k++)
            values[(MIDDLE + i) * SIDE + MIDDLE + RADIUS + k] = 255;
    for (unsigned draw = 0; draw < 200; draw++) {
        struct rng rng = rng_for(1, 2, draw);
        augment_apply(&(struct augment){.spin = 1}, &in, &rng, room, &out);
        double x = 0, y = 0, found = 0;
        for (int i = 0; i < SIDE * SIDE; i++) {
            ck_assert((out.values[i] == 0) == (values[i] == 0));
            if (out.values[i] == 255) {
                x += i % SIDE - MIDDLE;
                y += i / SIDE - MIDDLE;
                found++;
            }
        }
        ck_assert_double_ge(found, 5);
        ck_assert_double_eq_tol(hypot(x / found, y / found), RADIUS, 0.8);
        quadrants[(x > 0) + 2 * (y > 0)]++;
    }
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_gt(quadrants[i], 25);
}
END_TEST

/* The pixels that are left are a part of the source in its order, after any shift, and the rest is
 * 0. */
START_TEST(augment_shifts_whole_pixels_and_fills_with_off_wafer)
{
    struct augment_pixels in = image_of(plain), out;
    bool seen[3][3] = {{false}};
    for (unsigned i = 0; i < 200; i++) {
        unsigned char room[PIXELS];
        struct rng rng = rng_for(1, 2, i);
        augment_apply(&(struct augment){.shift = 0.34f}, &in, &rng, room, &out);
        int dx = -2, dy = -2;
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                if (room[y * WIDTH + x] != 0) {
                    int at = room[y * WIDTH + x] - 1;
                    dx = dx == -2 ? x - at % WIDTH : dx;
                    dy = dy == -2 ? y - at / WIDTH : dy;
                    ck_assert_int_eq(x - at % WIDTH, dx);
                    ck_assert_int_eq(y - at / WIDTH, dy);
                }
        ck_assert(dx >= -1 && dx <= 1 && dy >= -1 && dy <= 1);
        size_t left = (size_t)((WIDTH - abs(dx)) * (HEIGHT - abs(dy)));
        ck_assert_uint_eq(count_of(&out, 0), PIXELS - left);
        seen[dx + 1][dy + 1] = true;
    }
    for (unsigned i = 0; i < 9; i++)
        ck_assert(seen[i / 3][i % 3]);
}
END_TEST

/* Each pixel that is left is there once; at times none is, or all are. */
START_TEST(augment_shift_of_the_whole_side_stays_inside)
{
    struct augment_pixels in = image_of(plain), out;
    bool empty = false, whole = false;
    for (unsigned i = 0; i < 500; i++) {
        unsigned char room[PIXELS + 8];
        struct rng rng = rng_for(1, 2, i);
        memset(room, 0xA5, sizeof room);
        augment_apply(&(struct augment){.turn = 1, .shift = 1}, &in, &rng, room, &out);
        for (unsigned char value = 1; value <= PIXELS; value++)
            ck_assert_uint_le(count_of(&out, value), 1);
        for (size_t k = 0; k < 8; k++)
            ck_assert_int_eq(room[PIXELS + k], 0xA5);
        for (size_t k = 0; k < PIXELS; k++)
            ck_assert_int_le(room[k], PIXELS);
        empty = empty || count_of(&out, 0) == PIXELS;
        whole = whole || count_of(&out, 0) == 0;
    }
    ck_assert(empty && whole);
}
END_TEST

START_TEST(augment_keeps_the_channels_of_a_pixel_together)
{
    static const unsigned char rgb[] = {1, 2, 3, 4, 5, 6};
    static const unsigned char mirrored[] = {4, 5, 6, 1, 2, 3};
    struct augment_pixels in = {.width = 2, .height = 1, .channels = 3, .values = rgb}, out;
    unsigned char room[6];
    struct rng rng = rng_for(1, 2, 3);
    augment_apply(&(struct augment){.mirror = 1}, &in, &rng, room, &out);
    ck_assert_mem_eq(out.values, mirrored, 6);
}
END_TEST

START_TEST(augment_tells_a_wafer_map_by_its_greys)
{
    static const struct {
        unsigned char values[4], pass, fail;
    } cases[] = {
        {{0, 127, 255, 0}, 127, 255},
        {{0, 1, 2, 0}, 1, 2},
        {{0, 127, 127, 0}, 127, 255},
        {{0, 255, 255, 0}, 127, 255},
        {{127, 255, 127, 255}, 127, 255},
        {{0, 128, 128, 0}, 0, 0},
        {{1, 2, 3, 1}, 0, 0},
        {{0, 1, 2, 3}, 0, 0},
        {{0, 0, 0, 0}, 0, 0},
        {{127, 127, 127, 127}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct augment_pixels pixels = {
            .width = 2, .height = 2, .channels = 1, .values = cases[i].values};
        augment_detect_map(&pixels);
        ck_assert_msg(pixels.pass == cases[i].pass && pixels.fail == cases[i].fail,
                      "case %zu: %u %u", i, pixels.pass, pixels.fail);
    }
}
END_TEST

/* The image's rate is uniform up to the bound, so over many images half of it is flipped. */
START_TEST(augment_die_noise_flips_dies_at_its_rate_and_nothing_else)
{
    enum { SIDE = 64, ROUNDS = 200 };
    unsigned char values[SIDE * SIDE], room[SIDE * SIDE];
    struct augment_pixels in = big_map(values, SIDE, 127), out;
    double flipped = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct rng rng = rng_for(1, 2, i);
        augment_apply(&(struct augment){.die_noise = 0.2f}, &in, &rng, room, &out);
        size_t fails = count_of(&out, 255);
        ck_assert_uint_eq(room[0], 0);
        ck_assert_uint_eq(fails + count_of(&out, 127), SIDE * SIDE - 1);
        ck_assert_uint_lt(fails, 0.25 * SIDE * SIDE);
        flipped += (double)fails;
    }
    ck_assert_double_eq_tol(flipped / ROUNDS / (SIDE * SIDE), 0.1, 0.02);
}
END_TEST

/* An augmentation that is off draws nothing: the others give the same values with and without
 * it. */
START_TEST(augment_draws_for_dies_only_what_is_asked_for)
{
    enum { SIDE = 16 };
    static const struct augment asked[] = {
        {.die_noise = 0.2f}, {.die_dropout = 0.2f}, {.die_noise = 0.2f, .die_dropout = 0.2f}};
    unsigned char values[SIDE * SIDE], room[SIDE * SIDE];
    struct augment_pixels in = big_map(values, SIDE, 127), out;
    uint64_t states[4] = {rng_for(1, 2, 3).state};
    for (unsigned i = 0; i < 3; i++) {
        struct rng rng = rng_for(1, 2, 3);
        augment_apply(&asked[i], &in, &rng, room, &out);
        states[i + 1] = rng.state;
    }
    ck_assert_uint_ne(states[1], states[0]);
    ck_assert_uint_eq(states[1], states[2]);
    ck_assert_uint_ne(states[3], states[1]);
}
END_TEST

START_TEST(augment_die_dropout_only_repairs)
{
    enum { SIDE = 64 };
    unsigned char values[SIDE * SIDE], room[SIDE * SIDE];
    struct augment_pixels passes = big_map(values, SIDE, 127), out;
    struct rng rng = rng_for(1, 2, 3);
    augment_apply(&(struct augment){.die_dropout = 1}, &passes, &rng, room, &out);
    ck_assert_mem_eq(room, values, sizeof values);
    struct augment_pixels fails = big_map(values, SIDE, 255);
    augment_apply(&(struct augment){.die_dropout = 1}, &fails, &rng, room, &out);
    ck_assert_uint_gt(count_of(&out, 127), 0);
    ck_assert_uint_eq(count_of(&out, 127) + count_of(&out, 255), SIDE * SIDE - 1);
}
END_TEST

START_TEST(augment_leaves_the_greys_of_a_map_and_the_dies_of_an_image)
{
    enum { SIDE = 8 };
    unsigned char values[SIDE * SIDE], room[SIDE * SIDE];
    struct augment all = {.noise = 1, .brightness = 1, .contrast = 1};
    struct augment_pixels map = big_map(values, SIDE, 127), image = map, out;
    struct rng rng = rng_for(1, 2, 3);
    augment_apply(&all, &map, &rng, room, &out);
    ck_assert_mem_eq(room, values, sizeof values);
    image.pass = image.fail = 0;
    augment_apply(&(struct augment){.die_noise = 1, .die_dropout = 1}, &image, &rng, room, &out);
    ck_assert_mem_eq(room, values, sizeof values);
}
END_TEST

START_TEST(augment_noise_is_centred_and_as_wide_as_it_says)
{
    enum { SIDE = 64, ROUNDS = 50 };
    unsigned char values[SIDE * SIDE], room[SIDE * SIDE];
    memset(values, 128, sizeof values);
    struct augment_pixels in = {.width = SIDE, .height = SIDE, .channels = 1, .values = values},
                          out;
    double sum = 0, widest = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct rng rng = rng_for(1, 2, i);
        double squares = 0;
        augment_apply(&(struct augment){.noise = 0.1f}, &in, &rng, room, &out);
        for (size_t p = 0; p < sizeof room; p++) {
            sum += room[p] - 128.0;
            squares += (room[p] - 128.0) * (room[p] - 128.0);
        }
        widest = fmax(widest, sqrt(squares / sizeof room));
    }
    ck_assert_double_eq_tol(sum / ROUNDS / sizeof room, 0, 0.1);
    ck_assert_double_eq_tol(widest, 25.5, 2);
}
END_TEST

START_TEST(augment_brightness_and_contrast_move_the_greys)
{
    static const unsigned char greys[4] = {100, 100, 150, 150};
    struct augment_pixels in = {.width = 4, .height = 1, .channels = 1, .values = greys}, out;
    for (unsigned i = 0; i < 20; i++) {
        unsigned char room[4];
        struct rng rng = rng_for(1, 2, i);
        augment_apply(&(struct augment){.brightness = 0.1f}, &in, &rng, room, &out);
        ck_assert_int_le(abs(room[2] - room[0] - 50), 1);
        ck_assert_int_le(abs(room[0] - 100), 26);
        augment_apply(&(struct augment){.contrast = 0.5f}, &in, &rng, room, &out);
        ck_assert_int_le(abs(room[0] + room[2] - 250), 1);
        ck_assert_int_le(abs(room[2] - room[0] - 50), 26);
    }
}
END_TEST

START_TEST(augment_repeats_itself_for_the_same_rng)
{
    enum { SIDE = 16 };
    struct augment all = {
        .mirror = 0.5f, .turn = 1, .shift = 0.2f, .die_noise = 0.3f, .die_dropout = 0.3f};
    unsigned char values[SIDE * SIDE], rooms[2][SIDE * SIDE];
    struct augment_pixels in = big_map(values, SIDE, 255), out;
    for (unsigned i = 0; i < 2; i++) {
        struct rng rng = rng_for(7, 8, 9);
        augment_apply(&all, &in, &rng, rooms[i], &out);
    }
    ck_assert_mem_eq(rooms[0], rooms[1], sizeof rooms[0]);
}
END_TEST

SUITE("augment", augment_draws_for_dies_only_what_is_asked_for,
      augment_of_nothing_changes_and_draws_nothing, augment_mirrors_left_and_right,
      augment_turns_by_quarters, augment_spins_dies_within_the_outline,
      augment_shifts_whole_pixels_and_fills_with_off_wafer,
      augment_shift_of_the_whole_side_stays_inside, augment_keeps_the_channels_of_a_pixel_together,
      augment_tells_a_wafer_map_by_its_greys,
      augment_die_noise_flips_dies_at_its_rate_and_nothing_else, augment_die_dropout_only_repairs,
      augment_leaves_the_greys_of_a_map_and_the_dies_of_an_image,
      augment_noise_is_centred_and_as_wide_as_it_says,
      augment_brightness_and_contrast_move_the_greys, augment_repeats_itself_for_the_same_rng)
