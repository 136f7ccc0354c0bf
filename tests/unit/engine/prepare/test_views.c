/* Views of an image, against turns and mirrors that are made one at a time. */
#include "engine/prepare/views.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 5, PIXELS = SIDE * SIDE, BYTES = 3 * PIXELS };

static void turn_right(const unsigned char *from, unsigned char *to)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            memcpy(to + 3 * (x * SIDE + SIDE - 1 - y), from + 3 * (y * SIDE + x), 3);
}

static void mirror(const unsigned char *from, unsigned char *to)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            memcpy(to + 3 * (y * SIDE + SIDE - 1 - x), from + 3 * (y * SIDE + x), 3);
}

/* The image mirrored or not, then so many quarters to the right. */
static void make(const unsigned char *image, bool mirrored, unsigned quarters, unsigned char *out)
{
    unsigned char room[BYTES];
    memcpy(out, image, BYTES);
    if (mirrored)
        mirror(image, out);
    for (unsigned i = 0; i < quarters; i++) {
        memcpy(room, out, BYTES);
        turn_right(room, out);
    }
}

static struct image numbered(unsigned char rgb[BYTES])
{
    for (unsigned i = 0; i < BYTES; i++)
        rgb[i] = (unsigned char)(3 * i);
    return (struct image){SIDE, SIDE, rgb};
}

START_TEST(views_are_turned_and_mirrored_as_they_say)
{
    static const unsigned quarters[] = {0, 2, 1, 3};
    unsigned char rgb[BYTES], found[BYTES], expected[BYTES];
    const struct image image = numbered(rgb);
    for (unsigned view = 0; view < VIEWS_MAX; view++) {
        views_turn(&image, view, found);
        make(rgb, view >= 4, quarters[view % 4], expected);
        ck_assert_msg(memcmp(found, expected, BYTES) == 0, "view %u", view);
    }
}
END_TEST

START_TEST(a_place_of_a_view_is_where_it_comes_from)
{
    unsigned char rgb[BYTES], found[BYTES];
    const struct image image = numbered(rgb);
    for (unsigned view = 0; view < VIEWS_MAX; view++) {
        views_turn(&image, view, found);
        for (unsigned place = 0; place < PIXELS; place++)
            ck_assert_mem_eq(found + 3 * place, rgb + 3 * views_source(view, SIDE, place), 3);
    }
    ck_assert_uint_eq(views_source(7, 1, 0), 0);
}
END_TEST

/* Counts the views among the first `count` that are this image. */
static unsigned times(const struct image *image, unsigned count, const unsigned char *wanted)
{
    unsigned char found[BYTES];
    unsigned sum = 0;
    for (unsigned view = 0; view < count; view++) {
        views_turn(image, view, found);
        sum += memcmp(found, wanted, BYTES) == 0;
    }
    return sum;
}

START_TEST(the_views_of_a_view_are_the_same_views)
{
    unsigned char rgb[BYTES], turned[BYTES], again[BYTES];
    const struct image image = numbered(rgb);
    for (unsigned count = 1; count <= VIEWS_MAX; count *= 2)
        for (unsigned first = 0; first < count; first++)
            for (unsigned second = 0; second < count; second++) {
                views_turn(&image, first, turned);
                views_turn(&(struct image){SIDE, SIDE, turned}, second, again);
                ck_assert_uint_eq(times(&image, count, again), 1);
            }
}
END_TEST

enum { WIDTH = 9, HEIGHT = 7, WIDE_BYTES = 3 * WIDTH * HEIGHT };

/* The picture mirrored, by rows if `upside`, by columns if not. */
static void reflect(const unsigned char *from, bool upside, unsigned char *to)
{
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const unsigned row = upside ? HEIGHT - 1 - y : y, column = upside ? x : WIDTH - 1 - x;
            memcpy(to + 3 * (row * WIDTH + column), from + 3 * (y * WIDTH + x), 3);
        }
}

