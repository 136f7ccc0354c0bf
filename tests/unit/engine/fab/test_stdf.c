/* Files are written by tests/support/stdf_writer.h and handed over in memory of exactly their size:
 * a sanitizer sees one byte too far.
 *
 * ATTND_FUZZ_ROUNDS in the environment sets the number of mutated files (default 4000), which makes
 * this program the fuzz driver: build it with sanitizers and give it a million. */
#include "tests/support/lot_map.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASS = STDF_WRITER_PASS, FAIL = STDF_WRITER_FAIL };

static struct lot parsed(const void *bytes, size_t len, struct err *err)
{
    struct lot stdf;
    void *copy = malloc(len > 0 ? len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    enum err_code code = lot_map_parse(&stdf, copy, len, err);
    ck_assert_int_eq(code, err->code);
    free(copy);
    return stdf;
}

static struct lot sound(struct stdf_writer *writer)
{
    struct err err = {0};
    stdf_writer_close(writer);
    struct lot stdf = parsed(writer->bytes, writer->len, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return stdf;
}

static void expect_error(const void *bytes, size_t len, enum err_code code, const char *text)
{
    struct err err = {0};
    struct lot stdf = parsed(bytes, len, &err);
    ck_assert_int_eq(err.code, code);
    ck_assert_str_eq(err.text, text);
    lot_close(&stdf);
}

/* Draws a wafer, rows parted by '/': '.' no die, 'p' pass, 'F' fail. */
static void expect_map(const struct lot *stdf, unsigned wafer, const char *expected)
{
    struct lot_map map;
    struct err err = {0};
    struct arena arena;
    char found[256];
    size_t used = 0;
    arena_init(&arena);
    ck_assert_msg(!lot_map_draw(stdf, wafer, &arena, &map, &err), "%s", err.text);
    for (unsigned y = 0; y < map.height; y++) {
        for (unsigned x = 0; x < map.width; x++) {
            unsigned char grey = map.grey[y * map.width + x];
            found[used++] = grey == LOT_NO_DIE ? '.' : grey == LOT_PASS ? 'p' : 'F';
        }
        found[used++] = '/';
    }
    found[used - 1] = '\0';
    ck_assert_str_eq(found, expected);
    arena_deinit(&arena);
}

/* A cross of five dies around (-1, 10): the upper one and the right one fail. */
static void write_cross(struct stdf_writer *writer, unsigned head)
{
    stdf_writer_die(writer, head, -1, 9, FAIL, 5);
    stdf_writer_die(writer, head, -2, 10, PASS, 1);
    stdf_writer_die(writer, head, -1, 10, PASS, 1);
    stdf_writer_die(writer, head, 0, 10, FAIL, 8);
    stdf_writer_die(writer, head, -1, 11, PASS, 1);
}

static struct lot cross(bool big_endian, char x, char y)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, big_endian);
    stdf_writer_directions(&writer, x, y);
    stdf_writer_wafer(&writer, 1, "W1");
    write_cross(&writer, 1);
    stdf_writer_wafer_end(&writer, 1, "W1");
    return sound(&writer);
}

START_TEST(stdf_draws_a_wafer_in_either_byte_order)
{
    for (unsigned big = 0; big < 2; big++) {
        struct lot stdf = cross(big != 0, ' ', ' ');
        ck_assert_str_eq(stdf.name, "LOT7");
        ck_assert_uint_eq(stdf.wafer_count, 1);
        ck_assert_str_eq(stdf.wafers[0].id, "W1");
        ck_assert_uint_eq(stdf.wafers[0].count, 5);
        ck_assert_uint_eq(stdf.dies[3].hard_bin, 8);
        expect_map(&stdf, 0, ".F./ppF/.p.");
        lot_close(&stdf);
    }
}
END_TEST

START_TEST(stdf_turns_a_map_the_way_wcr_says)
{
    static const struct {
        char x, y;
        const char *map;
    } cases[] = {{'R', 'D', ".F./ppF/.p."},
                 {'L', 'D', ".F./Fpp/.p."},
                 {'R', 'U', ".p./ppF/.F."},
                 {'L', 'U', ".p./Fpp/.F."}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lot stdf = cross(false, cases[i].x, cases[i].y);
        expect_map(&stdf, 0, cases[i].map);
        lot_close(&stdf);
    }
}
END_TEST

