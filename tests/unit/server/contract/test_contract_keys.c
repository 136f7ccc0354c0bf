/* The program with keys: clients that are let in, status and headers for all others, and reloads of
 * the file. Each test has a server of its own. */
#include "engine/base/sha256.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"
#define BODY "{\"text\":\"vdd_io 3.97 V FAIL\"}"

struct bench {
    struct server_process server;
    struct tempdir dir;
    char path[128];
};

/* A line for each pair of a key and what stands behind its hash. */
static void write_keys(const struct bench *bench, const char *const (*lines)[2])
{
    char text[4096] = "# keys of a test\n", digits[SHA256_HEX_BYTES];
    for (; (*lines)[0] != NULL; lines++) {
        size_t len = strlen(text);
        sha256_hex((*lines)[0], strlen((*lines)[0]), digits);
        snprintf(text + len, sizeof text - len, "sha256:%s %s\n", digits, (*lines)[1]);
    }
    tempdir_write(&bench->dir, "keys", text, strlen(text));
}

static void bench_open(struct bench *bench, const char *const (*lines)[2])
{
    tempdir_open(&bench->dir);
    snprintf(bench->path, sizeof bench->path, "%s/keys", bench->dir.path);
    write_keys(bench, lines);
    server_process_start(&bench->server,
                         (const char *[]){"--model", MODEL, "--keys-file", bench->path, NULL});
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    tempdir_close(&bench->dir);
}

/* Asks with the key, if it is not NULL; a body makes it a POST. */
static struct reply ask(const struct bench *bench, const char *path, const char *key,
                        const char *body)
{
    char extra[256] = "";
    if (key != NULL)
        snprintf(extra, sizeof extra, "Authorization: Bearer %s\r\n", key);
    return reply_of(http_request(bench->server.port, body != NULL ? "POST" : "GET", path, extra,
                                 body, body != NULL ? strlen(body) : 0));
}

static void expect(const struct bench *bench, const char *path, const char *key, const char *body,
                   int status)
{
    struct reply reply = ask(bench, path, key, body);
    ck_assert_msg(reply.answer.status == status, "%s with %s: %d", path,
                  key != NULL ? key : "no key", reply.answer.status);
    reply_free(&reply);
}

static void expect_challenge(const struct bench *bench, const char *path, const char *key,
                             int status, const char *type, const char *challenge)
{
    struct reply reply = ask(bench, path, key, NULL);
    reply_expect_problem(&reply, status, type, "");
    ck_assert_str_eq(reply_header(&reply, "WWW-Authenticate"), challenge);
    reply_free(&reply);
}

static bool has_metric(const struct bench *bench, const char *key, const char *line)
{
    struct reply reply = ask(bench, "/metrics", key, NULL);
    ck_assert_int_eq(reply.answer.status, 200);
    const bool has = strstr(reply.answer.body, line) != NULL;
    reply_free(&reply);
    return has;
}

/* Requests are counted after their replies. */
static void await_metric(const struct bench *bench, const char *key, const char *line)
{
    suite_await(has_metric(bench, key, line));
}

static const char *const staff[][2] = {{"for-lines", "lines predict"},
                                       {"for-graphs", "graphs metrics"},
                                       {"for-boss", "boss admin,metrics"},
                                       {"for-past", "past predict expires=2020-02-29"},
                                       {NULL, NULL}};

START_TEST(each_key_opens_what_its_scopes_say_and_nothing_else)
{
    struct bench bench;
    bench_open(&bench, staff);
    static const char *const open[] = {"/healthz", "/readyz", "/", "/openapi.json", "/ui/app.js"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        expect(&bench, open[i], NULL, NULL, 200);
        expect(&bench, open[i], "wrong", NULL, 200);
    }
    expect(&bench, "/predict", "for-lines", BODY, 200);
    expect(&bench, "/models", "for-lines", NULL, 200);
    expect(&bench, "/models/text", "for-lines", NULL, 200);
    expect(&bench, "/metrics", "for-lines", NULL, 403);
    expect(&bench, "/admin/reload", "for-lines", "", 403);
    expect(&bench, "/metrics", "for-graphs", NULL, 200);
    expect(&bench, "/predict", "for-graphs", BODY, 403);
    expect(&bench, "/admin/reload", "for-boss", "", 200);
    expect(&bench, "/predict", "for-boss", BODY, 403);
    expect(&bench, "/predict", "for-past", BODY, 401);
    expect(&bench, "/predict", NULL, BODY, 401);
    expect(&bench, "/admin/reload", NULL, "", 401); /* from a loopback address, too */
    expect(&bench, "/none", NULL, NULL, 404);
    expect(&bench, "/predict", NULL, NULL, 405);
    bench_close(&bench);
}
END_TEST

