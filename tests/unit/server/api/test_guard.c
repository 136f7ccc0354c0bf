/* What a page in a browser cannot do: the table of routes is walked, so a route that is added later
 * is held to it as well. test_admin.c has every Host and Origin. */
#include "tests/unit/server/stage.h"

#define LOCAL "127.0.0.1:8080"

/* A path of the pattern: "/admin/models/{name}" becomes "/admin/models/x". */
static void path_of(const char *pattern, char out[128])
{
    size_t len = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '{')
            at += strcspn(at, "}");
        out[len++] = *at == '}' ? 'x' : *at;
        ck_assert_uint_lt(len, 128);
    }
    out[len] = '\0';
}

/* What the head alone is answered with; 0: the request would go on. */
static unsigned judge(struct stage *stage, const struct route *route,
                      const struct fake_header *headers, char detail[256])
{
    struct http_exchange exchange;
    char path[128];
    path_of(route->pattern, path);
    exchange_init(&exchange, "");
    exchange.path = path;
    fake_headers = headers;
    enum http_next next = stage->app.head(&stage->service, &exchange);
    fake_headers = NULL;
    unsigned status = next == HTTP_CONTINUE ? 0 : exchange.reply.status;
    snprintf(detail, 256, "%s: %s", route->pattern, status != 0 ? exchange.reply.body : "goes on");
    exchange_done(stage, &exchange);
    return status;
}

#define FORM "application/x-www-form-urlencoded"

static const struct {
    const char *loopback;
    struct fake_header headers[4];
    unsigned status; /* 0: it may go on */
} heads[] = {
    {LOCAL, {{"Host", LOCAL}}, 0},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "http://" LOCAL}}, 0},
    {LOCAL, {{"Host", LOCAL}, {"Content-Type", "application/json"}}, 0},
    {LOCAL, {{"Host", LOCAL}, {"Content-Type", FORM}}, 0}, /* curl -d */
    {LOCAL, {{"Host", LOCAL}, {"Content-Type", "text/plainer"}}, 0},
    {NULL, {{"Host", LOCAL}}, 403},
    {NULL, {{"Host", "192.0.2.1:8080"}}, 403},
    {LOCAL, {{"X-None", ""}}, 403},
    {LOCAL, {{"Host", "attnd.example:8080"}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "http://attnd.example"}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "https://" LOCAL}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "null"}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "null"}, {"Content-Type", "application/json"}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Via", "1.1 proxy"}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "http://" LOCAL}, {"Content-Type", FORM}}, 415},
    {LOCAL, {{"Host", LOCAL}, {"Referer", "http://a.example/"}, {"Content-Type", FORM}}, 415},
    {LOCAL, {{"Host", LOCAL}, {"Sec-Fetch-Site", "none"}, {"Content-Type", FORM}}, 415},
    {LOCAL,
     {{"Host", LOCAL}, {"Sec-Fetch-Mode", "navigate"}, {"Content-Type", FORM "; charset=utf-8"}},
     415},
    {LOCAL, {{"Host", LOCAL}, {"Content-Type", "multipart/form-data; boundary=x"}}, 415},
    {LOCAL, {{"Host", LOCAL}, {"Content-Type", "text/plain"}}, 415},
    {LOCAL, {{"Host", LOCAL}, {"Content-Type", "Text/Plain;charset=utf-8"}}, 415},
};

START_TEST(no_foreign_page_and_no_form_changes_state)
{
    struct stage stage;
    unsigned guarded = 0;
    char detail[256];
    stage_open(&stage, 1);
    for (unsigned r = 0; r < routes_count(); r++) {
        if (!route_changes_state(routes_at(r)))
            continue;
        guarded++;
        for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
            fake_loopback = heads[i].loopback;
            unsigned status = judge(&stage, routes_at(r), heads[i].headers, detail);
            ck_assert_msg(status == heads[i].status, "%zu: %u: %s", i, status, detail);
        }
    }
    ck_assert_uint_ge(guarded, 1);
    fake_loopback = NULL;
    stage_close(&stage);
}
END_TEST

/* Whoever adds a POST that any page may send has to argue for it here. */
START_TEST(only_predictions_may_be_asked_for_by_any_page)
{
    for (unsigned r = 0; r < routes_count(); r++) {
        const struct route *route = routes_at(r);
        bool is_predict = strcmp(route->pattern, "/predict") == 0;
        ck_assert_int_eq(route_changes_state(route), route->method != HTTP_GET && !is_predict);
        ck_assert_int_eq(route->is_safe, is_predict);
    }
}
END_TEST

START_TEST(a_foreign_page_that_asks_for_a_prediction_changes_nothing)
{
    static const struct fake_header foreign[] = {
        {"Host", "attnd.example"}, {"Origin", "http://attnd.example"}, {NULL, NULL}};
    struct stage stage;
    struct config before;
    stage_open(&stage, 1);
    memcpy(&before, &stage.snapshot->config, sizeof before);
    fake_headers = foreign;
    check_call(&stage, "{\"text\":\"abc\"}", 200, "\"label\"");
    fake_headers = NULL;
    const struct snapshot *after = snapshots_acquire(stage.service.snapshots);
    ck_assert_ptr_eq(after, stage.snapshot);
    ck_assert_uint_eq(after->generation, 1);
    ck_assert_mem_eq(&before, &after->config, sizeof before);
    snapshots_release(stage.service.snapshots, after);
    stage_close(&stage);
}
END_TEST

SUITE("guard", no_foreign_page_and_no_form_changes_state,
      only_predictions_may_be_asked_for_by_any_page,
      a_foreign_page_that_asks_for_a_prediction_changes_nothing)
