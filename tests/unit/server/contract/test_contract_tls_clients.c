/* Our own clients of a server that speaks TLS: attnd-healthcheck as a container runs it, and
 * attnd-load. Certificates are made here; each test has a server of its own. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tls_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 20 };

struct bench {
    struct server_process server;
    struct tempdir dir;
    char cert[128], key[128], authority[128], stranger[128], place[128];
    char port[16], out[16384], errors[4096];
};

static void issue(const struct bench *bench, int days)
{
    tls_fixture_issue(&bench->dir, "server", "ca",
                      &(struct tls_subject){
                          .name = "attnd", .dns = "localhost", .days_from = -90, .days_to = days});
}

static void bench_make(struct bench *bench, int days)
{
    *bench = (struct bench){0};
    tempdir_open(&bench->dir);
    const char *path = bench->dir.path;
    snprintf(bench->cert, sizeof bench->cert, "%s/server.pem", path);
    snprintf(bench->key, sizeof bench->key, "%s/server.key", path);
    snprintf(bench->authority, sizeof bench->authority, "%s/ca.pem", path);
    snprintf(bench->stranger, sizeof bench->stranger, "%s/stranger.pem", path);
    snprintf(bench->place, sizeof bench->place, "unix:%s/admin.sock", path);
    tls_fixture_authority(&bench->dir, "ca");
    tls_fixture_authority(&bench->dir, "stranger");
    issue(bench, days);
}

static void bench_start(struct bench *bench, const char *const *options)
{
    const char *arguments[ARGUMENTS_MAX + 9] = {"--model",         "text=tests/data/golden/bert-3",
                                                "--tls-cert-file", bench->cert,
                                                "--tls-key-file",  bench->key,
                                                "--admin-listen",  bench->place};
    for (int i = 0; options != NULL && options[i] != NULL && i < ARGUMENTS_MAX; i++)
        arguments[8 + i] = options[i];
    server_process_start(&bench->server, arguments);
    snprintf(bench->port, sizeof bench->port, "%u", bench->server.port);
}

static void bench_open(struct bench *bench, int days)
{
    bench_make(bench, days);
    bench_start(bench, NULL);
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    tempdir_close(&bench->dir);
}

/* ---- attnd-healthcheck ---- */

/* Checks with ATTND_TLS_CERT_FILE, if it is not NULL, and ATTND_LISTEN. */
static int check(struct bench *bench, const char *own, const char *const *arguments)
{
    char listen[32];
    snprintf(listen, sizeof listen, "0.0.0.0:%s", bench->port);
    setenv("ATTND_LISTEN", listen, 1);
    if (own != NULL)
        setenv("ATTND_TLS_CERT_FILE", own, 1);
    int code = run_program("attnd-healthcheck", arguments, bench->out, sizeof bench->out,
                           bench->errors, sizeof bench->errors);
    unsetenv("ATTND_TLS_CERT_FILE");
    unsetenv("ATTND_LISTEN");
    return code;
}

#define CHECK(bench, own, ...) check(bench, own, (const char *[]){__VA_ARGS__, NULL})

static void expect_untrusted(struct bench *bench, int code)
{
    char start[96];
    snprintf(start, sizeof start,
             "attnd-healthcheck: 127.0.0.1:%s: TLS: The certificate is NOT trusted. ", bench->port);
    ck_assert_int_eq(code, 1);
    ck_assert_msg(strncmp(bench->errors, start, strlen(start)) == 0, "%s", bench->errors);
}

START_TEST(healthcheck_needs_no_options_where_the_environment_names_the_certificate)
{
    struct bench bench;
    bench_open(&bench, 30);
    ck_assert_msg(CHECK(&bench, bench.cert, NULL) == 0, "%s", bench.errors);
    ck_assert_str_eq(bench.errors, "");
    ck_assert_int_eq(CHECK(&bench, NULL, NULL), 1); /* plain HTTP */
    ck_assert_ptr_nonnull(
        strstr(bench.errors, ": no answer in plain HTTP; for TLS give --ca-file FILE\n"));
    ck_assert_int_eq(CHECK(&bench, "", NULL), 1);
    bench_close(&bench);
}
END_TEST

START_TEST(healthcheck_takes_authorities_by_an_option_and_believes_no_other)
{
    struct bench bench;
    bench_open(&bench, 30);
    ck_assert_msg(CHECK(&bench, NULL, "--ca-file", bench.authority) == 0, "%s", bench.errors);
    ck_assert_int_eq(CHECK(&bench, NULL, "--ca-file", bench.authority, bench.port), 0);
    ck_assert_int_eq(CHECK(&bench, bench.stranger, "--ca-file", bench.cert), 0);
    expect_untrusted(&bench, CHECK(&bench, bench.cert, "--ca-file", bench.stranger));
    expect_untrusted(&bench, CHECK(&bench, bench.stranger, NULL));
    ck_assert_int_eq(CHECK(&bench, "/nonexistent.pem", NULL), 1);
    ck_assert_ptr_nonnull(strstr(bench.errors, ": /nonexistent.pem: "));
    bench_close(&bench);
}
END_TEST

