#include "wire/codec_lot.h"

#include "engine/fab/lot_file.h"
#include "engine/fab/lot_formats.h"
#include "engine/vision/image.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "wire/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASS = STDF_WRITER_PASS, FAIL = STDF_WRITER_FAIL, INPUTS_MAX = 4 };

static struct predict_call call;
static struct arena arena;
static struct err err;
static const struct codec_lot_limits limits = {.inputs_max = INPUTS_MAX, .pixels_max = 1 << 20};

/* The options of a request, then its body in memory of exactly its size; what is told of the memory
 * is true. */
static enum err_code read_with(const char *const *options, const void *bytes, size_t len)
{
    struct lot lot;
    size_t need = 0, before;
    void *copy = malloc(len > 0 ? len : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    err = (struct err){0};
    arena_deinit(&arena);
    codec_parse_raw(&call, ENGINE_IMAGE, "a", 1, &arena, &err);
    for (; options != NULL && *options != NULL; options += 2)
        ck_assert_int_eq(codec_parse_option(&call, options[0], options[1], &arena, &err), ERR_OK);
    before = arena.bytes;
    lot_init(&lot);
    lot.wafers_max = codec_lot_wafers_max(INPUTS_MAX);
    if (!lot_read(&lot, copy, len, &err) && !codec_lot_measure(&lot, &limits, &need, &err))
        codec_lot_parse(&call, &lot, &arena, &err);
    ck_assert_uint_le(arena.bytes - before, need);
    ck_assert_uint_le(lot.arena.bytes, lot_formats_read_bytes(len, lot.wafers_max));
    lot_close(&lot);
    free(copy);
    return err.code;
}

static enum err_code read_lot(struct stdf_writer *writer)
{
    stdf_writer_close(writer);
    return read_with(NULL, writer->bytes, writer->len);
}

/* A wafer of three dies, the second of which fails. */
static void put_wafer(struct stdf_writer *writer, const char *id)
{
    stdf_writer_wafer(writer, 1, id);
    for (int x = 0; x < 3; x++)
        stdf_writer_die(writer, 1, x, 5, x == 1 ? FAIL : PASS, 1);
    stdf_writer_wafer_end(writer, 1, id);
}

static void expect_drawn(const struct predict_item *item)
{
    static const unsigned char greys[] = {127, 127, 127, 255, 255, 255, 127, 127, 127};
    const struct image_options options = {.pixels_max = 100};
    struct image image;
    struct err cause = {0};
    ck_assert_msg(item->err.code == ERR_OK, "%s", item->err.text);
    ck_assert_int_eq(item->source.kind, ENGINE_IMAGE);
    ck_assert_int_eq(
        image_decode(&image, item->source.bytes, item->source.len, &options, &arena, &cause),
        ERR_OK);
    ck_assert(image.width == 3 && image.height == 1);
    ck_assert_mem_eq(image.rgb, greys, sizeof greys);
}

START_TEST(a_lot_is_a_call_with_an_input_for_each_wafer)
{
    struct stdf_writer writer;
    char place[CALL_PLACE_BYTES];
    stdf_writer_open(&writer, false);
    put_wafer(&writer, "W1");
    put_wafer(&writer, "");
    ck_assert_msg(read_lot(&writer) == ERR_OK, "%s", err.text);
    ck_assert(call.envelope && call.item_count == 2);
    expect_drawn(&call.items[0]);
    expect_drawn(&call.items[1]);
    ck_assert_str_eq(call.items[0].id, "W1");
    ck_assert_str_eq(call.items[0].lot, "LOT7");
    ck_assert_str_eq(call.items[0].context, "{\"lot\":\"LOT7\",\"wafer\":\"W1\"}");
    ck_assert_ptr_null(call.items[1].id);
    ck_assert_str_eq(call.items[1].context, "{\"lot\":\"LOT7\"}");
    call.place(&call, 0, place);
    ck_assert_str_eq(place, "body#W1");
    call.place(&call, 1, place);
    ck_assert_str_eq(place, "body, wafer 1");
}
END_TEST

START_TEST(options_say_more_of_a_lot_than_its_file)
{
    static const char *const options[] = {
        "context.lot", "A1", "context.tool", "T3", "context.wafer", "7", NULL};
    struct stdf_writer writer;
    stdf_writer_open(&writer, true);
    put_wafer(&writer, "W1");
    stdf_writer_close(&writer);
    ck_assert_int_eq(read_with(options, writer.bytes, writer.len), ERR_OK);
    ck_assert_str_eq(call.items[0].id, "W1");
    ck_assert_str_eq(call.items[0].lot, "A1");
    ck_assert_str_eq(call.items[0].context, "{\"lot\":\"A1\",\"tool\":\"T3\",\"wafer\":\"7\"}");
}
END_TEST

START_TEST(a_wafer_that_cannot_be_drawn_fails_alone)
{
    struct stdf_writer writer;
    char id[81] = "";
    memset(id, 'w', 80);
    stdf_writer_open(&writer, false);
    put_wafer(&writer, "W1");
    stdf_writer_wafer(&writer, 1, "W2");
    stdf_writer_wafer_end(&writer, 1, "W2");
    put_wafer(&writer, id);
    ck_assert_int_eq(read_lot(&writer), ERR_OK);
    ck_assert_uint_eq(call.item_count, 3);
    expect_drawn(&call.items[0]);
    ck_assert_int_eq(call.items[1].err.code, ERR_UNUSABLE);
    ck_assert_str_eq(call.items[1].id, "W2");
    ck_assert_ptr_nonnull(
        strstr(call.items[1].err.text, "body#W2: the wafer has no die with coordinates"));
    ck_assert_str_eq(call.items[2].err.text,
                     "body, wafer 2: the wafer's id 'wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww...' "
                     "has 80 bytes, the limit is 64");
}
END_TEST

START_TEST(a_lot_that_is_cut_off_says_so_behind_its_wafers)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, false);
    put_wafer(&writer, "W1");
    const size_t first = writer.len;
    stdf_writer_wafer(&writer, 1, "W2");
    stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
    ck_assert_int_eq(read_with(NULL, writer.bytes, first), ERR_OK);
    ck_assert_uint_eq(call.item_count, 2);
    expect_drawn(&call.items[0]);
    ck_assert_ptr_null(call.items[1].id);
    ck_assert_ptr_nonnull(strstr(call.items[1].err.text, "the file is cut off: it has no MRR"));
    ck_assert_int_eq(read_with(NULL, writer.bytes, writer.len), ERR_OK);
    ck_assert_uint_eq(call.item_count, 2);
    ck_assert_ptr_nonnull(strstr(call.items[1].err.text, "body#W2: the wafer is not whole: byte "));
}
END_TEST

