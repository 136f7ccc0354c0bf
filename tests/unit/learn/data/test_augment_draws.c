/* Each change drawn again by the test, from a copy of the generator, and computed pixel by pixel:
 * test_augment.c looks at rates and at what may not change. */
#include "learn/data/samples.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

START_TEST(augment_takes_no_coloured_image_for_a_map)
{
    static const unsigned char values[] = {0, 127, 255, 0, 127, 255};
    struct augment_pixels pixels = {
        .width = 2, .height = 1, .channels = 3, .values = values, .pass = 9, .fail = 8};
    augment_detect_map(&pixels);
    ck_assert(pixels.pass == 0 && pixels.fail == 0);
    pixels.width = 6, pixels.channels = 1;
    augment_detect_map(&pixels);
    ck_assert(pixels.pass == 127 && pixels.fail == 255);
}
END_TEST

enum { SIDE = 24, COUNT = SIDE * SIDE };

static void fill(unsigned char *values, unsigned of)
{
    static const unsigned char dies[] = {0, 127, 255};
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = of == 3 ? dies[i % 7 % 3] : (unsigned char)(i * 5 % of);
}

START_TEST(augment_flips_and_repairs_the_dies_whose_hash_is_below_the_bound)
{
    static unsigned char values[COUNT], room[COUNT + 1];
    struct augment_pixels map = {
        .width = SIDE, .height = SIDE, .channels = 1, .values = values, .pass = 127, .fail = 255};
    struct augment augment = {.die_noise = 0.5f, .die_dropout = 0.25f};
    fill(values, 3);
    for (unsigned draw = 0; draw < 40; draw++) {
        struct rng rng = rng_for(4, 5, draw), again = rng;
        struct augment_pixels out;
        room[COUNT] = 255; /* behind the image */
        augment_apply(&augment, &map, &rng, room, &out);
        ck_assert_int_eq(room[COUNT], 255);
        uint32_t noise = (uint32_t)((double)(0.5f * rng_uniform(&again)) * 4294967295.0);
        uint32_t noise_key = (uint32_t)rng_next(&again);
        uint32_t dropout = (uint32_t)((double)(0.25f * rng_uniform(&again)) * 4294967295.0);
        uint32_t dropout_key = (uint32_t)rng_next(&again);
        ck_assert_uint_eq(rng.state, again.state);
        for (uint32_t i = 0; i < COUNT; i++) {
            unsigned char die = values[i];
            if (die != 0 && rng_hash(noise_key, i) < noise)
                die = die == 127 ? 255 : 127;
            if (die == 255 && rng_hash(dropout_key, i) < dropout)
                die = 127;
            ck_assert_msg(room[i] == die, "draw %u, die %u", draw, i);
        }
        ck_assert(out.width == SIDE && out.height == SIDE && out.channels == 1);
        ck_assert(out.pass == 127 && out.fail == 255 && out.values == room);
    }
}
END_TEST

/* Contrast about the image's mean, then brightness, then noise from four bytes of a hash, whose
 * deviation is 147.8; one grey of rounding is allowed. */
START_TEST(augment_moves_greys_as_drawn)
{
    static unsigned char values[COUNT], room[COUNT + 1];
    struct augment_pixels image = {.width = SIDE, .height = SIDE, .channels = 1, .values = values};
    struct augment augment = {.brightness = 0.3f, .contrast = 0.5f, .noise = 0.2f};
    double mean = 0;
    fill(values, 241);
    for (unsigned i = 0; i < COUNT; i++)
        mean += values[i] / (double)COUNT;
    for (unsigned draw = 0; draw < 40; draw++) {
        struct rng rng = rng_for(4, 5, draw), again = rng;
        struct augment_pixels out;
        room[COUNT] = 99;
        augment_apply(&augment, &image, &rng, room, &out);
        ck_assert_int_eq(room[COUNT], 99);
        double bright = 255 * 0.3 * (2 * rng_uniform(&again) - 1);
        double contrast = 1 + 0.5 * (2 * rng_uniform(&again) - 1);
        double deviation = 255 * 0.2 * rng_uniform(&again);
        uint32_t key = (uint32_t)rng_next(&again);
        ck_assert_uint_eq(rng.state, again.state);
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t bits = rng_hash(key, i);
            double sum = (bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24);
            double grey =
                mean + (values[i] - mean) * contrast + bright + deviation * (sum - 510) / 147.8005;
            grey = grey < 0 ? 0 : grey > 255 ? 255 : grey;
            ck_assert_msg(fabs(room[i] - grey) < 0.51, "draw %u, pixel %u: %u, not %f", draw, i,
                          room[i], grey);
        }
    }
}
END_TEST