/* The file has been exchanged, and no reload has told the server yet. */
START_TEST(healthcheck_believes_the_chain_of_an_exchanged_file_before_the_reload)
{
    struct bench bench;
    size_t len[2];
    bench_open(&bench, 30);
    issue(&bench, 60);
    expect_untrusted(&bench, CHECK(&bench, bench.cert, NULL));
    char *own = contract_file(bench.cert, &len[0]);
    char *authority = contract_file(bench.authority, &len[1]);
    char *chain = contract_format("%s%s", own, authority);
    tempdir_write(&bench.dir, "server.pem", chain, strlen(chain));
    ck_assert_msg(CHECK(&bench, bench.cert, NULL) == 0, "%s", bench.errors);
    free(own);
    free(authority);
    free(chain);
    bench_close(&bench);
}
END_TEST

START_TEST(healthcheck_does_not_restart_a_server_for_a_certificate_that_has_ended)
{
    struct bench bench;
    bench_open(&bench, -1);
    ck_assert_msg(CHECK(&bench, bench.cert, NULL) == 0, "%s", bench.errors);
    bench_close(&bench);
}
END_TEST

START_TEST(healthcheck_asks_by_the_path_of_admin_listen_in_the_clear)
{
    struct bench bench;
    bench_open(&bench, 30);
    ck_assert_msg(CHECK(&bench, NULL, bench.place) == 0, "%s", bench.errors);
    ck_assert_int_eq(CHECK(&bench, bench.cert, bench.place), 0);
    ck_assert_int_eq(CHECK(&bench, NULL, "unix:/nonexistent/a"), 1);
    ck_assert_str_eq(bench.errors, "attnd-healthcheck: unix:/nonexistent/a: cannot connect\n");
    ck_assert_int_eq(CHECK(&bench, NULL, bench.port, bench.place), 1);
    ck_assert_ptr_nonnull(strstr(bench.errors, "more than one port or path"));
    bench_close(&bench);
}
END_TEST

/* ---- attnd-load ---- */

/* attnd-load --json against the server, by the name. */
static int load(struct bench *bench, const char *host, const char *const *arguments)
{
    char url[64];
    const char *all[ARGUMENTS_MAX + 5] = {"--url", url, "--quiet", "--json"};
    for (int i = 0; arguments[i] != NULL && i < ARGUMENTS_MAX; i++)
        all[4 + i] = arguments[i];
    snprintf(url, sizeof url, "%s:%s", host, bench->port);
    return run_program("attnd-load", all, bench->out, sizeof bench->out, bench->errors,
                       sizeof bench->errors);
}

#define LOAD(bench, host, ...) load(bench, host, (const char *[]){__VA_ARGS__, NULL})

static double figure(const struct bench *bench, const char *path)
{
    struct json_t *report;
    struct err err = {0};
    double value = -1;
    ck_assert_msg(doc_parse(&report, bench->out, strlen(bench->out), &doc_limits_file, &err) ==
                      ERR_OK,
                  "%s: %s", err.text, bench->out);
    ck_assert_msg(doc_as_number(contract_at(report, path), &value), "no %s in %s", path,
                  bench->out);
    doc_free(report);
    return value;
}

START_TEST(load_asks_over_tls_on_connections_that_are_kept)
{
    static const char *const hosts[] = {"https://127.0.0.1", "https://localhost"};
    struct bench bench;
    bench_open(&bench, 30);
    for (size_t i = 0; i < 2; i++) {
        int code = LOAD(&bench, hosts[i], "--ca-file", bench.authority, "--requests", "60",
                        "--connections", "3", "--text", "vdd_io 3.97 V FAIL", "--get", "/healthz");
        ck_assert_msg(code == 0, "%s%s", bench.out, bench.errors);
        ck_assert(figure(&bench, "outcomes.ok") == 60);
        ck_assert(figure(&bench, "connections") <= 3);
    }
    ck_assert_int_eq(LOAD(&bench, hosts[0], "--insecure", "--requests", "5", "--text", "a"), 0);
    ck_assert_int_eq(LOAD(&bench, hosts[0], "--ca-file", bench.cert, "--requests", "5", "--rate",
                          "500", "--text", "a"),
                     0);
    bench_close(&bench);
}
END_TEST

/* The body is larger than a record, and than a socket takes at once. */
START_TEST(load_sends_large_bodies_over_tls)
{
    enum { BYTES = 3 << 20 };
    struct bench bench;
    char path[128];
    char *text = malloc(BYTES);
    bench_open(&bench, 30);
    memset(text, 'a', BYTES);
    tempdir_write(&bench.dir, "text", text, BYTES);
    snprintf(path, sizeof path, "%s/text", bench.dir.path);
    int code = LOAD(&bench, "https://127.0.0.1", "--ca-file", bench.authority, "--requests", "6",
                    "--connections", "2", "--raw", "--text-file", path);
    ck_assert_msg(code == 0, "%s%s", bench.out, bench.errors);
    ck_assert(figure(&bench, "outcomes.ok") == 6);
    free(text);
    bench_close(&bench);
}
END_TEST

