#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"
#include "tests/support/tempdir.h"
#include "tools/client/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
static const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/* A server and a client in one thread: sockets on the loopback address, all steps in the test's
 * order. */
struct pair {
    int listener, peer;
    struct sockaddr_in address;
    struct connection connection;
};

static void pair_init(struct pair *pair)
{
    pair->address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof pair->address;
    pair->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(pair->listener, (struct sockaddr *)&pair->address, len), 0);
    ck_assert_int_eq(getsockname(pair->listener, (struct sockaddr *)&pair->address, &len), 0);
    ck_assert_int_eq(listen(pair->listener, 4), 0);
    connection_init(&pair->connection);
    pair->peer = -1;
}

static void pair_deinit(struct pair *pair)
{
    connection_deinit(&pair->connection);
    if (pair->peer >= 0)
        close(pair->peer);
    if (pair->listener >= 0)
        close(pair->listener);
}

static void send_request(struct pair *pair)
{
    ck_assert(connection_send(&pair->connection, (struct sockaddr *)&pair->address,
                              sizeof pair->address, request, strlen(request)));
}

/* Waits for the socket until something other than waiting results. */
static enum connection_result step(struct pair *pair, enum connection_state until)
{
    struct connection *connection = &pair->connection;
    enum connection_result result = CONNECTION_WAITING;
    while (result == CONNECTION_WAITING && connection->state != until) {
        uint32_t wants = connection_wants(connection);
        struct pollfd fd = {.fd = connection->fd};
        fd.events = (short)((wants & EPOLLIN ? POLLIN : 0) | (wants & EPOLLOUT ? POLLOUT : 0));
        ck_assert_int_eq(poll(&fd, 1, suite_patience_ms()), 1);
        result = connection_event(connection);
    }
    return result;
}

static void peer_reads_request(struct pair *pair)
{
    char bytes[256];
    if (pair->peer < 0)
        pair->peer = accept(pair->listener, NULL, NULL);
    ck_assert_int_ge(pair->peer, 0);
    for (size_t got = 0; got < strlen(request);) {
        ssize_t n = recv(pair->peer, bytes, sizeof bytes, 0);
        ck_assert_int_gt(n, 0);
        got += (size_t)n;
    }
}

static void exchange(struct pair *pair)
{
    send_request(pair);
    step(pair, CONNECTION_RECEIVING);
    peer_reads_request(pair);
    ck_assert_int_eq(send(pair->peer, reply, strlen(reply), 0), (ssize_t)strlen(reply));
    ck_assert_int_eq(step(pair, CONNECTION_NONE), CONNECTION_REPLIED);
    ck_assert_str_eq(pair->connection.reply.body.bytes, "hi");
}

START_TEST(connection_is_kept_alive)
{
    struct pair pair;
    pair_init(&pair);
    exchange(&pair);
    int fd = pair.connection.fd;
    exchange(&pair);
    ck_assert_int_eq(pair.connection.fd, fd);
    ck_assert_uint_eq(pair.connection.served, 2);
    pair_deinit(&pair);
}
END_TEST

