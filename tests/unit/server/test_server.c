/* The life of the server over parts that only say that they were called: what is started with what
 * and in which order, what is stopped again wherever a start fails, and what a drain waits for. The
 * figure behind a word is the service's phase.
 */
#include "server/server.h"

#include "config/option.h"
#include "engine/base/cpu.h"
#include "engine/base/openblas.h"
#include "tests/support/log_capture.h"
#include "tests/support/suite.h"
#include "tests/unit/server/server_parts.h"

#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static struct config_model models[] = {{.name = "logs", .dir = "text"},
                                       {.name = "wafers", .dir = "image"}};
static const struct config usual = {.listen_address = "127.0.0.1",
                                    .listen_port = 8080,
                                    .models = models,
                                    .model_count = 2,
                                    .workers = 1,
                                    .queue_limit = 77,
                                    .queue_ms_max = 88,
                                    .connections_max = 50,
                                    .header_timeout_ms = 11,
                                    .body_timeout_ms = 22,
                                    .body_bytes_max = 33,
                                    .drain_delay_ms = 1500,
                                    .drain_timeout_ms = 4000,
                                    .audit_dir = "",
                                    .state_dir = "",
                                    .fit_program = "",
                                    .log_level = "info"};

static char *const arguments[] = {"attnd", NULL};
static const struct reload_source source = {.argc = 1, .argv = arguments};
static char ready_line[256];
static const char *logged;

static enum err_code run(const struct config *config, struct err *err)
{
    FILE *ready = fmemopen(ready_line, sizeof ready_line, "w");
    ck_assert_ptr_nonnull(ready);
    *err = (struct err){0};
    log_capture_start();
    enum err_code code = server_run(config, &source, ready, err);
    logged = log_capture_end();
    fclose(ready);
    ck_assert_int_eq(code, err->code);
    return code;
}

#define BEGUN "ids plan log-plan metrics0 "
#define OPENED BEGUN "batcher0 copy0 snapshot0 keys0 snapshots0 http0 workers0 "
#define STARTED OPENED "reloader0 load0 backend0 shadow0 prepare0 reload0 digests1 "
#define STOPPED                                                                                    \
    "stop-reload3 stop-prepare3 close3 flush3 join3 quiesce3 -http3 -shadow3 -prepare3 "           \
    "-snapshots3 "                                                                                 \
    "-reloader3 -workers3 -batcher3 -metrics3 "

START_TEST(the_server_starts_in_order_and_stops_in_the_reverse)
{
    struct err err;
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_str_eq(parts.capture, STARTED "drain2 quiesce2 " STOPPED);
    ck_assert_uint_eq(parts.slept_ns, 1500ull * CLOCK_NS_PER_MS);
    ck_assert_str_eq(ready_line, "attnd: listening on http://127.0.0.1:4711 (logs, wafers)\n");
}
END_TEST

/* The messages that the service manager got, in order. */
static void read_told(int fd, char *out, size_t size)
{
    char message[64];
    size_t used = 0;
    out[0] = '\0';
    for (ssize_t len; (len = recv(fd, message, sizeof message, MSG_DONTWAIT)) > 0;)
        used += (size_t)snprintf(out + used, size - used, "%.*s ", (int)len, message);
}

START_TEST(a_server_whose_queue_stands_still_does_not_say_that_it_lives)
{
    struct err err;
    char told[256];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "attnd-server-%d", getpid());
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1));
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    char name[sizeof address.sun_path + 1];
    snprintf(name, sizeof name, "@%s", address.sun_path + 1);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", "4000", 1);
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_uint_eq(parts.looks, 6);
    read_told(fd, told, sizeof told);
    ck_assert_str_eq(told, "READY=1 WATCHDOG=1 WATCHDOG=1 STOPPING=1 ");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(fd);
}
END_TEST

