/* Fields that are cut short, limits and one beyond, and the texts of what is refused. */
#include "tests/support/lot_map.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A FAR record and no MIR; records are appended to it. */
static void begin(struct stdf_writer *writer)
{
    *writer = (struct stdf_writer){.len = 6, .bytes = {2, 0, 0, 10, 2, 4}};
}

static enum err_code parse(struct lot *stdf, const void *bytes, size_t len, struct err *err)
{
    void *copy = malloc(len);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    *err = (struct err){0};
    enum err_code code = lot_map_parse(stdf, copy, len, err);
    ck_assert_int_eq(code, err->code);
    free(copy);
    return code;
}

static struct lot sound(struct stdf_writer *writer)
{
    struct lot stdf;
    struct err err;
    stdf_writer_close(writer);
    ck_assert_msg(!parse(&stdf, writer->bytes, writer->len, &err), "%s", err.text);
    return stdf;
}

START_TEST(stdf_text_is_cut_to_its_print)
{
    static const struct {
        const char *body;
        size_t len;
        const char *id;
    } cases[] = {
        {"\1\1\0\0\0\0", 6, ""},
        {"\1", 1, ""},
        {"\1\1\0\0\0\0\0", 7, ""},
        {"\1\1\0\0\0\0\1W", 8, "W"},
        {"\1\1\0\0\0\0\1WX", 9, "W"},
        {"\1\1\0\0\0\0\3 W ", 10, "W"},
        {"\1\1\0\0\0\0\6  W \0\0", 13, "W"},
        {"\1\1\0\0\0\0\4\0W X", 11, "?W X"},
        {"\1\1\0\0\0\0\5\x1f\x20\x7e\x7f\xff", 12, "? ~??"},
        {"\1\1\0\0\0\0\2  ", 9, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stdf_writer writer;
        begin(&writer);
        stdf_writer_record(&writer, 2, 10, cases[i].body, cases[i].len);
        struct lot stdf = sound(&writer);
        ck_assert_uint_eq(stdf.wafer_count, 1);
        ck_assert_str_eq(stdf.wafers[0].id, cases[i].id);
        ck_assert_uint_eq(stdf.wafers[0].count, 0);
        ck_assert_str_eq(stdf.name, "");
        lot_close(&stdf);
        ck_assert_ptr_null(stdf.wafers);
        ck_assert_str_eq(stdf.name, "");
    }
}
END_TEST

/* MIR's lot is the string at byte 15; WCR's directions are at bytes 18 and 19. */
START_TEST(stdf_fields_that_are_left_out_are_missing)
{
    static const char mir[] = "0123456789abcde\3LOT";
    static const char wcr[] = "0123456789abcdefghLU";
    for (size_t len = 15; len <= 19; len += len == 15 ? 1 : 3) {
        struct stdf_writer writer;
        begin(&writer);
        stdf_writer_record(&writer, 1, 10, mir, len == 16 ? 15 : len);
        struct lot stdf = sound(&writer);
        ck_assert_str_eq(stdf.name, len == 19 ? "LOT" : "");
        lot_close(&stdf);
    }
    for (size_t len = 18; len <= 20; len++) {
        struct stdf_writer writer;
        begin(&writer);
        stdf_writer_record(&writer, 2, 30, wcr, len);
        struct lot stdf = sound(&writer);
        ck_assert_int_eq(stdf.x_leftward, len > 18);
        ck_assert_int_eq(stdf.y_upward, len > 19);
        lot_close(&stdf);
    }
}
END_TEST

/* A result needs its head, its flag and its bin; coordinates are at bytes 9 and 11. */
START_TEST(stdf_results_without_both_coordinates_have_no_place)
{
    static const char prr[] = "\1\1\x08\0\0\2\1\0\0\5\0\7\1";
    for (size_t len = 7; len <= 13; len++) {
        struct stdf_writer writer;
        begin(&writer);
        stdf_writer_wafer(&writer, 1, "A");
        stdf_writer_record(&writer, 5, 20, prr, len);
        struct lot stdf = sound(&writer);
        ck_assert_uint_eq(stdf.placeless, len < 13 ? 1 : 0);
        ck_assert_uint_eq(stdf.die_count, len < 13 ? 0 : 1);
        if (len == 13) {
            ck_assert(stdf.dies[0].x == 5 && stdf.dies[0].y == 0x107);
            ck_assert(stdf.dies[0].hard_bin == 0x102 && stdf.dies[0].failed);
            ck_assert(stdf.dies[0].wafer == 0 && stdf.wafers[0].count == 1);
        }
        lot_close(&stdf);
    }
}
END_TEST

START_TEST(stdf_result_of_a_head_without_a_wafer_has_no_place)
{
    struct stdf_writer writer;
    begin(&writer);
    stdf_writer_die(&writer, 1, 0, 0, STDF_WRITER_PASS, 1);
    stdf_writer_wafer(&writer, 7, "A");
    stdf_writer_die(&writer, 7, 0, 0, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 6, 0, 0, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 7, -32768, 0, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 7, 0, -32768, STDF_WRITER_PASS, 1);
    stdf_writer_wafer_end(&writer, 7, "B");
    stdf_writer_die(&writer, 7, 0, 0, STDF_WRITER_PASS, 1);
    struct lot stdf = sound(&writer);
    ck_assert_uint_eq(stdf.die_count, 1);
    ck_assert_uint_eq(stdf.placeless, 5);
    ck_assert_str_eq(stdf.wafers[0].id, "A");
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_says_where_a_file_ends)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } cases[] = {
        {"\2\0\0\12\2\4", 6, "byte 6: the file is cut off: it has no MRR record"},
        {"\2\0\0\12\2\4\1", 7, "byte 6: the file is cut off in a record's header"},
        {"\2\0\0\12\2\4\1\0\0", 9, "byte 6: the file is cut off in a record's header"},
        {"\2\0\0\12\2\4\1\0\1\24", 10,
         "byte 6: the file is cut off: a record has 1 bytes, and 0 are left"},
        {"\2\0\0\12\2\4\5\1\1\24ab", 12,
         "byte 6: the file is cut off: a record has 261 bytes, and 2 are left"},
        {"\2\0\0\12\2\4\1\0\62\36x", 11, "byte 11: the file is cut off: it has no MRR record"},
        {"\2\0\0\12\2\4\0\0\1\24\0\0x", 13, NULL},
        {"\2\0\0\12\2\4\0\0\1\24\0\0\2\0\0\12\2\4", 18,
         "byte 12: another STDF file begins behind the MRR record: split them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lot stdf;
        struct err err;
        ck_assert_int_eq(parse(&stdf, cases[i].bytes, cases[i].len, &err),
                         cases[i].text != NULL ? ERR_MALFORMED : ERR_OK);
        if (cases[i].text != NULL)
            ck_assert_str_eq(err.text, cases[i].text);
        lot_close(&stdf);
    }
    struct lot stdf;
    struct err err;
    ck_assert_int_eq(parse(&stdf, "\2\0\0\12\2\4\0\0\1\24", 10, &err), ERR_OK);
    ck_assert_uint_eq(stdf.wafer_count, 0);
    lot_close(&stdf);
}
END_TEST