START_TEST(refusals_say_what_is_wrong_as_rfc_6750_has_it_and_are_counted)
{
    struct bench bench;
    bench_open(&bench, staff);
    static const char *const reasons[] = {"missing", "unknown", "expired",
                                          "scope",   "rate",    "concurrency"};
    for (size_t i = 0; i < 6; i++) {
        char *line = contract_format("\nattnd_auth_failures_total{reason=\"%s\"} 0\n", reasons[i]);
        ck_assert_msg(has_metric(&bench, "for-graphs", line), "no %s", line);
        free(line);
    }
    expect_challenge(&bench, "/models", NULL, 401, "unauthorized", "Bearer realm=\"attnd\"");
    for (int i = 0; i < 2; i++)
        expect_challenge(&bench, "/models", i == 0 ? "wrong" : "for-past", 401, "unauthorized",
                         "Bearer realm=\"attnd\", error=\"invalid_token\"");
    expect_challenge(&bench, "/metrics", "for-lines", 403, "forbidden",
                     "Bearer realm=\"attnd\", error=\"insufficient_scope\", scope=\"metrics\"");
    for (size_t i = 0; i < 4; i++) {
        char *line = contract_format("\nattnd_auth_failures_total{reason=\"%s\"} 1\n", reasons[i]);
        await_metric(&bench, "for-boss", line);
        free(line);
    }
    await_metric(&bench, "for-boss", "attnd_rejected_total{reason=\"unauthorized\"} 3\n");
    bench_close(&bench);
}
END_TEST

/* The body is read and dropped, so the connection can be used again. */
START_TEST(a_refused_body_does_not_cost_the_connection)
{
    struct bench bench;
    bench_open(&bench, staff);
    int fd = http_connect(bench.server.port);
    for (int i = 0; i < 3; i++) {
        char *text = contract_format("POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n"
                                     "%s\r\nabcde",
                                     i < 2 ? "" : "Authorization: Bearer for-lines\r\n");
        http_send_text(fd, text);
        struct http_answer answer = http_read(fd, false);
        ck_assert_int_eq(answer.status, i < 2 ? 401 : 400); /* which is no JSON */
        http_answer_free(&answer);
        free(text);
    }
    close(fd);
    bench_close(&bench);
}
END_TEST

START_TEST(two_authorizations_are_one_too_many)
{
    struct bench bench;
    bench_open(&bench, staff);
    struct reply reply = reply_of(http_request(bench.server.port, "GET", "/models",
                                               "Authorization: Bearer for-lines\r\n"
                                               "Authorization: Bearer for-boss\r\n",
                                               NULL, 0));
    reply_expect_problem(&reply, 400, "malformed", "request head: more than one Authorization");
    reply_free(&reply);
    bench_close(&bench);
}
END_TEST

START_TEST(a_rate_that_is_used_up_is_429_and_stays_so_over_a_reload)
{
    static const char *const slow[][2] = {
        {"k", "slow predict rate=0.01/s"}, {"for-boss", "boss admin,metrics"}, {NULL, NULL}};
    struct bench bench;
    bench_open(&bench, slow);
    expect(&bench, "/predict", "k", BODY, 200);
    for (int i = 0; i < 2; i++) {
        struct reply reply = ask(&bench, "/predict", "k", BODY);
        reply_expect_problem(&reply, 429, "too_many_requests",
                             "more than this key's 0.01 requests a second");
        int wait_s = atoi(reply_header(&reply, "Retry-After"));
        ck_assert_msg(wait_s > 50 && wait_s <= 100, "%d", wait_s);
        reply_free(&reply);
        expect(&bench, "/admin/reload", "for-boss", "", 200);
    }
    await_metric(&bench, "for-boss", "attnd_auth_failures_total{reason=\"rate\"} 2\n");
    bench_close(&bench);
}
END_TEST

