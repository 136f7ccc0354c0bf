/* The claim of a request, to the byte: for a body, rows, an explanation, a reply. */
#include "server/serve/claim.h"

#include "engine/base/doc.h"
#include "engine/fab/lot_formats.h"
#include "server/protocol/protocol.h"
#include "tests/unit/server/stage.h"
#include "wire/codec.h"
#include "wire/codec_labels.h"
#include "wire/elide.h"
#include "wire/limits.h"

enum { ROW = 2048 };

struct bench {
    struct stage stage;
    struct http_exchange exchange;
    struct request *request;
    struct row rows[3];
    struct predict_item items[3];
};

static void bench_open(struct bench *bench)
{
    *bench = (struct bench){0};
    stage_open(&bench->stage, 1);
    exchange_init(&bench->exchange, "");
    bench->request = stage_request(&bench->stage, &bench->exchange);
    bench->request->rows = bench->rows;
    bench->request->call.items = bench->items;
}

static void bench_close(struct bench *bench)
{
    arena_deinit(&bench->exchange.arena);
    memory_give(&bench->stage.service.memory, bench->exchange.memory_bytes);
    stage_close(&bench->stage);
}

/* Expects the bytes claimed since the last look. */
static void expect_claimed(struct bench *bench, size_t bytes)
{
    ck_assert_uint_eq(bench->exchange.memory_bytes, bytes);
    ck_assert_uint_eq(memory_taken(&bench->stage.service.memory), bytes);
    memory_give(&bench->stage.service.memory, bytes);
    bench->exchange.memory_bytes = 0;
}

/* Expects a claim of as many bytes as the protocol says. */
static void expect_reading(struct bench *bench, size_t bytes)
{
    size_t told = protocol_native.parse_bytes(bench->request);
    ck_assert_uint_eq(told, bytes);
    ck_assert_int_eq(claim_reading(&bench->stage.service, bench->request, told), ERR_OK);
    expect_claimed(bench, bytes);
}

START_TEST(reading_takes_what_its_parser_may)
{
    enum { BODY_BYTES = 5000000 };
    struct bench bench;
    const struct codec_limits limits = {.inputs_max = QUEUE_LIMIT};
    char *body = malloc(BODY_BYTES);
    ck_assert_ptr_nonnull(body);
    memset(body, '[', BODY_BYTES);
    bench_open(&bench);
    bench.exchange.body = body;
    for (size_t len = 0; len < BODY_BYTES; len = 3 * len + 1) {
        bench.exchange.body_len = len;
        bench.request->body = REQUEST_JSON;
        expect_reading(&bench, codec_parse_bytes(len, &limits));
        bench.request->body = REQUEST_IMAGE;
        expect_reading(&bench, 2 * ROW);
    }
    bench_close(&bench);
    free(body);
}
END_TEST

/* A lot is known by its first bytes, or by its media type. */
START_TEST(reading_a_lot_takes_what_its_reader_may)
{
    static const size_t lengths[] = {6, 100, 5000, 3000000};
    static char body[3000000] = "\2\0\0\x0a\2\4";
    struct bench bench;
    bench_open(&bench);
    bench.exchange.body = body;
    for (size_t i = 0; i < 2 * sizeof lengths / sizeof lengths[0]; i++) {
        const bool is_typed = i % 2 == 0;
        bench.exchange.body_len = lengths[i / 2];
        bench.request->is_typed = is_typed;
        bench.request->body = is_typed ? REQUEST_LOT : REQUEST_JSON;
        body[0] = is_typed ? 'x' : 2;
        expect_reading(&bench,
                       CODEC_RAW_BYTES + lot_formats_read_bytes(lengths[i / 2], QUEUE_LIMIT + 1));
    }
    bench_close(&bench);
}
END_TEST

