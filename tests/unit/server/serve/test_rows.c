/* Steps from a call to rows, each alone: the fields of the request and of its rows afterwards. */
#include "server/serve/rows.h"

#include "server/protocol/protocol.h"
#include "server/serve/explain.h"
#include "tests/unit/server/stage.h"

/* A request in a stage without traffic. */
struct bench {
    struct stage stage;
    struct http_exchange exchange;
    struct request *request;
};

static enum err_code bench_read(struct bench *bench, enum request_body kind, const char *body)
{
    exchange_init(&bench->exchange, body);
    bench->exchange.head_ns = 1000;
    struct request *request = stage_request(&bench->stage, &bench->exchange);
    bench->request = request;
    request->body = kind;
    enter_phases(request, REQUEST_PARSE);
    ck_assert_int_eq(protocol_native.parse(request), ERR_OK);
    request->deadline_ns = request_deadline_ns(request, request->snapshot->config.deadline_ms);
    return rows_open(request);
}

static enum err_code bench_prepare(struct bench *bench)
{
    enter_phases(bench->request, REQUEST_PREPARE);
    return rows_prepare(&bench->stage.service, bench->request);
}

static void bench_done(struct bench *bench)
{
    fake_query = NULL;
    explain_release(&bench->stage.service, bench->request);
    arena_deinit(&bench->exchange.arena);
    memory_give(&bench->stage.service.memory, bench->exchange.memory_bytes);
}

START_TEST(rows_have_the_model_of_their_kind_and_the_deadline)
{
    static const struct {
        unsigned configured, named_ms;
        uint64_t deadline_ns;
    } cases[] = {{0, 0, 0},
                 {0, 5, 1000 + 5 * (uint64_t)CLOCK_NS_PER_MS},
                 {7, 0, 1000 + 7 * (uint64_t)CLOCK_NS_PER_MS},
                 {7, 5, 1000 + 5 * (uint64_t)CLOCK_NS_PER_MS}};
    struct bench bench;
    stage_open(&bench.stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[128];
        snprintf(body, sizeof body,
                 "{\"inputs\": [{\"text\": \"a\"}, {\"image\": \"NyBwaXhlbHM=\"}]%s%u}",
                 cases[i].named_ms > 0 ? ", \"deadline_ms\": " : ", \"top_k\": ",
                 cases[i].named_ms > 0 ? cases[i].named_ms : 2);
        bench.stage.snapshot->config.deadline_ms = cases[i].configured;
        ck_assert_int_eq(bench_read(&bench, REQUEST_JSON, body), ERR_OK);
        const struct request *request = bench.request;
        ck_assert_uint_eq(request->deadline_ns, cases[i].deadline_ns);
        ck_assert_ptr_nonnull(request->rows);
        ck_assert_uint_eq(request->pixels, 7);
        ck_assert_uint_eq(request->good_count, 0);
        ck_assert_ptr_null(request->good[0]);
        for (unsigned row = 0; row < 2; row++) {
            ck_assert_ptr_eq(request->rows[row].request, request);
            ck_assert_ptr_eq(request->rows[row].model, bench.stage.snapshot->models[row]);
            ck_assert_uint_eq(request->rows[row].deadline_ns, cases[i].deadline_ns);
            ck_assert_int_eq(request->rows[row].err.code, ERR_OK);
        }
        bench_done(&bench);
    }
    stage_close(&bench.stage);
}
END_TEST

/* Errors of the whole call. */
START_TEST(rows_are_not_opened_for_a_model_that_nobody_serves)
{
    static const struct {
        enum request_body kind;
        const char *name, *value; /* of the query */
        const char *body, *text;
    } cases[] = {
        {REQUEST_JSON, NULL, NULL, "{\"text\": \"a\", \"model\": \"x\"}",
         "$.model: no model of this name is served; GET /models lists them"},
        {REQUEST_TEXT, "model", "x", "a",
         "?model: no model of this name is served; GET /models lists them"},
    };
    struct bench bench;
    stage_open(&bench.stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_header query[] = {{cases[i].name, cases[i].value}, {NULL, NULL}};
        fake_query = query;
        ck_assert_int_eq(bench_read(&bench, cases[i].kind, cases[i].body), ERR_NOT_FOUND);
        ck_assert_int_eq(bench.request->err.code, ERR_NOT_FOUND);
        ck_assert_str_eq(bench.request->err.text, cases[i].text);
        bench_done(&bench);
    }
    stage_close(&bench.stage);
}
END_TEST

