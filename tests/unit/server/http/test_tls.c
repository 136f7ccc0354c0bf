/* test_tls.c - what a client of TLS may make the server keep, and how long its certificate holds.
 * The clock is this program's own. */
#include "server/http/tls.h"

#include "server/http/http.h"
#include "tests/support/http_client.h"
#include "tests/support/suite.h"
#include "tests/support/tls_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_long later_s;

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += atomic_load(&later_s);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

struct bench {
    struct http_server *server;
    struct tls *tls;
    struct tempdir dir;
    struct memory memory;
    struct tls_answer answer;
};

static enum http_next app_head(void *context, struct http_exchange *exchange)
{
    (void)context;
    (void)exchange;
    return HTTP_CONTINUE;
}

/* "name, name" of the client's certificate. */
static enum http_next app_begin(void *context, struct http_exchange *exchange)
{
    unsigned count;
    const char *const *names = http_client_names(exchange, &count);
    char *text = arena_format(&exchange->arena, "names:");
    (void)context;
    for (unsigned i = 0; names != NULL && i < count; i++)
        text = arena_format(&exchange->arena, "%s %s", text, names[i]);
    exchange->reply = (struct http_reply){
        .status = 200, .content_type = "text/plain", .body = text, .body_len = strlen(text)};
    return HTTP_REPLY;
}

static void app_finish(void *context, struct http_exchange *exchange)
{
    (void)context;
    (void)exchange;
}

static void app_refuse(void *context, struct http_exchange *exchange, const struct err *err)
{
    (void)context;
    (void)err;
    exchange->reply = (struct http_reply){.status = 400, .body = ""};
}

static const struct http_app app = {.head = app_head,
                                    .begin = app_begin,
                                    .finish = app_finish,
                                    .refuse = app_refuse,
                                    .done = app_finish};

static void bench_open(struct bench *bench)
{
    char cert[160], key[160], authority[160];
    struct err err = {0};
    *bench = (struct bench){.memory = {.pool_bytes = 1 << 24}};
    tempdir_open(&bench->dir);
    tls_fixture_authority(&bench->dir, "ca");
    tls_fixture_issue(&bench->dir, "server", "ca", &(struct tls_subject){.name = "attnd"});
    snprintf(cert, sizeof cert, "%s/server.pem", bench->dir.path);
    snprintf(key, sizeof key, "%s/server.key", bench->dir.path);
    snprintf(authority, sizeof authority, "%s/ca.pem", bench->dir.path);
    ck_assert_msg(tls_open(&bench->tls, cert, key, authority, &err) == ERR_OK, "%s", err.text);
    const struct http_options options = {.address = "127.0.0.1",
                                         .io_threads = 2,
                                         .connections_max = 64,
                                         .header_timeout_ms = 20000,
                                         .body_timeout_ms = 20000,
                                         .body_bytes_max = 1 << 20,
                                         .memory = &bench->memory,
                                         .tls = bench->tls};
    ck_assert_int_eq(http_start(&bench->server, &options, &app, &err), ERR_OK);
}

static void bench_close(struct bench *bench)
{
    http_stop(bench->server);
    tls_close(bench->tls);
    tempdir_close(&bench->dir);
}

static bool connect_as(struct bench *bench, struct tls_client *client, const char *own)
{
    return tls_client_open(
        client, http_port(bench->server),
        &(struct tls_client_options){.dir = &bench->dir, .trust = "ca", .own = own});
}

/* Sends all but the last byte of a ClientHello of so many bytes, in records of so many, and waits
 * for the server to end the connection. */
static void send_hello(const struct bench *bench, size_t announced, size_t record)
{
    static char bytes[16384 + 5];
    int fd = http_connect(http_port(bench->server));
    for (size_t left = announced + 3, at = 0; left > 0; at++) {
        size_t len = left < record ? left : record;
        memcpy(bytes, (const char[]){0x16, 3, 1, (char)(len >> 8), (char)len}, 5);
        memset(bytes + 5, 0, len);
        if (at == 0)
            memcpy(
                bytes + 5,
                (const char[]){1, (char)(announced >> 16), (char)(announced >> 8), (char)announced},
                4);
        if (!http_send(fd, bytes, len + 5))
            break;
        left -= len;
    }
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        continue;
    close(fd);
}

START_TEST(tls_ends_a_handshake_that_is_larger_than_it_keeps)
{
    static const size_t announced[] = {TLS_HANDSHAKE_BYTES_MAX + 1, 131000, 0xFFFFFF};
    static const size_t records[] = {16384, 1000};
    struct bench bench;
    struct tls_client client;
    bench_open(&bench);
    for (size_t i = 0; i < 6; i++)
        send_hello(&bench, announced[i / 2], records[i % 2]);
    ck_assert(connect_as(&bench, &client, NULL)); /* and nobody else is disturbed */
    ck_assert_int_eq(tls_client_ask(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &bench.answer),
                     200);
    tls_client_close(&client);
    bench_close(&bench);
}
END_TEST