static int status_of(const struct bench *bench, const char *path, const char *key)
{
    struct reply reply = ask(bench, path, key, NULL);
    const int status = reply.answer.status;
    reply_free(&reply);
    return status;
}

/* A request whose body has not come is in progress, once its head has been read, which 100 tells. */
START_TEST(a_key_with_one_request_in_progress_may_begin_no_other)
{
    static const char *const one[][2] = {{"k", "one predict concurrency=1"}, {NULL, NULL}};
    struct bench bench;
    bench_open(&bench, one);
    int fd = http_connect(bench.server.port);
    http_send_text(fd, "POST /predict HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\n"
                       "Expect: 100-continue\r\nContent-Type: application/json\r\n"
                       "Content-Length: 12\r\n\r\n");
    struct http_answer answer = http_read(fd, false);
    ck_assert_int_eq(answer.status, 100);
    struct reply refused = ask(&bench, "/models", "k", NULL);
    reply_expect_problem(&refused, 429, "too_many_requests",
                         "more than this key's 1 requests at once");
    reply_free(&refused);
    http_send_text(fd, "{\"text\":\"a\"}");
    answer = http_read(fd, false);
    ck_assert_int_eq(answer.status, 200);
    http_answer_free(&answer);
    suite_await(status_of(&bench, "/models", "k") == 200); /* that request is done with */
    close(fd);
    bench_close(&bench);
}
END_TEST

START_TEST(a_reload_exchanges_the_keys_and_a_faulty_file_changes_nothing)
{
    static const char *const next[][2] = {
        {"for-new", "new predict"}, {"for-boss", "boss admin"}, {NULL, NULL}};
    static const char *const none[][2] = {{NULL, NULL}};
    struct bench bench;
    bench_open(&bench, staff);
    write_keys(&bench, next);
    expect(&bench, "/models", "for-new", NULL, 401);
    struct reply reply = ask(&bench, "/admin/reload", "for-boss", "");
    ck_assert_str_eq(reply.answer.body, "{\"generation\":2,\"changed\":[\"keys_file\"]}");
    reply_free(&reply);
    expect(&bench, "/models", "for-new", NULL, 200);
    expect(&bench, "/models", "for-lines", NULL, 401);
    expect(&bench, "/metrics", "for-boss", NULL, 403);
    tempdir_write(&bench.dir, "keys", "\n\nfor-new by mistake\n", 21);
    reply = ask(&bench, "/admin/reload", "for-boss", "");
    reply_expect_problem(&reply, 422, "unusable", "keys_file: keys:3: word 1: expected sha256:");
    ck_assert_ptr_null(strstr(reply.answer.body, "for-new"));
    reply_free(&reply);
    expect(&bench, "/models", "for-new", NULL, 200);
    write_keys(&bench, none);
    expect(&bench, "/admin/reload", "for-boss", "", 200);
    expect(&bench, "/models", "for-new", NULL, 401);
    expect(&bench, "/admin/reload", "for-boss", "", 401);
    write_keys(&bench, next);
    kill(bench.server.pid, SIGHUP); /* the way back in */
    suite_await(status_of(&bench, "/models", "for-new") == 200);
    bench_close(&bench);
}
END_TEST

static void expect_audited(const struct tempdir *dir, const char *text)
{
    char pattern[128];
    glob_t found;
    size_t len;
    snprintf(pattern, sizeof pattern, "%s/*", dir->path);
    ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
    bool has_text = false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *bytes = contract_file(found.gl_pathv[i], &len);
        has_text = has_text || strstr(bytes, text) != NULL;
        ck_assert_ptr_null(strstr(bytes, "for-")); /* no key itself */
        free(bytes);
    }
    globfree(&found);
    ck_assert_msg(has_text, "no %s", text);
}

START_TEST(the_audit_log_names_the_key_of_a_prediction_and_of_a_reload)
{
    struct bench bench;
    struct tempdir audit;
    tempdir_open(&bench.dir);
    tempdir_open(&audit);
    snprintf(bench.path, sizeof bench.path, "%s/keys", bench.dir.path);
    write_keys(&bench, staff);
    server_process_start(&bench.server,
                         (const char *[]){"--model", MODEL, "--keys-file", bench.path,
                                          "--audit-dir", audit.path, NULL});
    expect(&bench, "/predict", "for-lines", BODY, 200);
    expect(&bench, "/admin/reload", "for-boss", "", 200);
    ck_assert_int_eq(server_process_stop(&bench.server), 0);
    expect_audited(&audit, "\"key\":\"lines\"");
    expect_audited(&audit, "\"type\":\"reload\",\"key\":\"boss\"");
    tempdir_close(&audit);
    tempdir_close(&bench.dir);
}
END_TEST

