/* The native protocol's way from a body to a call, where it is not the codec's alone: the options
 * of a raw body. */
#include "server/protocol/protocol.h"

#include "tests/support/suite.h"
#include "tests/unit/server/fakes.h"

static const struct config config = {.inputs_max = 4, .deadline_ms = 0};
static struct service service = {.config = &config};

struct bench {
    struct http_exchange exchange;
    struct request *request;
};

static enum err_code bench_parse(struct bench *bench, enum request_body kind, const char *body)
{
    bench->exchange = (struct http_exchange){
        .path = "/predict", .head_ns = 1000, .body = body, .body_len = strlen(body)};
    arena_init(&bench->exchange.arena);
    bench->request = request_open(&bench->exchange, &service, &service.ids);
    bench->request->body = kind;
    request_enter(bench->request, REQUEST_PARSE);
    return protocol_native.parse(bench->request);
}

static void bench_done(struct bench *bench)
{
    fake_query = NULL;
    arena_deinit(&bench->exchange.arena);
}

START_TEST(native_reads_the_options_of_a_raw_body)
{
    static const struct fake_header options[] = {
        {"model", "wafers"}, {"top_k", "2"}, {"id", "w7"}, {"deadline_ms", "9"}, {NULL, NULL}};
    struct bench bench;
    fake_query = options;
    ck_assert_int_eq(bench_parse(&bench, REQUEST_IMAGE, "12 pixels"), ERR_OK);
    const struct predict_call *call = &bench.request->call;
    ck_assert_uint_eq(call->item_count, 1);
    ck_assert_int_eq(call->items[0].source.kind, ENGINE_IMAGE);
    ck_assert_ptr_eq(call->items[0].source.bytes, bench.exchange.body);
    ck_assert_str_eq(call->model, "wafers");
    ck_assert_uint_eq(call->top_k, 2);
    ck_assert_str_eq(call->id, "w7");
    ck_assert_uint_eq(call->deadline_ms, 9);
    bench_done(&bench);
    ck_assert_int_eq(bench_parse(&bench, REQUEST_TEXT, "abc"), ERR_OK);
    ck_assert_int_eq(bench.request->call.items[0].source.kind, ENGINE_TEXT);
    ck_assert_uint_eq(bench.request->call.items[0].source.len, 3);
    bench_done(&bench);
}
END_TEST

/* An option without a value is one with an empty one. */
START_TEST(native_refuses_options_that_it_cannot_read)
{
    static const struct {
        const char *name, *value, *body;
    } cases[] = {
        {"top_k", NULL, "a"}, {"overlay", "true", "a"}, {"other", "true", "a"}, {NULL, NULL, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_header query[] = {{cases[i].name, cases[i].value}, {NULL, NULL}};
        struct bench bench;
        fake_query = query;
        ck_assert_int_eq(bench_parse(&bench, REQUEST_TEXT, cases[i].body), ERR_UNUSABLE);
        ck_assert_int_eq(bench.request->err.code, ERR_UNUSABLE);
        bench_done(&bench);
    }
}
END_TEST

START_TEST(native_tells_the_first_option_that_is_wrong)
{
    static const struct fake_header bad[] = {{"first", "1"}, {"second", "2"}, {NULL, NULL}};
    struct bench bench;
    fake_query = bad;
    ck_assert_int_eq(bench_parse(&bench, REQUEST_IMAGE, "12 pixels"), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(bench.request->err.text, "first"));
    ck_assert_ptr_null(strstr(bench.request->err.text, "second"));
    bench_done(&bench);
}
END_TEST

SUITE("native", native_reads_the_options_of_a_raw_body, native_refuses_options_that_it_cannot_read,
      native_tells_the_first_option_that_is_wrong)