/* epoll may still tell of room to write, from before the reply. */
START_TEST(connection_that_idles_ends_by_what_comes_and_not_by_an_event)
{
    struct pair pair;
    struct pollfd fd = {.events = POLLIN};
    pair_init(&pair);
    exchange(&pair);
    ck_assert_int_eq(connection_event(&pair.connection), CONNECTION_WAITING);
    ck_assert_int_eq(pair.connection.state, CONNECTION_IDLE);
    close(pair.peer);
    pair.peer = -1;
    fd.fd = pair.connection.fd;
    ck_assert_int_eq(poll(&fd, 1, suite_patience_ms()), 1);
    ck_assert_int_eq(connection_event(&pair.connection), CONNECTION_CLOSED);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_tells_refusal)
{
    struct pair pair;
    unsigned port;
    pair_init(&pair);
    const int refuser = tcp_refuser_open(&port);
    pair.address.sin_port = htons((uint16_t)port);
    if (connection_send(&pair.connection, (struct sockaddr *)&pair.address, sizeof pair.address,
                        request, strlen(request))) {
        ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
        ck_assert_int_eq(pair.connection.failure, OUTCOME_REFUSED);
    }
    close(refuser);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_tells_a_taken_request_that_is_lost)
{
    struct pair pair;
    pair_init(&pair);
    exchange(&pair);
    send_request(&pair);
    step(&pair, CONNECTION_RECEIVING);
    peer_reads_request(&pair);
    close(pair.peer);
    pair.peer = -1;
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_LOST);
    ck_assert(!pair.connection.retryable);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_tells_a_request_that_met_an_idle_close)
{
    struct pair pair;
    pair_init(&pair);
    exchange(&pair);
    close(pair.peer);
    pair.peer = -1;
    send_request(&pair);
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_UNSENT);
    ck_assert(pair.connection.retryable);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_does_not_judge_a_reset)
{
    struct pair pair;
    pair_init(&pair);
    send_request(&pair);
    step(&pair, CONNECTION_RECEIVING);
    peer_reads_request(&pair);
    struct linger at_once = {.l_onoff = 1};
    setsockopt(pair.peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(pair.peer);
    pair.peer = -1;
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_RESET);
    ck_assert(!pair.connection.retryable);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_tells_an_answer_that_was_cut)
{
    struct pair pair;
    pair_init(&pair);
    send_request(&pair);
    step(&pair, CONNECTION_RECEIVING);
    peer_reads_request(&pair);
    ck_assert_int_eq(send(pair.peer, reply, strlen(reply) - 1, 0), (ssize_t)strlen(reply) - 1);
    close(pair.peer);
    pair.peer = -1;
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_CUT);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_refuses_bytes_after_the_answer)
{
    struct pair pair;
    pair_init(&pair);
    send_request(&pair);
    step(&pair, CONNECTION_RECEIVING);
    peer_reads_request(&pair);
    char twice[2 * sizeof reply];
    snprintf(twice, sizeof twice, "%s%s", reply, reply);
    ck_assert_int_eq(send(pair.peer, twice, strlen(twice), 0), (ssize_t)strlen(twice));
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_MALFORMED);
    pair_deinit(&pair);
}
END_TEST

/* A body without a length ends with the connection. */
START_TEST(connection_takes_an_answer_that_its_close_ends)
{
    static const char endless[] = "HTTP/1.1 200 OK\r\n\r\nto the end";
    struct pair pair;
    pair_init(&pair);
    send_request(&pair);
    step(&pair, CONNECTION_RECEIVING);
    peer_reads_request(&pair);
    ck_assert_int_eq(send(pair.peer, endless, strlen(endless), 0), (ssize_t)strlen(endless));
    close(pair.peer);
    pair.peer = -1;
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_REPLIED);
    ck_assert_str_eq(pair.connection.reply.body.bytes, "to the end");
    ck_assert_int_eq(pair.connection.fd, -1);
    ck_assert_int_eq(pair.connection.state, CONNECTION_NONE);
    ck_assert_uint_eq(pair.connection.bytes_in, strlen(endless));
    pair_deinit(&pair);
}
END_TEST

/* The request is larger than the sockets hold: it is still being written when its server leaves. */
START_TEST(connection_tells_a_request_that_was_not_written_whole)
{
    enum { BYTES = 64 * 1024 * 1024 };
    char *large = malloc(BYTES);
    struct pair pair;
    ck_assert_ptr_nonnull(large);
    memset(large, 'x', BYTES);
    pair_init(&pair);
    ck_assert(connection_send(&pair.connection, (struct sockaddr *)&pair.address,
                              sizeof pair.address, large, BYTES));
    pair.peer = accept(pair.listener, NULL, NULL);
    ck_assert_int_ge(pair.peer, 0);
    ck_assert_int_eq(connection_event(&pair.connection), CONNECTION_WAITING);
    ck_assert_int_eq(pair.connection.state, CONNECTION_SENDING);
    ck_assert_uint_eq(connection_wants(&pair.connection), EPOLLIN | EPOLLOUT);
    ck_assert_uint_gt(pair.connection.sent, 0);
    ck_assert_uint_lt(pair.connection.sent, BYTES);
    ck_assert_uint_eq(pair.connection.bytes_out, pair.connection.sent);
    close(pair.peer);
    pair.peer = -1;
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_UNSENT);
    ck_assert(!pair.connection.retryable); /* it had served nothing before */
    pair_deinit(&pair);
    free(large);
}
END_TEST