/* Errors of one item, with its place. */
START_TEST(rows_say_which_item_has_no_model)
{
    static const struct {
        enum request_body kind;
        const char *model; /* of the query */
        const char *body;
        unsigned row;
        const char *text;
    } cases[] = {
        {REQUEST_JSON, NULL, "{\"text\": \"a\", \"model\": \"wafers\"}", 0,
         "$.text: the model wafers does not read texts"},
        {REQUEST_JSON, NULL,
         "{\"inputs\": [{\"text\": \"a\"}, {\"image\": \"NyBwaXhlbHM=\"}], \"model\": \"logs\"}", 1,
         "$.inputs[1].image: the model logs does not read images"},
        {REQUEST_TEXT, "wafers", "a", 0, "body: the model wafers does not read texts"},
        {REQUEST_IMAGE, "logs", "7", 0, "body: the model logs does not read images"},
    };
    struct bench bench;
    stage_open(&bench.stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_header query[] = {{"model", cases[i].model}, {NULL, NULL}};
        fake_query = cases[i].model != NULL ? query : NULL;
        ck_assert_int_eq(bench_read(&bench, cases[i].kind, cases[i].body), ERR_OK);
        const struct row *row = &bench.request->rows[cases[i].row];
        ck_assert_int_eq(row->err.code, ERR_UNUSABLE);
        ck_assert_str_eq(row->err.text, cases[i].text);
        ck_assert_ptr_null(row->model);
        ck_assert_uint_eq(bench.request->pixels, 0);
        bench_done(&bench);
    }
    stage_close(&bench.stage);
}
END_TEST

START_TEST(rows_say_that_no_model_reads_a_kind)
{
    struct bench bench;
    stage_open(&bench.stage, 1);
    struct snapshot *snapshot = bench.stage.snapshot;
    struct served_model *both[] = {snapshot->models[0], snapshot->models[1]};
    snapshot->model_count = 1;
    for (int kind = 0; kind < 2; kind++) {
        snapshot->models[0] = both[1 - kind];
        ck_assert_int_eq(bench_read(&bench, kind == 0 ? REQUEST_TEXT : REQUEST_IMAGE, "7"), ERR_OK);
        ck_assert_int_eq(bench.request->rows[0].err.code, ERR_UNUSABLE);
        ck_assert_str_eq(bench.request->rows[0].err.text,
                         kind == 0 ? "body: no model that reads texts is served"
                                   : "body: no model that reads images is served");
        bench_done(&bench);
    }
    snapshot->models[0] = both[0];
    snapshot->model_count = 2;
    stage_close(&bench.stage);
}
END_TEST

/* "7 pixels" in base64: images of 7 pixels, two and four of them. */
#define SEVEN "{\"image\": \"NyBwaXhlbHM=\"}"

START_TEST(rows_count_pixels_up_to_the_limit_and_no_further)
{
    static const struct {
        size_t image_most, most, pixels;
        const char *refused;
    } cases[] = {
        {7, 21, 21, NULL},
        {6, 21, 0, NULL}, /* each is refused by itself, later */
        {7, 20, 14,
         "the images up to $.inputs[3] have 21 pixels, the limit for one request "
         "(request_pixels_max) is 20; send fewer or smaller ones"},
        {7, 6, 0,
         "the images up to $.inputs[0] have 7 pixels, the limit for one request "
         "(request_pixels_max) is 6; send fewer or smaller ones"},
    };
    struct bench bench;
    stage_open(&bench.stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench.stage.snapshot->config.image_pixels_max = cases[i].image_most;
        bench.stage.snapshot->config.request_pixels_max = cases[i].most;
        enum err_code code =
            bench_read(&bench, REQUEST_JSON,
                       "{\"inputs\": [" SEVEN ", {\"text\": \"99\"}, " SEVEN ", " SEVEN "]}");
        ck_assert_int_eq(code, cases[i].refused != NULL ? ERR_TOO_LARGE : ERR_OK);
        ck_assert_int_eq(bench.request->err.code, code);
        if (cases[i].refused != NULL)
            ck_assert_str_eq(bench.request->err.text, cases[i].refused);
        ck_assert_uint_eq(bench.request->pixels, cases[i].pixels);
        bench_done(&bench);
    }
    stage_close(&bench.stage);
}
END_TEST

START_TEST(rows_that_are_well_are_prepared_in_order)
{
    struct bench bench;
    stage_open(&bench.stage, 1);
    bench.stage.snapshot->config.image_pixels_max = 1234;
    ck_assert_int_eq(bench_read(&bench, REQUEST_JSON,
                                "{\"inputs\": [{\"text\": \"abc\"}, {\"text\": \"\"}, " SEVEN
                                ", {\"image\": 7}]}"),
                     ERR_OK);
    struct request *request = bench.request;
    uint64_t before = clock_now_ns();
    ck_assert_int_eq(bench_prepare(&bench), ERR_OK);
    ck_assert_uint_eq(request->good_count, 2);
    ck_assert_ptr_eq(request->good[0], &request->rows[0]);
    ck_assert_ptr_eq(request->good[1], &request->rows[2]);
    ck_assert_uint_ge(request->prepared_ns, before);
    ck_assert_uint_le(request->prepared_ns, clock_now_ns());
    ck_assert_uint_eq(fake_seen.pixels_max, 1234);
    ck_assert_uint_eq(fake_seen.prepared_len[1], strlen("7 pixels"));
    for (unsigned i = 0; i < 2; i++) {
        const struct engine_result *result = &request->good[i]->answer.result;
        ck_assert(result->logits != NULL && result->scores != NULL);
        ck_assert_ptr_ne(result->logits, result->scores);
    }
    ck_assert_int_eq(request->rows[0].input.kind, ENGINE_TEXT);
    ck_assert_int_eq(request->rows[2].input.kind, ENGINE_IMAGE);
    ck_assert_int_eq(request->rows[1].err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(request->rows[1].err.text, "$.inputs[1].text"));
    ck_assert_ptr_nonnull(strstr(request->rows[3].err.text, "$.inputs[3].image"));
    bench_done(&bench);
    stage_close(&bench.stage);
}
END_TEST

