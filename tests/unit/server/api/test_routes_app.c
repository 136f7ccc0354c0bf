/* Answers of every route, over the application's five functions: status, headers and body, and the
 * entries in metrics and log. */
#include "server/api/reply.h"
#include "server/observe/log.h"
#include "server/ui/page.h"
#include "tests/support/log_capture.h"
#include "tests/unit/server/stage.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <sys/random.h>

static bool no_randomness;

ssize_t getrandom(void *out, size_t len, unsigned flags)
{
    (void)flags;
    memset(out, 7, len);
    return no_randomness ? -1 : (ssize_t)len;
}

/* One request without a body, to its end. The exchange is the caller's to be done with. */
static void ask(struct stage *stage, struct http_exchange *exchange, enum http_method method,
                const char *path)
{
    exchange_init(exchange, "");
    exchange->method = method;
    exchange->path = path;
    if (stage->app.head(&stage->service, exchange) == HTTP_CONTINUE)
        ck_assert_int_eq(stage->app.begin(&stage->service, exchange), HTTP_REPLY);
    ck_assert_uint_eq(exchange->reply.body_len, exchange->reply.more == NULL
                                                    ? strlen(exchange->reply.body)
                                                    : exchange->reply.body_len);
}

static const char json[] = "application/json", problem[] = "application/problem+json";

static const struct {
    enum http_method method;
    const char *path;
    unsigned status;
    const char *type, *part; /* of the body */
    const char *allow;
    unsigned retry_s;
} routes_table[] = {
    {HTTP_GET, "/healthz", 200, json, "{\"status\":\"ok\"}", NULL, 0},
    {HTTP_HEAD, "/healthz", 200, json, "{\"status\":\"ok\"}", NULL, 0},
    {HTTP_GET, "/readyz", 200, json, "{\"status\":\"ready\"}", NULL, 0},
    {HTTP_GET, "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8",
     "# TYPE attnd_requests_total counter\n", NULL, 0},
    {HTTP_GET, "/models", 200, json, "{\"models\":[{\"name\":\"logs\"", NULL, 0},
    {HTTP_GET, "/models/wafers", 200, json, "{\"name\":\"wafers\"", NULL, 0},
    {HTTP_GET, "/models/none", 404, problem,
     "\"detail\":\"no model of this name is served; GET /models lists them\"", NULL, 0},
    {HTTP_GET, "/", 200, "text/html; charset=utf-8", "<!", NULL, 0},
    {HTTP_GET, "/openapi.json", 200, json, "{\"openapi\":\"3.1.", NULL, 0},
    {HTTP_GET, "/ui/none", 404, problem, "\"detail\":\"there is nothing at this path\"", NULL, 0},
    {HTTP_GET, "/none", 404, problem,
     "\"detail\":\"there is nothing at this path; GET /openapi.json", NULL, 0},
    {HTTP_GET, "/predict", 405, problem, "\"detail\":\"/predict answers only POST\"", "POST", 0},
    {HTTP_POST, "/models", 405, problem, "\"detail\":\"/models answers only GET, HEAD\"",
     "GET, HEAD", 0},
    {HTTP_OTHER, "/", 405, problem, "\"detail\":\"/ answers only POST, GET, HEAD\"",
     "POST, GET, HEAD", 0},
    {HTTP_GET, "/admin/reload", 405, problem,
     "\"detail\":\"/admin/reload answers only POST; POST: Reads the configuration again; without "
     "keys only for clients of this machine, with admin_listen only there\"",
     "POST", 0},
    {HTTP_POST, "/admin/reload", 403, problem,
     "\"detail\":\"without keys, routes that change something answer only on a loopback address",
     NULL, 0},
};

