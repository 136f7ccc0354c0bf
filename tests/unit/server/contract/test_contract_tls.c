/* The program behind TLS: answers that are the same without it, refusals, and the exchange of a
 * certificate. Certificates are made here; each test has a server of its own. */
#include "engine/base/clock.h"
#include "engine/base/sha256.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tls_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

struct bench {
    struct server_process server;
    struct tempdir dir;
    char cert[128], key[128], authority[128], keys[128];
    struct tls_answer answer;
};

static void name_files(struct bench *bench)
{
    snprintf(bench->cert, sizeof bench->cert, "%s/server.pem", bench->dir.path);
    snprintf(bench->key, sizeof bench->key, "%s/server.key", bench->dir.path);
    snprintf(bench->authority, sizeof bench->authority, "%s/ca.pem", bench->dir.path);
    snprintf(bench->keys, sizeof bench->keys, "%s/keys", bench->dir.path);
}

static void issue_server(const struct bench *bench, int days)
{
    tls_fixture_issue(&bench->dir, "server", "ca",
                      &(struct tls_subject){.name = "attnd", .days_from = -90, .days_to = days});
}

static void bench_make(struct bench *bench)
{
    *bench = (struct bench){0};
    tempdir_open(&bench->dir);
    name_files(bench);
    tls_fixture_authority(&bench->dir, "ca");
    issue_server(bench, 30);
}

/* keys: lines for the file of keys; NULL: there is none, and clients are asked for nothing. limit_ms:
 * of a head, with the handshake before it, and of a body. */
static void bench_open_with(struct bench *bench, const char *keys, const char *limit_ms)
{
    bench_make(bench);
    if (keys != NULL)
        tempdir_write(&bench->dir, "keys", keys, strlen(keys));
    const char *arguments[] = {"--model",
                               MODEL,
                               "--tls-cert-file",
                               bench->cert,
                               "--tls-key-file",
                               bench->key,
                               "--body-timeout-ms",
                               limit_ms,
                               "--header-timeout-ms",
                               limit_ms,
                               keys != NULL ? "--keys-file" : NULL,
                               bench->keys,
                               "--tls-client-ca-file",
                               bench->authority,
                               NULL};
    server_process_start(&bench->server, arguments);
}

static void bench_open(struct bench *bench, const char *keys)
{
    bench_open_with(bench, keys, "300000");
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    tempdir_close(&bench->dir);
}

static bool connect_as(struct bench *bench, struct tls_client *client, const char *own)
{
    return tls_client_open(
        client, bench->server.port,
        &(struct tls_client_options){.dir = &bench->dir, .trust = "ca", .own = own});
}

/* The status of one request on a connection of its own. */
static int ask_as(struct bench *bench, const char *own, const char *request)
{
    struct tls_client client;
    ck_assert(connect_as(bench, &client, own));
    int status = tls_client_ask(&client, request, &bench->answer);
    tls_client_close(&client);
    return status;
}

static char *post_of(const char *type, const char *text, size_t body_len)
{
    char *head = contract_format("POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\n"
                                 "Content-Length: %zu\r\n\r\n",
                                 type, body_len);
    char *whole = contract_format("%s%s", head, text);
    free(head);
    return whole;
}

START_TEST(requests_are_answered_as_without_tls_on_one_connection)
{
    struct bench bench;
    struct tls_client client;
    bench_open(&bench, NULL);
    ck_assert_msg(strncmp(bench.server.ready_line, "attnd: listening on https://127.0.0.1:", 38) ==
                      0,
                  "%s", bench.server.ready_line);
    ck_assert(connect_as(&bench, &client, NULL));
    char *predict = post_of("application/json", "{\"text\":\"vdd_io 3.97 V FAIL\"}", 29);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(tls_client_ask(&client, GET("/readyz"), &bench.answer), 200);
        ck_assert_int_eq(tls_client_ask(&client, predict, &bench.answer), 200);
        ck_assert_ptr_nonnull(strstr(bench.answer.text, "\"label\""));
        ck_assert_int_eq(tls_client_ask(&client, GET("/none"), &bench.answer), 404);
    }
    ck_assert_int_eq(tls_client_ask(&client, GET("/metrics"), &bench.answer), 200);
    ck_assert_uint_gt(bench.answer.body_len, 20000);
    ck_assert_int_eq(tls_client_ask(&client, GET("/ui/app.js"), &bench.answer), 200);
    tls_client_close(&client);
    free(predict);
    bench_close(&bench);
}
END_TEST

