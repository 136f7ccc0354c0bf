/* Patches to boxes and heat maps, on grids made by hand. */
#include "engine/explain/patches.h"
#include "engine/vision/image.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, PATCHES = SIDE * SIDE };

static const struct family family = {.name = "test", .image_specials = 1};
static const struct spec spec = {
    .family = &family, .image_size = 48, .patch = 12, .patches = PATCHES};
/* Stretched, or its shortest edge 64 and the middle 48 of it, as DeiT's processor does. */
static const struct preprocess stretched = {
    .do_resize = true, .resize_height = 48, .resize_width = 48};
static const struct preprocess cropped = {.do_resize = true,
                                          .shortest_edge = 64,
                                          .do_center_crop = true,
                                          .crop_height = 48,
                                          .crop_width = 48};

/* All of the relevance on one patch. */
static void make_hot(float relevance[PATCHES], unsigned patch)
{
    for (unsigned p = 0; p < PATCHES; p++)
        relevance[p] = p == patch ? 0.7f : 0.02f;
}

START_TEST(patches_leave_out_the_tokens_in_front_and_sum_to_one)
{
    float tokens[1 + PATCHES] = {5}, out[PATCHES];
    for (unsigned p = 0; p < PATCHES; p++)
        tokens[1 + p] = p == 3 ? 0.4f : 0;
    patches_fold(&spec, tokens, out);
    ck_assert_float_eq_tol(out[3], 1, 1e-6f);
    tokens[4] = 0;
    patches_fold(&spec, tokens, out);
    ck_assert_float_eq_tol(out[3], 1.0f / PATCHES, 1e-6f);
}
END_TEST

START_TEST(boxes_are_pixels_of_the_posted_image)
{
    float relevance[PATCHES];
    struct patch_box boxes[3];
    make_hot(relevance, 6); /* row 1, column 2 */
    struct patches_view view = patches_view(&spec, &stretched, 200, 100);
    ck_assert_uint_eq(patches_top(&view, relevance, 3, boxes), 3);
    ck_assert_uint_eq(boxes[0].left, 100);
    ck_assert_uint_eq(boxes[0].right, 150);
    ck_assert_uint_eq(boxes[0].top, 25);
    ck_assert_uint_eq(boxes[0].bottom, 50);
    ck_assert_float_eq_tol(boxes[0].relevance, 0.7f, 1e-6f);
    ck_assert_float_eq_tol(boxes[2].relevance, 0.02f, 1e-6f);
}
END_TEST

START_TEST(boxes_of_a_cropped_image_lie_within_the_crop)
{
    float relevance[PATCHES];
    struct patch_box boxes[1];
    make_hot(relevance, 0);
    /* 256 x 128 becomes 128 x 64, of which columns 40 .. 88 and rows 8 .. 56 are seen. */
    struct patches_view view = patches_view(&spec, &cropped, 256, 128);
    patches_top(&view, relevance, 1, boxes);
    ck_assert_uint_eq(boxes[0].left, 80);
    ck_assert_uint_eq(boxes[0].right, 104);
    ck_assert_uint_eq(boxes[0].top, 16);
    ck_assert_uint_eq(boxes[0].bottom, 40);
}
END_TEST

START_TEST(boxes_fall_in_relevance_and_are_no_more_than_asked_for)
{
    float relevance[PATCHES];
    struct patch_box boxes[5];
    for (unsigned p = 0; p < PATCHES; p++)
        relevance[p] = (float)((p * 7) % PATCHES);
    struct patches_view view = patches_view(&spec, &stretched, 48, 48);
    ck_assert_uint_eq(patches_top(&view, relevance, 5, boxes), 5);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_float_eq_tol(boxes[i].relevance, (float)(PATCHES - 1 - i), 1e-6f);
}
END_TEST

/* The overlay's colours as RGB: a reader drops alpha. */
static void read_overlay(const struct patches_view *view, const float *relevance,
                         struct arena *arena, struct image *out)
{
    char *png;
    size_t len;
    struct err err = {0};
    struct image_options options = {.pixels_max = 1 << 20};
    ck_assert(!patches_overlay(view, relevance, NULL, &png, &len, &err));
    ck_assert_msg(!image_decode(out, png, len, &options, arena, &err), "%s", err.text);
    free(png);
}

static unsigned brightness(const struct image *image, unsigned x, unsigned y)
{
    const unsigned char *rgb = image->rgb + ((size_t)y * image->width + x) * 3;
    return rgb[0] + rgb[1] + rgb[2];
}

START_TEST(the_heat_map_has_the_image_s_size_and_is_lightest_where_the_patch_is)
{
    float relevance[PATCHES];
    struct arena arena;
    struct image image;
    arena_init(&arena);
    make_hot(relevance, 6);
    struct patches_view view = patches_view(&spec, &stretched, 200, 100);
    read_overlay(&view, relevance, &arena, &image);
    ck_assert_uint_eq(image.width, 200);
    ck_assert_uint_eq(image.height, 100);
    unsigned best_x = 0, best_y = 0;
    for (unsigned y = 0; y < 100; y++)
        for (unsigned x = 0; x < 200; x++)
            if (brightness(&image, x, y) > brightness(&image, best_x, best_y))
                best_x = x, best_y = y;
    ck_assert_int_le(abs((int)best_x - 124), 2);
    ck_assert_int_le(abs((int)best_y - 37), 2);
    arena_deinit(&arena);
}
END_TEST

START_TEST(what_the_model_did_not_see_is_transparent)
{
    float relevance[PATCHES];
    struct arena arena;
    struct image image;
    arena_init(&arena);
    make_hot(relevance, 0);
    struct patches_view view = patches_view(&spec, &cropped, 256, 128);
    read_overlay(&view, relevance, &arena, &image);
    ck_assert_uint_eq(brightness(&image, 10, 64), 0);
    ck_assert_uint_eq(brightness(&image, 250, 64), 0);
    ck_assert_uint_eq(brightness(&image, 128, 4), 0);
    ck_assert_uint_gt(brightness(&image, 128, 64), 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(an_image_too_large_for_a_heat_map_is_refused_with_the_limit)
{
    float relevance[PATCHES];
    char *png;
    size_t len;
    struct err err = {0};
    make_hot(relevance, 0);
    struct patches_view view = patches_view(&spec, &stretched, 4096, 1025);
    ck_assert_int_eq(patches_overlay(&view, relevance, NULL, &png, &len, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text,
                     "overlay: the image has 4198400 pixels; the limit of a heat map is 4194304");
}
END_TEST

SUITE("patches", patches_leave_out_the_tokens_in_front_and_sum_to_one,
      boxes_are_pixels_of_the_posted_image, boxes_of_a_cropped_image_lie_within_the_crop,
      boxes_fall_in_relevance_and_are_no_more_than_asked_for,
      the_heat_map_has_the_image_s_size_and_is_lightest_where_the_patch_is,
      what_the_model_did_not_see_is_transparent,
      an_image_too_large_for_a_heat_map_is_refused_with_the_limit)
