/* The program with an address for administration: which routes are where, who may ask there, and
 * what becomes of it at a stop, a kill and a reload. Each test has a server of its own. */
#include "engine/base/sha256.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tls_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define RELOAD "POST /admin/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"

enum { OPTIONS_MAX = 12 };

struct bench {
    struct server_process server;
    struct tempdir dir;
    char path[128], place[140], log[128];
    unsigned admin_port; /* 0: by the path */
};

static void bench_make(struct bench *bench)
{
    *bench = (struct bench){0};
    tempdir_open(&bench->dir);
    snprintf(bench->path, sizeof bench->path, "%s/admin.sock", bench->dir.path);
    snprintf(bench->place, sizeof bench->place, "unix:%s", bench->path);
    snprintf(bench->log, sizeof bench->log, "%s/log", bench->dir.path);
}

/* The port that the log says; 0: it does not yet, which is written after the ready line. */
static unsigned port_in_log(const struct bench *bench)
{
    size_t len;
    char *log = contract_file(bench->log, &len);
    const char *event = strstr(log, "\"event\":\"admin_listening\"");
    const char *port = event != NULL ? strstr(event, "\"port\":") : NULL;
    bool is_whole = port != NULL && strchr(port, '\n') != NULL;
    unsigned number = is_whole ? (unsigned)strtoul(port + 7, NULL, 10) : 0;
    free(log);
    return number;
}

static void bench_start(struct bench *bench, const char *place, const char *const *options)
{
    const char *arguments[OPTIONS_MAX + 5] = {"--model", MODEL, "--admin-listen", place};
    for (int i = 0; options != NULL && options[i] != NULL && i < OPTIONS_MAX; i++)
        arguments[4 + i] = options[i];
    server_process_launch(&bench->server, arguments, &(struct server_launch){.log = bench->log});
    if (strncmp(place, "unix:", 5) != 0)
        suite_await((bench->admin_port = port_in_log(bench)) > 0);
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    ck_assert_int_eq(access(bench->path, F_OK), -1);
    tempdir_close(&bench->dir);
}

static int dial_admin(const struct bench *bench)
{
    int fd =
        bench->admin_port > 0 ? http_connect(bench->admin_port) : http_connect_path(bench->path);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static struct reply say(int fd, const char *request)
{
    ck_assert(http_send_text(fd, request));
    struct reply reply = reply_of(http_read(fd, false));
    close(fd);
    return reply;
}

static void expect(int fd, const char *request, int status)
{
    struct reply reply = say(fd, request);
    ck_assert_msg(reply.answer.status == status, "%d instead of %d for %s: %s", reply.answer.status,
                  status, request, reply.answer.body);
    reply_free(&reply);
}

/* ---- where the routes are ---- */

static void expect_split(const struct bench *bench)
{
    static const char *const both[] = {GET("/healthz"), GET("/readyz"), GET("/metrics")};
    static const char *const main_only[] = {GET("/models"), GET("/"), GET("/openapi.json"),
                                            GET("/ui/app.js"), GET("/models/text")};
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        expect(http_connect(bench->server.port), both[i], 200);
        expect(dial_admin(bench), both[i], 200);
    }
    for (size_t i = 0; i < sizeof main_only / sizeof main_only[0]; i++) {
        expect(http_connect(bench->server.port), main_only[i], 200);
        expect(dial_admin(bench), main_only[i], 404);
    }
    expect(dial_admin(bench), GET("/predict"), 404); /* not 405: it is not there */
    expect(http_connect(bench->server.port), GET("/predict"), 405);
    expect(http_connect(bench->server.port), GET("/admin/reload"), 404);
    expect(dial_admin(bench), GET("/admin/reload"), 405);
}

START_TEST(admin_routes_are_on_the_path_only_and_the_others_are_not_there)
{
    struct bench bench;
    bench_make(&bench);
    bench_start(&bench, bench.place, NULL);
    struct stat file;
    ck_assert_int_eq(stat(bench.path, &file), 0);
    ck_assert_uint_eq(file.st_mode & 07777, 0660);
    expect_split(&bench);
    expect(dial_admin(&bench), RELOAD "\r\n", 200);
    struct reply reply = say(http_connect(bench.server.port), RELOAD "\r\n");
    reply_expect_problem(&reply, 404, "not_found",
                         "there is nothing at this path here: it is where admin_listen says");
    reply_free(&reply);
    bench_close(&bench);
}
END_TEST

START_TEST(admin_routes_are_on_the_other_port_only)
{
    struct bench bench;
    char request[256];
    bench_make(&bench);
    bench_start(&bench, "127.0.0.1:0", NULL);
    ck_assert_uint_ne(bench.admin_port, bench.server.port);
    expect_split(&bench);
    snprintf(request, sizeof request, "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
             bench.admin_port);
    expect(dial_admin(&bench), request, 200);
    snprintf(request, sizeof request, "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
             bench.server.port);
    expect(dial_admin(&bench), request, 403); /* the other address is another host */
    bench_close(&bench);
}
END_TEST