START_TEST(stdf_takes_the_last_result_of_a_die)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 1, "W1");
    stdf_writer_die(&writer, 1, 0, 0, FAIL, 5);
    stdf_writer_die(&writer, 1, 1, 0, PASS, 1);
    stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
    stdf_writer_wafer_end(&writer, 1, "W1");
    stdf_writer_wafer(&writer, 1, "W1");
    stdf_writer_die(&writer, 1, 1, 0, FAIL, 5);
    stdf_writer_wafer_end(&writer, 1, "W1");
    struct lot stdf = sound(&writer);
    ck_assert_uint_eq(stdf.wafer_count, 1);
    ck_assert_uint_eq(stdf.wafers[0].count, 4);
    expect_map(&stdf, 0, "pF");
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_judges_a_die_by_its_flag_and_else_by_its_bin)
{
    static const struct {
        unsigned flag, bin;
        const char *map;
    } cases[] = {{0, 1, "p"},      {0, 7, "p"},      {1 << 3, 1, "F"}, {1 << 4, 1, "p"},
                 {1 << 4, 7, "F"}, {1 << 2, 1, "F"}, {3 << 3, 1, "p"}, {3, 1, "p"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stdf_writer writer;
        stdf_writer_open(&writer, false);
        stdf_writer_wafer(&writer, 1, "W1");
        stdf_writer_die(&writer, 1, 3, 3, cases[i].flag, cases[i].bin);
        struct lot stdf = sound(&writer);
        expect_map(&stdf, 0, cases[i].map);
        lot_close(&stdf);
    }
}
END_TEST

START_TEST(stdf_keeps_the_wafers_of_two_heads_apart)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, true);
    stdf_writer_wafer(&writer, 1, "A");
    stdf_writer_wafer(&writer, 255, "B");
    stdf_writer_die(&writer, 1, 0, 0, FAIL, 5);
    stdf_writer_die(&writer, 255, 0, 0, PASS, 1);
    stdf_writer_die(&writer, 1, 1, 0, PASS, 1);
    stdf_writer_die(&writer, 255, 0, 1, PASS, 1);
    struct lot stdf = sound(&writer);
    unsigned wafer;
    struct err err = {0};
    ck_assert_int_eq(lot_find(&stdf, "A", &wafer, &err), ERR_OK);
    expect_map(&stdf, wafer, "Fp");
    ck_assert_int_eq(lot_find(&stdf, "B", &wafer, &err), ERR_OK);
    expect_map(&stdf, wafer, "p/p");
    ck_assert_int_eq(lot_find(&stdf, NULL, &wafer, &err), ERR_UNUSABLE);
    err = (struct err){0};
    ck_assert_int_eq(lot_find(&stdf, "C", &wafer, &err), ERR_UNUSABLE);
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_takes_a_name_from_the_end_of_a_wafer_and_cleans_it)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 1, "");
    stdf_writer_wafer_end(&writer, 1, "  W\n\xe9 2 ");
    stdf_writer_wafer(&writer, 1, "");
    struct lot stdf = sound(&writer);
    ck_assert_uint_eq(stdf.wafer_count, 2);
    ck_assert_str_eq(stdf.wafers[0].id, "W?? 2");
    ck_assert_str_eq(stdf.wafers[1].id, "");
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_sets_results_without_a_place_aside)
{
    struct stdf_writer writer;
    unsigned char short_prr[9] = {1, 1};
    struct arena arena;
    struct lot_map map;
    struct err err = {0};
    stdf_writer_open(&writer, false);
    stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
    stdf_writer_wafer(&writer, 1, "W1");
    stdf_writer_die(&writer, 2, 0, 0, PASS, 1);
    stdf_writer_die(&writer, 1, -32768, 0, PASS, 1);
    stdf_writer_die(&writer, 1, 0, -32768, PASS, 1);
    stdf_writer_record(&writer, 5, 20, short_prr, sizeof short_prr);
    stdf_writer_wafer_end(&writer, 1, "W1");
    stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
    struct lot stdf = sound(&writer);
    ck_assert_uint_eq(stdf.placeless, 6);
    ck_assert_uint_eq(stdf.die_count, 0);
    arena_init(&arena);
    ck_assert_int_eq(lot_map_draw(&stdf, 0, &arena, &map, &err), ERR_UNUSABLE);
    arena_deinit(&arena);
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_bounds_the_span_of_a_wafer)
{
    static const struct {
        int low, high;
        enum err_code code;
    } cases[] = {{-32767, 32767, ERR_UNUSABLE}, {0, 4096, ERR_UNUSABLE}, {-1, 4094, ERR_OK}};
    for (unsigned i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct stdf_writer writer;
        struct arena arena;
        struct lot_map map;
        struct err err = {0};
        int low = cases[i / 2].low, high = cases[i / 2].high;
        stdf_writer_open(&writer, i % 2 == 0);
        stdf_writer_wafer(&writer, 1, "W1");
        stdf_writer_die(&writer, 1, low, low, PASS, 1);
        stdf_writer_die(&writer, 1, i % 2 ? high : low, i % 2 ? low : high, FAIL, 2);
        struct lot stdf = sound(&writer);
        arena_init(&arena);
        ck_assert_int_eq(lot_map_draw(&stdf, 0, &arena, &map, &err), cases[i / 2].code);
        if (err.code == ERR_OK)
            ck_assert_int_eq(map.grey[(size_t)map.width * map.height - 1], LOT_FAIL);
        arena_deinit(&arena);
        lot_close(&stdf);
    }
}
END_TEST