/* Options of a query count once, as the largest of them. */
START_TEST(reading_takes_what_the_options_of_a_query_may)
{
    static const struct fake_header plain[] = {{"top_k", "2"}, {"id", "a"}, {NULL, NULL}};
    static const struct fake_header labels[] = {
        {"top_k", "2"}, {"candidate_labels", "a"}, {"id", "a"}, {NULL, NULL}};
    struct bench bench;
    bench_open(&bench);
    bench.request->body = REQUEST_IMAGE;
    fake_query = plain;
    expect_reading(&bench, 2 * CODEC_RAW_BYTES);
    fake_query = labels;
    expect_reading(&bench, 2 * CODEC_RAW_BYTES + CODEC_LABELS_BYTES);
    fake_query = NULL;
    bench_close(&bench);
}
END_TEST

/* Tokens, the text that the parser sees, the copies of strings, items, and the strings cut out. */
START_TEST(a_parser_takes_so_much_for_each_byte_up_to_its_limits)
{
    const struct codec_limits limits = {.inputs_max = 3};
    const size_t tokens_max = doc_limits_request.tokens_max + 3 * 16;
    const size_t bytes_max = 1024 * 1024 + 3 * ELIDE_BYTES_MIN;
    const size_t span = 4 * sizeof(struct elided_span) + ARENA_ALIGNMENT;
    static const size_t lengths[] = {0, 7, 8, 9, 16, 18, 1000, 500000, 20 * 1024 * 1024};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t len = lengths[i];
        size_t tokens = len < tokens_max ? len : tokens_max;
        size_t seen = len < bytes_max ? len : bytes_max;
        size_t items = len / 8 + 1 < 3 ? len / 8 + 1 : 3;
        size_t strings = len / 9 < tokens_max / 2 ? len / 9 : tokens_max / 2;
        ck_assert_uint_eq(codec_parse_bytes(len, &limits), 128 * tokens + 5 * seen + 2 * len +
                                                               items * sizeof(struct predict_item) +
                                                               strings * span);
    }
}
END_TEST

/* The rows are a text of 3, an item that failed, an image of 900 pixels and one of 70. They are
 * prepared one after the other, and so is their passing memory. */
START_TEST(preparing_takes_what_rows_keep_and_the_most_that_one_needs)
{
    struct bench bench;
    size_t passing = 77;
    bench_open(&bench);
    bench.items[0] =
        (struct predict_item){.source = {.kind = ENGINE_TEXT, .bytes = "abc", .len = 3}};
    bench.items[1] =
        (struct predict_item){.source = {.kind = ENGINE_IMAGE, .bytes = "900", .len = 3}};
    bench.items[2] =
        (struct predict_item){.source = {.kind = ENGINE_IMAGE, .bytes = "70", .len = 2}};
    for (unsigned i = 0; i < 3; i++)
        bench.rows[i].model = bench.stage.snapshot->models[i > 0];
    const size_t numbers = 2 * 2 * sizeof(float);
    static const size_t replies[] = {0, 1, 12345678}; /* as the protocol has it */
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        bench.request->reply_bytes = replies[i];
        size_t row = 2 * ROW + numbers;
        bench.request->call.item_count = 1;
        ck_assert_int_eq(claim_preparing(&bench.stage.service, bench.request, &passing), ERR_OK);
        ck_assert_uint_eq(passing, 0);
        expect_claimed(&bench, row + 3 + replies[i]);
        bench.request->call.item_count = 3;
        ck_assert_int_eq(claim_preparing(&bench.stage.service, bench.request, &passing), ERR_OK);
        ck_assert_uint_eq(passing, 900);
        expect_claimed(&bench, 3 * row + 3 + 1 + 1 + 900 + replies[i]);
    }
    err_set(&bench.rows[1].err, ERR_UNUSABLE, "x");
    bench.request->reply_bytes = 0;
    ck_assert_int_eq(claim_preparing(&bench.stage.service, bench.request, &passing), ERR_OK);
    ck_assert_uint_eq(passing, 70);
    claim_prepared(&bench.stage.service, bench.request, passing);
    expect_claimed(&bench, 2 * (2 * ROW + numbers) + 3 + 1 + ROW);
    bench_close(&bench);
}
END_TEST