START_TEST(an_address_for_administration_is_started_drained_and_stopped_like_the_main_one)
{
    struct err err;
    struct config config = usual;
    config.admin_listen = config.admin_address = "unix:/run/attnd/admin.sock";
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&config, &err), ERR_OK);
    ck_assert_ptr_nonnull(strstr(parts.capture, " http0 http0 workers0 "));
    ck_assert_ptr_nonnull(strstr(parts.capture, " drain2 drain2 quiesce2 quiesce2 "));
    ck_assert_ptr_nonnull(strstr(parts.capture, " quiesce3 quiesce3 -http3 -http3 "));
    ck_assert(parts.http.is_admin);
    ck_assert_str_eq(parts.http.address, config.admin_address);
    ck_assert_uint_eq(parts.http.io_threads, 1);
    ck_assert_uint_lt(parts.http.connections_max, 100);
    ck_assert_ptr_nonnull(strstr(logged, "\"event\":\"admin_listening\""));
    ck_assert_uint_eq(parts.io_threads, 2 + parts.prepare_threads + 12 + usual.workers + 2);
}
END_TEST

START_TEST(an_address_for_others_without_keys_is_warned_of)
{
    static const struct {
        const char *address, *keys_file;
        bool warns;
    } cases[] = {{"0.0.0.0", "", true},    {"::", "", true},   {"192.0.2.1", "", true},
                 {"0.0.0.0", "k", false},  {"::", "k", false}, {"127.0.0.1", "", false},
                 {"127.9.9.9", "", false}, {"::1", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct config config = usual;
        config.listen_address = cases[i].address;
        config.keys_file = cases[i].keys_file;
        memset(&parts, 0, sizeof parts);
        parts.signals[0] = SIGTERM;
        ck_assert_int_eq(run(&config, &err), ERR_OK);
        bool warned = strstr(logged, "\"level\":\"warn\",\"event\":\"unauthenticated\"") != NULL;
        ck_assert_msg(warned == cases[i].warns, "%s: %s", cases[i].address, logged);
    }
}
END_TEST

START_TEST(the_server_hands_each_part_what_is_configured)
{
    struct err err;
    parts.signals[0] = SIGINT;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_ptr_eq(parts.workers.places, parts_places);
    ck_assert_uint_eq(parts.queue_limit, 77);
    ck_assert_uint_eq(parts.wait_ms_max, 88);
    ck_assert_uint_eq(parts.takers, 1);
    ck_assert_uint_eq(parts.prepare_threads, 3);
    ck_assert_uint_eq(parts.prepare_wait_ms_max, 88);
    ck_assert(parts.pool == routes_work);
    ck_assert_uint_eq(parts.io_threads,
                      parts.http.io_threads + parts.prepare_threads + 12 + usual.workers);
    ck_assert_uint_eq(parts.http.io_threads, 2);
    ck_assert_str_eq(parts.http.address, "127.0.0.1");
    ck_assert_uint_eq(parts.http.port, 8080);
    ck_assert_uint_eq(parts.http.connections_max, 50);
    ck_assert_uint_eq(parts.http.header_timeout_ms, 11);
    ck_assert_uint_eq(parts.http.body_timeout_ms, 22);
    ck_assert_uint_eq(parts.http.body_bytes_max, option_find("body_bytes_max")->max);
    ck_assert_ptr_nonnull(parts.http.memory);
    ck_assert_uint_eq(parts.workers.workers, 1);
    ck_assert_uint_eq(parts.workers.threads_per_worker, 1);
    ck_assert_uint_eq(parts.workers.rows_max, 99);
    ck_assert_ptr_eq((void *)parts.workers.batcher, &parts_made[PART_BATCHER]);
    ck_assert_ptr_eq((void *)parts.workers.metrics, &parts_made[PART_METRICS]);
}
END_TEST

/* The number that the collector of the metric writes last. */
static double told(enum metric_id id)
{
    const struct metrics_collector *collector = &parts.collectors[id];
    collector->collect(collector->context, id, NULL);
    return parts.told;
}

static void look_at_setup(void)
{
    const struct metrics_setup *setup = &parts.setup;
    ck_assert_uint_eq(setup->route_count, 2);
    ck_assert_str_eq(setup->routes[0], "/zero");
    ck_assert_str_eq(setup->routes[1], "/one");
    ck_assert(!setup->route_takes_model[0] && setup->route_takes_model[1]);
    ck_assert_uint_eq(setup->queue_limit, 77);
    ck_assert_uint_eq(setup->memory_max_bytes, 5000);
    ck_assert_uint_eq(setup->memory_fixed_bytes, 3000);
    ck_assert_str_eq(parts.linear_backend, "reference");
    ck_assert_str_eq(parts.blas_core, openblas_core());
    told(METRIC_QUEUE_DEPTH);
    ck_assert_double_eq(parts.of_slots[3], 40);
    ck_assert_double_eq(parts.of_slots[1], 41);
    ck_assert_double_eq(parts.of_slots[0], 0); /* of a model that retires */
    struct err err = {0};
    ck_assert_int_eq(memory_take(&parts.service->memory, 123, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_double_eq(told(METRIC_MEMORY_RESERVED), 123);
    ck_assert_int_eq(memory_take(&parts.service->memory, 1877, MEMORY_SMALL, &err), ERR_OK);
    ck_assert_int_ne(memory_take(&parts.service->memory, 1, MEMORY_SMALL, &err), ERR_OK);
}

START_TEST(the_server_tells_the_metrics_what_there_is)
{
    struct err err;
    parts.started = look_at_setup; /* the setup is whole then */
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
}
END_TEST

START_TEST(the_server_hands_the_reloader_what_models_run_on)
{
    struct err err;
    struct config config = usual;
    config.inputs_max = 5;
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&config, &err), ERR_OK);
    const struct reloader_options *options = &parts.reloader;
    ck_assert_ptr_eq(options->source.argv, arguments);
    ck_assert_int_eq(options->source.argc, 1);
    ck_assert_ptr_eq((void *)options->snapshots, &parts_made[PART_SNAPSHOTS]);
    ck_assert_ptr_eq((void *)options->batcher, &parts_made[PART_BATCHER]);
    ck_assert_ptr_eq((void *)options->metrics, &parts_made[PART_METRICS]);
    ck_assert_ptr_eq((const void *)options->pools, &parts_made[PART_POOLS]);
    ck_assert_ptr_nonnull(options->memory);
    ck_assert_uint_eq(options->plan.workers, 1);
    ck_assert_uint_eq(options->plan.threads_per_worker, 1);
    ck_assert_uint_eq(options->plan.batch_tokens, 99);
    ck_assert_uint_eq(parts.loaded_bytes[0], 600);
    ck_assert_uint_eq(parts.loaded_bytes[1], 400);
    ck_assert_uint_eq(parts.first_generation, 0); /* nothing, by the limits that are configured */
    ck_assert_uint_eq(parts.first_inputs_max, 5);
    ck_assert_uint_eq(parts.snapshots_held, 0);
}
END_TEST

static void look_at_observers(void)
{
    const struct observers *observers = &parts.service->observers;
    ck_assert_uint_eq(observers->count, 5); /* and drift, shares, what remembers predictions */
    ck_assert_ptr_eq(observers->list[0].context, &parts_made[PART_METRICS]);
    ck_assert(observers->list[1].request == log_observer().request);
}

START_TEST(the_server_lets_metrics_and_log_observe)
{
    struct err err;
    parts.started = look_at_observers;
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
}
END_TEST

START_TEST(the_server_stops_what_it_had_started_when_a_part_fails)
{
    static const struct {
        const char *fails, *capture;
    } cases[] = {
        {"plan", "ids plan - - - - - - - - - - "},
        {"metrics", BEGUN "-3 -3 -3 -3 -3 -3 -3 -3 -3 -3 "},
        {"batcher", BEGUN "batcher0 -3 -3 -3 -3 -3 -3 -3 -3 -3 -metrics3 "},
        {"copy", BEGUN "batcher0 copy0 -3 -3 close3 flush3 -3 -3 -3 -3 -3 -3 -batcher3 -metrics3 "},
        {"snapshot",
         BEGUN "batcher0 copy0 snapshot0 -3 -3 close3 flush3 -3 -3 -3 -3 -3 -3 -batcher3 "
               "-metrics3 "},
        {"keys",
         BEGUN "batcher0 copy0 snapshot0 keys0 discard0 -3 -3 close3 flush3 -3 -3 -3 -3 -3 -3 "
               "-batcher3 -metrics3 "},
        {"snapshots",
         BEGUN "batcher0 copy0 snapshot0 keys0 snapshots0 discard0 -3 -3 close3 flush3 -3 -3 -3 -3 "
               "-3 -3 -batcher3 -metrics3 "},
        {"http", BEGUN
         "batcher0 copy0 snapshot0 keys0 snapshots0 http0 -3 -3 close3 flush3 -3 -3 -3 -snapshots3 "
         "-3 -3 -batcher3 -metrics3 "},
        {"workers",
         OPENED "-3 -3 close3 flush3 -3 quiesce3 -http3 -3 -3 -snapshots3 -3 -3 -batcher3 "
                "-metrics3 "},
        {"reloader", OPENED "reloader0 -3 -3 close3 flush3 join3 quiesce3 -http3 -3 -3 -snapshots3 "
                            "-3 -workers3 -batcher3 -metrics3 "},
        {"load", OPENED "reloader0 load0 stop-reload3 -3 close3 flush3 join3 quiesce3 -http3 -3 -3 "
                        "-snapshots3 -reloader3 -workers3 -batcher3 -metrics3 "},
        {"shadow", OPENED "reloader0 load0 backend0 shadow0 stop-reload3 -3 close3 flush3 join3 "
                          "quiesce3 -http3 -3 -3 -snapshots3 -reloader3 -workers3 -batcher3 "
                          "-metrics3 "},
        {"prepare",
         OPENED "reloader0 load0 backend0 shadow0 prepare0 stop-reload3 -3 close3 flush3 join3 "
                "quiesce3 -http3 -shadow3 -3 -snapshots3 -reloader3 -workers3 -batcher3 "
                "-metrics3 "},
        {"reload", OPENED "reloader0 load0 backend0 shadow0 prepare0 reload0 " STOPPED},
        {"digests", STARTED STOPPED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        char text[128];
        memset(&parts, 0, sizeof parts);
        memset(ready_line, 0, sizeof ready_line);
        parts.fails = cases[i].fails;
        parts.failure = ERR_IO;
        bool is_check = i == 0; /* the operator's configuration is unusable */
        ck_assert_int_eq(run(&usual, &err), is_check ? ERR_UNUSABLE : ERR_IO);
        snprintf(text, sizeof text, "%s failed", cases[i].fails);
        ck_assert_str_eq(err.text, text);
        ck_assert_str_eq(parts.capture, cases[i].capture);
        ck_assert_str_eq(ready_line, "");
        snprintf(text, sizeof text, ",\"result\":\"%s\",\"reason\":\"%s failed\"}",
                 is_check ? "unusable" : "io", cases[i].fails);
        ck_assert_str_eq(log_capture_fields(logged, "stopped"), text);
        memset(&parts, 0, sizeof parts);
        parts.fails = cases[i].fails;
        parts.failure = ERR_NO_MEMORY;
        ck_assert_int_eq(run(&usual, &err), ERR_NO_MEMORY);
    }
}
END_TEST

START_TEST(the_server_needs_a_model)
{
    struct config none = usual;
    struct err err;
    none.model_count = 0;
    ck_assert_int_eq(run(&none, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "no model to serve; name one with --model NAME=DIR");
}
END_TEST

START_TEST(a_drain_ends_when_nobody_is_busy)
{
    struct err err;
    parts.signals[0] = SIGTERM;
    parts.busy_polls = 3;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_uint_eq(parts.slept_ns, (1500ull + 3 * 5) * CLOCK_NS_PER_MS);
    ck_assert_ptr_null(strstr(logged, "drain_timed_out"));
}
END_TEST

/* Four seconds for the requests, and a second for what was failed then. */
START_TEST(a_drain_ends_when_its_time_is_up)
{
    struct err err;
    parts.signals[0] = SIGTERM;
    parts.busy_polls = 1000 * 1000;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_uint_eq(parts.slept_ns, (1500ull + 4000 + 1000) * CLOCK_NS_PER_MS);
    ck_assert_str_eq(log_capture_fields(logged, "drain_timed_out"), ",\"requests\":3}");
    ck_assert_str_eq(parts.capture, STARTED "drain2 quiesce2 " STOPPED);
}
END_TEST

START_TEST(a_drain_takes_the_time_that_is_configured_when_it_begins)
{
    struct err err;
    parts.signals[0] = SIGTERM;
    parts.busy_polls = 1000 * 1000;
    parts.drain = (struct config){.drain_delay_ms = 100, .drain_timeout_ms = 200};
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_uint_eq(parts.slept_ns, (100ull + 200 + 1000) * CLOCK_NS_PER_MS);
    ck_assert_str_eq(log_capture_fields(logged, "draining"),
                     ",\"delay_ms\":100,\"timeout_ms\":200}");
}
END_TEST

START_TEST(rows_that_still_wait_are_failed)
{
    struct err err;
    parts.signals[0] = SIGTERM;
    parts.waiting[0] = 64;
    parts.waiting[1] = 2;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_uint_eq(parts.rows_failed, 66);
    ck_assert_ptr_nonnull(strstr(parts.capture, "close3 flush3 flush3 flush3 join3"));
}
END_TEST

START_TEST(the_server_logs_its_life)
{
    struct err err;
    parts.signals[0] = SIGINT;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_str_eq(log_capture_fields(logged, "ready"),
                     ",\"scheme\":\"http\",\"address\":\"127.0.0.1\",\"port\":4711,\"workers\":1,"
                     "\"threads_per_worker\":1}");
    ck_assert_str_eq(log_capture_fields(logged, "stop_requested"), ",\"signal\":\"SIGINT\"}");
    ck_assert_str_eq(log_capture_fields(logged, "draining"),
                     ",\"delay_ms\":1500,\"timeout_ms\":4000}");
    ck_assert_str_eq(log_capture_fields(logged, "stopped"), ",\"result\":\"ok\"}");
    ck_assert_ptr_null(strstr(logged, "oversubscribed"));
    ck_assert_ptr_null(strstr(logged, "\"level\":\"warn\""));
}
END_TEST

START_TEST(the_server_warns_of_more_threads_than_processors)
{
    struct config many = usual;
    struct err err;
    parts.signals[0] = SIGTERM;
    many.workers = cpu_quota_threads("") + 1;
    ck_assert_int_eq(run(&many, &err), ERR_OK);
    char fields[128];
    snprintf(fields, sizeof fields, ",\"quota\":%u,\"workers\":%u,\"threads_per_worker\":1}",
             many.workers - 1, many.workers);
    ck_assert_str_eq(log_capture_fields(logged, "oversubscribed"), fields);
    memset(&parts, 0, sizeof parts);
    parts.signals[0] = SIGTERM;
    many.workers--;
    ck_assert_int_eq(run(&many, &err), ERR_OK);
    ck_assert_ptr_null(strstr(logged, "oversubscribed"));
}
END_TEST

START_TEST(the_server_reloads_after_a_hangup_and_goes_on)
{
    struct config quiet = usual;
    struct err err;
    parts.signals[0] = SIGHUP;
    parts.signals[1] = SIGTERM;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert_str_eq(parts.capture, STARTED "hangup1 drain2 quiesce2 " STOPPED);
    ck_assert_str_eq(log_capture_fields(logged, "stop_requested"), ",\"signal\":\"SIGTERM\"}");
    memset(&parts, 0, sizeof parts);
    parts.signals[0] = SIGTERM;
    quiet.log_level = "error";
    ck_assert_int_eq(run(&quiet, &err), ERR_OK);
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(the_line_puts_an_address_of_version_six_in_brackets)
{
    struct config six = usual;
    struct err err;
    parts.signals[0] = SIGTERM;
    six.listen_address = "::1";
    ck_assert_int_eq(run(&six, &err), ERR_OK);
    ck_assert_str_eq(ready_line, "attnd: listening on http://[::1]:4711 (logs, wafers)\n");
}
END_TEST

/* The server asks for as many descriptors as connections may need, and never for fewer than there
 * were. */
START_TEST(the_server_asks_for_descriptors)
{
    static const struct {
        rlim_t before, after;
    } cases[] = {{100, 350}, {349, 350}, {350, 350}, {351, 351}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err;
        struct rlimit limit;
        memset(&parts, 0, sizeof parts);
        parts.signals[0] = SIGTERM;
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = cases[i].before;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        ck_assert_int_eq(run(&usual, &err), ERR_OK);
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        ck_assert_uint_eq(limit.rlim_cur, cases[i].after);
        ck_assert_ptr_null(strstr(logged, "few_descriptors"));
    }
}
END_TEST

START_TEST(the_server_ignores_a_broken_pipe_and_waits_for_the_signals_that_end_it)
{
    struct err err;
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&usual, &err), ERR_OK);
    ck_assert(signal(SIGPIPE, SIG_DFL) == SIG_IGN);
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sigismember(&blocked, numbers[i]), 1);
}
END_TEST

START_TEST(a_check_prints_the_plan_or_says_what_is_wrong)
{
    char printed[256] = "";
    struct err err = {0};
    struct config config = usual;
    config.model_count = 0;
    FILE *out = fmemopen(printed, sizeof printed, "w");
    ck_assert_int_eq(server_check(&config, out, &err), ERR_OK);
    fclose(out);
    ck_assert_str_eq(printed, "attnd: the configuration is valid\nthe table of 5000\n");
    ck_assert_str_eq(parts.capture, "plan ");
    parts.fails = "plan";
    parts.failure = ERR_NOT_FOUND;
    out = fmemopen(printed, sizeof printed, "w");
    ck_assert_int_eq(server_check(&usual, out, &err), ERR_UNUSABLE);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_int_eq(ftell(out), 0);
    fclose(out);
}
END_TEST

START_TEST(an_http_library_of_another_version_is_refused_before_anything_is_opened)
{
    char printed[256] = "";
    struct err err = {0};
    parts.fails = "library";
    parts.failure = ERR_UNUSABLE;
    ck_assert_int_eq(run(&usual, &err), ERR_UNUSABLE);
    FILE *out = fmemopen(printed, sizeof printed, "w");
    ck_assert_int_eq(server_check(&usual, out, &err), ERR_UNUSABLE);
    fclose(out);
    ck_assert_str_eq(parts.capture, "");
}
END_TEST

/* The plan is content with the models here; the check also opens them. */
START_TEST(a_check_opens_each_model_and_names_the_one_that_fails)
{
    char printed[256] = "";
    struct err err = {0};
    FILE *out = fmemopen(printed, sizeof printed, "w");
    ck_assert_int_eq(server_check(&usual, out, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "model logs: there is no directory text");
    ck_assert_int_eq(ftell(out), 0);
    fclose(out);
}
END_TEST

START_TEST(fits_are_taken_once_all_runs_and_stopped_before_the_drain_waits)
{
    struct err err;
    struct config config = usual;
    config.state_dir = "/var/lib/attnd";
    parts.signals[0] = SIGTERM;
    ck_assert_int_eq(run(&config, &err), ERR_OK);
    ck_assert_ptr_nonnull(strstr(parts.capture, " metrics0 fits0 batcher0 "));
    ck_assert_ptr_nonnull(strstr(parts.capture, " reload0 start-fits0 "));
    ck_assert_ptr_nonnull(strstr(parts.capture, " drain2 stop-fits2 quiesce2 stop-fits3 stop-re"));
    ck_assert_ptr_nonnull(strstr(parts.capture, " -shadow3 -fits3 -prepare3 "));
}
END_TEST

SUITE("server", fits_are_taken_once_all_runs_and_stopped_before_the_drain_waits,
      an_address_for_administration_is_started_drained_and_stopped_like_the_main_one,
      an_address_for_others_without_keys_is_warned_of,
      the_server_starts_in_order_and_stops_in_the_reverse,
      a_server_whose_queue_stands_still_does_not_say_that_it_lives,
      the_server_hands_each_part_what_is_configured, the_server_tells_the_metrics_what_there_is,
      the_server_lets_metrics_and_log_observe,
      the_server_stops_what_it_had_started_when_a_part_fails, the_server_needs_a_model,
      a_drain_ends_when_nobody_is_busy, a_drain_ends_when_its_time_is_up,
      rows_that_still_wait_are_failed, the_server_logs_its_life,
      the_server_warns_of_more_threads_than_processors,
      the_server_reloads_after_a_hangup_and_goes_on,
      the_server_hands_the_reloader_what_models_run_on,
      a_drain_takes_the_time_that_is_configured_when_it_begins,
      the_line_puts_an_address_of_version_six_in_brackets, the_server_asks_for_descriptors,
      the_server_ignores_a_broken_pipe_and_waits_for_the_signals_that_end_it,
      a_check_prints_the_plan_or_says_what_is_wrong,
      an_http_library_of_another_version_is_refused_before_anything_is_opened,
      a_check_opens_each_model_and_names_the_one_that_fails)
