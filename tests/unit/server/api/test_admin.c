/* POST /admin/reload between a fake HTTP edge and a fake engine: the clients that may ask for it,
 * and the reply. */
#include "config/config_load.h"
#include "tests/unit/server/stage.h"

/* A stage whose configuration comes from a command line that a test changes. */
struct bench {
    struct stage stage;
    char *argv[12];
};

/* Publishes the models with the configuration as it is read, so that the next one differs in
 * nothing. */
static void publish_loaded(struct bench *bench, const struct reload_source *source)
{
    struct service *service = &bench->stage.service;
    struct snapshot *snapshot;
    struct config config;
    enum config_action action;
    struct err err = {0};
    ck_assert_msg(
        !config_load(&config, &action, source->argc, source->argv, source->environment, &err), "%s",
        err.text);
    ck_assert_int_eq(snapshot_create(&snapshot, 1, &config, &err), ERR_OK);
    const struct snapshot *old = snapshots_acquire(service->snapshots);
    for (unsigned i = 0; i < old->model_count; i++) {
        served_model_acquire(old->models[i]);
        snapshot_add(snapshot, old->models[i]);
    }
    snapshots_release(service->snapshots, old);
    snapshots_publish(service->snapshots, snapshot);
}

enum { ARGUMENTS = 9 };

static void bench_open(struct bench *bench, bool is_started)
{
    static char words[ARGUMENTS][24] = {"attnd",   "--model",       "logs=text",
                                        "--model", "wafers=image",  "--inputs-max",
                                        "5",       "--queue-limit", "10"};
    struct service *service = &bench->stage.service;
    struct err err = {0};
    *bench = (struct bench){0};
    for (int i = 0; i < ARGUMENTS; i++)
        bench->argv[i] = words[i];
    stage_open(&bench->stage, 1);
    const struct reloader_options options = {
        .source = {ARGUMENTS, bench->argv, bench->argv + ARGUMENTS},
        .snapshots = service->snapshots,
        .batcher = service->batcher,
        .memory = &service->memory,
        .metrics = service->metrics,
        .pools = worker_pools(bench->stage.workers),
        .plan = {.workers = 1, .threads_per_worker = 1, .batch_tokens = 64, .copies = 1}};
    publish_loaded(bench, &options.source);
    ck_assert_int_eq(reloader_open(&service->reloader, &options, &err), ERR_OK);
    if (is_started)
        ck_assert_int_eq(reloader_start(service->reloader, &err), ERR_OK);
    fake_loopback = "127.0.0.1:8080";
}

static void bench_close(struct bench *bench)
{
    reloader_stop(bench->stage.service.reloader);
    reloader_free(bench->stage.service.reloader);
    fake_headers = NULL;
    stage_close(&bench->stage);
}

/* The reply to a POST with these headers; NULL: without the header. */
static unsigned ask_with(struct bench *bench, struct http_exchange *exchange, const char *host,
                         const char *origin, const char *other)
{
    const struct fake_header headers[] = {{host != NULL ? "Host" : "X-No-Host", host},
                                          {origin != NULL ? "Origin" : "X-No-Origin", origin},
                                          {other, "x"},
                                          {NULL, NULL}};
    struct stage *stage = &bench->stage;
    exchange_init(exchange, "");
    exchange->path = "/admin/reload";
    exchange->has_length = false;
    fake_headers = headers;
    if (stage->app.head(&stage->service, exchange) == HTTP_CONTINUE &&
        stage->app.begin(&stage->service, exchange) == HTTP_SUSPENDED) {
        fake_await_resumed(exchange);
        stage->app.finish(&stage->service, exchange);
    }
    fake_headers = NULL;
    return exchange->reply.status;
}

static unsigned ask(struct bench *bench, struct http_exchange *exchange, const char *host,
                    const char *origin)
{
    return ask_with(bench, exchange, host, origin, "X-Other");
}

static void expect(struct bench *bench, const char *host, const char *origin, unsigned status,
                   const char *part)
{
    struct http_exchange exchange;
    while (ask(bench, &exchange, host, origin) == 409)
        exchange_done(&bench->stage, &exchange); /* the one before is not quite over */
    ck_assert_msg(exchange.reply.status == status, "%u for %s, %s", exchange.reply.status,
                  host != NULL ? host : "no host", origin != NULL ? origin : "no origin");
    ck_assert_msg(strstr(exchange.reply.body, part) != NULL, "%s lacks %s", exchange.reply.body,
                  part);
    ck_assert_str_eq(exchange.reply.content_type,
                     status == 200 ? "application/json" : "application/problem+json");
    exchange_done(&bench->stage, &exchange);
}

/* ---- who may ask ---- */

