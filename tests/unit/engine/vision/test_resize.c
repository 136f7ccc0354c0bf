#include "engine/vision/resize.h"

#include "tests/unit/engine/vision/fixture.h"

#include <stdint.h>
#include <stdlib.h>

static struct image make_image(unsigned width, unsigned height, unsigned long long seed, bool harsh,
                               struct arena *arena)
{
    struct image image = {width, height, arena_alloc_array(arena, (size_t)width * height, 3)};
    for (size_t i = 0; i < (size_t)width * height * 3; i++) {
        unsigned value = fixture_random(&seed) & 255;
        image.rgb[i] = (unsigned char)(harsh ? (value > 127 ? 255 : 0) : value);
    }
    return image;
}

static void check_case(const char *line, unsigned index)
{
    unsigned from_width, from_height, width, height, filter;
    char expected[17], found[65];
    ck_assert_int_eq(sscanf(line, "%u %u %u %u %u %16s", &from_width, &from_height, &width, &height,
                            &filter, expected),
                     6);
    struct arena arena;
    struct err err = {0};
    struct image out;
    arena_init(&arena);
    struct image image = make_image(from_width, from_height, index, index % 3 == 0, &arena);
    ck_assert_int_eq(resize_rgb(&image, width, height, (enum resample)filter, &arena, &out, &err),
                     ERR_OK);
    ck_assert(out.width == width && out.height == height);
    fixture_pixels_sha256(&out, found);
    ck_assert_msg(strncmp(found, expected, 16) == 0, "case %u: %s", index, line);
    arena_deinit(&arena);
}

START_TEST(resize_gives_pillows_bytes)
{
    FILE *table = fopen("tests/data/resize/cases.txt", "r");
    ck_assert_ptr_nonnull(table);
    char line[128];
    unsigned count = 0;
    while (fgets(line, sizeof line, table) != NULL)
        if (line[0] != '#')
            check_case(line, count++);
    fclose(table);
    ck_assert_uint_ge(count, 60);
}
END_TEST

START_TEST(resize_of_a_window_is_the_window_of_the_resize)
{
    static const struct resize_window windows[] = {
        {0, 0, 1, 1}, {39, 29, 1, 1}, {3, 5, 20, 11}, {0, 29, 40, 1}, {39, 0, 1, 30}};
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    struct image image = make_image(71, 13, 5, false, &arena);
    for (int filter = RESAMPLE_NEAREST; filter <= RESAMPLE_HAMMING; filter++) {
        struct image whole, part;
        resize_rgb(&image, 40, 30, (enum resample)filter, &arena, &whole, &err);
        for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
            struct resize_window w = windows[i];
            ck_assert_int_eq(resize_rgb_window(&image, 40, 30, w, (enum resample)filter, NULL,
                                               &arena, &part, &err),
                             ERR_OK);
            for (unsigned y = 0; y < w.height; y++)
                ck_assert_mem_eq(part.rgb + (size_t)y * w.width * 3,
                                 whole.rgb + ((size_t)(w.top + y) * 40 + w.left) * 3,
                                 (size_t)w.width * 3);
        }
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(resize_to_the_same_size_copies)
{
    struct arena arena;
    struct err err = {0};
    struct image out;
    arena_init(&arena);
    struct image image = make_image(31, 9, 5, false, &arena);
    ck_assert_int_eq(resize_rgb(&image, 31, 9, RESAMPLE_LANCZOS, &arena, &out, &err), ERR_OK);
    ck_assert_mem_eq(out.rgb, image.rgb, 31 * 9 * 3);
    ck_assert_ptr_ne(out.rgb, image.rgb);
    arena_deinit(&arena);
}
END_TEST

/* The widest window of the longest side: sums must not overflow, and white must stay white. */
START_TEST(resize_keeps_a_flat_image_flat_at_any_scale)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    struct image image = {IMAGE_SIDE_MAX, 2, arena_alloc(&arena, (size_t)IMAGE_SIDE_MAX * 2 * 3)};
    memset(image.rgb, 255, (size_t)IMAGE_SIDE_MAX * 2 * 3);
    for (int filter = RESAMPLE_NEAREST; filter <= RESAMPLE_HAMMING; filter++) {
        struct image out;
        ck_assert_int_eq(resize_rgb(&image, 224, 3, (enum resample)filter, &arena, &out, &err),
                         ERR_OK);
        for (size_t i = 0; i < 224 * 3 * 3; i++)
            ck_assert_msg(out.rgb[i] == 255, "filter %d", filter);
    }
    arena_deinit(&arena);
}
END_TEST

/* A tall, thin source makes PIL hold height x target width between its passes: 67 MB here. */
START_TEST(resize_of_a_tall_image_takes_little_memory)
{
    struct arena arena;
    struct err err = {0};
    struct image out;
    arena_init(&arena);
    struct image image = {1, IMAGE_SIDE_MAX, arena_alloc_array(&arena, IMAGE_SIDE_MAX, 3)};
    size_t before = arena.bytes;
    ck_assert_int_eq(resize_rgb(&image, 224, 224, RESAMPLE_BILINEAR, &arena, &out, &err), ERR_OK);
    ck_assert_uint_le(arena.bytes - before, 224 * 224 * 3 + 64);
    arena_deinit(&arena);
}
END_TEST

SUITE("resize", resize_gives_pillows_bytes, resize_of_a_window_is_the_window_of_the_resize,
      resize_to_the_same_size_copies, resize_keeps_a_flat_image_flat_at_any_scale,
      resize_of_a_tall_image_takes_little_memory)