/* 413 and the like: the answer comes while the request is still being written. */
START_TEST(connection_that_was_answered_early_is_not_used_again)
{
    enum { BYTES = 64 * 1024 * 1024 };
    char *large = calloc(1, BYTES);
    struct pair pair;
    ck_assert_ptr_nonnull(large);
    pair_init(&pair);
    ck_assert(connection_send(&pair.connection, (struct sockaddr *)&pair.address,
                              sizeof pair.address, large, BYTES));
    pair.peer = accept(pair.listener, NULL, NULL);
    ck_assert_int_eq(connection_event(&pair.connection), CONNECTION_WAITING);
    ck_assert_int_eq(send(pair.peer, reply, strlen(reply), 0), (ssize_t)strlen(reply));
    ck_assert_int_eq(step(&pair, CONNECTION_RECEIVING), CONNECTION_REPLIED);
    ck_assert_str_eq(pair.connection.reply.body.bytes, "hi");
    ck_assert_int_eq(pair.connection.fd, -1);
    pair_deinit(&pair);
    free(large);
}
END_TEST

START_TEST(connection_that_was_not_made_is_refused)
{
    struct pair pair;
    pair_init(&pair);
    send_request(&pair);
    ck_assert_int_eq(pair.connection.state, CONNECTION_CONNECTING);
    ck_assert_uint_eq(connection_wants(&pair.connection), EPOLLOUT);
    int fd = pair.connection.fd;
    ck_assert_int_eq(close(fd), 0); /* the socket cannot be asked how it went */
    ck_assert_int_eq(connection_event(&pair.connection), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_REFUSED);
    ck_assert(!pair.connection.retryable);
    pair.connection.fd = -1;
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_without_a_socket_or_a_target_says_why_and_keeps_none)
{
    const struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/tmp/no/such/socket"};
    const struct sockaddr strange = {.sa_family = AF_MAX};
    struct connection connection;
    connection_init(&connection);
    ck_assert(!connection_send(&connection, &strange, sizeof strange, request, strlen(request)));
    ck_assert_int_eq(errno, EAFNOSUPPORT);
    ck_assert_int_eq(connection.fd, -1);
    int before = dup(STDERR_FILENO);
    close(before);
    ck_assert(!connection_send(&connection, (const struct sockaddr *)&nowhere, sizeof nowhere,
                               request, strlen(request)));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(connection.fd, -1);
    ck_assert_int_eq(connection.state, CONNECTION_NONE);
    int after = dup(STDERR_FILENO);
    close(after);
    ck_assert_int_eq(after, before);
    connection_deinit(&connection);
}
END_TEST

/* A local socket has no TCP_INFO. */
START_TEST(connection_that_tells_no_acknowledgements_counts_all_as_taken)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct tempdir dir;
    struct pair pair = {.peer = -1};
    tempdir_open(&dir);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", dir.path);
    pair.listener = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(pair.listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(pair.listener, 4), 0);
    connection_init(&pair.connection);
    for (unsigned i = 0; i < 2; i++) {
        pair.connection.acknowledged_0 = 1000000;
        ck_assert(connection_send(&pair.connection, (struct sockaddr *)&address, sizeof address,
                                  request, strlen(request)));
        step(&pair, CONNECTION_RECEIVING);
        ck_assert_uint_eq(pair.connection.acknowledged_0, 0);
        peer_reads_request(&pair);
        if (i == 0) {
            ck_assert_int_eq(send(pair.peer, reply, strlen(reply), 0), (ssize_t)strlen(reply));
            ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_REPLIED);
        }
    }
    close(pair.peer);
    pair.peer = -1;
    ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
    ck_assert_int_eq(pair.connection.failure, OUTCOME_LOST);
    pair_deinit(&pair);
    tempdir_close(&dir);
}
END_TEST

SUITE("connection", connection_is_kept_alive,
      connection_that_idles_ends_by_what_comes_and_not_by_an_event, connection_tells_refusal,
      connection_tells_a_taken_request_that_is_lost,
      connection_tells_a_request_that_met_an_idle_close, connection_does_not_judge_a_reset,
      connection_tells_an_answer_that_was_cut, connection_refuses_bytes_after_the_answer,
      connection_takes_an_answer_that_its_close_ends,
      connection_tells_a_request_that_was_not_written_whole,
      connection_that_was_answered_early_is_not_used_again, connection_that_was_not_made_is_refused,
      connection_without_a_socket_or_a_target_says_why_and_keeps_none,
      connection_that_tells_no_acknowledgements_counts_all_as_taken)