/* A quarter of a side of ten is two and a half, which is rounded to three; a quarter of six is
 * two. */
START_TEST(augment_shifts_by_what_is_drawn)
{
    enum { WIDTH = 10, HEIGHT = 6, BYTES = WIDTH * HEIGHT * 3 };
    unsigned char values[BYTES], room[BYTES], expected[BYTES];
    const struct augment_pixels in = {
        .width = WIDTH, .height = HEIGHT, .channels = 3, .values = values};
    for (unsigned i = 0; i < BYTES; i++)
        values[i] = (unsigned char)(i + 1);
    for (unsigned draw = 0; draw < 100; draw++) {
        struct rng rng = rng_for(4, 5, draw), again = rng;
        struct augment_pixels out;
        memset(room, 0xA5, sizeof room);
        augment_apply(&(struct augment){.shift = 0.25f}, &in, &rng, room, &out);
        int dx = (int)rng_below(&again, 7) - 3, dy = (int)rng_below(&again, 5) - 2;
        memset(expected, 0, sizeof expected);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                if (x - dx >= 0 && x - dx < WIDTH && y - dy >= 0 && y - dy < HEIGHT)
                    memcpy(expected + (y * WIDTH + x) * 3, values + ((y - dy) * WIDTH + x - dx) * 3,
                           3);
        ck_assert_mem_eq(room, expected, BYTES);
        ck_assert_uint_eq(rng.state, again.state);
    }
}
END_TEST

/* Pixels tell where they come from: their place, in two of three channels. The dies of this wafer
 * are higher than wide, so that rows are farther apart than columns. */
START_TEST(augment_spins_about_the_middle_by_the_drawn_angle)
{
    enum { WIDTH = 41, HEIGHT = 31, PIXELS = WIDTH * HEIGHT };
    static unsigned char values[PIXELS * 3], room[2 * PIXELS * 3];
    const struct augment_pixels in = {
        .width = WIDTH, .height = HEIGHT, .channels = 3, .values = values};
    const double shape = (double)WIDTH / HEIGHT, near = 0.51, far = 0.49;
    for (unsigned i = 0; i < PIXELS; i++) {
        values[3 * i] = (unsigned char)(i % WIDTH);
        values[3 * i + 1] = (unsigned char)(i / WIDTH);
    }
    for (unsigned draw = 0; draw < 40; draw++) {
        struct rng rng = rng_for(4, 5, draw), again = rng;
        struct augment_pixels out;
        augment_apply(&(struct augment){.spin = 1}, &in, &rng, room, &out);
        ck_assert(rng_uniform(&again) < 1);
        double angle = 6.2831853 * rng_uniform(&again);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const unsigned char *found = out.values + ((size_t)y * WIDTH + (size_t)x) * 3;
                double u = x - 20, v = (y - 15) * shape;
                double from_x = 20 + cos(angle) * u + sin(angle) * v;
                double from_y = 15 + (cos(angle) * v - sin(angle) * u) / shape;
                bool inside = from_x > -far && from_x < WIDTH - 1 + far && from_y > -far &&
                              from_y < HEIGHT - 1 + far;
                bool outside = from_x < -near || from_x > WIDTH - 1 + near || from_y < -near ||
                               from_y > HEIGHT - 1 + near;
                if (inside && (fabs(found[0] - from_x) > near || fabs(found[1] - from_y) > near))
                    ck_abort_msg("draw %u: (%d, %d) from (%u, %u), not (%f, %f)", draw, x, y,
                                 found[0], found[1], from_x, from_y);
                if (outside && (found[0] != x || found[1] != y))
                    ck_abort_msg("draw %u: (%d, %d) does not stay", draw, x, y);
            }
    }
}
END_TEST

