/* The program while what it serves is changed: POST /admin/reload and SIGHUP after changes of its
 * configuration and of its models' files, good ones and bad ones, alone and under load. Each test
 * has a server of its own, over copies of small models. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"
#include "wire/limits.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MODEL "tests/data/golden/bert-3"
#define IMAGE_MODEL "tests/data/golden/vit-0"
#define BODY "{\"text\":\"vdd_io 3.97 V FAIL\"}"

struct bench {
    struct server_process server;
    struct tempdir text, image, own; /* two models, and the configuration */
    FILE *log;
};

static void copy_file(const char *from, const char *name, const struct tempdir *to)
{
    char path[512];
    size_t len;
    snprintf(path, sizeof path, "%s/%s", from, name);
    char *bytes = contract_file(path, &len);
    tempdir_write(to, name, bytes, len);
    free(bytes);
}

static void copy_model(const char *from, struct tempdir *to)
{
    tempdir_open(to);
    DIR *entries = opendir(from);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.')
            copy_file(from, entry->d_name, to);
    closedir(entries);
}

/* The text model, the image model if there is room in `models` for it, and other options. */
static void configure(const struct bench *bench, int models, const char *options)
{
    char *json =
        contract_format("{\"models\": [{\"name\": \"text\", \"dir\": \"%s\"}%s%s%s]%s}",
                        bench->text.path, models > 1 ? ", {\"name\": \"image\", \"dir\": \"" : "",
                        models > 1 ? bench->image.path : "", models > 1 ? "\"}" : "", options);
    tempdir_write(&bench->own, "attnd.json", json, strlen(json));
    free(json);
}

static void bench_open(struct bench *bench)
{
    char path[128];
    copy_model(TEXT_MODEL, &bench->text);
    copy_model(IMAGE_MODEL, &bench->image);
    tempdir_open(&bench->own);
    configure(bench, 1, "");
    snprintf(path, sizeof path, "%s/attnd.json", bench->own.path);
    bench->log = tmpfile();
    int saved = dup(STDERR_FILENO);
    ck_assert(bench->log != NULL && dup2(fileno(bench->log), STDERR_FILENO) >= 0);
    setenv("ATTND_TEST_LOG", "1", 1);
    server_process_start(&bench->server, (const char *[]){"--config", path, "--workers", "2",
                                                          "--threads-per-worker", "1", NULL});
    unsetenv("ATTND_TEST_LOG");
    dup2(saved, STDERR_FILENO);
    close(saved);
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    fclose(bench->log);
    tempdir_close(&bench->own);
    tempdir_close(&bench->image);
    tempdir_close(&bench->text);
}

static bool is_logged(const struct bench *bench, const char *text)
{
    static char log[1 << 20];
    ssize_t len = pread(fileno(bench->log), log, sizeof log - 1, 0);
    log[len > 0 ? len : 0] = '\0';
    return strstr(log, text) != NULL;
}

/* Another file of this text in the place of one, as whoever rolls a model out does it. */
static void exchange_file(const struct tempdir *dir, const char *name, const char *text)
{
    char from[128], to[128];
    tempdir_write(dir, "next", text, strlen(text));
    snprintf(from, sizeof from, "%s/next", dir->path);
    snprintf(to, sizeof to, "%s/%s", dir->path, name);
    ck_assert_int_eq(rename(from, to), 0);
}

/* The text model's first label gets another name, of the same length. */
static void rename_label(const struct bench *bench)
{
    size_t len;
    char *json = contract_file(TEXT_MODEL "/config.json", &len);
    unsigned found = 0;
    for (char *at = json; (at = strstr(at, "\"POWER\"")) != NULL; found++)
        memcpy(at, "\"VOLTS\"", 7);
    ck_assert_uint_eq(found, 2); /* id2label and label2id */
    exchange_file(&bench->text, "config.json", json);
    free(json);
}

static struct reply post(const struct bench *bench, const char *path, const char *extra,
                         const char *body)
{
    return reply_of(http_request(bench->server.port, "POST", path, extra, body, strlen(body)));
}

/* Reloads as a process of this machine, once the reload before is over. */
static struct reply reload(const struct bench *bench)
{
    char head[128];
    snprintf(head, sizeof head, "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
             bench->server.port);
    for (;;) {
        int fd = http_connect(bench->server.port);
        http_send_text(fd, head);
        struct reply reply = reply_of(http_read(fd, false));
        close(fd);
        if (reply.answer.status != 409)
            return reply;
        reply_free(&reply);
    }
}