START_TEST(every_route_answers_as_the_contract_says)
{
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof routes_table / sizeof routes_table[0]; i++) {
        struct http_exchange exchange;
        ask(&stage, &exchange, routes_table[i].method, routes_table[i].path);
        const struct http_reply *reply = &exchange.reply;
        ck_assert_msg(reply->status == routes_table[i].status, "%s: %u", routes_table[i].path,
                      reply->status);
        ck_assert_str_eq(reply->content_type, routes_table[i].type);
        ck_assert_msg(strstr(reply->body, routes_table[i].part) != NULL, "%s: %s",
                      routes_table[i].path, reply->body);
        ck_assert_int_eq(reply->allow != NULL, routes_table[i].allow != NULL);
        if (reply->allow != NULL)
            ck_assert_str_eq(reply->allow, routes_table[i].allow);
        ck_assert_uint_eq(reply->retry_after_s, routes_table[i].retry_s);
        ck_assert_uint_eq(strlen(reply->request_id), 16);
        ck_assert(!reply->close);
        exchange_done(&stage, &exchange);
    }
    stage_close(&stage);
}
END_TEST

START_TEST(a_body_is_taken_only_where_there_is_use_for_one_and_as_long_as_it_can_be)
{
    enum { OF_JSON = LIMIT_UNPOOLED_JSON_BYTES + 4 * 4096 }; /* four inputs */
    static const struct {
        enum http_method method;
        const char *path;
        size_t most;
    } cases[] = {{HTTP_POST, "/predict", 1 << 25},
                 {HTTP_POST, "/feedback", OF_JSON},
                 {HTTP_POST, "/admin/models", OF_JSON},
                 {HTTP_GET, "/models", 0},
                 {HTTP_GET, "/", 0},
                 {HTTP_POST, "/admin/reload", LIMIT_UNUSED_BODY_BYTES}};
    const struct fake_header local[] = {{"Host", "127.0.0.1:80"}, {NULL, NULL}};
    struct stage stage;
    stage_open(&stage, 1);
    fake_headers = local;
    fake_loopback = "127.0.0.1:80";
    stage.snapshot->config.body_bytes_max = 1 << 25;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        exchange_init(&exchange, "");
        exchange.method = cases[i].method;
        exchange.path = cases[i].path;
        exchange.body_bytes_max = 77;
        ck_assert_int_eq(stage.app.head(&stage.service, &exchange), HTTP_CONTINUE);
        ck_assert_uint_eq(exchange.body_bytes_max, cases[i].most);
        exchange_done(&stage, &exchange);
    }
    stage_close(&stage);
}
END_TEST

/* A request that does not mention a body has none. If a route needs one, bytes that come all the
 * same are not read. */
START_TEST(a_length_is_asked_for_only_where_a_body_is_needed)
{
    static const struct {
        const char *path;
        bool is_refused;
    } cases[] = {{"/predict", true}, {"/admin/reload", false}};
    const struct fake_header local[] = {{"Host", "127.0.0.1:80"}, {NULL, NULL}};
    struct stage stage;
    stage_open(&stage, 1);
    fake_headers = local;
    fake_loopback = "127.0.0.1:80";
    for (int i = 0; i < 2; i++) {
        struct http_exchange exchange;
        exchange_init(&exchange, "");
        exchange.path = cases[i].path;
        exchange.has_length = false;
        enum http_next next = stage.app.head(&stage.service, &exchange);
        ck_assert_int_eq(next, cases[i].is_refused ? HTTP_REPLY : HTTP_CONTINUE);
        ck_assert_int_eq(exchange.reply.close, cases[i].is_refused);
        if (cases[i].is_refused) {
            ck_assert_uint_eq(exchange.reply.status, 411);
            ck_assert_ptr_nonnull(strstr(exchange.reply.body, "this POST needs Content-Length"));
        }
        exchange_done(&stage, &exchange);
    }
    stage_close(&stage);
}
END_TEST

