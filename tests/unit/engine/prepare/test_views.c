/* Views of an image, against turns and mirrors that are made one at a time. */
#include "engine/prepare/views.h"
#include "tests/support/suite.h"

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

SUITE("views", views_are_turned_and_mirrored_as_they_say, a_place_of_a_view_is_where_it_comes_from,
      the_views_of_a_view_are_the_same_views)