START_TEST(admin_refuses_a_reload_through_a_proxy)
{
    static const char *const headers[] = {"Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"};
    struct bench bench;
    bench_open(&bench, true);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct http_exchange exchange;
        char part[64];
        ck_assert_uint_eq(ask_with(&bench, &exchange, "127.0.0.1:8080", NULL, headers[i]), 403);
        snprintf(part, sizeof part, "through a proxy (the request has %s)", headers[i]);
        ck_assert_msg(strstr(exchange.reply.body, part) != NULL, "%s", exchange.reply.body);
        exchange_done(&bench.stage, &exchange);
    }
    bench_close(&bench);
}
END_TEST

static const char no_loopback[] = "answer only on a loopback address of the server's machine";
static const char no_host[] = "answer only requests whose Host is ";
static const char no_origin[] = "do not answer pages of another origin";

static const struct {
    const char *address, *host, *origin;
    const char *refusal; /* NULL: it is allowed */
} askers[] = {
    {"127.0.0.1:8080", "127.0.0.1:8080", NULL, NULL},
    {"127.0.0.1:8080", "localhost:8080", NULL, NULL},
    {"127.0.0.2:8080", "127.0.0.2:8080", NULL, NULL},
    {"[::1]:8080", "[::1]:8080", NULL, NULL},
    {"[::1]:8080", "localhost:8080", NULL, NULL},
    {"127.0.0.1:80", "127.0.0.1", NULL, NULL},
    {"127.0.0.1:80", "localhost", NULL, NULL},
    {"127.0.0.1:80", "localhost:80", NULL, NULL},
    {"[::1]:80", "[::1]", NULL, NULL},
    {"127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080", NULL},
    {"127.0.0.1:8080", "localhost:8080", "http://localhost:8080", NULL},
    {"127.0.0.1:80", "localhost", "http://localhost", NULL},
    {NULL, "127.0.0.1:8080", NULL, no_loopback},
    {NULL, "192.0.2.1:8080", NULL, no_loopback},
    {"127.0.0.1:8080", NULL, NULL, no_host},
    {"127.0.0.1:8080", "", NULL, no_host},
    {"127.0.0.1:8080", "attnd.example:8080", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.1.attnd.example:8080", NULL, no_host},
    {"127.0.0.1:8080", "localhost.attnd.example:8080", NULL, no_host},
    {"127.0.0.1:8080", "localhosts:8080", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.1", NULL, no_host},
    {"127.0.0.1:8080", "localhost", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.1:80800", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.1:808", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.10:8080", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.2:8080", NULL, no_host},
    {"127.0.0.1:8080", "[::1]:8080", NULL, no_host},
    {"127.0.0.1:8080", ":8080", NULL, no_host},
    {"[::1]:8080", "::1:8080", NULL, no_host},
    {"127.0.0.1:80", "127.0.0.1:8080", NULL, no_host},
    {"127.0.0.1:8080", "127.0.0.1:8080", "http://attnd.example", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "https://127.0.0.1:8080", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:9090", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "http://localhost:8080", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080/", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "null", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "", no_origin},
    {"127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8080", no_origin},
};

START_TEST(only_a_process_of_this_machine_that_names_it_may_reload)
{
    struct bench bench;
    unsigned generation = 1;
    bench_open(&bench, true);
    for (size_t i = 0; i < sizeof askers / sizeof askers[0]; i++) {
        char part[64];
        bool is_allowed = askers[i].refusal == NULL;
        fake_loopback = askers[i].address;
        snprintf(part, sizeof part, "{\"generation\":%u,", ++generation);
        generation -= !is_allowed;
        expect(&bench, askers[i].host, askers[i].origin, is_allowed ? 200 : 403,
               is_allowed ? part : askers[i].refusal);
    }
    const struct snapshot *snapshot = snapshots_acquire(bench.stage.service.snapshots);
    ck_assert_uint_eq(snapshot->generation, generation); /* the refused reload did nothing */
    snapshots_release(bench.stage.service.snapshots, snapshot);
    check_metric(&bench.stage, "attnd_rejected_total{reason=\"forbidden\"} 26\n");
    bench_close(&bench);
}
END_TEST

START_TEST(a_refusal_names_the_host_that_it_wants)
{
    struct bench bench;
    bench_open(&bench, true);
    fake_loopback = "[::1]:8080";
    expect(&bench, "attnd.example", NULL, 403, "requests whose Host is [::1]:8080\"");
    bench_close(&bench);
}
END_TEST

/* ---- what the reply says ---- */

#define LOCAL "127.0.0.1:8080"

static void set_option(struct bench *bench, const char *flag, const char *value)
{
    for (int i = 0; i + 1 < ARGUMENTS; i++)
        if (strcmp(bench->argv[i], flag) == 0)
            snprintf(bench->argv[i + 1], 24, "%s", value);
}

START_TEST(the_reply_lists_what_changed_and_what_waits)
{
    struct bench bench;
    struct http_exchange exchange;
    bench_open(&bench, true);
    ck_assert_uint_eq(ask(&bench, &exchange, LOCAL, NULL), 200);
    ck_assert_str_eq(exchange.reply.body, "{\"generation\":2,\"changed\":[]}");
    ck_assert_uint_eq(exchange.reply.body_len, strlen(exchange.reply.body));
    ck_assert_uint_eq(strlen(exchange.reply.request_id), 16);
    exchange_done(&bench.stage, &exchange);
    set_option(&bench, "--inputs-max", "6");
    expect(&bench, LOCAL, NULL, 200, "{\"generation\":3,\"changed\":[\"inputs_max\"]}");
    set_option(&bench, "--queue-limit", "20");
    expect(&bench, LOCAL, NULL, 200,
           "{\"generation\":4,\"changed\":[],\"restart\":[\"queue_limit\"]}");
    snprintf(bench.argv[2], 24, "logs=text-2");
    expect(&bench, LOCAL, NULL, 200,
           "{\"generation\":5,\"changed\":[\"models.logs\"],\"restart\":[\"queue_limit\"]}");
    check_metric(&bench.stage, "attnd_requests_total{route=\"/admin/reload\",model=\"\",code="
                               "\"200\"} 4\n");
    bench_close(&bench);
}
END_TEST

START_TEST(admin_answers_422_with_the_reason_if_a_model_cannot_be_served)
{
    struct bench bench;
    bench_open(&bench, true);
    snprintf(bench.argv[2], 24, "logs=nowhere");
    expect(&bench, LOCAL, NULL, 422, "\"detail\":\"model logs: config.json: no such file\"");
    snprintf(bench.argv[2], 24, "logs=text");
    set_option(&bench, "--inputs-max", "many");
    expect(&bench, LOCAL, NULL, 422, "\"detail\":\"--inputs-max: ");
    set_option(&bench, "--inputs-max", "5");
    expect(&bench, LOCAL, NULL, 200, "\"generation\":2,");
    bench_close(&bench);
}
END_TEST

/* The first reload is held while it warms a model. */
START_TEST(another_reload_is_409_while_one_runs)
{
    struct bench bench;
    struct stage *stage = &bench.stage;
    struct http_exchange first, second;
    const struct fake_header headers[] = {{"Host", LOCAL}, {NULL, NULL}};
    bench_open(&bench, true);
    snprintf(bench.argv[2], 24, "logs=text-2");
    fake_gate(true);
    exchange_init(&first, "");
    first.path = "/admin/reload";
    fake_headers = headers;
    ck_assert_int_eq(stage->app.head(&stage->service, &first), HTTP_CONTINUE);
    ck_assert_int_eq(stage->app.begin(&stage->service, &first), HTTP_SUSPENDED);
    fake_await_inside(1);
    ck_assert_uint_eq(ask(&bench, &second, LOCAL, NULL), 409);
    ck_assert_ptr_nonnull(strstr(second.reply.body, "\"detail\":\"another reload is running\""));
    exchange_done(stage, &second);
    fake_gate(false);
    fake_await_resumed(&first);
    stage->app.finish(&stage->service, &first);
    ck_assert_uint_eq(first.reply.status, 200);
    exchange_done(stage, &first);
    snprintf(bench.argv[2], 24, "logs=text");
    bench_close(&bench);
}
END_TEST

START_TEST(a_reload_is_503_while_the_server_starts_or_stops)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench, false);
    expect(&bench, LOCAL, NULL, 503, "\"detail\":\"the server is starting or stopping\"");
    ck_assert_int_eq(reloader_start(bench.stage.service.reloader, &err), ERR_OK);
    expect(&bench, LOCAL, NULL, 200, "\"generation\":2,");
    reloader_stop(bench.stage.service.reloader);
    expect(&bench, LOCAL, NULL, 503, "\"detail\":\"the server is starting or stopping\"");
    bench_close(&bench);
}
END_TEST

SUITE("admin", only_a_process_of_this_machine_that_names_it_may_reload,
      admin_refuses_a_reload_through_a_proxy, a_refusal_names_the_host_that_it_wants,
      the_reply_lists_what_changed_and_what_waits,
      admin_answers_422_with_the_reason_if_a_model_cannot_be_served,
      another_reload_is_409_while_one_runs, a_reload_is_503_while_the_server_starts_or_stops)