/* Wafers "A000" and on, each begun once. */
static unsigned char *write_wafers(size_t count, size_t *len)
{
    enum { EACH = 4 + 6 + 1 + 4 };
    static const unsigned char far[] = {2, 0, 0, 10, 2, 4}, mrr[] = {0, 0, 1, 20};
    *len = sizeof far + count * EACH + sizeof mrr;
    unsigned char *bytes = malloc(*len);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, far, sizeof far);
    for (size_t i = 0; i < count; i++) {
        char id[20];
        snprintf(id, sizeof id, "%04zx", i);
        unsigned char *at = bytes + sizeof far + i * EACH;
        memcpy(at, "\13\0\2\12\1\1\0\0\0\0\4", 11);
        memcpy(at + 11, id, 4);
    }
    memcpy(bytes + *len - sizeof mrr, mrr, sizeof mrr);
    return bytes;
}

START_TEST(stdf_holds_as_many_wafers_as_it_says)
{
    struct lot stdf;
    struct err err;
    size_t len;
    unsigned number;
    unsigned char *bytes = write_wafers(LOT_WAFERS_MAX, &len);
    ck_assert_int_eq(parse(&stdf, bytes, len, &err), ERR_OK);
    ck_assert_uint_eq(stdf.wafer_count, LOT_WAFERS_MAX);
    ck_assert_int_eq(lot_find(&stdf, "0fff", &number, &err), ERR_OK);
    ck_assert_uint_eq(number, LOT_WAFERS_MAX - 1);
    ck_assert_int_eq(lot_find(&stdf, "1000", &number, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "no wafer '1000' among 4096");
    lot_close(&stdf);
    free(bytes);
    bytes = write_wafers(LOT_WAFERS_MAX + 1, &len);
    ck_assert_int_eq(parse(&stdf, bytes, len, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "byte 61446: more than 4096 wafers");
    ck_assert_uint_eq(stdf.wafer_count, LOT_WAFERS_MAX);
    lot_close(&stdf);
    free(bytes);
}
END_TEST

/* Two dies so far apart; the map's first or last place is then the other's. */
static void expect_span(int x, int y, const char *text)
{
    struct stdf_writer writer;
    struct lot_map map;
    struct arena arena;
    struct err err = {0};
    begin(&writer);
    stdf_writer_wafer(&writer, 1, "A");
    stdf_writer_die(&writer, 1, -10, -20, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 1, x - 10, y - 20, STDF_WRITER_FAIL, 2);
    struct lot stdf = sound(&writer);
    arena_init(&arena);
    ck_assert_int_eq(lot_map_draw(&stdf, 0, &arena, &map, &err),
                     text[0] == '\0' ? ERR_OK : ERR_UNUSABLE);
    ck_assert_str_eq(err.text, text);
    if (err.code == ERR_OK) {
        ck_assert(map.width == (unsigned)x + 1 && map.height == (unsigned)y + 1);
        ck_assert_int_eq(map.grey[0], LOT_PASS);
        ck_assert_int_eq(map.grey[(size_t)map.width * map.height - 1], LOT_FAIL);
    } else {
        ck_assert_uint_eq(map.width, 0);
        ck_assert_ptr_null(map.grey);
    }
    arena_deinit(&arena);
    lot_close(&stdf);
}

START_TEST(stdf_draws_as_wide_a_span_as_it_says)
{
    expect_span(4095, 1, "");
    expect_span(1, 4095, "");
    expect_span(4096, 1, "the dies span 4097 x 2 places; the limit is 4096 a side");
    expect_span(1, 4096, "the dies span 2 x 4097 places; the limit is 4096 a side");
}
END_TEST

START_TEST(stdf_draws_no_wafer_without_dies)
{
    struct stdf_writer writer;
    struct lot_map map = {.width = 9};
    struct arena arena;
    struct err err = {0};
    unsigned number = 7;
    begin(&writer);
    stdf_writer_wafer(&writer, 1, "A");
    struct lot stdf = sound(&writer);
    arena_init(&arena);
    ck_assert_int_eq(lot_find(&stdf, NULL, &number, &err), ERR_OK);
    ck_assert_uint_eq(number, 0);
    ck_assert_int_eq(lot_map_draw(&stdf, 0, &arena, &map, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text,
                     "the wafer has no die with coordinates; 0 results of the file have no "
                     "coordinates, or belong to a head without a wafer (PRR, WIR)");
    ck_assert_uint_eq(map.width, 0);
    arena_deinit(&arena);
    lot_close(&stdf);
}
END_TEST

SUITE("stdf_limits", stdf_text_is_cut_to_its_print, stdf_fields_that_are_left_out_are_missing,
      stdf_results_without_both_coordinates_have_no_place,
      stdf_result_of_a_head_without_a_wafer_has_no_place, stdf_says_where_a_file_ends,
      stdf_holds_as_many_wafers_as_it_says, stdf_draws_as_wide_a_span_as_it_says,
      stdf_draws_no_wafer_without_dies)
