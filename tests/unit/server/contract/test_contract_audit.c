/* The program with an audit log: every answer has its line, over restarts and kills, and an answer
 * without one is refused. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"
#define BODY "{\"text\": \"vdd_io 3.97 V FAIL\", \"id\": \"%s\", \"context\": {\"lot\": \"A1\"}}"

static struct tempdir dir;
static struct server_process server;

#define START(...)                                                                                 \
    server_process_start(                                                                          \
        &server, (const char *[]){"--model", MODEL, "--audit-dir", dir.path, __VA_ARGS__, NULL})

static struct reply ask(const char *id)
{
    char body[256];
    snprintf(body, sizeof body, BODY, id);
    return reply_of(http_post_json(server.port, "/predict", body));
}

/* attnd-audit's output. */
static const char *audit(const char *command, const char *option, const char *value, int code)
{
    static char out[1 << 16];
    char errors[1024];
    ck_assert_int_eq(run_program("attnd-audit",
                                 (const char *[]){command, dir.path, option, value, NULL}, out,
                                 sizeof out, errors, sizeof errors),
                     code);
    return code == 0 ? out : strcpy(out, errors);
}

static unsigned count(const char *text, const char *needle)
{
    unsigned hits = 0;
    for (; (text = strstr(text, needle)) != NULL; text++)
        hits++;
    return hits;
}

START_TEST(each_answer_has_its_line_over_restarts)
{
    tempdir_open(&dir);
    for (unsigned start = 0; start < 2; start++) {
        START("--audit-rotate-bytes", "4096");
        for (unsigned i = 0; i < 10; i++) {
            char id[16];
            snprintf(id, sizeof id, "%u-%u", start, i);
            struct reply reply = ask(id);
            reply_expect_status(&reply, 200);
            reply_free(&reply);
        }
        struct reply refused = reply_of(http_post_json(server.port, "/predict", "{\"text\":\"\"}"));
        ck_assert_int_eq(refused.answer.status, 422);
        reply_free(&refused);
        ck_assert_int_eq(server_process_stop(&server), 0);
    }
    const char *out = audit("export", "--type", "prediction", 0);
    ck_assert_uint_eq(count(out, "\"type\":\"prediction\""), 20);
    ck_assert_uint_eq(count(out, "\"context\":{\"lot\":\"A1\"}"), 20);
    /* printf 'vdd_io 3.97 V FAIL' | sha256sum */
    ck_assert_uint_eq(count(out, "\"input\":\"sha256:d5e5"), 20);
    out = audit("show", "--type", "start", 0);
    ck_assert_uint_eq(count(out, " start "), 2);
    ck_assert_uint_eq(count(audit("show", "--type", "stop", 0), " stop "), 2);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_reload_is_a_line_too)
{
    tempdir_open(&dir);
    START("--log-level", "error");
    kill(server.pid, SIGHUP);
    suite_await(count(audit("show", "--type", "reload", 0), "reload") > 0);
    ck_assert_uint_eq(count(audit("export", "--type", "reload", 0), "\"generation\":2"), 1);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_log_that_cannot_be_kept_is_an_error_of_the_start)
{
    char short_key[96], out[64], errors[2048];
    tempdir_open(&dir);
    tempdir_write(&dir, "key", "0123456789abcde\n", 16);
    snprintf(short_key, sizeof short_key, "%s/key", dir.path);
    const struct {
        const char *dir, *key, *errors;
    } cases[] = {
        {dir.path, short_key, "the key has 15 bytes, at least 16 are needed"},
        {dir.path, "/nonexistent/key", "audit_key_file: /nonexistent/key: cannot be opened"},
        {short_key, "", "audit_dir: "},
        {"/nonexistent/dir", "", "audit_dir: /nonexistent/dir: cannot be made: No such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const arguments[] = {
            "--listen",   "127.0.0.1:0",      "--model",    MODEL, "--audit-dir",
            cases[i].dir, "--audit-key-file", cases[i].key, NULL};
        ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors),
                         2);
        ck_assert_msg(strstr(errors, cases[i].errors) != NULL, "%s", errors);
    }
    tempdir_close(&dir);
}
END_TEST

/* ---- a disk that takes no more ---- */