/* A reload that changes so much: the reply's list, as JSON. */
static void expect_reloaded(const struct bench *bench, unsigned generation, const char *changed)
{
    struct reply reply = reload(bench);
    char *body = contract_format("{\"generation\":%u,\"changed\":%s}", generation, changed);
    ck_assert_str_eq(reply.answer.body, body);
    reply_expect_status(&reply, 200);
    free(body);
    reply_free(&reply);
}

static void expect_served(const struct bench *bench)
{
    struct reply reply = post(bench, "/predict", "Content-Type: application/json\r\n", BODY);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
}

static void expect_told(const struct bench *bench, const char *path, const char *part)
{
    struct http_answer answer = http_get(bench->server.port, path);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_msg(strstr(answer.body, part) != NULL, "%s lacks %s", answer.body, part);
    http_answer_free(&answer);
}

/* ---- what changes ---- */

START_TEST(a_reload_applies_what_changed_in_the_configuration)
{
    static const char two[] = "{\"inputs\":[{\"text\":\"a\"},{\"text\":\"b\"}]}";
    struct bench bench;
    bench_open(&bench);
    expect_reloaded(&bench, 2, "[]");
    configure(&bench, 2, ", \"inputs_max\": 1");
    expect_reloaded(&bench, 3, "[\"inputs_max\",\"models.image\"]");
    struct reply reply = post(&bench, "/predict", "Content-Type: application/json\r\n", two);
    reply_expect_problem(&reply, 413, "too_large", "");
    reply_free(&reply);
    expect_told(&bench, "/models", "\"name\":\"image\"");
    configure(&bench, 1, ", \"queue_limit\": 7");
    reply = reload(&bench);
    ck_assert_str_eq(reply.answer.body, "{\"generation\":4,\"changed\":[\"inputs_max\","
                                        "\"models.image\"],\"restart\":[\"queue_limit\"]}");
    reply_free(&reply);
    expect_told(&bench, "/metrics", "\nattnd_queue_limit 1024\n");
    struct http_answer gone = http_get(bench.server.port, "/models/image");
    ck_assert_int_eq(gone.status, 404);
    http_answer_free(&gone);
    expect_served(&bench);
    bench_close(&bench);
}
END_TEST

START_TEST(a_reload_serves_what_changed_in_the_directory_of_a_model)
{
    struct bench bench;
    bench_open(&bench);
    struct reply models = reply_of(http_get(bench.server.port, "/models/text"));
    reply_expect_text(&models, "labels.0", "POWER");
    reply_free(&models);
    rename_label(&bench);
    expect_reloaded(&bench, 2, "[\"models.text\"]");
    models = reply_of(http_get(bench.server.port, "/models/text"));
    reply_expect_text(&models, "labels.0", "VOLTS");
    reply_free(&models);
    expect_served(&bench);
    expect_told(&bench, "/metrics", "attnd_model_generation{model=\"text\"} 2\n");
    expect_told(&bench, "/metrics", "label=\"VOLTS\"");
    suite_await(is_logged(&bench, "\"event\":\"model_digest\""));
    expect_reloaded(&bench, 3, "[]");
    expect_told(&bench, "/metrics", "attnd_model_generation{model=\"text\"} 2\n");
    bench_close(&bench);
}
END_TEST

START_TEST(a_broken_directory_leaves_the_model_of_before_in_service)
{
    struct bench bench;
    size_t len;
    bench_open(&bench);
    char *sound = contract_file(TEXT_MODEL "/config.json", &len);
    exchange_file(&bench.text, "config.json", "{");
    configure(&bench, 2, ", \"inputs_max\": 1"); /* nothing of it applies */
    struct reply reply = reload(&bench);
    reply_expect_problem(&reply, 422, "unusable", "model text: ");
    reply_free(&reply);
    expect_served(&bench);
    expect_told(&bench, "/readyz", "ready");
    expect_told(&bench, "/metrics", "attnd_model_generation{model=\"text\"} 1\n");
    expect_told(&bench, "/metrics", "attnd_config_reloads_total{result=\"failure\"} 1\n");
    struct http_answer image = http_get(bench.server.port, "/models/image");
    ck_assert_int_eq(image.status, 404);
    http_answer_free(&image);
    exchange_file(&bench.text, "config.json", sound);
    expect_reloaded(&bench, 2, "[\"inputs_max\",\"models.text\",\"models.image\"]");
    expect_served(&bench);
    expect_told(&bench, "/metrics", "attnd_config_reloads_total{result=\"success\"} 1\n");
    free(sound);
    bench_close(&bench);
}
END_TEST

