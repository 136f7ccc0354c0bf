/* Requests that a page in a browser cannot make. The table of routes is walked, so that a route
 * added later is tested as well. test_admin.c has every Host and Origin. */
#include "engine/base/sha256.h"
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

/* The status that answers the head alone; 0: the request would go on. */
static unsigned judge(struct stage *stage, const struct route *route,
                      const struct fake_header *headers, char detail[256])
{
    struct http_exchange exchange;
    char path[128];
    path_of(route->pattern, path);
    exchange_init(&exchange, "");
    exchange.path = path;
    exchange.method = route->method;
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
            if (status == 415 && heads[i].status == 0 && routes_at(r)->has_body)
                continue; /* a type that the guard lets pass, and the route does not read */
            ck_assert_msg(status == heads[i].status, "%zu: %u: %s", i, status, detail);
        }
    }
    ck_assert_uint_ge(guarded, 1);
    fake_loopback = NULL;
    stage_close(&stage);
}
END_TEST

/* A client of a socket in the file system has no address to name: Host is localhost. Who forwards
 * from elsewhere keeps another, or says so. */
START_TEST(by_a_path_only_who_asks_localhost_itself_changes_state)
{
    static const struct {
        struct fake_header headers[4];
        unsigned status;
    } cases[] = {
        {{{"Host", "localhost"}}, 0},
        {{{"Host", "localhost:80"}}, 0},
        {{{"Host", "localhost"}, {"Origin", "http://localhost"}}, 0},
        {{{"Host", "localhost:81"}}, 403},
        {{{"Host", "attnd.example"}}, 403},
        {{{"Host", "localhost.example"}}, 403},
        {{{"X-None", ""}}, 403},
        {{{"Host", "localhost"}, {"Origin", "http://attnd.example"}}, 403},
        {{{"Host", "localhost"}, {"Origin", "null"}}, 403},
        {{{"Host", "localhost"}, {"X-Forwarded-For", "192.0.2.1"}}, 403},
        {{{"Host", "localhost"}, {"Origin", "http://localhost"}, {"Content-Type", FORM}}, 415},
    };
    struct stage stage;
    char detail[256];
    stage_open(&stage, 1);
    fake_loopback = "localhost:80"; /* the form of http_loopback_address */
    for (unsigned r = 0; r < routes_count(); r++)
        for (size_t i = 0; route_changes_state(routes_at(r)) && i < sizeof cases / sizeof cases[0];
             i++) {
            unsigned status = judge(&stage, routes_at(r), cases[i].headers, detail);
            ck_assert_msg(status == cases[i].status, "%zu: %u: %s", i, status, detail);
        }
    fake_loopback = NULL;
    stage_close(&stage);
}
END_TEST

/* Every key passes the walk below: it tests the checks that come after the key. */
static const struct fake_header key_header = {"Authorization", "Bearer k"};

static void give_keys(struct stage *stage, const char *scopes)
{
    char text[128], digits[SHA256_HEX_BYTES];
    struct err err = {0};
    sha256_hex("k", 1, digits);
    snprintf(text, sizeof text, "sha256:%s ours %s", digits, scopes);
    ck_assert_int_eq(keys_parse(&stage->snapshot->keys, text, strlen(text), "", NULL, &err), 0);
}