/* ---- hostile files ---- */

START_TEST(stdf_skips_what_it_does_not_know_and_padding)
{
    struct stdf_writer writer;
    unsigned char body[300];
    memset(body, 0xff, sizeof body);
    stdf_writer_open(&writer, false);
    stdf_writer_record(&writer, 0, 20, body, 3);
    stdf_writer_record(&writer, 180, 255, body, sizeof body);
    stdf_writer_wafer(&writer, 1, "W1");
    stdf_writer_record(&writer, 1, 40, "", 0);
    stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
    stdf_writer_close(&writer);
    memset(writer.bytes + writer.len, 0, 100);
    struct err err = {0};
    struct lot stdf = parsed(writer.bytes, writer.len + 100, &err);
    ck_assert_int_eq(err.code, ERR_OK);
    ck_assert_uint_eq(stdf.die_count, 1);
    ck_assert_ptr_null(stdf.lost);
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_says_what_stands_behind_the_end)
{
    static const struct {
        const char *bytes;
        size_t len;
    } tails[] = {{"\x1a", 1}, {"\r\n", 2}, {"\xff\xff\xff\xff\xff", 5}, {"\0\0\0\1", 4}};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        struct stdf_writer writer;
        struct err err = {0};
        stdf_writer_open(&writer, false);
        stdf_writer_wafer(&writer, 1, "W1");
        stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
        stdf_writer_close(&writer);
        memcpy(writer.bytes + writer.len, tails[i].bytes, tails[i].len);
        struct lot stdf = parsed(writer.bytes, writer.len + tails[i].len, &err);
        ck_assert_int_eq(err.code, ERR_OK);
        expect_map(&stdf, 0, "p");
        ck_assert_ptr_nonnull(strstr(stdf.lost, "the data behind the MRR record are not read"));
        lot_close(&stdf);
    }
}
END_TEST