START_TEST(a_faulty_file_is_exit_2_at_start_and_when_it_is_checked)
{
    struct tempdir dir;
    char path[128], out[4096], errors[8192];
    tempdir_open(&dir);
    tempdir_write(&dir, "keys", "\nx", 2);
    snprintf(path, sizeof path, "%s/keys", dir.path);
    for (int check = 0; check < 2; check++) {
        const char *arguments[] = {"--model",
                                   MODEL,
                                   "--keys-file",
                                   path,
                                   "--listen",
                                   "127.0.0.1:0",
                                   check ? "--check-config" : NULL,
                                   NULL};
        ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors),
                         2);
        ck_assert_msg(strstr(errors, "attnd: keys_file: keys:2: word 1: ") != NULL, "%s", errors);
        ck_assert_str_eq(out, "");
    }
    tempdir_close(&dir);
}
END_TEST

/* A key that may only predict cannot get another's labels by asking under the same id. */
START_TEST(an_input_of_another_key_under_an_id_gets_no_label_and_is_not_kept)
{
    struct bench bench;
    char state[160];
    static const char *const keys[][2] = {{"mes-key-of-16-bytes", "mes predict,feedback"},
                                          {"other-key-of-16-byte", "other predict"},
                                          {NULL, NULL}};
    static const char body[] = "{\"text\":\"vdd_io 3.97 V FAIL\",\"id\":\"die-7\"}";
    static const char evil[] = "{\"text\":\"something else altogether\",\"id\":\"die-7\"}";
    tempdir_open(&bench.dir);
    snprintf(bench.path, sizeof bench.path, "%s/keys", bench.dir.path);
    snprintf(state, sizeof state, "%s/state", bench.dir.path);
    write_keys(&bench, keys);
    server_process_start(&bench.server,
                         (const char *[]){"--model", MODEL, "--keys-file", bench.path,
                                          "--state-dir", state, "--keep-inputs-bytes", "1000000",
                                          "--keep-inputs-share", "1", NULL});
    expect(&bench, "/predict", keys[0][0], body, 200);
    expect(&bench, "/predict", keys[1][0], evil, 200);
    struct reply reply =
        ask(&bench, "/feedback", keys[0][0], "{\"id\":\"die-7\",\"label\":\"a\",\"new\":true}");
    reply_expect_problem(&reply, 422, "unusable", "$.id: two keys asked under this id");
    reply_free(&reply);
    expect(&bench, "/predict", keys[1][0], "{\"text\":\"mine\",\"id\":\"die-8\"}", 200);
    unsigned count = 0; /* one of each of two owners, once the last is on the disk */
    for (bool is_there = false; !is_there; reply_free(&reply)) {
        reply = ask(&bench, "/review", keys[0][0], NULL);
        count = reply.answer.status == 200 ? (unsigned)reply_count(&reply, "inputs") : 0;
        is_there = count > 0 && strcmp(reply_text(&reply, "inputs.0.id"), "die-8") == 0;
    }
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(server_process_stop(&bench.server), 0);
    snprintf(state, sizeof state, "rm -r '%s/state'", bench.dir.path);
    ck_assert_int_eq(system(state), 0);
    tempdir_close(&bench.dir);
}
END_TEST

SUITE("contract_keys", an_input_of_another_key_under_an_id_gets_no_label_and_is_not_kept,
      the_audit_log_names_the_key_of_a_prediction_and_of_a_reload,
      each_key_opens_what_its_scopes_say_and_nothing_else,
      refusals_say_what_is_wrong_as_rfc_6750_has_it_and_are_counted,
      a_refused_body_does_not_cost_the_connection, two_authorizations_are_one_too_many,
      a_rate_that_is_used_up_is_429_and_stays_so_over_a_reload,
      a_key_with_one_request_in_progress_may_begin_no_other,
      a_reload_exchanges_the_keys_and_a_faulty_file_changes_nothing,
      a_faulty_file_is_exit_2_at_start_and_when_it_is_checked)