static const struct {
    const char *loopback;
    struct fake_header headers[4];
    unsigned status;
} with_key[] = {
    {LOCAL, {{"Host", LOCAL}}, 0},
    {NULL, {{"Host", "192.0.2.1:8080"}}, 0},
    {NULL, {{"Host", "attnd.example"}, {"Via", "1.1 proxy"}}, 0},
    {NULL, {{"Host", "attnd.example"}, {"Origin", "http://attnd.example"}}, 0},
    {NULL, {{"Host", "attnd.example"}, {"Origin", "https://attnd.example"}}, 0},
    {NULL, {{"Host", "attnd.example"}, {"Origin", "https://other.example"}}, 403},
    {NULL, {{"Host", "attnd.example"}, {"Origin", "http://attnd.example.org"}}, 403},
    {NULL, {{"Host", "attnd.example"}, {"Origin", "null"}}, 403},
    {NULL, {{"Origin", "http://attnd.example"}}, 403},
    {LOCAL, {{"Host", LOCAL}, {"Origin", "http://attnd.example"}}, 403},
    {LOCAL, {{"Host", "attnd.example"}, {"Origin", "http://attnd.example"}}, 403},
    {LOCAL, {{"Host", "attnd.example"}, {"Sec-Fetch-Site", "same-origin"}}, 403},
    {LOCAL, {{"Host", "attnd.example"}, {"Origin", "http://attnd.example"}, {"Via", "1.1 p"}}, 0},
    {NULL, {{"Host", "a"}, {"Content-Type", "text/plain"}}, 415},
    {NULL, {{"Host", "a"}, {"Origin", "http://a"}, {"Content-Type", FORM}}, 415},
};

START_TEST(with_a_key_a_client_may_be_anywhere_but_a_page_only_of_the_same_origin)
{
    struct stage stage;
    char detail[256];
    stage_open(&stage, 1);
    give_keys(&stage, "predict,feedback,metrics,admin");
    for (unsigned r = 0; r < routes_count(); r++)
        for (size_t i = 0;
             route_changes_state(routes_at(r)) && i < sizeof with_key / sizeof with_key[0]; i++) {
            struct fake_header headers[5] = {{NULL, NULL}};
            memcpy(headers + 1, with_key[i].headers, 3 * sizeof headers[0]);
            headers[0] = key_header;
            fake_loopback = with_key[i].loopback;
            unsigned status = judge(&stage, routes_at(r), headers, detail);
            ck_assert_msg(status == with_key[i].status, "%zu: %u: %s", i, status, detail);
        }
    fake_loopback = NULL;
    stage_close(&stage);
}
END_TEST

START_TEST(behind_tls_the_same_origin_has_the_other_scheme)
{
    static const struct {
        struct fake_header headers[3];
        unsigned status;
    } cases[] = {{{{"Host", LOCAL}, {"Origin", "https://" LOCAL}}, 0},
                 {{{"Host", LOCAL}, {"Origin", "http://" LOCAL}}, 403}};
    struct stage stage;
    char detail[256];
    stage_open(&stage, 1);
    fake_loopback = LOCAL;
    fake_secure = true;
    for (unsigned r = 0; r < routes_count(); r++)
        for (size_t i = 0; route_changes_state(routes_at(r)) && i < 2; i++) {
            unsigned status = judge(&stage, routes_at(r), cases[i].headers, detail);
            ck_assert_msg(status == cases[i].status, "%zu: %u: %s", i, status, detail);
        }
    fake_secure = false;
    fake_loopback = NULL;
    stage_close(&stage);
}
END_TEST

START_TEST(a_certificate_is_asked_for_only_where_it_can_stand_for_a_key)
{
    static const char text[] = "cert:press press predict";
    static const struct fake_header plain[] = {{"Host", LOCAL}, {NULL, NULL}};
    const struct fake_header keyed[] = {{"Host", LOCAL}, key_header, {NULL, NULL}};
    struct stage stage;
    struct err err = {0};
    char detail[256];
    stage_open(&stage, 1);
    ck_assert_int_eq(keys_parse(&stage.snapshot->keys, text, strlen(text), "", NULL, &err), 0);
    fake_client_name = "press";
    for (unsigned r = 0; r < routes_count(); r++) {
        const struct route *route = routes_at(r);
        unsigned expected = route->scope == SCOPE_OPEN || route->scope == SCOPE_PREDICT ? 0 : 403;
        unsigned status = judge(&stage, route, plain, detail);
        ck_assert_msg(status == expected, "%u: %s", status, detail);
        status = judge(&stage, route, keyed, detail); /* which is unknown, and decides */
        ck_assert_msg(status == (route->scope == SCOPE_OPEN ? 0 : 401), "%u: %s", status, detail);
    }
    fake_client_name = NULL;
    stage_close(&stage);
}
END_TEST