/* The file has two wafers. A file that is cut off keeps the wafers that had ended before. */
START_TEST(stdf_keeps_the_whole_wafers_of_a_file_cut_off_at_any_byte)
{
    struct stdf_writer writer;
    size_t ends[3];
    stdf_writer_open(&writer, true);
    stdf_writer_directions(&writer, 'R', 'U');
    for (unsigned w = 0; w < 2; w++) {
        stdf_writer_wafer(&writer, 1, w == 0 ? "W1" : "W2");
        write_cross(&writer, 1);
        stdf_writer_wafer_end(&writer, 1, w == 0 ? "W1" : "W2");
        ends[w] = writer.len;
    }
    stdf_writer_close(&writer);
    for (size_t len = 0; len < writer.len; len++) {
        struct lot_map map;
        struct arena arena;
        struct err err = {0};
        struct lot stdf = parsed(writer.bytes, len, &err);
        arena_init(&arena);
        if (len < ends[0])
            ck_assert_int_eq(err.code, len < 6 ? ERR_UNUSABLE : ERR_MALFORMED);
        else {
            ck_assert_msg(err.code == ERR_OK, "%zu: %s", len, err.text);
            ck_assert_ptr_nonnull(strstr(stdf.lost, "the file is cut off"));
            expect_map(&stdf, 0, ".p./ppF/.F.");
        }
        if (err.code == ERR_OK && stdf.wafer_count == 2 && len < ends[1]) {
            ck_assert_int_eq(lot_map_draw(&stdf, 1, &arena, &map, &err), ERR_UNUSABLE);
            ck_assert_ptr_nonnull(strstr(err.text, "the wafer is not whole: byte "));
        } else if (err.code == ERR_OK && stdf.wafer_count == 2) {
            expect_map(&stdf, 1, ".p./ppF/.F.");
        }
        arena_deinit(&arena);
        lot_close(&stdf);
    }
}
END_TEST

/* 255 is every head that has no wafer of its own. */
START_TEST(stdf_puts_a_wafer_on_all_heads)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 255, "A");
    stdf_writer_die(&writer, 1, 0, 0, FAIL, 5);
    stdf_writer_die(&writer, 2, 1, 0, PASS, 1);
    stdf_writer_wafer_end(&writer, 1, "A");
    stdf_writer_die(&writer, 1, 9, 9, PASS, 1); /* of no wafer */
    stdf_writer_wafer(&writer, 1, "B");
    stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
    stdf_writer_wafer_end(&writer, 255, "B");
    stdf_writer_die(&writer, 1, 9, 9, PASS, 1);
    struct lot stdf = sound(&writer);
    ck_assert_uint_eq(stdf.placeless, 2);
    expect_map(&stdf, 0, "Fp");
    expect_map(&stdf, 1, "p");
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_refuses_what_does_not_begin_as_stdf_does)
{
    static const unsigned char wrong_order[] = {0, 2, 0, 10, 2, 4};
    static const unsigned char swapped[] = {2, 0, 0, 10, 1, 4};
    static const unsigned char cpu[] = {2, 0, 0, 10, 3, 4};
    static const unsigned char version[] = {2, 0, 0, 10, 2, 3};
    static const unsigned char no_far[] = {4, 0, 1, 20, 0, 0, 0, 0};
    expect_error(wrong_order, 6, ERR_MALFORMED,
                 "byte 0: FAR's length is not 2 in the byte order of its CPU type 2");
    expect_error(swapped, 6, ERR_MALFORMED,
                 "byte 0: FAR's length is not 2 in the byte order of its CPU type 1");
    expect_error(cpu, 6, ERR_UNUSABLE, "byte 4: CPU type 3 is not known (known: 0 to 2)");
    expect_error(version, 6, ERR_UNUSABLE, "byte 5: STDF version 3; only version 4 can be read");
    expect_error(no_far, 8, ERR_UNUSABLE,
                 "not STDF: it does not begin as such a file does (8 bytes)");
    expect_error("", 0, ERR_UNUSABLE, "not STDF: it does not begin as such a file does (0 bytes)");
    expect_error("\x89PNG\r\n\x1a\n", 8, ERR_UNUSABLE,
                 "not STDF: this is a PNG picture: send its bytes as image/png");
    expect_error("\x1f\x9d", 2, ERR_UNUSABLE,
                 "not STDF: this is a file of compress (.Z): unpack it, or pack it as gzip");
    expect_error("\2\0\0\x0a\2", 5, ERR_UNUSABLE,
                 "not STDF: it ends within its first record (5 bytes)");
    expect_error(
        "PK\3\4\x14\0", 6, ERR_UNUSABLE,
        "not STDF: this is a zip archive (xlsx and docx are zip): send the files in it, one "
        "by one");
}
END_TEST

