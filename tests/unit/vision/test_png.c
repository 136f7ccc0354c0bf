#include "engine/vision/png.h"
#include "tests/unit/vision/fixture.h"

#include <stdlib.h>

/* Encodes, decodes again and compares every byte. */
static size_t expect_round_trip(unsigned width, unsigned height, bool grey)
{
    static const struct image_options options = {.pixels_max = 1 << 20};
    struct image image = {.width = width, .height = height}, back = {0};
    struct arena arena;
    struct err err = {0};
    unsigned long long state = width * 1000 + height;
    char *png;
    size_t len, bytes = (size_t)width * height * 3;
    arena_init(&arena);
    image.rgb = arena_alloc(&arena, bytes);
    for (size_t i = 0; i < bytes; i++)
        image.rgb[i] = grey && i % 3 > 0 ? image.rgb[i - 1] : fixture_random(&state) % 3 * 127;
    ck_assert_msg(png_encode(&png, &len, &image, &err) == ERR_OK, "%s", err.text);
    ck_assert_msg(image_decode(&back, png, len, &options, &arena, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(back.width, width);
    ck_assert_uint_eq(back.height, height);
    ck_assert_mem_eq(back.rgb, image.rgb, bytes);
    ck_assert_uint_eq(png[25], grey ? 0 : 2); /* IHDR's colour type */
    free(png);
    arena_deinit(&arena);
    return len;
}

START_TEST(png_encode_gives_back_the_pixels)
{
    static const unsigned sizes[][2] = {{1, 1}, {1, 7}, {31, 1}, {26, 26}, {128, 96}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        expect_round_trip(sizes[i][0], sizes[i][1], false);
        expect_round_trip(sizes[i][0], sizes[i][1], true);
    }
}
END_TEST

/* The budget for data behind the last row (64 KB) is not for the rows: this file is far larger. */
START_TEST(png_of_noise_is_read_to_its_last_row)
{
    ck_assert_uint_gt(expect_round_trip(700, 701, false), 250000);
}
END_TEST

START_TEST(png_encode_keeps_a_wafer_map_small)
{
    ck_assert_uint_lt(expect_round_trip(64, 64, true), 64 * 64 / 2);
}
END_TEST

SUITE("png", png_encode_gives_back_the_pixels, png_of_noise_is_read_to_its_last_row,
      png_encode_keeps_a_wafer_map_small)