START_TEST(explaining_takes_maps_words_and_statistics)
{
    struct bench bench;
    bench_open(&bench);
    struct engine_info info = fake_models[0].info;
    struct served_model model = {.info = &info};
    info.layers = 2;
    info.heads = 3;
    info.hidden_size = 5;
    info.intermediate_size = 7;
    bench.rows[0] = (struct row){.model = &model, .input = {.tokens = 4}};
    ck_assert_int_eq(claim_explaining(&bench.stage.service, bench.request, &bench.rows[0], 100),
                     ERR_OK);
    const size_t maps = (4 * (3 + 4) + 6 * (5 + 7)) * sizeof(float);
    expect_claimed(&bench, 100 + maps + 4 * 1024 + 16384 + 2 * 3 * 256);
    ck_assert_int_eq(claim_reply(&bench.stage.service, bench.request, 12345), ERR_OK);
    expect_claimed(&bench, 12345);
    bench_close(&bench);
}
END_TEST

/* A large request may not have what is kept for small ones. */
START_TEST(a_request_is_large_by_its_body_or_its_pixels)
{
    static const struct {
        size_t body_len, pixels;
        bool is_small;
    } cases[] = {{LIMIT_PREPARE_INLINE_BYTES, LIMIT_PREPARE_INLINE_PIXELS, true},
                 {LIMIT_PREPARE_INLINE_BYTES + 1, 0, false},
                 {0, LIMIT_PREPARE_INLINE_PIXELS + 1, false}};
    const size_t pool = 1 << 20, kept = 1 << 19;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench);
        memory_init(&bench.stage.service.memory, pool, 0, 0);
        bench.stage.service.memory.small_bytes = kept;
        bench.exchange.body_len = cases[i].body_len;
        bench.request->pixels = cases[i].pixels;
        size_t wanted = pool - kept + 1 - cases[i].body_len;
        enum err_code code = claim_reply(&bench.stage.service, bench.request, wanted);
        ck_assert_int_eq(code, cases[i].is_small ? ERR_OK : ERR_TOO_LARGE);
        ck_assert_int_eq(bench.request->err.code, code);
        ck_assert_uint_eq(bench.exchange.memory_bytes, cases[i].is_small ? wanted : 0);
        bench_close(&bench);
    }
}
END_TEST

/* The error about the most that one request can have counts what the request holds already. */
START_TEST(claim_errors_count_the_memory_that_the_request_holds)
{
    struct bench bench;
    bench_open(&bench);
    memory_init(&bench.stage.service.memory, 1000, 0, 0);
    bench.stage.service.memory.small_bytes = 0;
    bench.exchange.body_len = 100;
    ck_assert_int_eq(claim_reply(&bench.stage.service, bench.request, 300), ERR_OK);
    ck_assert_int_eq(claim_reply(&bench.stage.service, bench.request, 601), ERR_TOO_LARGE);
    ck_assert_str_eq(bench.request->err.text,
                     "memory: the request needs 1001 bytes; one alone can have 1000 (memory_max is "
                     "1000); send fewer or smaller inputs");
    ck_assert_uint_eq(bench.exchange.memory_bytes, 300);
    bench.request->err = (struct err){0};
    ck_assert_int_eq(claim_reply(&bench.stage.service, bench.request, 600), ERR_OK);
    ck_assert_uint_eq(bench.exchange.memory_bytes, 900);
    bench_close(&bench);
}
END_TEST

SUITE("claim_sums", reading_a_lot_takes_what_its_reader_may, reading_takes_what_its_parser_may,
      reading_takes_what_the_options_of_a_query_may,
      a_parser_takes_so_much_for_each_byte_up_to_its_limits,
      preparing_takes_what_rows_keep_and_the_most_that_one_needs,
      explaining_takes_maps_words_and_statistics, a_request_is_large_by_its_body_or_its_pixels,
      claim_errors_count_the_memory_that_the_request_holds)