START_TEST(a_broken_configuration_leaves_the_one_of_before)
{
    struct bench bench;
    bench_open(&bench);
    configure(&bench, 1, ", \"inputs_max\": \"many\"");
    struct reply reply = reload(&bench);
    ck_assert_int_eq(reply.answer.status, 422);
    ck_assert_ptr_nonnull(strstr(reply_text(&reply, "detail"), "inputs_max"));
    reply_free(&reply);
    expect_served(&bench);
    bench_close(&bench);
}
END_TEST

START_TEST(a_hangup_reloads_and_the_log_says_how_it_went)
{
    struct bench bench;
    bench_open(&bench);
    configure(&bench, 2, ", \"deadline_ms\": 60000, \"queue_limit\": 7");
    kill(bench.server.pid, SIGHUP);
    suite_await(is_logged(&bench, "\"event\":\"reloaded\",\"generation\":2,\"changed\":"));
    suite_await(is_logged(&bench, "\"event\":\"reload_changed\",\"key\":\"deadline_ms\"}\n"));
    suite_await(is_logged(&bench, "\"event\":\"reload_changed\",\"key\":\"models.image\"}\n"));
    suite_await(
        is_logged(&bench, "\"event\":\"reload_waits_for_restart\",\"key\":\"queue_limit\"}\n"));
    expect_told(&bench, "/models/image", "\"name\":\"image\"");
    exchange_file(&bench.text, "config.json", "{");
    kill(bench.server.pid, SIGHUP);
    suite_await(is_logged(
        &bench, "\"level\":\"error\",\"event\":\"reload_failed\",\"error\":\"model text: "));
    expect_served(&bench);
    bench_close(&bench);
}
END_TEST

/* ---- who may ask, and how ---- */

static int say(const struct bench *bench, const char *head, const char *body, size_t len,
               char detail[256])
{
    int fd = http_connect(bench->server.port);
    http_send_text(fd, head);
    http_send(fd, body, len);
    struct reply reply = reply_of(http_read(fd, false));
    int status = reply.answer.status;
    close(fd);
    snprintf(detail, 256, "%s", status == 200 ? "" : reply_text(&reply, "detail"));
    reply_free(&reply);
    return status;
}

START_TEST(a_foreign_host_or_origin_may_not_reload)
{
    static const struct {
        const char *host, *origin; /* %u: the port */
        int status;
    } cases[] = {{"127.0.0.1:%u", "", 200},
                 {"localhost:%u", "", 200},
                 {"127.0.0.1:%u", "Origin: http://127.0.0.1:%u\r\n", 200},
                 {"attnd.example", "", 403},
                 {"attnd.example:%u", "", 403},
                 {"127.0.0.1", "", 403},
                 {"127.0.0.1:%u", "Origin: http://attnd.example\r\n", 403},
                 {"127.0.0.1:%u", "Origin: null\r\n", 403},
                 {"127.0.0.1:%u", "Origin: http://localhost:%u\r\n", 403}};
    struct bench bench;
    unsigned done = 0;
    bench_open(&bench);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char format[256], head[512], detail[256];
        int status;
        snprintf(format, sizeof format, "POST /admin/reload HTTP/1.1\r\nHost: %s\r\n%s\r\n",
                 cases[i].host, cases[i].origin);
        char *port = contract_format("%u", bench.server.port), *at = format;
        for (head[0] = '\0'; *at != '\0';) { /* each %u */
            size_t len = strcspn(at, "%");
            snprintf(head + strlen(head), sizeof head - strlen(head), "%.*s%s", (int)len, at,
                     at[len] == '%' ? port : "");
            at += len + (at[len] == '%' ? 2 : 0);
        }
        do
            status = say(&bench, head, "", 0, detail);
        while (status == 409);
        ck_assert_msg(status == cases[i].status, "%d for %s: %s", status, head, detail);
        if (status == 403)
            ck_assert_msg(strstr(detail, "routes that change something ") != NULL, "%s", detail);
        done += status == 200;
        free(port);
    }
    char line[96];
    snprintf(line, sizeof line, "attnd_config_reloads_total{result=\"success\"} %u\n", done);
    expect_told(&bench, "/metrics", line);
    bench_close(&bench);
}
END_TEST

