/* Shrinking that keeps thin lines, against the sums written out, and what it is for. */
#include "engine/vision/resize.h"
#include "tests/support/look_counter.h"
#include "tests/unit/engine/vision/fixture.h"

#include <math.h>
#include <stdlib.h>

static struct image make_image(unsigned width, unsigned height, unsigned long long seed,
                               struct arena *arena)
{
    struct image image = {width, height, arena_alloc_array(arena, (size_t)width * height, 3)};
    for (size_t i = 0; i < (size_t)width * height * 3; i++)
        image.rgb[i] = (unsigned char)fixture_random(&seed);
    return image;
}

/* Wholly dark but for what a test draws. */
static struct image make_dark(unsigned side, struct arena *arena)
{
    struct image image = {side, side, arena_alloc_array(arena, (size_t)side * side, 3)};
    memset(image.rgb, 0, (size_t)side * side * 3);
    return image;
}

static void set(struct image *image, unsigned x, unsigned y)
{
    memset(image->rgb + 3 * ((size_t)y * image->width + x), 255, 3);
}

static struct image shrink(const struct image *image, unsigned width, unsigned height,
                           struct arena *arena)
{
    const struct resize_window whole = {.width = width, .height = height};
    struct image out;
    struct err err = {0};
    ck_assert(!resize_lines(image, width, height, whole, NULL, arena, &out, &err));
    return out;
}

/* ---- the oracle ---- */

/* A place from 0 to 1 along output `at` of one direction. */
static unsigned source_of(unsigned at, double place, unsigned source, unsigned target)
{
    return (unsigned)floor((at + place) * source / target + 1e-9);
}

struct line {
    double x0, y0, dx, dy; /* from 0 to 1 in the cell */
    unsigned samples;
};

static double mean_along(const struct image *image, unsigned width, unsigned height, unsigned x,
                         unsigned y, unsigned channel, const struct line *line)
{
    double sum = 0;
    for (unsigned k = 0; k < line->samples; k++) {
        const double t = (k + 0.5) / line->samples;
        const unsigned column = source_of(x, line->x0 + t * line->dx, image->width, width);
        const unsigned row = source_of(y, line->y0 + t * line->dy, image->height, height);
        sum += image->rgb[3 * ((size_t)row * image->width + column) + channel];
    }
    return sum / line->samples;
}

static unsigned brightest(const struct image *image, unsigned width, unsigned height, unsigned x,
                          unsigned y, unsigned channel)
{
    const unsigned across = (unsigned)ceil((double)image->width / width);
    const unsigned down = (unsigned)ceil((double)image->height / height);
    const unsigned longer = across > down ? across : down;
    const struct line diagonals[] = {{0, 0, 1, 1, longer}, {1, 0, -1, 1, longer}};
    double best = 0;
    for (unsigned i = 0; i < 2; i++)
        best = fmax(best, mean_along(image, width, height, x, y, channel, &diagonals[i]));
    for (unsigned i = 0; i < down; i++) {
        const struct line row = {0, (i + 0.5) / down, 1, 0, across};
        best = fmax(best, mean_along(image, width, height, x, y, channel, &row));
    }
    for (unsigned i = 0; i < across; i++) {
        const struct line column = {(i + 0.5) / across, 0, 0, 1, down};
        best = fmax(best, mean_along(image, width, height, x, y, channel, &column));
    }
    return (unsigned)floor(best + 0.5 + 1e-9);
}

static void check_size(unsigned from_width, unsigned from_height, unsigned width, unsigned height)
{
    struct arena arena;
    arena_init(&arena);
    const struct image image = make_image(from_width, from_height, from_width, &arena);
    const struct image out = shrink(&image, width, height, &arena);
    ck_assert(out.width == width && out.height == height);
    for (unsigned i = 0; i < width * height * 3; i++) {
        const unsigned x = i / 3 % width, y = i / 3 / width;
        const unsigned expected = brightest(&image, width, height, x, y, i % 3);
        ck_assert_msg(out.rgb[i] == expected, "%u x %u to %u x %u, %u %u: %u, not %u", from_width,
                      from_height, width, height, x, y, out.rgb[i], expected);
    }
    arena_deinit(&arena);
}