START_TEST(readyz_says_in_which_phase_the_server_is)
{
    static const struct {
        int phase;
        const char *detail; /* NULL: 200 */
    } cases[] = {{SERVICE_STARTING, "\"detail\":\"the models are being loaded\""},
                 {SERVICE_READY, NULL},
                 {SERVICE_DRAINING, "\"detail\":\"the server is draining\""},
                 {SERVICE_STOPPING, "\"detail\":\"the server is draining\""}};
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        atomic_store(&stage.service.phase, cases[i].phase);
        ask(&stage, &exchange, HTTP_GET, "/readyz");
        ck_assert_uint_eq(exchange.reply.status, cases[i].detail == NULL ? 200 : 503);
        ck_assert_uint_eq(exchange.reply.retry_after_s, cases[i].detail != NULL);
        if (cases[i].detail != NULL)
            ck_assert_ptr_nonnull(strstr(exchange.reply.body, cases[i].detail));
        exchange_done(&stage, &exchange);
    }
    check_metric(&stage, "attnd_rejected_total{reason=\"not_ready\"} 3\n");
    check_metric(&stage, "attnd_requests_total{route=\"/readyz\",model=\"\",code=\"503\"} 3\n");
    stage_close(&stage);
}
END_TEST

START_TEST(models_route_lists_name_version_digest_and_kind)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    ask(&stage, &exchange, HTTP_GET, "/models");
    static const char *const heads[] = {"{\"models\":[{\"name\":\"logs\",\"version\":\"1\","
                                        "\"digest\":null,\"default\":true,\"kind\":\"text\",",
                                        ",{\"name\":\"wafers\",\"version\":\"1\","
                                        "\"digest\":null,\"default\":true,\"kind\":\"image\","};
    for (int i = 0; i < 2; i++)
        ck_assert_msg(strstr(exchange.reply.body, heads[i]) != NULL, "%s", exchange.reply.body);
    exchange_done(&stage, &exchange);
    ask(&stage, &exchange, HTTP_GET, "/models/wafers");
    ck_assert_ptr_nonnull(strstr(exchange.reply.body, heads[1] + 1));
    exchange_done(&stage, &exchange);
    stage_close(&stage);
}
END_TEST

START_TEST(models_tell_the_limits_of_requests)
{
    static const char *const members[] = {"\"inputs_max\":4", "\"body_bytes_max\":1048576",
                                          "\"image_pixels_max\":11", "\"request_pixels_max\":22"};
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    stage.snapshot->config.image_pixels_max = 11;
    stage.snapshot->config.request_pixels_max = 22;
    static const char *const paths[] = {"/models", "/models/wafers"};
    for (int i = 0; i < 2; i++) {
        ask(&stage, &exchange, HTTP_GET, paths[i]);
        for (size_t k = 0; k < sizeof members / sizeof members[0]; k++)
            ck_assert_msg(strstr(exchange.reply.body, members[k]) != NULL, "no %s in %s",
                          members[k], exchange.reply.body);
        exchange_done(&stage, &exchange);
    }
    stage_close(&stage);
}
END_TEST

static const char *field(const struct http_exchange *exchange, const char *name)
{
    for (const struct http_field *at = exchange->reply.more; at->name != NULL; at++)
        if (strcmp(at->name, name) == 0)
            return at->value;
    ck_abort_msg("no %s", name);
    return NULL;
}