/* The body is larger than a record, a pool and a socket buffer hold. */
START_TEST(a_large_body_arrives_whole)
{
    enum { BYTES = 3 << 20 };
    struct bench bench;
    char *text = malloc(BYTES + 1);
    bench_open(&bench, NULL);
    memset(text, 'a', BYTES);
    text[BYTES] = '\0';
    char *request = post_of("text/plain", text, BYTES);
    ck_assert_int_eq(ask_as(&bench, NULL, request), 200);
    ck_assert_ptr_nonnull(strstr(bench.answer.text, "\"label\""));
    free(request);
    free(text);
    bench_close(&bench);
}
END_TEST

START_TEST(versions_before_1_2_and_plain_http_get_nothing)
{
    static const struct {
        const char *priorities;
        bool is_taken;
    } cases[] = {{"NORMAL:-VERS-ALL:+VERS-TLS1.3", true},
                 {"NORMAL:-VERS-ALL:+VERS-TLS1.2", true},
                 {"NORMAL:-VERS-ALL:+VERS-TLS1.1:+SHA1:%COMPAT", false},
                 {"NORMAL:-VERS-ALL:+VERS-TLS1.0:+SHA1:%COMPAT", false}};
    struct bench bench;
    bench_open(&bench, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tls_client client;
        bool is_taken = tls_client_open(
            &client, bench.server.port,
            &(struct tls_client_options){
                .dir = &bench.dir, .trust = "ca", .priorities = cases[i].priorities});
        ck_assert_msg(is_taken == cases[i].is_taken, "%s", cases[i].priorities);
        if (is_taken)
            tls_client_close(&client);
    }
    struct http_answer plain = http_get(bench.server.port, "/healthz");
    ck_assert_int_eq(plain.status, 0);
    http_answer_free(&plain);
    bench_close(&bench);
}
END_TEST

static bool metrics_have(struct bench *bench, const char *line)
{
    ck_assert_int_eq(ask_as(bench, NULL, GET("/metrics")), 200);
    return strstr(bench->answer.text, line) != NULL;
}

/* Bytes written elsewhere, past the library, must not reach a client of TLS in the clear. */
START_TEST(tls_closes_a_connection_that_the_library_cannot_answer)
{
    static const char *const halves[] = {
        "POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{", /* slow body */
        "GET /healthz HT",                                                 /* slow head */
        "rubbish\r\n\r\n",                                                 /* no request line */
        "POST /predict HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\n"};
    struct bench bench;
    bench_open_with(&bench, NULL, "2000");
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++) {
        struct tls_client client;
        char byte;
        ck_assert(connect_as(&bench, &client, NULL));
        ck_assert(tls_client_send(&client, halves[i], strlen(halves[i])));
        tls_client_read(&client, &bench.answer);
        ck_assert_msg(bench.answer.status == 0 || bench.answer.status == 400, "%zu: %d", i,
                      bench.answer.status);
        while (read(client.fd, &byte, 1) == 1)
            continue; /* to the end of file: it is closed */
        tls_client_close(&client);
    }
    suite_await(metrics_have(&bench, /* told to nobody, but counted */
                             "{route=\"/predict\",model=\"\",code=\"408\"} 2\n"));
    bench_close(&bench);
}
END_TEST

START_TEST(a_handshake_that_does_not_end_is_ended)
{
    struct bench bench;
    char byte;
    bench_open_with(&bench, NULL, "2000");
    int fd = http_connect(bench.server.port);
    ck_assert(http_send(fd, "\x16\x03\x01\x02", 4));
    uint64_t begun_ns = clock_now_ns();
    while (read(fd, &byte, 1) == 1)
        continue;
    ck_assert_double_lt(clock_ms_between(begun_ns, clock_now_ns()), 60000);
    close(fd);
    ck_assert_int_eq(ask_as(&bench, NULL, GET("/healthz")), 200);
    bench_close(&bench);
}
END_TEST

/* A handshake is no request: a client with only a handshake is not waited for until its time is
 * up. */