static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    ck_assert_int_eq(prlimit(server.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

START_TEST(an_answer_whose_line_cannot_be_written_is_refused_or_counted)
{
    for (unsigned counts = 0; counts < 2; counts++) {
        tempdir_open(&dir);
        START("--audit-full", counts ? "count" : "refuse");
        limit_files(1);
        struct reply reply = ask("a");
        if (counts)
            reply_expect_status(&reply, 200);
        else
            reply_expect_problem(&reply, 503, "not_ready",
                                 "the audit log cannot be written: File too large");
        reply_free(&reply);
        limit_files(RLIM_INFINITY);
        reply = ask("b");
        reply_expect_status(&reply, 200);
        reply_free(&reply);
        struct reply metrics = reply_of(http_get(server.port, "/metrics"));
        ck_assert_ptr_nonnull(strstr(metrics.answer.body,
                                     counts ? "attnd_audit_records_total{result=\"lost\"} 1\n"
                                            : "attnd_audit_records_total{result=\"refused\"} 1\n"));
        reply_free(&metrics);
        ck_assert_int_eq(server_process_stop(&server), 0);
        const char *out = audit("export", "--since", "2000", 0);
        ck_assert_uint_eq(count(out, "\"id\":\"a\""), 0);
        ck_assert_uint_eq(count(out, "\"id\":\"b\""), 1);
        ck_assert_uint_eq(count(out, "\"type\":\"lost\",\"lines\":1"), counts);
        tempdir_close(&dir);
    }
}
END_TEST

/* ---- kills ---- */

enum { CLIENTS = 4, KILLS = 3 };

struct client {
    unsigned number;
    int fd; /* connected before the kill */
    atomic_uint answered;
};

/* Asks until the server is gone; ids are numbers that rise. */
static void *ask_until_gone(void *context)
{
    struct client *client = context;
    for (bool is_there = true; is_there;) {
        char id[32], body[256], request[512];
        snprintf(id, sizeof id, "k%u-%u", client->number, atomic_load(&client->answered));
        snprintf(body, sizeof body, BODY, id);
        snprintf(request, sizeof request,
                 "POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
        is_there = http_send_text(client->fd, request);
        struct http_answer answer = {0};
        if (is_there)
            answer = http_read(client->fd, false);
        is_there = answer.status == 200;
        http_answer_free(&answer);
        if (is_there)
            atomic_fetch_add(&client->answered, 1);
    }
    close(client->fd);
    return NULL;
}

/* Waits until every client has had some answers. */
static void await_answers(struct client *clients)
{
    enum { ENOUGH = 3 };
    for (unsigned i = 0; i < CLIENTS; i++)
        suite_await(atomic_load(&clients[i].answered) >= ENOUGH);
}

/* A kill of the process loses nothing that was answered: the system has it. */
START_TEST(after_a_kill_under_load_every_answer_is_in_the_chain)
{
    tempdir_open(&dir);
    unsigned number = 0;
    for (unsigned k = 0; k < KILLS; k++) {
        static struct client clients[CLIENTS];
        pthread_t threads[CLIENTS];
        START("--audit-sync", k == 0 ? "each" : k == 1 ? "group" : "none");
        for (unsigned i = 0; i < CLIENTS; i++) {
            clients[i].number = number++;
            clients[i].fd = http_connect(server.port);
            atomic_init(&clients[i].answered, 0);
            ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_until_gone, &clients[i]), 0);
        }
        await_answers(clients);
        ck_assert_int_eq(kill(server.pid, SIGKILL), 0);
        server_process_wait(&server);
        for (unsigned i = 0; i < CLIENTS; i++)
            pthread_join(threads[i], NULL);
        ck_assert_uint_eq(count(audit("verify", NULL, NULL, 0), "ok: "), 1);
        for (unsigned i = 0; i < CLIENTS; i++) {
            char last[32];
            ck_assert_uint_gt(clients[i].answered, 0);
            snprintf(last, sizeof last, "k%u-%u", clients[i].number, clients[i].answered - 1);
            ck_assert_uint_eq(count(audit("export", "--id", last, 0), last), 1);
        }
    }
    START("--log-level", "error");
    ck_assert_int_eq(server_process_stop(&server), 0);
    ck_assert_uint_eq(count(audit("verify", NULL, NULL, 0), "ok: "), 1);
    tempdir_close(&dir);
}
END_TEST

SUITE("contract audit", each_answer_has_its_line_over_restarts, a_reload_is_a_line_too,
      a_log_that_cannot_be_kept_is_an_error_of_the_start,
      an_answer_whose_line_cannot_be_written_is_refused_or_counted,
      after_a_kill_under_load_every_answer_is_in_the_chain)
