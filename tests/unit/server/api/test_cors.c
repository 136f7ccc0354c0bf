/* Pages of other origins, over the application's functions: the answers that they may read. None of
 * them can change anything. */
#include "server/api/handlers.h"

#include "tests/unit/server/stage.h"

#define LIST "https://mes.fab,http://10.0.0.5:3000"

static const char *header_of(const struct http_reply *reply, const char *name)
{
    for (const struct http_field *more = reply->more; more != NULL && more->name != NULL; more++)
        if (strcmp(more->name, name) == 0)
            return more->value;
    return NULL;
}

/* One request without a body from a page of this origin, to its end. */
static void ask_from(struct stage *stage, struct http_exchange *exchange, const char *origin,
                     enum http_method method, const char *path)
{
    const struct fake_header headers[] = {{"Host", "127.0.0.1:80"},
                                          {"Access-Control-Request-Method", "POST"},
                                          {origin != NULL ? "Origin" : "X", origin},
                                          {NULL, NULL}};
    fake_headers = headers;
    fake_loopback = "127.0.0.1:80";
    exchange_init(exchange, "");
    exchange->method = method;
    exchange->path = path;
    if (stage->app.head(&stage->service, exchange) == HTTP_CONTINUE)
        ck_assert_int_eq(stage->app.begin(&stage->service, exchange), HTTP_REPLY);
    fake_headers = NULL;
}

static const struct {
    const char *origin;
    enum http_method method;
    const char *path;
    unsigned status;
    const char *reader, *methods; /* Access-Control-Allow-Origin, -Methods; NULL: none */
} cases[] = {
    {"https://mes.fab", HTTP_GET, "/healthz", 200, "https://mes.fab", NULL},
    {"http://10.0.0.5:3000", HTTP_GET, "/models", 200, "http://10.0.0.5:3000", NULL},
    {"https://mes.fab", HTTP_GET, "/nothing", 404, "https://mes.fab", NULL},
    {"https://mes.fab", HTTP_POST, "/models", 405, "https://mes.fab", NULL},
    {"https://mes.fab", HTTP_OPTIONS, "/predict", 204, "https://mes.fab", "POST"},
    {"https://mes.fab", HTTP_OPTIONS, "/models", 204, "https://mes.fab", "GET, HEAD"},
    {"https://mes.fab", HTTP_OPTIONS, "/review/x", 204, "https://mes.fab", "GET, HEAD"},
    {"https://mes.fab", HTTP_OPTIONS, "/nothing", 404, "https://mes.fab", NULL},
    /* requests that change something, for any page */
    {"https://mes.fab", HTTP_OPTIONS, "/admin/reload", 403, NULL, NULL},
    {"https://mes.fab", HTTP_OPTIONS, "/feedback", 403, NULL, NULL},
    {"https://mes.fab", HTTP_POST, "/admin/reload", 403, NULL, NULL},
    {"https://mes.fab", HTTP_DELETE, "/feedback/x", 403, NULL, NULL},
    /* another page, and none */
    {"https://mes.fa", HTTP_GET, "/models", 200, NULL, NULL},
    {"https://mes.fab:80", HTTP_GET, "/models", 200, NULL, NULL},
    {"10.0.0.5:3000", HTTP_GET, "/models", 200, NULL, NULL},
    {"null", HTTP_OPTIONS, "/predict", 403, NULL, NULL},
    {LIST, HTTP_OPTIONS, "/predict", 403, NULL, NULL},
    {NULL, HTTP_GET, "/models", 200, NULL, NULL},
};

START_TEST(pages_of_listed_origins_read_what_changes_nothing)
{
    struct stage stage;
    stage_open(&stage, 1);
    stage.snapshot->config.cors_origins = LIST;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        ask_from(&stage, &exchange, cases[i].origin, cases[i].method, cases[i].path);
        ck_assert_msg(exchange.reply.status == cases[i].status, "%zu: %u %s", i,
                      exchange.reply.status, exchange.reply.body);
        const char *reader = header_of(&exchange.reply, "Access-Control-Allow-Origin");
        const char *methods = header_of(&exchange.reply, "Access-Control-Allow-Methods");
        ck_assert_msg((reader == NULL) == (cases[i].reader == NULL), "%zu: %s", i, reader);
        if (reader != NULL)
            ck_assert_str_eq(reader, cases[i].reader);
        ck_assert_msg((methods == NULL) == (cases[i].methods == NULL), "%zu: %s", i, methods);
        if (methods != NULL)
            ck_assert_str_eq(methods, cases[i].methods);
        ck_assert_str_eq(header_of(&exchange.reply, "Vary"), "Origin");
        exchange_done(&stage, &exchange);
    }
    stage_close(&stage);
}
END_TEST

/* A reply's own headers stay: here the tag of a document. */
START_TEST(headers_for_pages_stand_beside_a_replys_own)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    stage.snapshot->config.cors_origins = LIST;
    ask_from(&stage, &exchange, "https://mes.fab", HTTP_GET, "/openapi.json");
    ck_assert_ptr_nonnull(header_of(&exchange.reply, "ETag"));
    ck_assert_ptr_nonnull(header_of(&exchange.reply, "Access-Control-Allow-Origin"));
    ck_assert_ptr_nonnull(
        strstr(header_of(&exchange.reply, "Access-Control-Expose-Headers"), "ETag"));
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(without_the_option_pages_of_other_origins_get_nothing)
{
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        ask_from(&stage, &exchange, cases[i].origin, cases[i].method, cases[i].path);
        ck_assert_ptr_null(header_of(&exchange.reply, "Access-Control-Allow-Origin"));
        ck_assert_ptr_null(header_of(&exchange.reply, "Vary"));
        ck_assert_uint_ne(exchange.reply.status, 204);
        exchange_done(&stage, &exchange);
    }
    stage_close(&stage);
}
END_TEST

SUITE("cors", pages_of_listed_origins_read_what_changes_nothing,
      headers_for_pages_stand_beside_a_replys_own,
      without_the_option_pages_of_other_origins_get_nothing)