START_TEST(moved_views_are_moved_and_mirror_each_other)
{
    /* the view of a mirrored picture is the mirrored view of the picture */
    static const struct {
        unsigned view, other;
        bool upside;
    } pairs[] = {{1, 3, false}, {2, 2, false}, {2, 2, true}, {4, 5, false},
                 {4, 5, true},  {6, 7, true},  {1, 1, true}, {6, 6, false}};
    unsigned char rgb[WIDE_BYTES], mirrored[WIDE_BYTES], found[WIDE_BYTES], expected[WIDE_BYTES];
    for (unsigned i = 0; i < WIDE_BYTES; i++)
        rgb[i] = (unsigned char)(i * i * 7 + i);
    const struct image image = {WIDTH, HEIGHT, rgb};
    views_move(&image, 0, found);
    ck_assert_mem_eq(found, rgb, WIDE_BYTES);
    views_move(&image, 1, found);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const unsigned from = x + 2 < WIDTH ? x + 2 : WIDTH - 1;
            ck_assert_mem_eq(found + 3 * (y * WIDTH + x), rgb + 3 * (y * WIDTH + from), 3);
        }
    views_move(&image, 6, found);
    ck_assert_mem_eq(found, rgb + 3 * WIDTH, WIDE_BYTES - 3 * WIDTH);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        unsigned char there[WIDE_BYTES];
        reflect(rgb, pairs[i].upside, mirrored);
        views_move(&(struct image){WIDTH, HEIGHT, mirrored}, pairs[i].view, found);
        views_move(&image, pairs[i].other, there);
        reflect(there, pairs[i].upside, expected);
        for (unsigned b = 0; b < WIDE_BYTES; b++) /* rounding of halves may differ */
            ck_assert_msg(found[b] - expected[b] <= 1 && expected[b] - found[b] <= 1,
                          "pair %zu, byte %u: %d, %d", i, b, found[b], expected[b]);
    }
}
END_TEST

START_TEST(moved_views_enlarge_and_turn_by_what_they_say)
{
    enum { LONG = 401 };
    static unsigned char rgb[3 * LONG * LONG], moved[3 * LONG * LONG];
    const struct image image = {LONG, LONG, rgb};
    for (unsigned y = 0; y < LONG; y++) /* a level ramp, a step of 1 for 2 pixels */
        for (unsigned x = 0; x < LONG; x++)
            memset(rgb + 3 * (y * LONG + x), (int)(x / 2), 3);
    const unsigned middle = LONG / 2;
    views_move(&image, 2, moved);
    for (unsigned x = 0; x < LONG; x++) {
        const double from = middle + 0.97 * ((double)x - middle);
        ck_assert_double_eq_tol(moved[3 * (middle * LONG + x)], from / 2, 1.01);
    }
    for (unsigned view = 4; view <= 5; view++) {
        const double lean = (view == 4 ? -1 : 1) * 0.97 * sin(0.8 * acos(-1) / 180);
        views_move(&image, view, moved);
        for (unsigned y = 0; y < LONG; y++) {
            const double from = middle + lean * ((double)y - middle);
            ck_assert_double_eq_tol(moved[3 * (y * LONG + middle)], from / 2, 1.01);
        }
    }
}
END_TEST

START_TEST(moved_views_of_a_line_and_of_a_pixel_stay_within_it)
{
    unsigned char rgb[3 * 5] = {10, 20, 30, 11, 21, 31, 12, 22, 32, 13, 23, 33, 14, 24, 34};
    unsigned char *moved = malloc(sizeof rgb); /* of just these bytes, so that ASan sees more */
    static const struct {
        unsigned width, height;
    } sizes[] = {{5, 1}, {1, 5}, {1, 1}, {2, 1}};
    ck_assert_ptr_nonnull(moved);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned view = 0; view < VIEWS_MAX; view++) {
            const unsigned count = sizes[s].width * sizes[s].height;
            views_move(&(struct image){sizes[s].width, sizes[s].height, rgb}, view, moved);
            for (unsigned b = 0; b < 3 * count; b++)
                ck_assert(moved[b] / 10 == 1 + b % 3 && moved[b] % 10 < count);
        }
    free(moved);
}
END_TEST

SUITE("views", moved_views_of_a_line_and_of_a_pixel_stay_within_it,
      moved_views_are_moved_and_mirror_each_other, moved_views_enlarge_and_turn_by_what_they_say,
      views_are_turned_and_mirrored_as_they_say, a_place_of_a_view_is_where_it_comes_from,
      the_views_of_a_view_are_the_same_views)