START_TEST(clients_that_take_every_connection_do_not_keep_an_operator_out)
{
    enum { CLIENTS = 8 };
    struct bench bench;
    int clients[CLIENTS];
    bench_make(&bench);
    bench_start(&bench, bench.place, (const char *[]){"--connections-max", "2", NULL});
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = http_connect(bench.server.port);
        ck_assert(http_send_text(clients[i], "POST /predict HTTP/1.1\r\nHost: h\r\n"
                                             "Content-Length: 9\r\n\r\n{"));
    }
    expect(dial_admin(&bench), GET("/readyz"), 200);
    expect(dial_admin(&bench), RELOAD "\r\n", 200);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    bench_close(&bench);
}
END_TEST

START_TEST(the_line_that_says_where_the_server_is_stays_one_line_of_the_main_address)
{
    struct bench bench;
    char line[128];
    bench_make(&bench);
    bench_start(&bench, bench.place, NULL);
    snprintf(line, sizeof line, "attnd: listening on http://127.0.0.1:%u (text)\n",
             bench.server.port);
    ck_assert_str_eq(bench.server.ready_line, line);
    bench_close(&bench);
}
END_TEST

/* ---- who may ask ---- */

START_TEST(pages_and_proxies_change_nothing_through_the_path)
{
    struct bench bench;
    bench_make(&bench);
    bench_start(&bench, bench.place, NULL);
    expect(dial_admin(&bench), "POST /admin/reload HTTP/1.1\r\nHost: attnd.example\r\n\r\n", 403);
    expect(dial_admin(&bench), RELOAD "Origin: http://attnd.example\r\n\r\n", 403);
    expect(dial_admin(&bench), RELOAD "Origin: null\r\n\r\n", 403);
    expect(dial_admin(&bench), RELOAD "X-Forwarded-For: 192.0.2.1\r\n\r\n", 403);
    expect(dial_admin(&bench), RELOAD "Content-Type: text/plain\r\n\r\n", 415);
    expect(dial_admin(&bench), RELOAD "Origin: http://localhost\r\n\r\n", 200);
    bench_close(&bench);
}
END_TEST

START_TEST(keys_are_asked_for_there_as_well)
{
    struct bench bench;
    char keys[140], line[256], digits[SHA256_HEX_BYTES];
    bench_make(&bench);
    sha256_hex("boss", 4, digits);
    snprintf(line, sizeof line, "sha256:%s boss admin\n", digits);
    tempdir_write(&bench.dir, "keys", line, strlen(line));
    snprintf(keys, sizeof keys, "%s/keys", bench.dir.path);
    bench_start(&bench, bench.place, (const char *[]){"--keys-file", keys, NULL});
    expect(dial_admin(&bench), RELOAD "\r\n", 401);
    expect(dial_admin(&bench), RELOAD "Authorization: Bearer other\r\n\r\n", 401);
    expect(dial_admin(&bench), RELOAD "Authorization: Bearer boss\r\n\r\n", 200);
    expect(dial_admin(&bench), GET("/metrics"), 401);
    expect(dial_admin(&bench), GET("/healthz"), 200);
    bench_close(&bench);
}
END_TEST

/* ---- TLS ---- */

struct files {
    char cert[128], key[128];
};

static void make_files(const struct bench *bench, struct files *files)
{
    tls_fixture_authority(&bench->dir, "ca");
    tls_fixture_issue(&bench->dir, "server", "ca", &(struct tls_subject){.name = "attnd"});
    snprintf(files->cert, sizeof files->cert, "%s/server.pem", bench->dir.path);
    snprintf(files->key, sizeof files->key, "%s/server.key", bench->dir.path);
}

START_TEST(with_a_certificate_the_other_port_speaks_tls_and_nothing_else)
{
    struct bench bench;
    struct files files;
    struct tls_client client;
    static struct tls_answer answer;
    char request[160];
    bench_make(&bench);
    make_files(&bench, &files);
    bench_start(&bench, "127.0.0.1:0",
                (const char *[]){"--tls-cert-file", files.cert, "--tls-key-file", files.key, NULL});
    ck_assert(tls_client_open(&client, bench.admin_port,
                              &(struct tls_client_options){.dir = &bench.dir, .trust = "ca"}));
    snprintf(request, sizeof request, "POST /admin/reload HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
             bench.admin_port);
    ck_assert_int_eq(tls_client_ask(&client, request, &answer), 200);
    ck_assert_int_eq(tls_client_ask(&client, GET("/models"), &answer), 404);
    tls_client_close(&client);
    struct reply plain = say(dial_admin(&bench), GET("/healthz"));
    ck_assert_int_eq(plain.answer.status, 0);
    reply_free(&plain);
    bench_close(&bench);
}
END_TEST