START_TEST(a_stop_does_not_wait_for_who_has_only_shaken_hands)
{
    struct bench bench;
    struct tls_client silent, idle;
    bench_open(&bench, NULL);
    ck_assert(connect_as(&bench, &silent, NULL));
    ck_assert(connect_as(&bench, &idle, NULL));
    ck_assert_int_eq(tls_client_ask(&idle, GET("/healthz"), &bench.answer), 200);
    uint64_t begun_ns = clock_now_ns();
    ck_assert_int_eq(server_process_stop(&bench.server), 0);
    ck_assert_double_lt(clock_ms_between(begun_ns, clock_now_ns()), 100000);
    tls_client_close(&silent);
    tls_client_close(&idle);
    tempdir_close(&bench.dir);
}
END_TEST

/* ---- reload ---- */

static void await_generation(struct bench *bench, unsigned successes, unsigned failures)
{
    char lines[192];
    snprintf(lines, sizeof lines,
             "attnd_config_reloads_total{result=\"failure\"} %u\n"
             "attnd_config_reloads_total{result=\"success\"} %u\n",
             failures, successes);
    suite_await(metrics_have(bench, lines));
}

START_TEST(a_reload_exchanges_the_certificate_and_drops_no_connection)
{
    struct bench bench;
    struct tls_client before, after;
    bench_open(&bench, NULL);
    ck_assert(connect_as(&bench, &before, NULL));
    ck_assert_int_eq(tls_client_ask(&before, GET("/healthz"), &bench.answer), 200);
    long serial = tls_client_serial(&before);
    issue_server(&bench, 60);
    kill(bench.server.pid, SIGHUP);
    await_generation(&bench, 1, 0);
    ck_assert(connect_as(&bench, &after, NULL));
    ck_assert_int_eq(tls_client_serial(&after), serial + 1);
    ck_assert_int_eq(tls_client_ask(&before, GET("/healthz"), &bench.answer), 200);
    ck_assert_int_eq(tls_client_ask(&after, GET("/healthz"), &bench.answer), 200);
    tls_client_close(&before);
    tls_client_close(&after);
    bench_close(&bench);
}
END_TEST

START_TEST(a_faulty_certificate_fails_the_reload_and_changes_nothing)
{
    struct bench bench;
    struct tls_client client;
    bench_open(&bench, NULL);
    ck_assert(connect_as(&bench, &client, NULL));
    long serial = tls_client_serial(&client);
    tls_client_close(&client);
    tempdir_write(&bench.dir, "server.pem", "rubbish", 7);
    kill(bench.server.pid, SIGHUP);
    await_generation(&bench, 0, 1);
    ck_assert(connect_as(&bench, &client, NULL));
    ck_assert_int_eq(tls_client_serial(&client), serial);
    tls_client_close(&client);
    bench_close(&bench);
}
END_TEST

START_TEST(the_metric_says_when_the_certificate_expires)
{
    struct bench bench;
    bench_open(&bench, NULL);
    ck_assert_int_eq(ask_as(&bench, NULL, GET("/metrics")), 200);
    const char *line =
        strstr(bench.answer.text, "\nattnd_tls_certificate_expiry_timestamp_seconds ");
    ck_assert_ptr_nonnull(line);
    double left_s = strtod(strchr(line + 1, ' '), NULL) - (double)time(NULL);
    ck_assert_double_gt(left_s, 29.9 * 24 * 3600);
    ck_assert_double_lt(left_s, 30.1 * 24 * 3600);
    bench_close(&bench);
}
END_TEST

/* ---- clients' certificates ---- */