static void expect_refused(struct stdf_writer *writer, enum err_code code, const char *text)
{
    ck_assert_int_eq(read_lot(writer), code);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
}

START_TEST(a_lot_of_too_much_is_refused_whole)
{
    struct stdf_writer writer;
    char id[16];
    stdf_writer_open(&writer, false);
    expect_refused(&writer, ERR_UNUSABLE, "no wafer: ");
    for (unsigned wafers = INPUTS_MAX; wafers <= INPUTS_MAX + 1; wafers++) {
        stdf_writer_open(&writer, false);
        for (unsigned w = 0; w < wafers; w++) {
            snprintf(id, sizeof id, "W%u", w);
            put_wafer(&writer, id);
        }
        if (wafers <= INPUTS_MAX)
            ck_assert_int_eq(read_lot(&writer), ERR_OK);
        else
            expect_refused(
                &writer, ERR_TOO_LARGE,
                "the lot has more than 4 wafers, the limit for one request (inputs_max)");
    }
    for (int over = 0; over < 2; over++) {
        stdf_writer_open(&writer, false);
        stdf_writer_wafer(&writer, 1, "W1");
        stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
        stdf_writer_die(&writer, 1, 1023 + over, 1023, PASS, 1);
        if (over == 0)
            ck_assert_int_eq(read_lot(&writer), ERR_OK);
        else
            expect_refused(&writer, ERR_TOO_LARGE,
                           "the wafers up to 'W1' have 1049600 pixels, the limit for one request "
                           "(request_pixels_max) is 1048576");
    }
}
END_TEST

/* ---- hostile bodies ---- */

static void write_two(struct stdf_writer *writer)
{
    stdf_writer_open(writer, false);
    stdf_writer_directions(writer, 'L', 'U');
    put_wafer(writer, "W1");
    put_wafer(writer, "W2");
    stdf_writer_close(writer);
}

static void expect_sound_call(void)
{
    for (unsigned i = 0; err.code == ERR_OK && i < call.item_count; i++) {
        const struct predict_item *item = &call.items[i];
        ck_assert_int_eq(item->err.code == ERR_OK, item->source.bytes != NULL);
        ck_assert(item->err.code == ERR_OK || item->err.code == ERR_UNUSABLE);
        ck_assert(strncmp(item->err.text, "body", item->err.code != ERR_OK ? 4 : 0) == 0);
    }
}

START_TEST(every_prefix_of_a_lot_is_a_call_or_a_refusal)
{
    struct stdf_writer writer;
    size_t calls = 0;
    write_two(&writer);
    for (size_t len = 0; len < writer.len; len++) {
        calls += read_with(NULL, writer.bytes, len) == ERR_OK;
        expect_sound_call();
        ck_assert(err.code == ERR_OK || err.code == ERR_UNUSABLE || err.code == ERR_MALFORMED);
    }
    ck_assert_uint_gt(calls, 20);
}
END_TEST

START_TEST(any_byte_of_a_lot_may_be_another)
{
    struct stdf_writer writer;
    write_two(&writer);
    for (size_t at = 0; at < writer.len; at++)
        for (unsigned flip = 1; flip < 256; flip = 2 * flip + 1) {
            writer.bytes[at] ^= (unsigned char)flip;
            read_with(NULL, writer.bytes, writer.len);
            expect_sound_call();
            writer.bytes[at] ^= (unsigned char)flip;
        }
}
END_TEST

SUITE("codec_lot", a_lot_is_a_call_with_an_input_for_each_wafer,
      options_say_more_of_a_lot_than_its_file, a_wafer_that_cannot_be_drawn_fails_alone,
      a_lot_that_is_cut_off_says_so_behind_its_wafers, a_lot_of_too_much_is_refused_whole,
      every_prefix_of_a_lot_is_a_call_or_a_refusal, any_byte_of_a_lot_may_be_another)