START_TEST(load_sends_nothing_to_a_server_that_it_does_not_believe)
{
    struct bench bench;
    bench_open(&bench, 30);
    ck_assert_int_eq(LOAD(&bench, "https://127.0.0.1", "--ca-file", bench.stranger, "--requests",
                          "4", "--text", "a"),
                     1);
    ck_assert(figure(&bench, "outcomes.refused") == 4);
    ck_assert_ptr_nonnull(strstr(bench.out, "TLS: The certificate is NOT trusted. "));
    ck_assert_int_eq(LOAD(&bench, "https://[::1]", "--ca-file", "/nonexistent.pem", "--requests",
                          "4", "--text", "a"),
                     2);
    ck_assert_ptr_nonnull(strstr(bench.errors, "attnd-load: /nonexistent.pem: "));
    ck_assert_int_eq(LOAD(&bench, "http://127.0.0.1", "--requests", "4", "--text", "a"), 1);
    ck_assert(figure(&bench, "outcomes.ok") == 0);
    bench_close(&bench);
}
END_TEST

START_TEST(load_shows_a_certificate_of_its_own)
{
    static const char keys[] = "cert:press press predict\n";
    struct bench bench;
    char files[3][128];
    bench_make(&bench, 30);
    tempdir_write(&bench.dir, "keys", keys, strlen(keys));
    tls_fixture_issue(&bench.dir, "press", "ca",
                      &(struct tls_subject){.name = "press", .is_client = true});
    snprintf(files[0], sizeof files[0], "%s/keys", bench.dir.path);
    snprintf(files[1], sizeof files[1], "%s/press.pem", bench.dir.path);
    snprintf(files[2], sizeof files[2], "%s/press.key", bench.dir.path);
    bench_start(&bench, (const char *[]){"--keys-file", files[0], "--tls-client-ca-file",
                                         bench.authority, NULL});
    int code = LOAD(&bench, "https://127.0.0.1", "--ca-file", bench.authority, "--cert-file",
                    files[1], "--key-pem-file", files[2], "--requests", "9", "--text", "a");
    ck_assert_msg(code == 0, "%s%s", bench.out, bench.errors);
    ck_assert_int_eq(LOAD(&bench, "https://127.0.0.1", "--ca-file", bench.authority, "--requests",
                          "9", "--text", "a", "--accept", "401"),
                     0);
    ck_assert(figure(&bench, "statuses.401") == 9);
    ck_assert_msg(CHECK(&bench, bench.cert, NULL) == 0, "%s", bench.errors); /* it needs none */
    bench_close(&bench);
}
END_TEST

#define ANSWERED "attnd_requests_total{route=\"/predict\",model=\"text\",code=\"200\"} "

static bool has_answered(const struct bench *bench)
{
    int fd = http_connect_path(bench->place + strlen("unix:"));
    ck_assert(http_send_text(fd, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"));
    struct http_answer page = http_read(fd, false);
    close(fd);
    ck_assert_int_eq(page.status, 200);
    const char *line = strstr(page.body, ANSWERED);
    const bool has = line != NULL && strtoul(line + strlen(ANSWERED), NULL, 10) > 0;
    http_answer_free(&page);
    return has;
}

static void *stop_once_it_answers(void *context)
{
    const struct bench *bench = context;
    suite_await(has_answered(bench));
    kill(bench->server.pid, SIGTERM);
    return NULL;
}

/* A stop must lose no answer under TLS either; only requests that the server never had may be
 * missing. */
START_TEST(load_sees_that_a_stop_loses_nothing)
{
    struct bench bench;
    pthread_t killer;
    bench_open(&bench, 30);
    ck_assert_int_eq(pthread_create(&killer, NULL, stop_once_it_answers, &bench), 0);
    int code =
        LOAD(&bench, "https://127.0.0.1", "--ca-file", bench.authority, "--duration", "4",
             "--connections", "8", "--text", "a", "--accept", "refused", "--accept", "unsent");
    ck_assert_msg(code == 0, "%s%s", bench.out, bench.errors);
    ck_assert(figure(&bench, "outcomes.ok") > 0);
    ck_assert(figure(&bench, "outcomes.refused") > 0);
    pthread_join(killer, NULL);
    ck_assert_int_eq(server_process_wait(&bench.server), 0);
    tempdir_close(&bench.dir);
}
END_TEST

SUITE("contract_tls_clients",
      healthcheck_needs_no_options_where_the_environment_names_the_certificate,
      healthcheck_takes_authorities_by_an_option_and_believes_no_other,
      healthcheck_believes_the_chain_of_an_exchanged_file_before_the_reload,
      healthcheck_does_not_restart_a_server_for_a_certificate_that_has_ended,
      healthcheck_asks_by_the_path_of_admin_listen_in_the_clear,
      load_asks_over_tls_on_connections_that_are_kept, load_sends_large_bodies_over_tls,
      load_sends_nothing_to_a_server_that_it_does_not_believe, load_shows_a_certificate_of_its_own,
      load_sees_that_a_stop_loses_nothing)