START_TEST(the_page_is_sent_with_headers_that_lock_it_in)
{
    static const struct http_field wanted[] = {
        {"Cache-Control", "no-cache"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
         "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
    };
    struct stage stage;
    struct http_exchange exchange;
    unsigned count = 0;
    stage_open(&stage, 1);
    for (; page_at(count) != NULL; count++) {
        const struct page_file *file = page_at(count);
        ask(&stage, &exchange, HTTP_GET, file->path);
        ck_assert_uint_eq(exchange.reply.status, 200);
        ck_assert_str_eq(exchange.reply.content_type, file->media_type);
        ck_assert_ptr_eq(exchange.reply.body, file->begin);
        ck_assert_uint_eq(exchange.reply.body_len, (size_t)(file->end - file->begin));
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            ck_assert_str_eq(field(&exchange, wanted[i].name), wanted[i].value);
        ck_assert_uint_eq(strlen(field(&exchange, "ETag")), 64 + 2);
        exchange_done(&stage, &exchange);
    }
    ck_assert_uint_gt(count, 2);
    ck_assert_ptr_null(page_at(count + 1));
    ck_assert_ptr_null(page_find("/ui/"));
    stage_close(&stage);
}
END_TEST

START_TEST(page_is_not_sent_again_to_a_client_that_has_it)
{
    struct stage stage;
    struct http_exchange exchange;
    char tag[80], weak[160];
    stage_open(&stage, 1);
    ask(&stage, &exchange, HTTP_GET, "/");
    snprintf(tag, sizeof tag, "%s", field(&exchange, "ETag"));
    size_t len = exchange.reply.body_len;
    exchange_done(&stage, &exchange);
    snprintf(weak, sizeof weak, "\"other\", W/%s", tag);
    const struct {
        const char *known;
        unsigned status;
    } cases[] = {{tag, 304}, {weak, 304}, {"*", 304}, {"\"other\"", 200}, {"", 200}, {"**", 200}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_header headers[] = {{"If-None-Match", cases[i].known}, {NULL, NULL}};
        fake_headers = headers;
        ask(&stage, &exchange, HTTP_GET, "/");
        ck_assert_uint_eq(exchange.reply.status, cases[i].status);
        ck_assert_uint_eq(exchange.reply.body_len, len);
        ck_assert_str_eq(field(&exchange, "ETag"), tag);
        exchange_done(&stage, &exchange);
    }
    fake_headers = NULL;
    stage_close(&stage);
}
END_TEST

/* Each is counted once, under the route if it has one. */
START_TEST(a_request_that_is_refused_counts_its_error_once)
{
    static const struct {
        enum http_method method;
        const char *path, *rejected, *request;
    } cases[] = {
        {HTTP_GET, "/none", "{reason=\"not_found\"} 1\n",
         "{route=\"other\",model=\"\",code=\"404\"} 1\n"},
        {HTTP_GET, "/models/none", "{reason=\"not_found\"} 2\n",
         "{route=\"/models/{name}\",model=\"\",code=\"404\"} 1\n"},
        {HTTP_GET, "/ui/none", "{reason=\"not_found\"} 3\n",
         "{route=\"/ui/{file}\",model=\"\",code=\"404\"} 1\n"},
        {HTTP_POST, "/models", "{reason=\"method_not_allowed\"} 1\n",
         "{route=\"/models\",model=\"\",code=\"405\"} 1\n"},
        {HTTP_GET, "/healthz", "{reason=\"not_found\"} 3\n",
         "{route=\"/healthz\",model=\"\",code=\"200\"} 1\n"},
    };
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        char line[128];
        ask(&stage, &exchange, cases[i].method, cases[i].path);
        exchange_done(&stage, &exchange);
        snprintf(line, sizeof line, "attnd_rejected_total%s", cases[i].rejected);
        check_metric(&stage, line);
        snprintf(line, sizeof line, "attnd_requests_total%s", cases[i].request);
        check_metric(&stage, line);
    }
    stage_close(&stage);
}
END_TEST

/* The edge refuses what it cannot read, before or after the application has seen the head. */
START_TEST(a_refusal_of_the_edge_is_a_problem_and_counted_once)
{
    const struct err err = {.code = ERR_MALFORMED, .text = "request line: unreadable"};
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    for (int way = 0; way < 2; way++) {
        exchange_init(&exchange, "");
        exchange.path = way == 0 ? "" : "/predict";
        if (way == 1)
            ck_assert_int_eq(stage.app.head(&stage.service, &exchange), HTTP_CONTINUE);
        check_metric(&stage,
                     way == 0 ? "attnd_requests_in_flight 0\n" : "attnd_requests_in_flight 1\n");
        stage.app.refuse(&stage.service, &exchange, &err);
        check_metric(&stage, "attnd_requests_in_flight 1\n");
        ck_assert_uint_eq(exchange.reply.status, 400);
        ck_assert_ptr_nonnull(strstr(exchange.reply.body, "request line: unreadable"));
        exchange_done(&stage, &exchange);
    }
    check_metric(&stage, "attnd_requests_in_flight 0\n");
    check_metric(&stage, "attnd_rejected_total{reason=\"malformed\"} 2\n");
    check_metric(&stage, "attnd_requests_total{route=\"other\",model=\"\",code=\"400\"} 1\n");
    check_metric(&stage, "attnd_requests_total{route=\"/predict\",model=\"\",code=\"400\"} 1\n");
    stage_close(&stage);
}
END_TEST