START_TEST(a_certificate_that_the_authorities_vouch_for_stands_for_a_key)
{
    char keys[512], digits[SHA256_HEX_BYTES];
    struct bench bench;
    sha256_hex("k", 1, digits);
    snprintf(keys, sizeof keys,
             "cert:press press predict\ncert:bonder.fab bonder metrics\n"
             "sha256:%s ours metrics\n",
             digits);
    bench_open(&bench, keys);
    const struct tempdir *dir = &bench.dir;
    tls_fixture_authority(dir, "stranger");
    tls_fixture_issue(dir, "press", "ca",
                      &(struct tls_subject){.name = "press", .is_client = true});
    tls_fixture_issue(dir, "bonder", "ca",
                      &(struct tls_subject){.name = "b", .dns = "bonder.fab", .is_client = true});
    tls_fixture_issue(dir, "false", "stranger",
                      &(struct tls_subject){.name = "press", .is_client = true});
    tls_fixture_issue(
        dir, "past", "ca",
        &(struct tls_subject){.name = "press", .is_client = true, .days_from = -9, .days_to = -1});
    tls_fixture_issue(dir, "serving", "ca", &(struct tls_subject){.name = "press"});
    tls_fixture_issue(dir, "nobody", "ca", &(struct tls_subject){.name = "no", .is_client = true});
    static const struct {
        const char *own, *request;
        int status;
    } cases[] = {
        {"press", GET("/models"), 200},
        {"press", GET("/metrics"), 403},
        {"bonder", GET("/metrics"), 200},
        {"bonder", GET("/models"), 403},
        {"false", GET("/models"), 401},
        {"past", GET("/models"), 401},
        {"serving", GET("/models"), 401},
        {"nobody", GET("/models"), 401},
        {NULL, GET("/models"), 401},
        {NULL, GET("/healthz"), 200},
        {"false", GET("/healthz"), 200},
        /* a key that is sent decides */
        {NULL, "GET /metrics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\n\r\n", 200},
        {"press", "GET /models HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer k\r\n\r\n", 403},
        {"press", "GET /models HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n\r\n", 401},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = ask_as(&bench, cases[i].own, cases[i].request);
        ck_assert_msg(status == cases[i].status, "%zu: %d", i, status);
    }
    bench_close(&bench);
}
END_TEST

/* ---- starts that fail ---- */

static void expect_refused(const char *const *arguments, const char *text)
{
    char out[4096], errors[8192];
    const char *all[16] = {"--model", MODEL, "--listen", "127.0.0.1:0"};
    for (int i = 0; arguments[i] != NULL; i++)
        all[4 + i] = arguments[i];
    ck_assert_int_eq(run_program("attnd", all, out, sizeof out, errors, sizeof errors), 2);
    ck_assert_msg(strstr(errors, text) != NULL, "no '%s' in %s", text, errors);
    ck_assert_str_eq(out, "");
}

START_TEST(files_that_cannot_be_used_are_exit_2_by_name)
{
    struct bench bench;
    char other[160];
    bench_make(&bench);
    snprintf(other, sizeof other, "%s/other.key", bench.dir.path);
    tls_fixture_issue(&bench.dir, "other", "ca", &(struct tls_subject){.name = "other"});
    expect_refused((const char *[]){"--tls-cert-file", bench.cert, NULL},
                   "attnd: tls_cert_file and tls_key_file need each other");
    expect_refused((const char *[]){"--tls-client-ca-file", bench.authority, NULL},
                   "attnd: tls_client_ca_file needs tls_cert_file");
    expect_refused((const char *[]){"--tls-cert-file", bench.cert, "--tls-key-file", bench.key,
                                    "--tls-client-ca-file", bench.authority, NULL},
                   "attnd: tls_client_ca_file needs keys_file");
    expect_refused((const char *[]){"--tls-cert-file", bench.cert, "--tls-key-file", other, NULL},
                   "attnd: tls_key_file: other.key: not the key of the first certificate in "
                   "tls_cert_file");
    expect_refused(
        (const char *[]){"--tls-cert-file", bench.key, "--tls-key-file", bench.key, NULL},
        "attnd: tls_cert_file: server.key: ");
    expect_refused((const char *[]){"--tls-cert-file", bench.cert, "--tls-key-file", bench.cert,
                                    "--check-config", NULL},
                   "attnd: tls_key_file: server.pem: ");
    expect_refused(
        (const char *[]){"--tls-cert-file", "/nowhere/x.pem", "--tls-key-file", bench.key, NULL},
        "attnd: tls_cert_file: x.pem: cannot be opened: No such file or directory");
    tempdir_close(&bench.dir);
}
END_TEST

SUITE("contract_tls", a_stop_does_not_wait_for_who_has_only_shaken_hands,
      requests_are_answered_as_without_tls_on_one_connection, a_large_body_arrives_whole,
      versions_before_1_2_and_plain_http_get_nothing,
      tls_closes_a_connection_that_the_library_cannot_answer,
      a_handshake_that_does_not_end_is_ended,
      a_reload_exchanges_the_certificate_and_drops_no_connection,
      a_faulty_certificate_fails_the_reload_and_changes_nothing,
      the_metric_says_when_the_certificate_expires,
      a_certificate_that_the_authorities_vouch_for_stands_for_a_key,
      files_that_cannot_be_used_are_exit_2_by_name)
