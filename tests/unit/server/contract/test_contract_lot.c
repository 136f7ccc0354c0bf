/* A lot as the body of a prediction, over a socket: an answer for each wafer. */
#include "tests/support/contract.h"
#include "tests/support/gzip_writer.h"
#include "tests/support/lot_map.h"
#include "tests/support/stdf_writer.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASS = STDF_WRITER_PASS, FAIL = STDF_WRITER_FAIL, SIDE = 14 };

static struct stdf_writer writer;

/* A wafer whose lowest rows fail. */
static void put_wafer(const char *id, int rows)
{
    stdf_writer_wafer(&writer, 1, id);
    for (int die = 0; die < SIDE * SIDE; die++)
        stdf_writer_die(&writer, 1, die % SIDE, die / SIDE, die / SIDE < SIDE - rows ? PASS : FAIL,
                        1);
    stdf_writer_wafer_end(&writer, 1, id);
}

/* Two wafers, and one without dies between them. */
static void write_lot(void)
{
    stdf_writer_open(&writer, false);
    put_wafer("W1", 1);
    stdf_writer_wafer(&writer, 1, "W2");
    stdf_writer_wafer_end(&writer, 1, "W2");
    stdf_writer_close(&writer);
}

/* The answer to the lot's first wafer, drawn here and sent as a picture. */
static struct reply ask_picture(void)
{
    struct lot lot;
    struct lot_picture picture;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(lot_map_parse(&lot, writer.bytes, writer.len, &err), ERR_OK);
    ck_assert_int_eq(lot_picture_draw(&lot, 0, &arena, &picture, &err), ERR_OK);
    struct reply reply = contract_post_as("/predict", "image/bmp", picture.bytes, picture.len);
    lot_close(&lot);
    arena_deinit(&arena);
    return reply;
}

static void expect_lot(struct reply *reply, const struct reply *picture)
{
    reply_expect_status(reply, 200);
    ck_assert_uint_eq(reply_count(reply, "results"), 2);
    reply_expect_text(reply, "results.0.id", "W1");
    reply_expect_text(reply, "results.0.context.lot", "LOT7");
    reply_expect_text(reply, "results.0.context.wafer", "W1");
    reply_expect_text(reply, "results.0.model.name", "wafer-vit");
    reply_expect_text(reply, "results.0.label", reply_text(picture, "label"));
    ck_assert_double_eq_tol(reply_number(reply, "results.0.score"), reply_number(picture, "score"),
                            1e-6);
    reply_expect_text(reply, "results.1.id", "W2");
    reply_expect_problem_at(reply, "results.1", 422, "unusable",
                            "body#W2: the wafer has no die with coordinates");
    reply_free(reply);
}

START_TEST(each_wafer_of_a_lot_is_answered_as_its_picture)
{
    static const char *const types[] = {"application/x-stdf", "application/octet-stream",
                                        "application/x-www-form-urlencoded", NULL};
    static char packed[sizeof writer.bytes];
    write_lot();
    struct reply picture = ask_picture(), reply;
    reply_expect_status(&picture, 200);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        reply = contract_post_as("/predict", types[i], writer.bytes, writer.len);
        expect_lot(&reply, &picture);
    }
    const size_t len = gzip_pack(packed, sizeof packed, writer.bytes, writer.len);
    reply =
        contract_post_as("/predict", "application/x-stdf\r\nContent-Encoding: gzip", packed, len);
    expect_lot(&reply, &picture);
    reply = contract_post_as("/predict", "application/octet-stream\r\nContent-Encoding: gzip",
                             packed, len);
    expect_lot(&reply, &picture);
    reply_free(&picture);
}
END_TEST

/* A datalog is mostly measurements, which are skipped; a long one is read by the pool. */
START_TEST(a_long_datalog_is_answered_from_the_pool)
{
    enum { RECORD_BYTES = 60000, RECORDS = 20, MRR_BYTES = 4 };
    write_lot();
    struct reply picture = ask_picture();
    const size_t head = writer.len - MRR_BYTES, len = writer.len + RECORDS * (4 + RECORD_BYTES);
    unsigned char *bytes = calloc(len, 1);
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, writer.bytes, head);
    for (size_t i = 0; i < RECORDS; i++) {
        unsigned char *record = bytes + head + i * (4 + RECORD_BYTES);
        memcpy(record, "\x60\xEA\x0F\x0A", 4); /* PTR */
    }
    memcpy(bytes + len - MRR_BYTES, writer.bytes + head, MRR_BYTES);
    struct reply reply = contract_post_as("/predict", "application/x-stdf", bytes, len);
    expect_lot(&reply, &picture);
    reply_free(&picture);
    free(bytes);
}
END_TEST

