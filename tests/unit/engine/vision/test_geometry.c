/* The place where preprocessing puts an image: crops, margins and the part that a model sees,
 * computed by hand. (test_preprocess.c compares whole results with transformers'.) */
#include "engine/vision/preprocess.h"
#include "tests/unit/engine/vision/fixture.h"

/* Image pixels are 1, 2, 3, ... row by row in all channels; `expected` is the result's first
 * channel. */
static void expect_crop(unsigned width, unsigned height, unsigned crop_width, unsigned crop_height,
                        const unsigned char *expected)
{
    const struct preprocess preprocess = {
        .do_center_crop = true, .crop_width = crop_width, .crop_height = crop_height};
    struct arena arena;
    struct err err = {0};
    struct image out;
    arena_init(&arena);
    struct image image = {width, height, arena_alloc_array(&arena, (size_t)width * height, 3)};
    for (unsigned i = 0; i < width * height * 3; i++)
        image.rgb[i] = (unsigned char)(1 + i / 3);
    ck_assert_int_eq(preprocess_geometry(&preprocess, &image, NULL, &arena, &out, &err), ERR_OK);
    ck_assert_uint_eq(out.width, crop_width);
    ck_assert_uint_eq(out.height, crop_height);
    for (unsigned i = 0; i < crop_width * crop_height * 3; i++)
        ck_assert_msg(out.rgb[i] == expected[i / 3], "pixel %u: %u", i / 3, out.rgb[i]);
    arena_deinit(&arena);
}

START_TEST(a_crop_takes_the_middle_and_more_of_what_lies_behind_it)
{
    static const unsigned char middle[] = {6, 7, 10, 11};
    static const unsigned char odd[] = {2, 3};
    expect_crop(4, 4, 2, 2, middle);
    expect_crop(5, 1, 2, 1, odd);
}
END_TEST

START_TEST(a_crop_beyond_the_image_is_black_with_more_margin_before_it)
{
    static const unsigned char both[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                         0, 0, 1, 2, 0, 0, 0, 0, 0, 0};
    static const unsigned char wide[] = {0, 2, 0, 0, 3, 0};
    static const unsigned char tall[] = {0, 0, 2, 3, 0, 0};
    expect_crop(2, 1, 5, 4, both);
    expect_crop(1, 4, 3, 2, wide);
    expect_crop(4, 1, 2, 3, tall);
}
END_TEST

static void expect_view(const struct preprocess *preprocess, unsigned width, unsigned height,
                        struct image_region expected)
{
    struct image_region view = preprocess_view(preprocess, width, height);
    ck_assert_double_eq_tol(view.left, expected.left, 1e-9);
    ck_assert_double_eq_tol(view.top, expected.top, 1e-9);
    ck_assert_double_eq_tol(view.width, expected.width, 1e-9);
    ck_assert_double_eq_tol(view.height, expected.height, 1e-9);
}

START_TEST(preprocess_view_is_in_the_images_own_pixels)
{
    struct preprocess square = {.do_resize = true, .resize_width = 256, .resize_height = 128};
    struct preprocess deit = square, bit, as_is = {0}, pad = {.do_center_crop = true};
    deit.do_center_crop = true;
    deit.crop_width = 224;
    deit.crop_height = 64;
    bit = (struct preprocess){.do_resize = true, .shortest_edge = 224};
    pad.crop_width = 9;
    pad.crop_height = 2;
    expect_view(&square, 512, 384, (struct image_region){0, 0, 512, 384});
    expect_view(&deit, 512, 384, (struct image_region){32, 96, 448, 192});
    expect_view(&bit, 448, 896, (struct image_region){0, 0, 448, 896});
    bit.do_center_crop = true;
    bit.crop_width = bit.crop_height = 224;
    expect_view(&bit, 448, 896, (struct image_region){0, 224, 448, 448});
    expect_view(&bit, 896, 448, (struct image_region){224, 0, 448, 448});
    expect_view(&as_is, 7, 5, (struct image_region){0, 0, 7, 5});
    expect_view(&pad, 4, 6, (struct image_region){-3, 2, 9, 2});
}
END_TEST

START_TEST(a_shortest_edge_may_stretch_an_image_to_the_limit)
{
    const struct preprocess preprocess = {
        .do_resize = true, .shortest_edge = 2, .resample = RESAMPLE_NEAREST};
    static unsigned char rgb[50001 * 3];
    struct arena arena;
    struct err err = {0};
    struct image out, image = {50000, 1, rgb};
    arena_init(&arena);
    ck_assert_int_eq(preprocess_geometry(&preprocess, &image, NULL, &arena, &out, &err), ERR_OK);
    ck_assert(out.width == 100000 && out.height == 2);
    image.width = 50001;
    ck_assert_int_eq(preprocess_geometry(&preprocess, &image, NULL, &arena, &out, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the image is 50001 x 1: too thin for a shortest edge of 2 pixels "
                               "(the limit is 100000 a side)");
    err = (struct err){0};
    image = (struct image){1, 50001, rgb};
    ck_assert_int_eq(preprocess_geometry(&preprocess, &image, NULL, &arena, &out, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the image is 1 x 50001: too thin for a shortest edge of 2 pixels "
                               "(the limit is 100000 a side)");
    arena_deinit(&arena);
}
END_TEST

/* 5 x 3 pixels in patches of 2: one row of two, without what is left over. */
START_TEST(preprocess_patches_leaves_out_what_fills_no_patch)
{
    const struct preprocess preprocess = {0};
    unsigned char rgb[5 * 3 * 3];
    float out[2 * 12 + 1];
    for (unsigned i = 0; i < sizeof rgb; i++)
        rgb[i] = (unsigned char)i;
    out[24] = -1;
    preprocess_patches(&preprocess, &(struct image){5, 3, rgb}, extent_square(2), out);
    ck_assert(out[0] == 0 && out[1] == 3 && out[2] == 15 && out[4] == 1 && out[11] == 20);
    ck_assert(out[12] == 6 && out[23] == 26 && out[24] == -1);
}
END_TEST

/* (value x 1/2 - mean) / std, and either of the two steps alone. */
START_TEST(preprocess_patches_rescales_and_normalises_each_channel)
{
    struct preprocess preprocess = {.rescale_factor = 0.5, .mean = {1, 2, 3}, .std = {1, 2, 4}};
    unsigned char rgb[3] = {10, 20, 255};
    const struct image image = {1, 1, rgb};
    float out[3];
    preprocess.do_rescale = true;
    preprocess_patches(&preprocess, &image, extent_square(1), out);
    ck_assert(out[0] == 5 && out[1] == 10 && out[2] == 127.5f);
    preprocess.do_normalize = true;
    preprocess_patches(&preprocess, &image, extent_square(1), out);
    ck_assert(out[0] == 4 && out[1] == 4 && out[2] == 31.125f);
    preprocess.do_rescale = false;
    preprocess_patches(&preprocess, &image, extent_square(1), out);
    ck_assert(out[0] == 9 && out[1] == 9 && out[2] == 63);
}
END_TEST

SUITE("geometry", a_crop_takes_the_middle_and_more_of_what_lies_behind_it,
      a_crop_beyond_the_image_is_black_with_more_margin_before_it,
      preprocess_view_is_in_the_images_own_pixels,
      a_shortest_edge_may_stretch_an_image_to_the_limit,
      preprocess_patches_leaves_out_what_fills_no_patch,
      preprocess_patches_rescales_and_normalises_each_channel)