START_TEST(stdf_refuses_strings_and_records_that_are_too_short)
{
    static const struct {
        unsigned type, subtype;
        const char *body;
        size_t len;
        const char *text;
    } cases[] = {
        {2, 10, "", 0, "byte 30: WIR has no head number"},
        {2, 20, "", 0, "byte 30: WRR has no head number"},
        {2, 10, "\1\1\0\0\0\0\2A", 8, "byte 30: WIR has a string that is longer than the record"},
        {2, 10, "\1\1\0\0\0\0\377", 7, "byte 30: WIR has a string that is longer than the record"},
        {1, 10, "0123456789abcde\4LOT", 19,
         "byte 30: MIR has a string that is longer than the record"},
        {5, 20, "\1\1\0\0\0\0", 6, "byte 30: PRR ends before its hard bin"},
        {5, 20, "", 0, "byte 30: PRR ends before its hard bin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stdf_writer writer;
        stdf_writer_open(&writer, false);
        stdf_writer_record(&writer, cases[i].type, cases[i].subtype, cases[i].body, cases[i].len);
        stdf_writer_close(&writer);
        expect_error(writer.bytes, writer.len, ERR_MALFORMED, cases[i].text);
    }
}
END_TEST

START_TEST(stdf_bounds_the_number_of_wafers)
{
    struct stdf_writer writer;
    size_t each = 4 + 6 + 1 + 4, count = LOT_WAFERS_MAX + 1;
    stdf_writer_open(&writer, false);
    unsigned char *bytes = malloc(writer.len + count * each);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, writer.bytes, writer.len);
    for (size_t i = 0; i < count; i++) {
        unsigned char *at = bytes + writer.len + i * each;
        memcpy(at, "\13\0\2\12\1\1\0\0\0\0\4", 11);
        for (unsigned d = 0; d < 4; d++)
            at[11 + d] = (unsigned char)('A' + (i >> (4 * d)) % 16);
    }
    expect_error(bytes, writer.len + count * each, ERR_TOO_LARGE,
                 "byte 61470: more than 4096 wafers");
    free(bytes);
}
END_TEST

static unsigned long long next_random(unsigned long long *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* All wafers can be asked for, with any bytes in the file. */
static bool read_whole(const unsigned char *bytes, size_t len)
{
    struct err err = {0};
    struct lot stdf = parsed(bytes, len, &err);
    for (unsigned w = 0; err.code == ERR_OK && w < stdf.wafer_count; w++) {
        struct lot_map map;
        struct err of_map = {0};
        struct arena arena;
        arena_init(&arena);
        if (!lot_map_draw(&stdf, w, &arena, &map, &of_map))
            ck_assert(map.width <= LOT_SIDE_MAX && map.height <= LOT_SIDE_MAX);
        arena_deinit(&arena);
    }
    lot_close(&stdf);
    return err.code == ERR_OK;
}

START_TEST(stdf_survives_mutated_files)
{
    const char *rounds_text = getenv("ATTND_FUZZ_ROUNDS");
    long rounds = rounds_text != NULL ? strtol(rounds_text, NULL, 10) : 4000;
    unsigned long long state = 88172645463325252u;
    struct stdf_writer writer;
    unsigned read = 0, refused = 0;
    stdf_writer_open(&writer, false);
    stdf_writer_directions(&writer, 'R', 'U');
    stdf_writer_wafer(&writer, 1, "W1");
    write_cross(&writer, 1);
    stdf_writer_wafer_end(&writer, 1, "W1");
    stdf_writer_close(&writer);
    for (long round = 0; round < rounds; round++) {
        unsigned char bytes[sizeof writer.bytes];
        memcpy(bytes, writer.bytes, writer.len);
        for (unsigned long long i = 1 + next_random(&state) % 4; i > 0; i--) {
            size_t at = next_random(&state) % writer.len;
            if (next_random(&state) % 2)
                bytes[at] = (unsigned char)next_random(&state);
            else
                bytes[at] ^= (unsigned char)(1u << next_random(&state) % 8);
        }
        *(read_whole(bytes, writer.len) ? &read : &refused) += 1;
    }
    ck_assert_uint_gt(read, 0);
    ck_assert_uint_gt(refused, 0);
}
END_TEST

/* ---- files ---- */

/* gzip -9n of an STDF file with one wafer "W1" of one failing die. */
static const unsigned char packed[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x63, 0x62, 0x60, 0xe0, 0x62,
    0x62, 0xe1, 0x64, 0x60, 0xe2, 0x62, 0x64, 0x64, 0x00, 0x02, 0xa6, 0x70, 0x43, 0x5e, 0x06,
    0x56, 0x11, 0x46, 0x46, 0x0e, 0x06, 0x06, 0x56, 0x20, 0x64, 0x66, 0x60, 0x01, 0x42, 0x46,
    0x11, 0x90, 0x1c, 0x00, 0xa4, 0xe4, 0xac, 0x98, 0x2c, 0x00, 0x00, 0x00};

static enum err_code open_bytes(const void *bytes, size_t len, struct lot *stdf, struct err *err)
{
    struct tempdir dir;
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "a.stdf.gz", bytes, len);
    snprintf(path, sizeof path, "%s/a.stdf.gz", dir.path);
    lot_open(stdf, path, err);
    tempdir_close(&dir);
    return err->code;
}