/* The UTF-8 is checked by the JSON parser, or when a raw body was decoded. */
START_TEST(rows_have_the_utf8_of_a_text_looked_at_once)
{
    struct bench bench;
    char longer[4096] = "{\"text\": \"";
    size_t at = strlen(longer);
    memset(longer + at, 'a', 3000);
    memcpy(longer + at + 3000, "\"}", 3);
    const char *const bodies[] = {"{\"text\": \"abc\"}", longer,
                                  "{\"inputs\": [{\"text\": \"a\"}]}"};
    stage_open(&bench.stage, 1);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        fake_seen.prepared_utf8 = 0;
        ck_assert_int_eq(bench_read(&bench, REQUEST_JSON, bodies[i]), ERR_OK);
        ck_assert_int_eq(bench_prepare(&bench), ERR_OK);
        ck_assert_uint_eq(fake_seen.prepared_utf8, 1);
        bench_done(&bench);
    }
    fake_seen.prepared_utf8 = 0;
    ck_assert_int_eq(bench_read(&bench, REQUEST_TEXT, "abc"), ERR_OK);
    ck_assert_int_eq(bench_prepare(&bench), ERR_OK);
    ck_assert_uint_eq(fake_seen.prepared_utf8, 1);
    bench_done(&bench);
    stage_close(&bench.stage);
}
END_TEST

/* Memory that is needed only while an image is decoded is given back after that. */
START_TEST(rows_give_back_what_only_preparing_needs)
{
    struct bench bench;
    stage_open(&bench.stage, 1);
    ck_assert_int_eq(bench_read(&bench, REQUEST_IMAGE, "900000 pixels"), ERR_OK);
    ck_assert_int_eq(bench_prepare(&bench), ERR_OK);
    ck_assert_uint_eq(bench.request->good_count, 1);
    ck_assert_uint_lt(bench.exchange.memory_bytes, 900000);
    ck_assert_uint_eq(memory_taken(&bench.stage.service.memory), bench.exchange.memory_bytes);
    bench_done(&bench);
    stage_close(&bench.stage);
}
END_TEST

START_TEST(rows_that_cannot_be_prepared_say_where_they_stand)
{
    static const struct {
        enum request_body kind;
        const char *body, *text;
    } cases[] = {
        {REQUEST_JSON, "{\"text\": \"a\"}", "$.text: the vocabulary is empty"},
        {REQUEST_JSON, "{\"inputs\": [" SEVEN "]}", "$.inputs[0].image: the vocabulary is empty"},
        {REQUEST_TEXT, "a", "body: the vocabulary is empty"},
    };
    struct bench bench;
    stage_open(&bench.stage, 1);
    fake_fails.prepare = ERR_UNUSABLE;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(bench_read(&bench, cases[i].kind, cases[i].body), ERR_OK);
        ck_assert_int_eq(bench_prepare(&bench), ERR_OK);
        ck_assert_str_eq(bench.request->rows[0].err.text, cases[i].text);
        ck_assert_uint_eq(bench.request->good_count, 0);
        bench_done(&bench);
    }
    stage_close(&bench.stage);
}
END_TEST

/* A request whose time is up is not begun: its rows stay as they were. */
START_TEST(rows_of_a_request_that_nobody_needs_are_not_prepared)
{
    struct bench bench;
    stage_open(&bench.stage, 1);
    fake_seen.prepared_len[0] = 0;
    ck_assert_int_eq(bench_read(&bench, REQUEST_JSON, "{\"text\": \"a\", \"deadline_ms\": 1}"),
                     ERR_OK);
    size_t claimed = bench.exchange.memory_bytes;
    ck_assert_int_eq(bench_prepare(&bench), ERR_DEADLINE);
    ck_assert_uint_eq(fake_seen.prepared_len[0], 0);
    ck_assert_uint_eq(bench.request->good_count, 0);
    ck_assert_uint_eq(bench.exchange.memory_bytes, claimed);
    bench_done(&bench);
    stage_close(&bench.stage);
}
END_TEST

SUITE("rows", rows_have_the_model_of_their_kind_and_the_deadline,
      rows_are_not_opened_for_a_model_that_nobody_serves, rows_say_which_item_has_no_model,
      rows_say_that_no_model_reads_a_kind, rows_count_pixels_up_to_the_limit_and_no_further,
      rows_that_are_well_are_prepared_in_order, rows_have_the_utf8_of_a_text_looked_at_once,
      rows_give_back_what_only_preparing_needs, rows_that_cannot_be_prepared_say_where_they_stand,
      rows_of_a_request_that_nobody_needs_are_not_prepared)
