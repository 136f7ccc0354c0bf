/* Decoding, resizing and writing look at the interrupt in every row, and end where it says so. */
#include "engine/vision/png.h"
#include "engine/vision/resize.h"
#include "tests/support/look_counter.h"
#include "tests/unit/engine/vision/fixture.h"

#include <stdlib.h>

struct subject {
    struct arena arena;
    struct err err;
    struct look_counter counter;
    struct image image;
};

/* Decodes a file until look `last`; the looks. */
static unsigned decode(struct subject *subject, const char *path, unsigned last)
{
    *subject = (struct subject){0};
    arena_init(&subject->arena);
    size_t len;
    const unsigned char *bytes = fixture_read(path, &len, &subject->arena);
    struct image_options options = {.pixels_max = 1 << 24,
                                    .interrupt = look_counter_init(&subject->counter, last)};
    image_decode(&subject->image, bytes, len, &options, &subject->arena, &subject->err);
    return subject->counter.looks;
}

static void check_stops_at(const char *path, unsigned last)
{
    struct subject subject;
    ck_assert_uint_eq(decode(&subject, path, last), last);
    ck_assert_int_eq(subject.err.code, ERR_DEADLINE);
    ck_assert_str_eq(subject.err.text, "enough");
    ck_assert_ptr_null(subject.image.rgb);
    arena_deinit(&subject.arena);
}

/* Stops at each look of the decoder. There are at least `rows_times` as many looks as rows. */
static void check_file(const char *path, unsigned rows_times)
{
    struct subject whole;
    unsigned looks = decode(&whole, path, 0);
    ck_assert_msg(whole.err.code == ERR_OK, "%s: %s", path, whole.err.text);
    ck_assert_msg(looks >= rows_times * whole.image.height, "%s: %u looks, %u rows", path, looks,
                  whole.image.height);
    arena_deinit(&whole.arena);
    for (unsigned last = 1; last <= looks; last++)
        check_stops_at(path, last);
}

START_TEST(a_png_is_left_at_any_of_its_rows)
{
    check_file("tests/data/images/golden/3_donut.png", 1);
}
END_TEST

/* Seven passes, each over all rows. */
START_TEST(an_interlaced_png_is_left_in_any_of_its_passes)
{
    check_file("tests/data/images/pngsuite/basi2c16.png", 7);
}
END_TEST

/* Read, then searched for its largest sample, then scaled. */
START_TEST(a_png_of_16_bit_grey_is_left_while_it_is_scaled)
{
    check_file("tests/data/images/made/grey16.png", 3);
}
END_TEST

START_TEST(a_jpeg_is_left_at_any_of_its_rows)
{
    check_file("tests/data/images/made/rgb.jpg", 1);
    check_file("tests/data/images/made/orientation_6_cmyk.jpg", 1);
}
END_TEST

START_TEST(a_bmp_is_left_at_any_of_its_rows)
{
    check_file("tests/data/images/bmp/rgb24.bmp", 1);
    check_file("tests/data/images/bmp/pal8.bmp", 1);
    check_file("tests/data/images/bmp/rle8.bmp", 1);
}
END_TEST

/* Codes that step over nothing cost time and give no row. */
START_TEST(a_bmp_is_left_among_runs_that_draw_nothing)
{
    enum { HEAD = 58, STEPS = 6400, STEP_BYTES = 4, LAST = 50 };
    static const unsigned char head[HEAD] = {'B',      'M',      [10] = HEAD, [14] = 40, [18] = 1,
                                             [22] = 1, [26] = 1, [28] = 8,    [30] = 1,  [46] = 1};
    static unsigned char bytes[HEAD + STEPS * STEP_BYTES];
    struct subject subject = {0};
    struct image_options options = {.pixels_max = 1,
                                    .interrupt = look_counter_init(&subject.counter, LAST)};
    memcpy(bytes, head, HEAD);
    for (size_t i = 0; i < STEPS; i++)
        memcpy(bytes + HEAD + i * STEP_BYTES, "\0\2\0\0", STEP_BYTES);
    arena_init(&subject.arena);
    ck_assert_int_eq(
        image_decode(&subject.image, bytes, sizeof bytes, &options, &subject.arena, &subject.err),
        ERR_DEADLINE);
    ck_assert_uint_eq(subject.counter.looks, LAST);
    arena_deinit(&subject.arena);
}
END_TEST

