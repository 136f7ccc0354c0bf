/* A lot takes its places and its memory before its wafers are drawn. */
#include "engine/fab/lot.h"
#include "engine/fab/lot_formats.h"
#include "tests/support/stdf_writer.h"
#include "tests/unit/server/stage.h"

static struct stage stage;
static struct stdf_writer writer;

/* Wafers with two dies each, as far apart as may be: pictures of 16.8 million pixels. */
static void write_wide(unsigned wafers)
{
    stdf_writer_open(&writer, false);
    for (unsigned w = 0; w < wafers; w++) {
        const char id[] = {(char)('A' + w), '\0'};
        stdf_writer_wafer(&writer, 1, id);
        stdf_writer_die(&writer, 1, 0, 0, STDF_WRITER_PASS, 1);
        stdf_writer_die(&writer, 1, LOT_SIDE_MAX - 1, LOT_SIDE_MAX - 1, STDF_WRITER_FAIL, 2);
        stdf_writer_wafer_end(&writer, 1, id);
    }
    stdf_writer_close(&writer);
}

/* Returns the memory that the request still holds with its reply. */
static size_t check_lot(unsigned status, const char *part)
{
    struct http_exchange exchange;
    exchange_init(&exchange, "");
    exchange.body = (const char *)writer.bytes;
    exchange.body_len = writer.len;
    if (stage.app.head(&stage.service, &exchange) != HTTP_REPLY &&
        stage.app.begin(&stage.service, &exchange) == HTTP_SUSPENDED) {
        fake_await_resumed(&exchange);
        stage.app.finish(&stage.service, &exchange);
    }
    ck_assert_msg(exchange.reply.status == status, "%s", exchange.reply.body);
    ck_assert_msg(strstr(exchange.reply.body, part) != NULL, "%s", exchange.reply.body);
    const size_t held = exchange.memory_bytes;
    exchange_done(&stage, &exchange);
    return held;
}

START_TEST(a_lot_is_answered_wafer_by_wafer)
{
    stage_open(&stage, 1);
    write_wide(QUEUE_LIMIT);
    check_lot(200, "\"id\":\"D\"");
    stage_close(&stage);
}
END_TEST

START_TEST(a_lot_takes_a_place_for_each_wafer)
{
    struct err err = {0};
    stage_open(&stage, 1);
    write_wide(QUEUE_LIMIT);
    ck_assert_int_eq(batcher_reserve(stage.service.batcher, 1, &err), ERR_OK);
    check_lot(429, "queue");
    batcher_release(stage.service.batcher, 1);
    write_wide(QUEUE_LIMIT + 1);
    check_lot(413, "body: the lot has more than 4 wafers");
    stage_close(&stage);
}
END_TEST

/* The first claim is of the records, which are few; the second of the pictures. */
START_TEST(a_lot_takes_the_memory_of_its_pictures_before_they_are_drawn)
{
    enum { READING_BYTES = 256 * 1024, PICTURE_BYTES = 147 * 1024 };
    stage_open(&stage, 1);
    write_wide(QUEUE_LIMIT);
    memory_init(&stage.service.memory, READING_BYTES + 3 * PICTURE_BYTES, 0, 0);
    check_lot(413, "memory");
    write_wide(1);
    check_lot(200, "\"id\":\"A\"");
    stage.snapshot->config.request_pixels_max = LOT_SIDE_MAX * LOT_SIDE_MAX;
    check_lot(200, "\"id\":\"A\"");
    write_wide(2);
    check_lot(413, "body: the wafers up to 'B' have 33554432 pixels");
    stage_close(&stage);
}
END_TEST

START_TEST(a_lot_gives_back_the_memory_of_its_records)
{
    stage_open(&stage, 1);
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 1, "A");
    stdf_writer_die(&writer, 1, 0, 0, STDF_WRITER_PASS, 1);
    stdf_writer_close(&writer);
    ck_assert_uint_lt(check_lot(200, "\"id\":\"A\""),
                      lot_formats_read_bytes(writer.len, QUEUE_LIMIT + 1) / 2);
    stage_close(&stage);
}
END_TEST

SUITE("predict_lot", a_lot_is_answered_wafer_by_wafer, a_lot_takes_a_place_for_each_wafer,
      a_lot_takes_the_memory_of_its_pictures_before_they_are_drawn,
      a_lot_gives_back_the_memory_of_its_records)
