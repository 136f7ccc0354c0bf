/* Drift of the programs: attnd-eval writes a reference, attnd compares with it what it is asked, in
 * GET /models and the metrics, and begins anew when a reload brings another reference. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 60, OF_ENVELOPE = 20 };

#define ALERT 0.25 /* deploy/prometheus/alerts.yml: AttndDrift */

static struct server_process server;
static struct tempdir dir;

static void link_model(void)
{
    static const char *const names[] = {"config.json", "model.safetensors", "vocab.txt",
                                        "tokenizer_config.json"};
    char from[512], to[512], here[256];
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(from, sizeof from, "%s/models/testlog-bert/%s", here, names[i]);
        snprintf(to, sizeof to, "%s/%s", dir.path, names[i]);
        ck_assert_int_eq(symlink(from, to), 0);
    }
}

/* Usual ones are sixty, the others one. */
static void text_of(char *out, size_t size, bool is_usual, unsigned i)
{
    if (is_usual)
        snprintf(out, size, "%u vdd_io %u.%02u V [3.1, 3.5] %s", 1000 + i, i % 7, i,
                 i % 3 == 0 ? "scan chain FAIL" : "leakage FAIL");
    else
        snprintf(out, size, "good morning, how are you today?");
}

/* attnd-eval --reference of so many of the usual texts. */
static void refer(unsigned count)
{
    char path[512], text[128], out[8192], errors[1024];
    snprintf(path, sizeof path, "%s/list.jsonl", dir.path);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (unsigned i = 0; i < count; i++) {
        text_of(text, sizeof text, true, i);
        fprintf(file, "{\"text\": \"%s\", \"label\": \"scan\"}\n", text);
    }
    ck_assert_int_eq(fclose(file), 0);
    int status = run_program("attnd-eval",
                             (const char *[]){"--model", dir.path, "--data", path, "--reference",
                                              "--threads", "1", NULL},
                             out, sizeof out, errors, sizeof errors);
    ck_assert_msg(status == 0, "%s", errors);
}

static void start(void)
{
    char model[512];
    snprintf(model, sizeof model, "logs=%s", dir.path);
    server_process_start(&server, (const char *[]){"--model", model, "--model",
                                                   "plain=tests/data/golden/bert-3", "--workers",
                                                   "1", "--threads-per-worker", "1", NULL});
}

static void ask(bool is_usual, unsigned count)
{
    char text[128], *body = NULL;
    size_t len;
    for (unsigned first = 0; first < count; first += OF_ENVELOPE) {
        FILE *stream = open_memstream(&body, &len);
        for (unsigned i = 0; i < OF_ENVELOPE; i++) {
            text_of(text, sizeof text, is_usual, (first + i) % TEXTS);
            fprintf(stream, "%s{\"text\":\"%s\"}", i > 0 ? "," : "{\"model\":\"logs\",\"inputs\":[",
                    text);
        }
        fputs("]}", stream);
        ck_assert_int_eq(fclose(stream), 0);
        struct http_answer answer = http_post_json(server.port, "/predict", body);
        ck_assert_int_eq(answer.status, 200);
        http_answer_free(&answer);
        free(body);
    }
}

static struct reply model_named(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/models/%s", name);
    struct reply reply = reply_of(http_get(server.port, path));
    reply_expect_status(&reply, 200);
    return reply;
}

/* The series of a kind; below 0: there is none. */
static double series(const char *kind)
{
    char line[128];
    struct http_answer page = http_get(server.port, "/metrics");
    snprintf(line, sizeof line, "\nattnd_drift_psi{model=\"logs\",kind=\"%s\"} ", kind);
    const char *at = strstr(page.body, line);
    double value = at != NULL ? strtod(at + strlen(line), NULL) : -1;
    ck_assert_ptr_null(strstr(page.body, "attnd_drift_psi{model=\"plain\""));
    http_answer_free(&page);
    return value;
}

static void expect_count(double count)
{
    struct reply reply = model_named("logs");
    ck_assert_double_eq(reply_number(&reply, "drift.count"), count);
    reply_free(&reply);
}

START_TEST(drift_of_a_stream_shows_in_the_model_and_the_metrics)
{
    tempdir_open(&dir);
    link_model();
    refer(TEXTS);
    start();
    ask(true, TEXTS);
    expect_count(TEXTS);
    ck_assert_double_lt(series("ood"), 0); /* too few for a figure */
    ask(true, 2 * TEXTS);
    ck_assert(series("label") >= 0 && series("label") < 0.05);
    ck_assert(series("score") >= 0 && series("score") < 0.05);
    ck_assert(series("ood") >= 0 && series("ood") < 0.05);
    ask(false, 100);
    struct reply turned = model_named("logs");
    ck_assert_double_eq(reply_number(&turned, "drift.count"), 200);
    ck_assert_double_gt(reply_number(&turned, "drift.ood"), ALERT);
    ck_assert_double_eq_tol(series("ood"), reply_number(&turned, "drift.ood"), 1e-6);
    ck_assert_double_eq_tol(series("label"), reply_number(&turned, "drift.label"), 1e-6);
    reply_free(&turned);
    struct reply plain = model_named("plain");
    ck_assert_ptr_nonnull(strstr(plain.answer.body, "\"drift\":null"));
    reply_free(&plain);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

/* Reloads as a client of this machine. */
static void reload(void)
{
    char request[128];
    snprintf(request, sizeof request,
             "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Length: 0\r\n\r\n",
             server.port);
    int fd = http_connect(server.port);
    http_send_text(fd, request);
    struct reply reply = reply_of(http_read(fd, false));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    close(fd);
}

START_TEST(another_reference_begins_anew)
{
    tempdir_open(&dir);
    link_model();
    refer(TEXTS);
    start();
    ask(true, TEXTS);
    expect_count(TEXTS);
    refer(TEXTS - 20);
    reload();
    expect_count(0);
    ask(true, 20);
    expect_count(20);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("contract_drift", drift_of_a_stream_shows_in_the_model_and_the_metrics,
      another_reference_begins_anew)