START_TEST(a_pixel_is_the_brightest_of_the_rows_columns_and_diagonals_of_its_square)
{
    static const unsigned sizes[][4] = {{9, 9, 3, 3},     {49, 49, 48, 48}, {146, 140, 48, 48},
                                        {50, 7, 11, 7},   {7, 50, 7, 11},   {64, 31, 1, 1},
                                        {95, 96, 48, 48}, {1, 9, 1, 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
}
END_TEST

/* ---- what it is for ---- */

START_TEST(a_line_keeps_its_brightness_at_any_scale_and_a_point_does_not)
{
    struct arena arena;
    for (unsigned times = 2; times <= 9; times++) {
        arena_init(&arena);
        const unsigned side = 6 * times;
        struct image straight = make_dark(side, &arena), slanted = make_dark(side, &arena);
        struct image point = make_dark(side, &arena);
        for (unsigned i = 0; i < side; i++) {
            set(&straight, i, side / 2);
            set(&slanted, side - 1 - i, i);
        }
        set(&point, side / 2, side / 2);
        const struct image a = shrink(&straight, 6, 6, &arena), b = shrink(&slanted, 6, 6, &arena);
        const struct image c = shrink(&point, 6, 6, &arena);
        for (unsigned i = 0; i < 6; i++) {
            ck_assert_uint_eq(a.rgb[3 * (3 * 6 + i)], 255);
            ck_assert_uint_eq(b.rgb[3 * (i * 6 + 5 - i)], 255);
        }
        ck_assert_uint_eq(c.rgb[3 * (3 * 6 + 3)], (unsigned)(255.0 / times + 0.5));
        arena_deinit(&arena);
    }
}
END_TEST

/* Every pixel of the source is in some line: none is left out at a ratio that is no whole number.
 */
START_TEST(no_bright_point_is_lost)
{
    struct arena arena;
    for (unsigned side = 8; side <= 23; side++)
        for (unsigned at = 0; at < side * side; at++) {
            arena_init(&arena);
            struct image image = make_dark(side, &arena);
            set(&image, at % side, at / side);
            const struct image out = shrink(&image, 7, 7, &arena);
            unsigned most = 0;
            for (unsigned i = 0; i < 7 * 7 * 3; i++)
                most = out.rgb[i] > most ? out.rgb[i] : most;
            ck_assert_uint_ge(most, 255 / ((side + 6) / 7));
            arena_deinit(&arena);
        }
}
END_TEST

START_TEST(a_window_is_the_window_of_the_whole)
{
    static const struct resize_window windows[] = {{0, 0, 1, 1}, {15, 9, 1, 1}, {3, 2, 11, 5}};
    struct arena arena;
    struct err err = {0};
    struct image part;
    arena_init(&arena);
    const struct image image = make_image(71, 43, 5, &arena);
    const struct image whole = shrink(&image, 16, 10, &arena);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const struct resize_window w = windows[i];
        ck_assert(!resize_lines(&image, 16, 10, w, NULL, &arena, &part, &err));
        for (unsigned y = 0; y < w.height; y++)
            ck_assert_mem_eq(part.rgb + (size_t)y * w.width * 3,
                             whole.rgb + ((size_t)(w.top + y) * 16 + w.left) * 3,
                             (size_t)w.width * 3);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(resize_lines_stops_at_any_row_of_samples)
{
    const struct resize_window whole = {.width = 4, .height = 3};
    struct arena arena;
    struct look_counter counter;
    struct image out;
    arena_init(&arena);
    const struct image image = make_image(9, 8, 5, &arena);
    for (unsigned last = 0; last <= 9; last++) { /* 3 rows of 3 samples */
        struct err err = {0};
        resize_lines(&image, 4, 3, whole, look_counter_init(&counter, last), &arena, &out, &err);
        ck_assert_int_eq(err.code, last > 0 ? ERR_DEADLINE : ERR_OK);
        ck_assert_uint_eq(counter.looks, last > 0 ? last : 9);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(resize_lines_applies_if_no_side_grows)
{
    const struct image image = {.width = 20, .height = 10};
    ck_assert(resize_lines_applies(&image, 19, 10));
    ck_assert(resize_lines_applies(&image, 20, 9));
    ck_assert(!resize_lines_applies(&image, 20, 10));
    ck_assert(!resize_lines_applies(&image, 10, 11));
    ck_assert(!resize_lines_applies(&image, 21, 5));
}
END_TEST

/* The widest image there is: sums must not overflow, nor places. */
START_TEST(a_flat_image_stays_flat_and_takes_no_more_than_it_says)
{
    struct arena arena;
    struct err err = {0};
    struct image out;
    const struct resize_window whole = {.width = 3, .height = 2};
    arena_init(&arena);
    struct image image = {IMAGE_SIDE_MAX, 2, arena_alloc(&arena, (size_t)IMAGE_SIDE_MAX * 2 * 3)};
    memset(image.rgb, 255, (size_t)IMAGE_SIDE_MAX * 2 * 3);
    const size_t before = arena.bytes;
    ck_assert(!resize_lines(&image, 3, 2, whole, NULL, &arena, &out, &err));
    for (size_t i = 0; i < 3 * 2 * 3; i++)
        ck_assert_uint_eq(out.rgb[i], 255);
    ck_assert_uint_le(arena.bytes - before, 3 * 2 * 3 + 64);
    ck_assert_uint_ge(resize_lines_bytes(&image, 3, 2, whole),
                      (size_t)IMAGE_SIDE_MAX * (2 * sizeof(size_t) + 3 * sizeof(uint32_t)));
    arena_deinit(&arena);
}
END_TEST

SUITE("resize_lines", a_pixel_is_the_brightest_of_the_rows_columns_and_diagonals_of_its_square,
      a_line_keeps_its_brightness_at_any_scale_and_a_point_does_not, no_bright_point_is_lost,
      a_window_is_the_window_of_the_whole, resize_lines_stops_at_any_row_of_samples,
      resize_lines_applies_if_no_side_grows, a_flat_image_stays_flat_and_takes_no_more_than_it_says)
