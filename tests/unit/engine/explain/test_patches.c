/* Patches to boxes and heat maps, on grids made by hand. */
#include "engine/explain/patches.h"
#include "engine/vision/image.h"
#include "tests/support/suite.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, PATCHES = SIDE * SIDE };

static const struct family family = {.name = "test", .image_specials = 1};
static const struct spec spec = {
    .family = &family, .image_size = {48, 48}, .patch = {12, 12}, .patches = PATCHES};
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

/* 48 x 100 pixels in patches of 16 x 8: 3 x 12 of them, and 4 columns of pixels beside. */
START_TEST(boxes_of_a_grid_that_is_no_square_are_its_patches)
{
    static const struct spec wide = {
        .family = &family, .image_size = {48, 100}, .patch = {16, 8}, .patches = 36};
    static const struct preprocess to_wide = {
        .do_resize = true, .resize_height = 48, .resize_width = 100};
    float relevance[36] = {0};
    struct patch_box box;
    relevance[2 * 12 + 5] = 1;
    struct patches_view view = patches_view(&wide, &to_wide, 200, 96);
    ck_assert(view.rows == 3 && view.columns == 12);
    ck_assert_uint_eq(patches_top(&view, relevance, 1, &box), 1);
    ck_assert(box.left == 80 && box.right == 96 && box.top == 64 && box.bottom == 96);
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

/* Each patch is half a pixel: patches that round to nothing are left out. The earlier numbers in
 * the room for boxes say nothing. */
START_TEST(boxes_without_a_pixel_are_left_out)
{
    float relevance[PATCHES];
    struct patch_box boxes[PATCHES + 1];
    make_hot(relevance, 10); /* row 2, column 2 */
    for (unsigned i = 0; i <= PATCHES; i++)
        boxes[i] = (struct patch_box){.relevance = 1e9f};
    struct patches_view view = patches_view(&spec, &stretched, 2, 2);
    ck_assert_uint_eq(patches_top(&view, relevance, PATCHES + 1, boxes), 4);
    ck_assert_float_eq(boxes[0].relevance, 0.7f);
    ck_assert_uint_eq(boxes[0].left, 1);
    ck_assert_uint_eq(boxes[0].top, 1);
    ck_assert_uint_eq(boxes[0].right, 2);
    ck_assert_uint_eq(boxes[0].bottom, 2);
    ck_assert_float_eq(boxes[3].relevance, 0.02f);
    ck_assert_float_eq(boxes[4].relevance, 1e9f);
    view = patches_view(&spec, &stretched, 48, 48);
    ck_assert_uint_eq(patches_top(&view, relevance, PATCHES + 1, boxes), PATCHES);
}
END_TEST

/* OKLab's matrices and the ramp of patches.h, computed apart from this program in Python, for t =
 * 0, 1/15 ... 1. */
static const unsigned char ramp[16][4] = {
    {23, 11, 55, 38},    {43, 15, 73, 88},    {66, 19, 87, 108},   {91, 22, 96, 124},
    {118, 26, 101, 137}, {144, 31, 100, 149}, {170, 40, 95, 159},  {194, 53, 86, 169},
    {215, 70, 73, 178},  {233, 91, 56, 186},  {246, 114, 33, 194}, {255, 140, 1, 202},
    {255, 167, 3, 209},  {255, 193, 46, 216}, {255, 219, 86, 223}, {252, 244, 126, 230},
};

/* The overlay as it is written, alpha too; yours to free. */
static unsigned char *overlay_rgba(const struct patches_view *view, const float *relevance)
{
    char *bytes;
    size_t len;
    struct err err = {0};
    png_image png = {.version = PNG_IMAGE_VERSION};
    ck_assert(!patches_overlay(view, relevance, NULL, &bytes, &len, &err));
    ck_assert(png_image_begin_read_from_memory(&png, bytes, len));
    ck_assert_uint_eq(png.width, view->width);
    ck_assert_uint_eq(png.height, view->height);
    png.format = PNG_FORMAT_RGBA;
    unsigned char *rgba = malloc(PNG_IMAGE_SIZE(png));
    ck_assert_ptr_nonnull(rgba);
    ck_assert(png_image_finish_read(&png, NULL, rgba, 0, NULL));
    free(bytes);
    return rgba;
}

static void expect_colour(const unsigned char *found, const unsigned char *expected, size_t at)
{
    for (int c = 0; c < 4; c++)
        ck_assert_msg(abs(found[c] - expected[c]) <= 1, "pixel %zu: channel %d is %d, not %d", at,
                      c, found[c], expected[c]);
}

START_TEST(the_heat_map_gives_each_patch_the_colour_of_its_place_on_the_ramp)
{
    float relevance[PATCHES];
    for (unsigned p = 0; p < PATCHES; p++)
        relevance[p] = (float)p / 100;
    struct patches_view view = patches_view(&spec, &stretched, SIDE, SIDE);
    unsigned char *rgba = overlay_rgba(&view, relevance);
    for (size_t p = 0; p < PATCHES; p++)
        expect_colour(rgba + 4 * p, ramp[p], p);
    free(rgba);
}
END_TEST

/* Five pixels a patch: the third lies on its centre, the next four are fifths of the way to its
 * neighbour's; beyond the outer centres nothing changes. */
START_TEST(the_heat_map_interpolates_between_the_centres_of_patches)
{
    enum { STEPS = 5, WIDTH = SIDE * STEPS };
    float relevance[PATCHES] = {0};
    for (unsigned p = 0; p < PATCHES; p++)
        relevance[p] = p % SIDE == 1 || p % SIDE == 2 ? 1 : 0;
    struct patches_view view = patches_view(&spec, &stretched, WIDTH, SIDE);
    unsigned char *rgba = overlay_rgba(&view, relevance);
    static const unsigned char fifteenths[WIDTH] = {0,  0,  0,  3,  6, 9, 12, 15, 15, 15,
                                                    15, 15, 15, 12, 9, 6, 3,  0,  0,  0};
    for (size_t y = 0; y < SIDE; y++)
        for (size_t x = 0; x < WIDTH; x++)
            expect_colour(rgba + 4 * (y * WIDTH + x), ramp[fifteenths[x]], x);
    free(rgba);
    for (unsigned p = 0; p < PATCHES; p++) /* the same, turned */
        relevance[p] = p / SIDE == 1 || p / SIDE == 2 ? 1 : 0;
    view = patches_view(&spec, &stretched, SIDE, WIDTH);
    rgba = overlay_rgba(&view, relevance);
    for (size_t y = 0; y < WIDTH; y++)
        for (size_t x = 0; x < SIDE; x++)
            expect_colour(rgba + 4 * (y * SIDE + x), ramp[fifteenths[y]], y);
    free(rgba);
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

START_TEST(overlay_is_transparent_outside_the_part_that_the_model_saw)
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

SUITE("patches", boxes_without_a_pixel_are_left_out,
      the_heat_map_gives_each_patch_the_colour_of_its_place_on_the_ramp,
      the_heat_map_interpolates_between_the_centres_of_patches,
      patches_leave_out_the_tokens_in_front_and_sum_to_one,
      boxes_of_a_grid_that_is_no_square_are_its_patches, boxes_are_pixels_of_the_posted_image,
      boxes_of_a_cropped_image_lie_within_the_crop,
      boxes_fall_in_relevance_and_are_no_more_than_asked_for,
      the_heat_map_has_the_image_s_size_and_is_lightest_where_the_patch_is,
      overlay_is_transparent_outside_the_part_that_the_model_saw,
      an_image_too_large_for_a_heat_map_is_refused_with_the_limit)
