/* Lots built by hand, drawn as pictures. */
#include "tests/support/lot_map.h"

#include <string.h>

static struct lot lot;
static struct arena arena;
static struct err err;

static void setup(void)
{
    err = (struct err){0};
    arena_init(&arena);
    lot_init(&lot);
    ck_assert_int_eq(lot_add_wafer(&lot, "W1", 0, &err), ERR_OK);
}

static void teardown(void)
{
    lot_close(&lot);
    arena_deinit(&arena);
}

static void add(int x, int y, bool failed)
{
    const struct lot_die die = {.x = (int16_t)x, .y = (int16_t)y, .failed = failed};
    ck_assert_int_eq(lot_add_die(&lot, &die, 0, &err), ERR_OK);
}

static struct lot_map drawn(void)
{
    struct lot_map map;
    ck_assert_int_eq(lot_seal(&lot, &err), ERR_OK);
    ck_assert_msg(!lot_map_draw(&lot, 0, &arena, &map, &err), "%s", err.text);
    return map;
}

/* Widths around the longest run; a row has no die, one at either end, or one at each place. */
START_TEST(runs_of_any_length_are_drawn)
{
    static const int widths[] = {1, 2, 254, 255, 256, 509, 510, 511, 1021};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const int width = widths[i];
        setup();
        for (int x = 0; x < width; x++)
            add(x - 300, -7, x % 5 == 0);
        add(-300, -5, true);
        add(width - 301, -4, false);
        add(width - 301, -4, true);
        const struct lot_map map = drawn();
        ck_assert(map.width == (unsigned)width && map.height == 4);
        for (int x = 0; x < width; x++) {
            ck_assert_int_eq(map.grey[x], x % 5 == 0 ? LOT_FAIL : LOT_PASS);
            ck_assert_int_eq(map.grey[width + x], LOT_NO_DIE);
            ck_assert_int_eq(map.grey[2 * width + x], x == 0 ? LOT_FAIL : LOT_NO_DIE);
            ck_assert_int_eq(map.grey[3 * width + x], x == width - 1 ? LOT_FAIL : LOT_NO_DIE);
        }
        teardown();
    }
}
END_TEST

/* A checkerboard has as many runs as dies: the most that a picture may take. */
START_TEST(a_picture_takes_no_more_than_is_told)
{
    enum { SIDE = 300 };
    setup();
    for (int i = 0; i < SIDE * SIDE; i++)
        if (i % 2 == 0 || i + 1 == SIDE * SIDE)
            add(i % SIDE, i / SIDE, (i / SIDE) % 2 == 0);
    const struct lot_map map = drawn();
    for (int i = 0; i + 1 < SIDE * SIDE; i++)
        ck_assert_int_eq(map.grey[i], i % 2 != 0            ? LOT_NO_DIE
                                      : (i / SIDE) % 2 == 0 ? LOT_FAIL
                                                            : LOT_PASS);
    teardown();
}
END_TEST

/* The largest map of two dies: what it takes follows its rows, not its 16.8 million places. */
START_TEST(a_picture_of_few_dies_is_short)
{
    struct lot_picture picture;
    setup();
    add(0, 0, false);
    add(LOT_SIDE_MAX - 1, LOT_SIDE_MAX - 1, true);
    const struct lot_map map = drawn();
    ck_assert_int_eq(map.grey[0], LOT_PASS);
    ck_assert_int_eq(map.grey[(size_t)LOT_SIDE_MAX * LOT_SIDE_MAX - 1], LOT_FAIL);
    ck_assert_int_eq(lot_picture_draw(&lot, 0, &arena, &picture, &err), ERR_OK);
    ck_assert_uint_lt(picture.len, 40 * LOT_SIDE_MAX);
    teardown();
}
END_TEST

START_TEST(a_lot_holds_as_many_wafers_as_it_may)
{
    setup();
    lot.wafers_max = 2;
    ck_assert_int_eq(lot_add_wafer(&lot, "W2", 40, &err), ERR_OK);
    ck_assert_int_eq(lot_add_wafer(&lot, "W3", 80, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "byte 80: more than 2 wafers");
    teardown();
}
END_TEST

SUITE("lot_picture", runs_of_any_length_are_drawn, a_picture_takes_no_more_than_is_told,
      a_picture_of_few_dies_is_short, a_lot_holds_as_many_wafers_as_it_may)