START_TEST(a_request_is_counted_by_route_model_and_status)
{
    static const struct {
        const char *body, *line;
    } cases[] = {
        {"{\"text\": \"a\"}", "{route=\"/predict\",model=\"logs\",code=\"200\"} 1\n"},
        {"{\"image\": \"NyBwaXhlbHM=\"}", "{route=\"/predict\",model=\"wafers\",code=\"200\"} 1\n"},
        {"{\"inputs\": [{\"text\": \"a\"}, {\"image\": \"NyBwaXhlbHM=\"}]}",
         "{route=\"/predict\",model=\"\",code=\"200\"} 1\n"},
        {"{\"inputs\": [{\"image\": 1}, {\"text\": \"a\"}, {\"text\": \"a\"}]}",
         "{route=\"/predict\",model=\"logs\",code=\"200\"} 2\n"},
        {"{", "{route=\"/predict\",model=\"\",code=\"400\"} 1\n"},
        {"{\"text\": \"a\", \"explain\": true}", /* whose budget is given back */
         "{route=\"/predict\",model=\"logs\",code=\"200\"} 3\n"},
    };
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        char line[128];
        call(&stage, &exchange, cases[i].body);
        exchange_done(&stage, &exchange);
        snprintf(line, sizeof line, "attnd_requests_total%s", cases[i].line);
        check_metric(&stage, line);
    }
    check_metric(&stage, "attnd_requests_in_flight 0\n");
    stage_close(&stage);
}
END_TEST

START_TEST(a_request_is_logged_only_on_demand)
{
    struct stage stage;
    struct http_exchange exchange;
    stage_open(&stage, 1);
    for (int way = 0; way < 2; way++) {
        ck_assert(log_set_level(way == 0 ? "info" : "debug"));
        call(&stage, &exchange,
             "{\"inputs\": [{\"text\": \"a\"}], \"id\": \"w7\", \"context\": {\"lot\": \"A1\"}}");
        exchange.head_ns = clock_now_ns() - 3600 * (uint64_t)CLOCK_NS_PER_S;
        log_capture_start();
        exchange_done(&stage, &exchange);
        const char *text = log_capture_end();
        if (way == 0) { /* an hour, of which the metrics have no bucket */
            check_metric(&stage, "attnd_request_duration_seconds_sum{route=\"/predict\",model="
                                 "\"logs\"} 3600");
            ck_assert_str_eq(text, "");
            continue;
        }
        const char *fields = log_capture_fields(text, "request");
        static const char wanted[] = ",\"id\":\"w7\",\"route\":\"/predict\",\"status\":200,"
                                     "\"inputs\":1,\"ms\":360";
        ck_assert_msg(strncmp(fields, wanted, strlen(wanted)) == 0, "%s", fields);
        ck_assert_ptr_nonnull(strstr(fields, ",\"context\":\"{\\\"lot\\\":\\\"A1\\\"}\"}"));
        ck_assert_ptr_nonnull(strstr(text, "\"level\":\"debug\""));
    }
    log_set_level("info");
    stage_close(&stage);
}
END_TEST