START_TEST(with_a_certificate_the_path_speaks_plain_http)
{
    struct bench bench;
    struct files files;
    bench_make(&bench);
    make_files(&bench, &files);
    bench_start(&bench, bench.place,
                (const char *[]){"--tls-cert-file", files.cert, "--tls-key-file", files.key, NULL});
    ck_assert_ptr_nonnull(strstr(bench.server.ready_line, " https://127.0.0.1:"));
    expect(dial_admin(&bench), RELOAD "\r\n", 200);
    expect(dial_admin(&bench), GET("/readyz"), 200);
    bench_close(&bench);
}
END_TEST

/* ---- starts and stops ---- */

START_TEST(a_stop_answers_what_has_begun_there_and_removes_the_file)
{
    struct bench bench;
    bench_make(&bench);
    bench_start(&bench, bench.place, NULL);
    int begun = dial_admin(&bench), idle = dial_admin(&bench);
    ck_assert(http_send_text(begun, "GET /healthz HTTP/1.1\r\nHos"));
    ck_assert(http_send_text(idle, GET("/healthz")));
    struct http_answer first = http_read(idle, false);
    ck_assert_int_eq(first.status, 200);
    http_answer_free(&first);
    kill(bench.server.pid, SIGTERM);
    while (access(bench.path, F_OK) == 0)
        usleep(1000);
    struct reply reply = say(begun, "t: h\r\n\r\n");
    reply_expect_status(&reply, 200);
    ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
    reply_free(&reply);
    char byte;
    ck_assert_int_eq(read(idle, &byte, 1), 0);
    close(idle);
    ck_assert_int_eq(server_process_wait(&bench.server), 0);
    tempdir_close(&bench.dir);
}
END_TEST

START_TEST(the_file_of_a_server_that_was_killed_is_replaced_and_of_a_living_one_is_an_error)
{
    struct bench bench;
    char out[256], errors[4096];
    const char *const again[] = {"--model",        MODEL, "--listen", "127.0.0.1:0",
                                 "--admin-listen", NULL,  NULL};
    const char *arguments[7];
    bench_make(&bench);
    memcpy(arguments, again, sizeof again);
    arguments[5] = bench.place;
    bench_start(&bench, bench.place, NULL);
    ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors), 1);
    ck_assert_msg(strstr(errors, "attnd: admin_listen: listen: ") != NULL &&
                      strstr(errors, ": a process listens there\n") != NULL,
                  "%s", errors);
    expect(dial_admin(&bench), GET("/healthz"), 200);
    kill(bench.server.pid, SIGKILL);
    ck_assert_int_eq(server_process_wait(&bench.server), -1);
    ck_assert_int_eq(access(bench.path, F_OK), 0);
    bench_start(&bench, bench.place, NULL);
    expect(dial_admin(&bench), GET("/healthz"), 200);
    bench_close(&bench);
}
END_TEST

static void expect_unusable(const char *place, const char *text)
{
    char out[256], errors[4096];
    const char *const arguments[] = {"--model",        MODEL, "--check-config",
                                     "--admin-listen", place, NULL};
    ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors), 2);
    ck_assert_msg(strstr(errors, text) != NULL, "no '%s' in %s", text, errors);
}

START_TEST(check_finds_a_bad_admin_address)
{
    struct bench bench;
    char place[160];
    bench_make(&bench);
    expect_unusable("somewhere", "attnd: --admin-listen: expected ADDRESS:PORT, such as "
                                 "127.0.0.1:8081, or unix:PATH");
    expect_unusable("unix:relative", "attnd: --admin-listen: expected ADDRESS:PORT");
    expect_unusable("127.0.0.1:8080", "attnd: admin_listen must be another address than listen "
                                      "(127.0.0.1:8080)");
    expect_unusable("unix:/nonexistent/x", "attnd: admin_listen: /nonexistent is no directory");
    tempdir_write(&bench.dir, "file", "", 0);
    snprintf(place, sizeof place, "unix:%s/file", bench.dir.path);
    expect_unusable(place, "/file is there, and is no socket");
    tempdir_close(&bench.dir);
}
END_TEST

SUITE("contract_admin", admin_routes_are_on_the_path_only_and_the_others_are_not_there,
      clients_that_take_every_connection_do_not_keep_an_operator_out,
      admin_routes_are_on_the_other_port_only,
      the_line_that_says_where_the_server_is_stays_one_line_of_the_main_address,
      pages_and_proxies_change_nothing_through_the_path, keys_are_asked_for_there_as_well,
      with_a_certificate_the_other_port_speaks_tls_and_nothing_else,
      with_a_certificate_the_path_speaks_plain_http,
      a_stop_answers_what_has_begun_there_and_removes_the_file,
      the_file_of_a_server_that_was_killed_is_replaced_and_of_a_living_one_is_an_error,
      check_finds_a_bad_admin_address)
