/* Masks, their patches and the two figures, on grids made by hand. */
#include "engine/vision/png.h"
#include "learn/eval/explain/explanations.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, PATCHES = 16 };

/* Patches of 2 x 2 pixels; and of a quarter of a pixel's area, where the map is small. */
static const struct patches_view view = {
    .width = SIDE, .height = SIDE, .all = {0, 0, SIDE, SIDE}, .rows = 4, .columns = 4};
static const struct patches_view small_view = {
    .width = 2, .height = 2, .all = {0, 0, 2, 2}, .rows = 4, .columns = 4};

START_TEST(patches_that_a_marked_pixel_lies_in_are_marked)
{
    bool pixels[SIDE * SIDE] = {false}, marked[PATCHES];
    const struct localisation_mask mask = {SIDE, SIDE, pixels};
    pixels[0] = pixels[3 * SIDE + 5] = pixels[3 * SIDE + 6] = true;
    ck_assert_uint_eq(localisation_patches(&mask, &view, marked), 3);
    ck_assert(marked[0] && marked[1 * 4 + 2] && marked[1 * 4 + 3]);
}
END_TEST

START_TEST(all_patches_of_a_wide_pixel_are_marked)
{
    static const bool pixels[4] = {[1] = true};
    const struct localisation_mask mask = {2, 2, pixels};
    bool marked[PATCHES];
    ck_assert_uint_eq(localisation_patches(&mask, &small_view, marked), 4);
    ck_assert(marked[2] && marked[3] && marked[6] && marked[7]);
}
END_TEST

/* The model sees the middle 4 x 4 pixels only: a mark outside of it is no patch's. */
START_TEST(localisation_ignores_marks_outside_the_part_that_the_model_saw)
{
    struct patches_view cropped = view;
    bool pixels[SIDE * SIDE] = {false}, marked[PATCHES];
    const struct localisation_mask mask = {SIDE, SIDE, pixels};
    cropped.all = (struct image_region){2, 2, 4, 4};
    pixels[0] = pixels[SIDE * SIDE - 1] = true;
    ck_assert_uint_eq(localisation_patches(&mask, &cropped, marked), 0);
    pixels[2 * SIDE + 2] = true;
    ck_assert_uint_eq(localisation_patches(&mask, &cropped, marked), 1);
    ck_assert(marked[0]);
}
END_TEST

START_TEST(iou_counts_as_many_patches_as_the_mask_has)
{
    static const bool marked[PATCHES] = {[2] = true, [3] = true, [9] = true};
    static const unsigned all[] = {9, 2, 3, 0}, one[] = {2, 5, 7, 3}, none[] = {0, 1, 4, 2};
    struct localisation found = localisation_measure(all, marked, 3);
    ck_assert(found.pointed && found.iou == 1);
    found = localisation_measure(one, marked, 3);
    ck_assert(found.pointed && fabs(found.iou - 1.0 / 5) < 1e-12);
    found = localisation_measure(none, marked, 3);
    ck_assert(!found.pointed && found.iou == 0);
}
END_TEST

/* Writes a grey mask of which the first `bright` pixels are white, and reads it for an image. */
static void read(unsigned width, unsigned height, unsigned bright, unsigned image_width,
                 const char *complaint)
{
    struct tempdir dir;
    struct arena arena;
    struct localisation_mask mask;
    struct err err = {0};
    struct image image = {width, height, calloc((size_t)width * height, 3)};
    char path[128], *png;
    size_t len;
    memset(image.rgb, 255, 3 * (size_t)bright);
    arena_init(&arena);
    tempdir_open(&dir);
    ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
    tempdir_write(&dir, "mask.png", png, len);
    snprintf(path, sizeof path, "%s/mask.png", dir.path);
    localisation_read_mask(path, image_width, height, &arena, &mask, &err);
    ck_assert_msg(strstr(err.text, complaint) != NULL, "'%s' instead of '%s'", err.text, complaint);
    ck_assert_int_eq(err.code, complaint[0] == '\0' ? ERR_OK : ERR_UNUSABLE);
    for (unsigned i = 0; err.code == ERR_OK && i < width * height; i++)
        ck_assert_int_eq(mask.marked[i], i < bright);
    free(png);
    free(image.rgb);
    tempdir_close(&dir);
    arena_deinit(&arena);
}

START_TEST(masks_are_read_pixel_by_pixel)
{
    read(5, 3, 7, 5, "");
}
END_TEST

START_TEST(masks_of_another_size_or_without_a_mark_are_refused)
{
    read(5, 3, 7, 6, "mask.png: the mask has 5 x 3 pixels, its image 6 x 3");
    read(5, 3, 0, 5, "mask.png: the mask marks nothing");
}
END_TEST

START_TEST(missing_masks_are_named)
{
    struct arena arena;
    struct localisation_mask mask;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(localisation_read_mask("no/mask.png", 5, 3, &arena, &mask, &err), ERR_IO);
    ck_assert_str_eq(err.text, "no/mask.png: cannot be opened: No such file or directory");
    arena_deinit(&arena);
}
END_TEST

/* Two rows of three patches over the pixels 4 to 10 of 12 across and 1 to 5 of 6 down: each covers
 * two of both. Whatever single pixel is marked, exactly its patch is. */