/* The walk includes every later route: a route that is not open wants a key. */
START_TEST(guard_wants_a_key_for_every_route_that_is_not_open)
{
    static const char *const open[] = {
        "/healthz", "/health",    "/readyz",         "/openapi.json",
        "/",        "/ui/{file}", "/v2/health/live", "/v2/health/ready"};
    const struct fake_header without[] = {{"Host", LOCAL}, {NULL, NULL}};
    const struct fake_header with[] = {{"Host", LOCAL}, key_header, {NULL, NULL}};
    for (int scope = SCOPE_OPEN + 1; scope < SCOPE_COUNT; scope++) {
        struct stage stage;
        char detail[256];
        stage_open(&stage, 1);
        give_keys(&stage, scope_name((enum scope)scope));
        fake_loopback = LOCAL;
        for (unsigned r = 0; r < routes_count(); r++) {
            const struct route *route = routes_at(r);
            bool is_open = false;
            for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
                is_open =
                    is_open || (route->method == HTTP_GET && strcmp(route->pattern, open[i]) == 0);
            unsigned status = judge(&stage, route, without, detail);
            ck_assert_msg(status == (is_open ? 0 : 401), "%u: %s", status, detail);
            status = judge(&stage, route, with, detail);
            bool passes = is_open || (int)route->scope == scope;
            ck_assert_msg(status == (passes ? 0 : 403), "%u: %s", status, detail);
        }
        fake_loopback = NULL;
        stage_close(&stage);
    }
}
END_TEST

START_TEST(every_route_says_its_scope_and_what_changes_state_is_not_open)
{
    for (unsigned r = 0; r < routes_count(); r++) {
        const struct route *route = routes_at(r);
        ck_assert_msg(route->scope != SCOPE_UNSAID, "%s", route->pattern);
        ck_assert_msg(!route_changes_state(route) || route->scope != SCOPE_OPEN, "%s",
                      route->pattern);
        ck_assert_msg(strncmp(route->pattern, "/admin/", 7) != 0 || route->scope == SCOPE_ADMIN,
                      "%s", route->pattern);
    }
}
END_TEST

/* Routes that ask for predictions. */
static bool is_prediction(const char *pattern)
{
    static const char *const patterns[] = {"/predict",
                                           "/v1/embeddings",
                                           "/v1/rerank",
                                           "/v2/rerank",
                                           "/rerank",
                                           "/embed",
                                           "/embed_all",
                                           "/embed_sparse",
                                           "/tokenize",
                                           "/decode",
                                           "/similarity",
                                           "/generate",
                                           "/generate_stream",
                                           "/models/{name}/pipeline/{task}",
                                           "/",
                                           "/models/{name}",
                                           "/similar",
                                           "/v1/models/{model}:predict",
                                           "/v1/models/{model}/versions/{version}:predict",
                                           "/v2/models/{model}/infer",
                                           "/v2/models/{model}/versions/{version}/infer"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (strcmp(patterns[i], pattern) == 0)
            return true;
    return false;
}

/* A POST that any page may send must be argued for here. */
START_TEST(only_predictions_may_be_asked_for_by_any_page)
{
    for (unsigned r = 0; r < routes_count(); r++) {
        const struct route *route = routes_at(r);
        bool is_predict = route->method == HTTP_POST && is_prediction(route->pattern);
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

SUITE("guard", by_a_path_only_who_asks_localhost_itself_changes_state,
      behind_tls_the_same_origin_has_the_other_scheme,
      a_certificate_is_asked_for_only_where_it_can_stand_for_a_key,
      with_a_key_a_client_may_be_anywhere_but_a_page_only_of_the_same_origin,
      guard_wants_a_key_for_every_route_that_is_not_open,
      every_route_says_its_scope_and_what_changes_state_is_not_open,
      no_foreign_page_and_no_form_changes_state, only_predictions_may_be_asked_for_by_any_page,
      a_foreign_page_that_asks_for_a_prediction_changes_nothing)