/* A rate says how often: never, always, or where the draw is below it. */
START_TEST(augment_draws_whether_to_mirror_turn_and_spin)
{
    static const unsigned char values[] = {1, 2, 3, 4};
    const struct augment_pixels in = {.width = 4, .height = 1, .channels = 1, .values = values};
    for (unsigned draw = 0; draw < 50; draw++) {
        unsigned char room[8];
        struct augment_pixels out;
        struct rng rng = rng_for(4, 5, draw), again = rng;
        augment_apply(&(struct augment){.mirror = 0.3f, .turn = 0.6f}, &in, &rng, room, &out);
        bool mirrors = rng_uniform(&again) < 0.3f, turns = rng_uniform(&again) < 0.6f;
        unsigned quarters = turns ? rng_below(&again, 4) : 0;
        ck_assert_uint_eq(rng.state, again.state);
        ck_assert_uint_eq(out.width, quarters % 2 == 1 ? 1 : 4);
        bool backwards = mirrors != (quarters >= 2);
        for (unsigned i = 0; i < 4; i++)
            ck_assert_int_eq(room[i], backwards ? (int)(4 - i) : (int)(i + 1));
        rng = again = rng_for(4, 5, draw);
        augment_apply(&(struct augment){.spin = 0.3f}, &in, &rng, room, &out);
        if (rng_uniform(&again) < 0.3f)
            rng_uniform(&again);
        ck_assert_uint_eq(rng.state, again.state);
    }
}
END_TEST

/* Turned by quarters first, clockwise, then shifted: the sides that bound the shift are the turned
 * ones. */
START_TEST(augment_shifts_what_it_has_turned)
{
    enum { WIDTH = 10, HEIGHT = 6, PIXELS = WIDTH * HEIGHT };
    unsigned char values[PIXELS], room[PIXELS];
    const struct augment_pixels in = {
        .width = WIDTH, .height = HEIGHT, .channels = 1, .values = values};
    for (unsigned i = 0; i < PIXELS; i++)
        values[i] = (unsigned char)(i + 1);
    for (unsigned draw = 0; draw < 100; draw++) {
        struct rng rng = rng_for(4, 5, draw), again = rng;
        struct augment_pixels out;
        memset(room, 0xA5, sizeof room);
        augment_apply(&(struct augment){.turn = 1, .shift = 0.25f}, &in, &rng, room, &out);
        rng_uniform(&again);
        unsigned turns = rng_below(&again, 4);
        int width = turns % 2 ? HEIGHT : WIDTH, height = turns % 2 ? WIDTH : HEIGHT;
        int most_x = width == WIDTH ? 3 : 2, most_y = height == WIDTH ? 3 : 2;
        int dx = (int)rng_below(&again, 2 * (unsigned)most_x + 1) - most_x;
        int dy = (int)rng_below(&again, 2 * (unsigned)most_y + 1) - most_y;
        ck_assert(out.width == (unsigned)width && out.height == (unsigned)height);
        for (int v = 0; v < height; v++)
            for (int u = 0; u < width; u++) {
                int a = u - dx, b = v - dy, expected = 0;
                int x = turns == 0   ? a
                        : turns == 1 ? b
                        : turns == 2 ? WIDTH - 1 - a
                                     : WIDTH - 1 - b;
                int y = turns == 0   ? b
                        : turns == 1 ? HEIGHT - 1 - a
                        : turns == 2 ? HEIGHT - 1 - b
                                     : a;
                if (a >= 0 && a < width && b >= 0 && b < height)
                    expected = values[y * WIDTH + x];
                ck_assert_int_eq(room[v * width + u], expected);
            }
    }
}
END_TEST

/* Contrast is about the mean, and a pixel alone is its own mean. */
START_TEST(augment_contrast_leaves_a_lone_pixel)
{
    for (unsigned draw = 0; draw < 50; draw++) {
        unsigned char value = (unsigned char)(5 * draw), room[2];
        const struct augment_pixels in = {.width = 1, .height = 1, .channels = 1, .values = &value};
        struct augment_pixels out;
        struct rng rng = rng_for(4, 5, draw);
        augment_apply(&(struct augment){.contrast = 1}, &in, &rng, room, &out);
        ck_assert_int_eq(room[0], value);
    }
}
END_TEST

SUITE("augment_draws", augment_takes_no_coloured_image_for_a_map,
      augment_flips_and_repairs_the_dies_whose_hash_is_below_the_bound,
      augment_moves_greys_as_drawn, augment_shifts_by_what_is_drawn,
      augment_spins_about_the_middle_by_the_drawn_angle,
      augment_draws_whether_to_mirror_turn_and_spin, augment_shifts_what_it_has_turned,
      augment_contrast_leaves_a_lone_pixel)