START_TEST(stdf_opens_a_packed_file_and_refuses_a_damaged_one)
{
    struct lot stdf;
    struct err err = {0};
    unsigned char copy[2 * sizeof packed];
    ck_assert_msg(!open_bytes(packed, sizeof packed, &stdf, &err), "%s", err.text);
    expect_map(&stdf, 0, "F");
    lot_close(&stdf);
    for (size_t len = 2; len < sizeof packed; len++) {
        err = (struct err){0};
        ck_assert_int_eq(open_bytes(packed, len, &stdf, &err), ERR_MALFORMED);
        lot_close(&stdf);
    }
    for (size_t at = sizeof packed - 8; at < sizeof packed; at++) {
        memcpy(copy, packed, sizeof packed);
        copy[at] ^= 1;
        err = (struct err){0};
        ck_assert_int_eq(open_bytes(copy, sizeof packed, &stdf, &err), ERR_MALFORMED);
        lot_close(&stdf);
    }
    memcpy(copy, packed, sizeof packed);
    memcpy(copy + sizeof packed, packed, sizeof packed);
    err = (struct err){0};
    ck_assert_int_eq(open_bytes(copy, sizeof copy, &stdf, &err), ERR_MALFORMED);
    ck_assert_str_eq(err.text,
                     "byte 44: another STDF file begins behind the MRR record: split them");
    lot_close(&stdf);
}
END_TEST

START_TEST(stdf_open_says_when_a_file_is_missing)
{
    struct lot stdf;
    struct err err = {0};
    ck_assert_int_eq(lot_open(&stdf, "/nowhere/a.stdf", &err), ERR_UNUSABLE);
    lot_close(&stdf);
}
END_TEST

SUITE("stdf", stdf_draws_a_wafer_in_either_byte_order, stdf_turns_a_map_the_way_wcr_says,
      stdf_takes_the_last_result_of_a_die, stdf_judges_a_die_by_its_flag_and_else_by_its_bin,
      stdf_keeps_the_wafers_of_two_heads_apart,
      stdf_takes_a_name_from_the_end_of_a_wafer_and_cleans_it,
      stdf_sets_results_without_a_place_aside, stdf_bounds_the_span_of_a_wafer,
      stdf_skips_what_it_does_not_know_and_padding, stdf_says_what_stands_behind_the_end,
      stdf_puts_a_wafer_on_all_heads, stdf_keeps_the_whole_wafers_of_a_file_cut_off_at_any_byte,
      stdf_refuses_what_does_not_begin_as_stdf_does,
      stdf_refuses_strings_and_records_that_are_too_short, stdf_bounds_the_number_of_wafers,
      stdf_survives_mutated_files, stdf_opens_a_packed_file_and_refuses_a_damaged_one,
      stdf_open_says_when_a_file_is_missing)