/* The id in a reply, and the instance of a problem. */
START_TEST(a_reply_bears_the_clients_id_if_a_header_can)
{
    static const struct {
        const char *header, *body;
        const char *id, *instance; /* NULL: one of ours; none */
    } cases[] = {
        {NULL, "{", NULL, "\"instance\":\"urn:request:"},
        {"lot-7.a_b~c:d", "{", "lot-7.a_b~c:d", "\"instance\":\"urn:request:lot-7.a_b~c:d\""},
        {"lot/7", "{", "lot/7", NULL},
        {"lot 7", "{", NULL, "\"instance\":\"urn:request:"},
        {"", "{", NULL, "\"instance\":\"urn:request:"},
        {"h", "{\"text\": \"\", \"id\": \"b\"}", "b", "\"instance\":\"urn:request:h\""},
        {"h", "{\"text\": \"\", \"id\": \"b c\"}", "h", "\"instance\":\"urn:request:h\""},
    };
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fake_header headers[] = {{"X-Request-Id", cases[i].header}, {NULL, NULL}};
        struct http_exchange exchange;
        fake_headers = headers;
        call(&stage, &exchange, cases[i].body);
        if (cases[i].id != NULL)
            ck_assert_str_eq(exchange.reply.request_id, cases[i].id);
        else
            ck_assert_uint_eq(strspn(exchange.reply.request_id, "0123456789abcdef"), 16);
        ck_assert_str_eq(exchange.reply.content_type, "application/problem+json");
        if (cases[i].instance != NULL)
            ck_assert_ptr_nonnull(strstr(exchange.reply.body, cases[i].instance));
        else
            ck_assert_ptr_null(strstr(exchange.reply.body, "urn:request:"));
        exchange_done(&stage, &exchange);
    }
    fake_headers = NULL;
    stage_close(&stage);
}
END_TEST

/* The finaliser of splitmix64: its published first values for the seed 1234567 are those of the
 * counter times the golden ratio; here of the numbers themselves. */
START_TEST(ids_are_the_counter_mixed)
{
    struct request_ids ids;
    struct arena arena;
    arena_init(&arena);
    atomic_init(&ids.next, UINT64_C(1234567) + UINT64_C(0x9e3779b97f4a7c15));
    ck_assert_str_eq(request_ids_next(&ids, &arena), "599ed017fb08fc85"); /* 6457827717110365317 */
    ck_assert_uint_eq(ids.next, UINT64_C(1234567) + UINT64_C(0x9e3779b97f4a7c15) + 1);
    request_ids_init(&ids);
    ck_assert_uint_eq(ids.next, UINT64_C(0x0707070707070707));
    no_randomness = true;
    uint64_t before = clock_now_ns();
    request_ids_init(&ids);
    ck_assert(ids.next >= before && ids.next <= clock_now_ns());
    arena_deinit(&arena);
}
END_TEST

START_TEST(a_request_may_come_again_when_its_refusal_says)
{
    static const struct {
        enum err_code code;
        unsigned wanted_s, told_s;
    } cases[] = {{ERR_QUEUE_FULL, 7, 7}, {ERR_QUEUE_FULL, 0, 1}, {ERR_NOT_READY, 0, 1},
                 {ERR_NOT_READY, 9, 9},  {ERR_UNUSABLE, 7, 0},   {ERR_DEADLINE, 7, 0},
                 {ERR_CONFLICT, 0, 0},   {ERR_CONFLICT, 7, 7}};
    struct stage stage;
    stage_open(&stage, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_exchange exchange;
        exchange_init(&exchange, "");
        struct request *request = request_open(&exchange, &stage.service, &stage.service.ids);
        err_set(&request->err, cases[i].code, "x");
        request->retry_after_s = cases[i].wanted_s;
        reply_problem(request);
        ck_assert_uint_eq(exchange.reply.retry_after_s, cases[i].told_s);
        ck_assert_uint_eq(exchange.reply.status, problem_status(cases[i].code));
        arena_deinit(&exchange.arena);
    }
    stage_close(&stage);
}
END_TEST

SUITE("routes_app", every_route_answers_as_the_contract_says,
      a_body_is_taken_only_where_there_is_use_for_one_and_as_long_as_it_can_be,
      a_length_is_asked_for_only_where_a_body_is_needed, readyz_says_in_which_phase_the_server_is,
      models_route_lists_name_version_digest_and_kind, models_tell_the_limits_of_requests,
      the_page_is_sent_with_headers_that_lock_it_in, page_is_not_sent_again_to_a_client_that_has_it,
      a_refusal_of_the_edge_is_a_problem_and_counted_once,
      a_request_that_is_refused_counts_its_error_once,
      a_request_is_counted_by_route_model_and_status, a_request_is_logged_only_on_demand,
      a_reply_bears_the_clients_id_if_a_header_can, ids_are_the_counter_mixed,
      a_request_may_come_again_when_its_refusal_says)
