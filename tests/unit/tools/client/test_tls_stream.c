/* The client's end of TLS against the real server: whose certificates are taken and whose are not,
 * and what a request looks like that goes through it. */
#include "tests/support/http_client.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tls_fixture.h"
#include "tools/client/tls_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SYSTEM "/etc/ssl/certs/ca-certificates.crt"

static const char request[] = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

struct bench {
    struct server_process server;
    struct tempdir dir;
};

static const char *file_of(const struct bench *bench, const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", bench->dir.path, name);
    return path;
}

static void bench_open(struct bench *bench, const struct tls_subject *subject)
{
    tempdir_open(&bench->dir);
    tls_fixture_authority(&bench->dir, "ca");
    tls_fixture_authority(&bench->dir, "stranger");
    tls_fixture_issue(&bench->dir, "server", "ca", subject);
    server_process_start(&bench->server,
                         (const char *[]){"--model", "text=tests/data/golden/bert-3",
                                          "--tls-cert-file", file_of(bench, "server.pem"),
                                          "--tls-key-file", file_of(bench, "server.key"), NULL});
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    tempdir_close(&bench->dir);
}

static struct err err;

/* The result of a handshake for that host. */
static enum tls_stream_result shake(const struct bench *bench, const char *host,
                                    const struct tls_stream_trust_options *options)
{
    struct tls_stream_trust *trust;
    struct tls_stream *stream;
    int fd = http_connect(bench->server.port);
    err = (struct err){0};
    ck_assert_msg(tls_stream_trust_open(&trust, options, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(tls_stream_open(&stream, trust, fd, host, &err), ERR_OK);
    enum tls_stream_result result = tls_stream_shake_hands(stream, &err);
    ck_assert((result == TLS_STREAM_DONE) == (err.code == ERR_OK));
    tls_stream_close(stream);
    tls_stream_trust_close(trust);
    close(fd);
    return result;
}

START_TEST(a_certificate_is_taken_from_whom_the_file_says_and_from_no_other)
{
    struct bench bench;
    bench_open(&bench, &(struct tls_subject){.name = "attnd", .dns = "attnd.fab"});
    const struct {
        const char *ca_file, *host;
        bool takes_any;
        enum tls_stream_result result;
    } cases[] = {
        {"ca.pem", NULL, false, TLS_STREAM_DONE},
        {"ca.pem", "127.0.0.1", false, TLS_STREAM_DONE},
        {"ca.pem", "attnd.fab", false, TLS_STREAM_DONE},
        {"ca.pem", "other.fab", false, TLS_STREAM_UNTRUSTED},
        {"ca.pem", "127.0.0.2", false, TLS_STREAM_UNTRUSTED},
        {"ca.pem", "::1", false, TLS_STREAM_UNTRUSTED},
        {"server.pem", NULL, false, TLS_STREAM_DONE}, /* its own */
        {"server.pem", "other.fab", false, TLS_STREAM_UNTRUSTED},
        {"stranger.pem", NULL, false, TLS_STREAM_UNTRUSTED},
        {"stranger.pem", NULL, true, TLS_STREAM_DONE},
        {NULL, NULL, false, TLS_STREAM_UNTRUSTED}, /* the system knows no such authority */
        {NULL, "other.fab", true, TLS_STREAM_DONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tls_stream_trust_options options = {
            .ca_file = cases[i].ca_file != NULL ? file_of(&bench, cases[i].ca_file) : NULL,
            .takes_any = cases[i].takes_any};
        if (cases[i].ca_file == NULL && !cases[i].takes_any && access(SYSTEM, R_OK) != 0)
            continue; /* a system without any */
        enum tls_stream_result result = shake(&bench, cases[i].host, &options);
        ck_assert_msg(result == cases[i].result, "%zu: %s", i, err.text);
        ck_assert_msg(result == TLS_STREAM_DONE ||
                          strncmp(err.text, "TLS: The certificate is NOT trusted. ", 37) == 0,
                      "%zu: %s", i, err.text);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(dates_count_unless_they_are_not_to)
{
    struct bench bench;
    bench_open(&bench, &(struct tls_subject){.name = "attnd", .days_from = -9, .days_to = -1});
    const char *ca_file = file_of(&bench, "ca.pem");
    ck_assert_int_eq(shake(&bench, NULL, &(struct tls_stream_trust_options){.ca_file = ca_file}),
                     TLS_STREAM_UNTRUSTED);
    ck_assert_ptr_nonnull(strstr(err.text, "expired"));
    ck_assert_int_eq(
        shake(&bench, NULL,
              &(struct tls_stream_trust_options){.ca_file = ca_file, .takes_expired = true}),
        TLS_STREAM_DONE);
    ck_assert_int_eq(shake(&bench, NULL,
                           &(struct tls_stream_trust_options){
                               .ca_file = file_of(&bench, "stranger.pem"), .takes_expired = true}),
                     TLS_STREAM_UNTRUSTED);
    bench_close(&bench);
}
END_TEST

/* ---- bytes ---- */

struct talk {
    struct tls_stream_trust *trust;
    struct tls_stream *stream;
    int fd;
};

/* Over a connection, which it closes. */
static void talk_over(struct talk *talk, int fd, const char *ca_file)
{
    const struct tls_stream_trust_options options = {.ca_file = ca_file};
    err = (struct err){0};
    talk->fd = fd;
    ck_assert_int_eq(tls_stream_trust_open(&talk->trust, &options, &err), ERR_OK);
    ck_assert_int_eq(tls_stream_open(&talk->stream, talk->trust, talk->fd, NULL, &err), ERR_OK);
}

static void talk_open(struct talk *talk, const struct bench *bench)
{
    talk_over(talk, http_connect(bench->server.port), file_of(bench, "ca.pem"));
}

static void talk_close(struct talk *talk)
{
    tls_stream_close(talk->stream);
    tls_stream_trust_close(talk->trust);
    close(talk->fd);
}

START_TEST(a_request_is_answered_up_to_the_end_of_the_connection)
{
    struct bench bench;
    struct talk talk;
    char answer[2048] = "";
    size_t len = 0;
    ssize_t got;
    bench_open(&bench, &(struct tls_subject){.name = "attnd"});
    talk_open(&talk, &bench);
    ck_assert_int_eq(tls_stream_shake_hands(talk.stream, &err), TLS_STREAM_DONE);
    uint64_t before = tls_stream_wire_bytes(talk.stream);
    ck_assert_uint_gt(before, 100);
    ck_assert_int_eq(tls_stream_send(talk.stream, request, strlen(request)),
                     (ssize_t)strlen(request));
    ck_assert_uint_gt(tls_stream_wire_bytes(talk.stream) - before, strlen(request));
    while ((got = tls_stream_recv(talk.stream, answer + len, sizeof answer - 1 - len)) > 0)
        len += (size_t)got;
    ck_assert_int_eq(got, 0);
    ck_assert_ptr_nonnull(strstr(answer, "{\"status\":\"ok\"}"));
    talk_close(&talk);
    bench_close(&bench);
}
END_TEST

START_TEST(a_handshake_waits_for_an_answer_if_the_socket_does_not_block)
{
    struct talk talk;
    struct tempdir dir;
    char ca_file[128];
    int ends[2];
    tempdir_open(&dir);
    tls_fixture_authority(&dir, "ca");
    snprintf(ca_file, sizeof ca_file, "%s/ca.pem", dir.path);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    talk_over(&talk, ends[0], ca_file); /* and nobody says a word at the other end */
    ck_assert_int_eq(tls_stream_shake_hands(talk.stream, &err), TLS_STREAM_WAIT);
    ck_assert(!tls_stream_wants_write(talk.stream));
    talk_close(&talk);
    close(ends[1]);
    tempdir_close(&dir);
}
END_TEST

/* Event loops read from a socket that does not block, and so do programs with a time limit. */
START_TEST(without_bytes_it_waits_for_them_if_the_socket_does_not_block)
{
    struct bench bench;
    struct talk talk;
    enum tls_stream_result result;
    char byte;
    bench_open(&bench, &(struct tls_subject){.name = "attnd"});
    talk_open(&talk, &bench);
    ck_assert_int_eq(fcntl(talk.fd, F_SETFL, O_NONBLOCK), 0);
    while ((result = tls_stream_shake_hands(talk.stream, &err)) == TLS_STREAM_WAIT) {
        struct pollfd wait = {.fd = talk.fd,
                              .events = tls_stream_wants_write(talk.stream) ? POLLOUT : POLLIN};
        ck_assert_int_eq(poll(&wait, 1, suite_patience_ms()), 1);
    }
    ck_assert_int_eq(result, TLS_STREAM_DONE);
    ck_assert_int_eq(tls_stream_recv(talk.stream, &byte, 1), -1);
    ck_assert_int_eq(errno, EAGAIN);
    talk_close(&talk);
    bench_close(&bench);
}
END_TEST

START_TEST(tls_stream_breaks_if_the_peer_does_not_speak_tls_or_leaves)
{
    static const char *const said[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", ""};
    for (size_t i = 0; i < 2; i++) {
        const struct tls_stream_trust_options options = {.takes_any = true};
        struct tls_stream_trust *trust;
        struct tls_stream *stream;
        int pair[2];
        err = (struct err){0};
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        ck_assert(http_send_text(pair[1], said[i]));
        shutdown(pair[1], SHUT_WR);
        ck_assert_int_eq(tls_stream_trust_open(&trust, &options, &err), ERR_OK);
        ck_assert_int_eq(tls_stream_open(&stream, trust, pair[0], NULL, &err), ERR_OK);
        ck_assert_int_eq(tls_stream_shake_hands(stream, &err), TLS_STREAM_BROKEN);
        ck_assert_int_eq(strncmp(err.text, "TLS: ", 5), 0);
        tls_stream_close(stream);
        tls_stream_trust_close(trust);
        close(pair[0]);
        close(pair[1]);
    }
}
END_TEST

START_TEST(silence_of_a_blocking_socket_is_a_wait_after_its_time)
{
    const struct tls_stream_trust_options options = {.takes_any = true};
    const struct timeval patience = {.tv_usec = 10000};
    struct tls_stream_trust *trust;
    struct tls_stream *stream;
    int pair[2];
    err = (struct err){0};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ck_assert_int_eq(tls_stream_trust_open(&trust, &options, &err), ERR_OK);
    ck_assert_int_eq(tls_stream_open(&stream, trust, pair[0], NULL, &err), ERR_OK);
    ck_assert_int_eq(tls_stream_shake_hands(stream, &err), TLS_STREAM_WAIT);
    tls_stream_close(stream);
    tls_stream_trust_close(trust);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

START_TEST(files_that_cannot_be_used_are_errors_by_name)
{
    struct tls_stream_trust *trust = (void *)&trust;
    struct bench bench;
    tempdir_open(&bench.dir);
    tls_fixture_authority(&bench.dir, "ca");
    tls_fixture_authority(&bench.dir, "other");
    tempdir_write(&bench.dir, "empty.pem", "", 0);
    tempdir_write(&bench.dir, "rubbish.pem", "rubbish", 7);
    const struct tls_stream_trust_options cases[] = {
        {.ca_file = "/nonexistent.pem"},
        {.ca_file = file_of(&bench, "empty.pem")},
        {.ca_file = file_of(&bench, "rubbish.pem")},
        {.takes_any = true, .cert_file = "/nonexistent.pem", .key_file = "/nonexistent.key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *name = cases[i].ca_file != NULL ? cases[i].ca_file : cases[i].cert_file;
        err = (struct err){0};
        ck_assert_int_eq(tls_stream_trust_open(&trust, &cases[i], &err), ERR_UNUSABLE);
        ck_assert_ptr_null(trust);
        ck_assert_msg(strncmp(err.text, name, strlen(name)) == 0, "%zu: %s", i, err.text);
    }
    const struct tls_stream_trust_options mixed = {.takes_any = true,
                                                   .cert_file = file_of(&bench, "ca.pem"),
                                                   .key_file = file_of(&bench, "other.key")};
    err = (struct err){0};
    ck_assert_int_eq(tls_stream_trust_open(&trust, &mixed, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "ca.pem and "));
    tls_stream_trust_close(NULL);
    tls_stream_close(NULL);
    tempdir_close(&bench.dir);
}
END_TEST

SUITE("tls_stream", a_certificate_is_taken_from_whom_the_file_says_and_from_no_other,
      dates_count_unless_they_are_not_to, a_request_is_answered_up_to_the_end_of_the_connection,
      a_handshake_waits_for_an_answer_if_the_socket_does_not_block,
      without_bytes_it_waits_for_them_if_the_socket_does_not_block,
      tls_stream_breaks_if_the_peer_does_not_speak_tls_or_leaves,
      silence_of_a_blocking_socket_is_a_wait_after_its_time,
      files_that_cannot_be_used_are_errors_by_name)