/* A head of 12 KiB in records of one byte is 276 KiB of TLS. */
START_TEST(tls_ends_a_connection_whose_bytes_lead_to_no_request)
{
    struct bench bench;
    struct tls_client client;
    bench_open(&bench);
    ck_assert(connect_as(&bench, &client, NULL));
    bool is_taken = tls_client_send(&client, "GET /", 5);
    for (int i = 0; i < 12 * 1024 && is_taken; i++)
        is_taken = tls_client_send(&client, "a", 1);
    tls_client_ask(&client, " HTTP/1.1\r\nHost: h\r\n\r\n", &bench.answer);
    ck_assert_int_eq(bench.answer.status, 0);
    tls_client_close(&client);
    bench_close(&bench);
}
END_TEST

START_TEST(tls_takes_the_largest_head_and_a_body_of_many_records)
{
    static char head[16 * 1024 + 1], body[600 * 1024];
    struct bench bench;
    struct tls_client client;
    bench_open(&bench);
    ck_assert(connect_as(&bench, &client, NULL));
    int len = snprintf(head, sizeof head,
                       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\nX: ", sizeof body);
    memset(head + len, 'x', sizeof head - 1 - (size_t)len);
    memcpy(head + sizeof head - 5, "\r\n\r\n", 5);
    ck_assert(tls_client_send(&client, head, sizeof head - 1));
    for (size_t at = 0; at < sizeof body; at += 1000)
        ck_assert(
            tls_client_send(&client, body + at, sizeof body - at < 1000 ? sizeof body - at : 1000));
    tls_client_read(&client, &bench.answer);
    ck_assert_int_eq(bench.answer.status, 200);
    tls_client_close(&client);
    bench_close(&bench);
}
END_TEST

/* Each record is a read of its own. A refusal in the middle of a body can only close here. */
START_TEST(malformed_chunks_are_refused_over_tls_wherever_they_are_cut)
{
    static const char *const bodies[] = {"4\r\nabcd\r\n0\r\n\r\n", "4\nabcd\r\n0\r\n\r\n",
                                         "4;a\nabcd\r\n0\r\n\r\n", "4;\x01\r\nabcd\r\n0\r\n\r\n",
                                         "4\r\nabcd\r\n0\n\r\n"};
    struct bench bench;
    bench_open(&bench);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        for (size_t cut = 1; cut < strlen(bodies[i]); cut++) {
            struct tls_client client;
            ck_assert(connect_as(&bench, &client, NULL));
            static const char head[] =
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
            tls_client_send(&client, head, sizeof head - 1);
            tls_client_send(&client, bodies[i], cut);
            tls_client_ask(&client, bodies[i] + cut, &bench.answer);
            const int status = bench.answer.status;
            ck_assert_msg(i == 0 ? status == 200 : status == 400 || status == 0,
                          "body %zu cut at %zu: %d", i, cut, status);
            tls_client_close(&client);
        }
    bench_close(&bench);
}
END_TEST

START_TEST(a_certificate_that_expires_stands_for_nobody_on_its_open_connection)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    struct bench bench;
    struct tls_client client;
    bench_open(&bench);
    tls_fixture_issue(&bench.dir, "press", "ca",
                      &(struct tls_subject){.name = "press", .is_client = true, .days_to = 2});
    ck_assert(connect_as(&bench, &client, "press"));
    for (long day = 0; day < 4; day++) {
        atomic_store(&later_s, day * 24 * 3600 + (day == 2 ? 60 : 0));
        ck_assert_int_eq(tls_client_ask(&client, ask, &bench.answer), 200);
        const char *wanted = day < 2 ? "names: press" : "names:";
        const char *got = strstr(bench.answer.text, "names:");
        ck_assert_ptr_nonnull(got);
        ck_assert_msg(strcmp(got, wanted) == 0, "day %ld: %s", day, got);
    }
    atomic_store(&later_s, 0);
    tls_client_close(&client);
    bench_close(&bench);
}
END_TEST

/* GnuTLS takes the authority's own certificate in its place. */
START_TEST(an_expired_certificate_that_is_not_needed_changes_nothing)
{
    static const char ask[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    struct bench bench;
    struct tls_client client;
    char command[400];
    bench_open(&bench);
    tls_fixture_issue(&bench.dir, "press", "ca",
                      &(struct tls_subject){.name = "press", .is_client = true});
    tls_fixture_expired(&bench.dir, "old", "ca");
    snprintf(command, sizeof command, "cat '%s/old.pem' >>'%s/press.pem'", bench.dir.path,
             bench.dir.path);
    ck_assert_int_eq(system(command), 0);
    ck_assert(connect_as(&bench, &client, "press"));
    ck_assert_int_eq(tls_client_ask(&client, ask, &bench.answer), 200);
    ck_assert_ptr_nonnull(strstr(bench.answer.text, "names: press"));
    tls_client_close(&client);
    bench_close(&bench);
}
END_TEST

SUITE("tls", tls_ends_a_handshake_that_is_larger_than_it_keeps,
      tls_ends_a_connection_whose_bytes_lead_to_no_request,
      tls_takes_the_largest_head_and_a_body_of_many_records,
      malformed_chunks_are_refused_over_tls_wherever_they_are_cut,
      a_certificate_that_expires_stands_for_nobody_on_its_open_connection,
      an_expired_certificate_that_is_not_needed_changes_nothing)