START_TEST(every_pixel_marks_the_patch_that_it_lies_in)
{
    const struct patches_view wide = {
        .width = 12, .height = 6, .all = {4, 1, 6, 4}, .rows = 2, .columns = 3};
    for (unsigned at = 0; at < 12 * 6; at++) {
        bool pixels[12 * 6] = {false}, marked[7] = {[6] = true};
        const struct localisation_mask mask = {12, 6, pixels};
        unsigned x = at % 12, y = at / 12;
        bool seen = x >= 4 && x < 10 && y >= 1 && y < 5;
        pixels[at] = true;
        ck_assert_uint_eq(localisation_patches(&mask, &wide, marked), seen);
        for (unsigned p = 0; p < 6; p++)
            ck_assert_int_eq(marked[p], seen && p == (y - 1) / 2 * 3 + (x - 4) / 2);
        ck_assert(marked[6]);
    }
}
END_TEST

/* Patches a third of a pixel wide, the last of which lie beside the picture: the one pixel marks
 * those whose centre it has, 3 x 3 of 5 x 4. */
START_TEST(patches_beside_the_picture_are_not_marked)
{
    const struct patches_view view_beside = {
        .width = 1, .height = 1, .all = {-1.0 / 3, 0, 5.0 / 3, 4.0 / 3}, .rows = 4, .columns = 5};
    static const bool pixel = true;
    const struct localisation_mask mask = {1, 1, &pixel};
    bool marked[20];
    ck_assert_uint_eq(localisation_patches(&mask, &view_beside, marked), 9);
    for (unsigned p = 0; p < 20; p++)
        ck_assert_int_eq(marked[p], p / 5 < 3 && p % 5 >= 1 && p % 5 < 4);
}
END_TEST

/* A mask of two pixels: one of this colour, and a white one. */
static bool is_mark(unsigned red, unsigned green, unsigned blue)
{
    unsigned char rgb[] = {
        (unsigned char)red, (unsigned char)green, (unsigned char)blue, 255, 255, 255};
    struct image image = {2, 1, rgb};
    struct localisation_mask mask;
    struct tempdir dir;
    struct arena arena;
    struct err err = {0};
    char path[128], *png;
    size_t len;
    arena_init(&arena);
    tempdir_open(&dir);
    ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
    tempdir_write(&dir, "mask.png", png, len);
    snprintf(path, sizeof path, "%s/mask.png", dir.path);
    ck_assert(!localisation_read_mask(path, 2, 1, &arena, &mask, &err));
    bool marked = mask.marked[0];
    ck_assert(mask.width == 2 && mask.height == 1 && mask.marked[1]);
    free(png);
    tempdir_close(&dir);
    arena_deinit(&arena);
    return marked;
}

START_TEST(localisation_mark_is_a_pixel_brighter_than_middle_grey)
{
    ck_assert(is_mark(128, 128, 128) && !is_mark(127, 127, 127));
    ck_assert(is_mark(255, 128, 1) && !is_mark(255, 127, 1));
    ck_assert(is_mark(1, 255, 128) && is_mark(128, 1, 255) && !is_mark(128, 0, 255));
}
END_TEST

START_TEST(masks_that_are_no_image_or_too_low_are_refused)
{
    struct arena arena;
    struct localisation_mask mask;
    struct tempdir dir;
    struct err err = {0};
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "mask.png", "no image", 8);
    snprintf(path, sizeof path, "%s/mask.png", dir.path);
    arena_init(&arena);
    ck_assert_int_eq(localisation_read_mask(path, 5, 3, &arena, &mask, &err), ERR_UNUSABLE);
    ck_assert(strncmp(err.text, path, strlen(path)) == 0 &&
              strncmp(err.text + strlen(path), ": ", 2) == 0);
    err = (struct err){0};
    ck_assert_int_eq(
        localisation_read_mask("tests/data/eval/wafer/none/none_0.png", 1, 1, &arena, &mask, &err),
        ERR_UNUSABLE);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

/* A picture of one column, of which two columns of patches are asked: the second lies beside it. */
START_TEST(pixels_of_the_next_row_are_not_beside_the_picture)
{
    const struct patches_view tall = {
        .width = 1, .height = 2, .all = {0, 0, 2, 3}, .rows = 3, .columns = 2};
    static const bool pixels[5] = {false, true, true, true, true}; /* two are the picture's */
    const struct localisation_mask mask = {1, 2, pixels};
    bool marked[6];
    ck_assert_uint_eq(localisation_patches(&mask, &tall, marked), 1);
    ck_assert(marked[2]);
}
END_TEST

SUITE("localisation", patches_that_a_marked_pixel_lies_in_are_marked,
      all_patches_of_a_wide_pixel_are_marked,
      localisation_ignores_marks_outside_the_part_that_the_model_saw,
      iou_counts_as_many_patches_as_the_mask_has, masks_are_read_pixel_by_pixel,
      masks_of_another_size_or_without_a_mark_are_refused, missing_masks_are_named,
      every_pixel_marks_the_patch_that_it_lies_in, patches_beside_the_picture_are_not_marked,
      localisation_mark_is_a_pixel_brighter_than_middle_grey,
      masks_that_are_no_image_or_too_low_are_refused,
      pixels_of_the_next_row_are_not_beside_the_picture)