START_TEST(options_hold_for_all_wafers)
{
    write_lot();
    struct reply reply = contract_post_as("/predict?explain=true&top_k=2&context.lot=A1&id=run-7",
                                          "application/x-stdf", writer.bytes, writer.len);
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "id", "run-7");
    reply_expect_text(&reply, "results.0.context.lot", "A1");
    ck_assert_uint_eq(reply_count(&reply, "results.0.predictions"), 2);
    ck_assert_uint_gt(reply_count(&reply, "results.0.explanation.relevance"), 0);
    reply_free(&reply);
    reply = contract_post_as("/predict?model=kernel-bert", "application/x-stdf", writer.bytes,
                             writer.len);
    reply_expect_status(&reply, 200);
    reply_expect_problem_at(&reply, "results.0", 422, "unusable",
                            "body#W1: the model kernel-bert does not read images");
    reply_free(&reply);
}
END_TEST

START_TEST(lots_that_cannot_be_used_are_refused_by_name)
{
    static const char *const ids[] = {"W1", "W2", "W3", "W4"};
    static const struct {
        const char *bytes;
        size_t len;
        int status;
        const char *type, *text;
    } cases[] = {
        {"\2\0\0\12\2\4", 6, 400, "malformed", "body: byte 6: the file is cut off"},
        {"\2\0\0\12\2\4\0\0\1\24", 10, 422, "unusable", "body: no wafer: "},
        {"\2\0\0\12\2\3", 6, 422, "unusable", "body: byte 5: STDF version 3"},
        {"\x89PNG\r\n\x1a\n", 8, 422, "unusable", "body: not STDF: this is a PNG picture"},
        {"", 0, 422, "unusable", "the body is empty"},
        {"\x1f\x8b\x08\0", 4, 422, "unusable", "body: this is gzip: send Content-Encoding: gzip"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply =
            contract_post_as("/predict", "application/x-stdf", cases[i].bytes, cases[i].len);
        reply_expect_problem(&reply, cases[i].status, cases[i].type, cases[i].text);
        reply_free(&reply);
    }
    stdf_writer_open(&writer, false);
    for (size_t w = 0; w < sizeof ids / sizeof *ids; w++) {
        stdf_writer_wafer(&writer, 1, ids[w]);
        stdf_writer_wafer_end(&writer, 1, ids[w]);
    }
    stdf_writer_close(&writer);
    struct reply reply =
        contract_post_as("/predict", "application/x-stdf", writer.bytes, writer.len);
    reply_expect_problem(
        &reply, 413, "too_large",
        "body: the lot has more than 3 wafers, the limit for one request (inputs_max)");
    reply_free(&reply);
}
END_TEST

START_TEST(a_packed_lot_is_unpacked_within_the_limit_of_a_body)
{
    enum { LONG_BYTES = 34 * 1024 * 1024 };
    static char packed[64 * 1024];
    unsigned char *bytes = calloc(LONG_BYTES, 1);
    ck_assert_ptr_nonnull(bytes);
    write_lot();
    memcpy(bytes, writer.bytes, writer.len);
    const size_t len = gzip_pack(packed, sizeof packed, bytes, LONG_BYTES);
    struct reply reply =
        contract_post_as("/predict", "application/x-stdf\r\nContent-Encoding: gzip", packed, len);
    reply_expect_problem(&reply, 413, "too_large", "the body unpacks to more than 33554432 bytes");
    reply_free(&reply);
    reply = contract_post_as("/predict", "application/x-stdf\r\nContent-Encoding: gzip", packed,
                             len - 9);
    ck_assert_int_ge(reply.answer.status, 400);
    reply_free(&reply);
    free(bytes);
}
END_TEST

/* Every answer is a 200, a 400 or a 422, and the server goes on. All bytes: test_codec_lot. */
START_TEST(a_lot_that_is_cut_off_or_damaged_is_answered)
{
    unsigned answered = 0;
    stdf_writer_open(&writer, true);
    for (int w = 0; w < 2; w++) {
        const char *id = w == 0 ? "W1" : "W2";
        stdf_writer_wafer(&writer, 1, id);
        stdf_writer_die(&writer, 1, 0, 0, PASS, 1);
        stdf_writer_die(&writer, 1, 3, 2, FAIL, 2);
        stdf_writer_wafer_end(&writer, 1, id);
    }
    stdf_writer_close(&writer);
    for (size_t at = 0; at < 2 * writer.len; at += 7) {
        const bool is_cut = at < writer.len;
        writer.bytes[at % writer.len] ^= is_cut ? 0 : 1;
        struct reply reply = contract_post_as("/predict", "application/x-stdf", writer.bytes,
                                              is_cut ? at : writer.len);
        writer.bytes[at % writer.len] ^= is_cut ? 0 : 1;
        const int status = reply.answer.status;
        ck_assert_msg(status == 200 || status == 400 || status == 422, "%zu: %d", at, status);
        answered += status == 200;
        reply_free(&reply);
    }
    ck_assert_uint_gt(answered, 5);
}
END_TEST

static const char *const options[] = {"--inputs-max", "3", NULL};

CONTRACT_SUITE("contract_lot", options, each_wafer_of_a_lot_is_answered_as_its_picture,
               a_long_datalog_is_answered_from_the_pool, options_hold_for_all_wafers,
               lots_that_cannot_be_used_are_refused_by_name,
               a_packed_lot_is_unpacked_within_the_limit_of_a_body,
               a_lot_that_is_cut_off_or_damaged_is_answered)