static unsigned looks_of(const char *path)
{
    struct subject subject;
    unsigned looks = decode(&subject, path, 0);
    arena_deinit(&subject.arena);
    return looks;
}

/* All 50 scans of it are gathered before there is a row: each is at least one row of blocks. */
START_TEST(a_progressive_jpeg_is_left_in_any_of_its_scans)
{
    check_file("tests/data/images/made/rgb_progressive.jpg", 1);
    check_file("tests/data/images/made/scans_50.jpg", 1);
    ck_assert_uint_ge(looks_of("tests/data/images/made/scans_50.jpg"), 50);
}
END_TEST

/* A file may consist of nothing but markers, and none of them is skipped unseen. */
START_TEST(a_jpeg_is_left_among_markers_before_its_pixels)
{
    enum { MARKERS = 1000, MARKER_BYTES = 4 };
    static const unsigned char start[] = {0xFF, 0xD8}, comment[] = {0xFF, 0xFE, 0, 2};
    static unsigned char bytes[sizeof start + MARKERS * MARKER_BYTES];
    struct subject subject = {0};
    struct image_options options = {.pixels_max = 1,
                                    .interrupt = look_counter_init(&subject.counter, MARKERS / 2)};
    memcpy(bytes, start, sizeof start);
    for (size_t i = 0; i < MARKERS; i++)
        memcpy(bytes + sizeof start + i * MARKER_BYTES, comment, MARKER_BYTES);
    arena_init(&subject.arena);
    ck_assert_int_eq(
        image_decode(&subject.image, bytes, sizeof bytes, &options, &subject.arena, &subject.err),
        ERR_DEADLINE);
    ck_assert_uint_eq(subject.counter.looks, MARKERS / 2);
    arena_deinit(&subject.arena);
}
END_TEST

START_TEST(a_resampling_is_left_at_any_row_of_its_source)
{
    enum { SIDE = 40, SMALL = 10 };
    static unsigned char rgb[SIDE * SIDE * 3];
    const struct image source = {.width = SIDE, .height = SIDE, .rgb = rgb};
    const struct resize_window whole = {.width = SMALL, .height = SMALL};
    for (unsigned last = 1; last <= SIDE + 1; last++) {
        struct subject subject = {0};
        arena_init(&subject.arena);
        enum err_code code = resize_rgb_window(&source, SMALL, SMALL, whole, RESAMPLE_BILINEAR,
                                               look_counter_init(&subject.counter, last),
                                               &subject.arena, &subject.image, &subject.err);
        ck_assert_int_eq(code, last <= SIDE ? ERR_DEADLINE : ERR_OK);
        ck_assert_uint_eq(subject.counter.looks, last <= SIDE ? last : SIDE);
        arena_deinit(&subject.arena);
    }
}
END_TEST

START_TEST(a_png_is_left_at_any_row_while_it_is_written)
{
    enum { SIDE = 20 };
    static const unsigned char rgba[SIDE * SIDE * 4];
    for (unsigned last = 1; last <= SIDE + 1; last++) {
        struct look_counter counter;
        struct err err = {0};
        char *png = NULL;
        size_t len;
        enum err_code code =
            png_encode_rgba(&png, &len, SIDE, SIDE, rgba, look_counter_init(&counter, last), &err);
        ck_assert_int_eq(code, last <= SIDE ? ERR_DEADLINE : ERR_OK);
        ck_assert_int_eq(png == NULL, last <= SIDE);
        ck_assert_uint_eq(counter.looks, last <= SIDE ? last : SIDE);
        free(png);
    }
}
END_TEST

SUITE("image_interrupt", a_png_is_left_at_any_of_its_rows,
      an_interlaced_png_is_left_in_any_of_its_passes,
      a_png_of_16_bit_grey_is_left_while_it_is_scaled, a_jpeg_is_left_at_any_of_its_rows,
      a_bmp_is_left_at_any_of_its_rows, a_bmp_is_left_among_runs_that_draw_nothing,
      a_progressive_jpeg_is_left_in_any_of_its_scans,
      a_jpeg_is_left_among_markers_before_its_pixels, a_resampling_is_left_at_any_row_of_its_source,
      a_png_is_left_at_any_row_while_it_is_written)