START_TEST(a_body_that_nobody_needs_is_taken_if_it_is_short)
{
    static char body[LIMIT_UNUSED_BODY_BYTES + 1];
    static const struct {
        size_t len;
        int status;
    } cases[] = {
        {0, 200}, {1, 200}, {LIMIT_UNUSED_BODY_BYTES, 200}, {LIMIT_UNUSED_BODY_BYTES + 1, 413}};
    struct bench bench;
    char detail[256], head[256];
    int status;
    memset(body, 'x', sizeof body);
    bench_open(&bench);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(head, sizeof head,
                 "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Length: %zu\r\n\r\n",
                 bench.server.port, cases[i].len);
        while ((status = say(&bench, head, body, cases[i].len, detail)) == 409)
            continue;
        ck_assert_msg(status == cases[i].status, "%d for %zu bytes: %s", status, cases[i].len,
                      detail);
    }
    ck_assert_ptr_nonnull(strstr(detail, "4096"));
    bench_close(&bench);
}
END_TEST

/* ---- meanwhile ---- */

enum { POSTERS = 3, RELOADS = 20 };

struct posting {
    unsigned port;
    const atomic_bool *stop;
    unsigned good, bad;
    int bad_status;
};

/* Now and then it rests, for models are warmed in spare time only. */
static void *post_main(void *context)
{
    struct posting *self = context;
    while (!atomic_load(self->stop)) {
        struct http_answer answer = http_post_json(self->port, "/predict", BODY);
        if (answer.status == 200)
            self->good++;
        else
            self->bad_status = answer.status;
        self->bad += answer.status != 200;
        http_answer_free(&answer);
        usleep(5000);
    }
    return NULL;
}

START_TEST(every_request_under_way_is_answered_while_models_are_exchanged)
{
    struct bench bench;
    atomic_bool stop = false;
    struct posting posting[POSTERS];
    pthread_t threads[POSTERS];
    size_t len;
    bench_open(&bench);
    char *json = contract_file(TEXT_MODEL "/config.json", &len);
    for (int i = 0; i < POSTERS; i++) {
        posting[i] = (struct posting){.port = bench.server.port, .stop = &stop};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, post_main, &posting[i]), 0);
    }
    for (unsigned i = 0; i < RELOADS; i++) {
        exchange_file(&bench.text, "config.json", json);
        expect_reloaded(&bench, i + 2, "[\"models.text\"]");
    }
    atomic_store(&stop, true);
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(posting[i].bad == 0, "%u requests failed, with %d", posting[i].bad,
                      posting[i].bad_status);
        ck_assert_uint_gt(posting[i].good, 0);
    }
    expect_told(&bench, "/metrics", "attnd_model_generation{model=\"text\"} 21\n");
    expect_told(&bench, "/metrics", "attnd_memory_reserved_bytes ");
    free(json);
    bench_close(&bench);
}
END_TEST

static bool knows_digests(const struct server_process *server)
{
    struct http_answer answer = http_get(server->port, "/models");
    const bool knows = strstr(answer.body, "\"digest\":null") == NULL;
    http_answer_free(&answer);
    return knows;
}

/* Counts threads once every model's digest is known: nothing is opened, warmed or hashed then. */
static unsigned threads_with(const char *const *arguments)
{
    struct server_process server;
    char path[64], line[128];
    unsigned threads = 0;
    server_process_start(&server, arguments);
    suite_await(knows_digests(&server));
    snprintf(path, sizeof path, "/proc/%d/status", (int)server.pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Threads:", 8) == 0)
            threads = (unsigned)strtoul(line + 8, NULL, 10);
    fclose(file);
    ck_assert_int_eq(server_process_stop(&server), 0);
    return threads;
}

START_TEST(the_number_of_threads_is_the_same_for_one_model_and_for_three)
{
    unsigned one = threads_with((const char *[]){"--workers", "2", "--threads-per-worker", "2",
                                                 "--model", "a=" TEXT_MODEL, NULL});
    unsigned three = threads_with(
        (const char *[]){"--workers", "2", "--threads-per-worker", "2", "--model", "a=" TEXT_MODEL,
                         "--model", "b=" IMAGE_MODEL, "--model", "c=" TEXT_MODEL, NULL});
    ck_assert_uint_gt(one, 4);
    ck_assert_uint_eq(one, three);
}
END_TEST

SUITE("contract_reload", a_reload_applies_what_changed_in_the_configuration,
      a_reload_serves_what_changed_in_the_directory_of_a_model,
      a_broken_directory_leaves_the_model_of_before_in_service,
      a_broken_configuration_leaves_the_one_of_before,
      a_hangup_reloads_and_the_log_says_how_it_went, a_foreign_host_or_origin_may_not_reload,
      a_body_that_nobody_needs_is_taken_if_it_is_short,
      every_request_under_way_is_answered_while_models_are_exchanged,
      the_number_of_threads_is_the_same_for_one_model_and_for_three)
