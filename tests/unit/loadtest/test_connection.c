#include "loadtest/connection.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
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

/* Waits for the socket, at most ten seconds, until something other than waiting results. */
static enum connection_result step(struct pair *pair, enum connection_state until)
{
    struct connection *connection = &pair->connection;
    enum connection_result result = CONNECTION_WAITING;
    while (result == CONNECTION_WAITING && connection->state != until) {
        uint32_t wants = connection_wants(connection);
        struct pollfd fd = {.fd = connection->fd};
        fd.events = (short)((wants & EPOLLIN ? POLLIN : 0) | (wants & EPOLLOUT ? POLLOUT : 0));
        ck_assert_int_eq(poll(&fd, 1, 10000), 1);
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
    ck_assert_int_eq(poll(&fd, 1, 10000), 1);
    ck_assert_int_eq(connection_event(&pair.connection), CONNECTION_CLOSED);
    pair_deinit(&pair);
}
END_TEST

START_TEST(connection_tells_refusal)
{
    struct pair pair;
    pair_init(&pair);
    close(pair.listener);
    pair.listener = -1;
    if (connection_send(&pair.connection, (struct sockaddr *)&pair.address, sizeof pair.address,
                        request, strlen(request))) {
        ck_assert_int_eq(step(&pair, CONNECTION_NONE), CONNECTION_FAILED);
        ck_assert_int_eq(pair.connection.failure, OUTCOME_REFUSED);
    }
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

SUITE("connection", connection_is_kept_alive,
      connection_that_idles_ends_by_what_comes_and_not_by_an_event, connection_tells_refusal,
      connection_tells_a_taken_request_that_is_lost,
      connection_tells_a_request_that_met_an_idle_close, connection_does_not_judge_a_reset,
      connection_tells_an_answer_that_was_cut, connection_refuses_bytes_after_the_answer)
