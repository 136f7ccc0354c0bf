#include "server/http/sockets.h"

#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES_SAID = 4000 };

static int listen_on(const char *address)
{
    struct err err = {0};
    int fd;
    ck_assert_msg(sockets_listen(&fd, address, 0, &err) == ERR_OK, "%s", err.text);
    return fd;
}

static int connect_to(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address);
    ck_assert(result == 0 || errno == EINPROGRESS);
    return fd;
}

/* A connection in the backlog: the client may see it before the listener does. */
static int accepted(int listener)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    ck_assert_int_eq(poll(&wait, 1, suite_patience_ms()), 1);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static bool is_connected(int fd, int wait_ms)
{
    int error = -1;
    socklen_t len = sizeof error;
    return poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, wait_ms) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0;
}

START_TEST(sockets_listen_on_a_free_port_and_tell_it)
{
    int fd = listen_on("127.0.0.1"), on = 0;
    socklen_t len = sizeof on;
    ck_assert_uint_gt(sockets_port(fd), 0);
    int client = connect_to(sockets_port(fd));
    ck_assert(is_connected(client, suite_patience_ms()));
    ck_assert((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    int ours = accepted(fd);
    ck_assert_int_eq(getsockopt(ours, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    ck_assert_int_ne(on, 0);
    close(ours);
    close(client);
    close(fd);
    ck_assert_uint_eq(sockets_port(-1), 0);
}
END_TEST

START_TEST(sockets_listen_on_the_same_port_of_ipv6)
{
    struct err err = {0};
    int fd;
    if (sockets_listen(&fd, "::1", 0, &err) != ERR_OK)
        suite_skip("no IPv6 here");
    ck_assert_uint_gt(sockets_port(fd), 0);
    close(fd);
}
END_TEST

START_TEST(sockets_say_why_they_cannot_listen)
{
    static const struct {
        const char *address;
        unsigned port;
    } wrong[] = {{"localhost", 0}, {"127.0.0.1", 65536}, {"1.2.3", 70000}, {"", 0}};
    int taken = listen_on("127.0.0.1"), fd;
    struct err err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err = (struct err){0};
        ck_assert_int_eq(sockets_listen(&fd, wrong[i].address, wrong[i].port, &err), ERR_IO);
        ck_assert_str_eq(err.text, "listen: not a numeric IPv4 or IPv6 address and port");
        ck_assert_int_eq(fd, -1);
    }
    err = (struct err){0};
    ck_assert_int_eq(sockets_listen(&fd, "127.0.0.1", sockets_port(taken), &err), ERR_IO);
    ck_assert_ptr_nonnull(
        strstr(err.text, "cannot be bound: Address already in use; choose another port"));
    ck_assert_int_eq(fd, -1);
    close(taken);
}
END_TEST

START_TEST(sockets_let_no_new_connection_in_but_keep_those_that_knocked)
{
    int fd = listen_on("127.0.0.1");
    int before = connect_to(sockets_port(fd));
    ck_assert(is_connected(before, suite_patience_ms()));
    sockets_stop_arrivals(fd);
    int after = connect_to(sockets_port(fd));
    ck_assert(!is_connected(after, 100));
    close(accepted(fd));
    close(before);
    close(after);
    close(fd);
}
END_TEST

START_TEST(sockets_see_unread_bytes_and_what_tcp_has_carried)
{
    struct tcp_pair pair = tcp_pair_open();
    ck_assert(!sockets_unread(pair.ours));
    ck_assert_uint_eq(sockets_traffic(pair.ours).received, 0);
    tcp_pair_say(&pair, "four");
    ck_assert(sockets_unread(pair.ours));
    sockets_send(pair.ours, "seventh", 7);
    struct sockets_traffic traffic = sockets_traffic(pair.ours);
    ck_assert(traffic.known);
    ck_assert_uint_eq(traffic.received, 4);
    ck_assert_uint_eq(traffic.unread, 4);
    ck_assert_uint_eq(traffic.sent, 7);
    char bytes[8];
    ck_assert_int_eq(recv(pair.ours, bytes, 3, 0), 3);
    ck_assert_uint_eq(sockets_traffic(pair.ours).unread, 1);
    ck_assert_int_eq(recv(pair.ours, bytes, sizeof bytes, 0), 1);
    ck_assert_uint_eq(sockets_traffic(pair.ours).received, 4);
    ck_assert(!sockets_unread(pair.ours));
    ck_assert(!sockets_unread(-1));
    ck_assert(!sockets_traffic(-1).known);
    tcp_pair_close(&pair);
}
END_TEST

START_TEST(sockets_take_more_while_the_peer_reads)
{
    static const char bytes[65536];
    struct tcp_pair pair = tcp_pair_open();
    ck_assert(sockets_takes_more(pair.ours));
    while (send(pair.ours, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        continue;
    ck_assert(!sockets_takes_more(pair.ours));
    ck_assert(!sockets_takes_more(-1));
    tcp_pair_close(&pair);
}
END_TEST

static void *say_much(void *pair)
{
    for (int i = 0; i < BYTES_SAID; i++)
        send(((const struct tcp_pair *)pair)->theirs, "a", 1, MSG_NOSIGNAL);
    return NULL;
}

/* The kernel is asked for the two counts one after the other. */
START_TEST(sockets_take_no_byte_that_arrives_meanwhile_for_one_that_was_read)
{
    struct tcp_pair pair = tcp_pair_open();
    struct sockets_traffic traffic;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, say_much, &pair), 0);
    do {
        traffic = sockets_traffic(pair.ours);
        ck_assert(traffic.known);
        ck_assert_uint_eq(traffic.unread, traffic.received);
    } while (traffic.received < BYTES_SAID);
    pthread_join(thread, NULL);
    tcp_pair_close(&pair);
}
END_TEST

START_TEST(sockets_tell_a_peer_that_has_said_all_from_one_that_left)
{
    struct tcp_pair pair = tcp_pair_open();
    tcp_pair_say(&pair, "bytes");
    ck_assert(!sockets_peer_gone(pair.ours) && !sockets_peer_left(pair.ours));
    /* At once, as nc -N does: the last bytes and the end are one segment. */
    setsockopt(pair.theirs, IPPROTO_TCP, TCP_CORK, &(int){1}, sizeof(int));
    ck_assert_int_eq(send(pair.theirs, "more", 4, 0), 4);
    shutdown(pair.theirs, SHUT_WR);
    while (!sockets_peer_gone(pair.ours))
        usleep(100);
    ck_assert(!sockets_peer_left(pair.ours));
    tcp_pair_close(&pair);

    pair = tcp_pair_open();
    tcp_pair_say(&pair, "bytes");
    usleep(400 * 1000); /* more than CLOSED_TOGETHER_MS */
    shutdown(pair.theirs, SHUT_WR);
    while (!sockets_peer_gone(pair.ours))
        usleep(100);
    ck_assert(sockets_peer_left(pair.ours));
    tcp_pair_close(&pair);
}
END_TEST

START_TEST(sockets_know_a_broken_connection)
{
    struct tcp_pair pair = tcp_pair_open();
    const struct linger at_once = {.l_onoff = 1};
    ck_assert_int_eq(setsockopt(pair.theirs, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    close(pair.theirs);
    ck_assert(tcp_pair_wait(&pair));
    ck_assert(sockets_peer_gone(pair.ours) && sockets_peer_left(pair.ours));
    sockets_send(pair.ours, "nobody", 6); /* no SIGPIPE */
    close(pair.ours);
}
END_TEST

enum { FLOOD = 32 << 20 };

struct reader {
    int fd;
    char *bytes;
    size_t len;
};

static void *read_all(void *context)
{
    struct reader *reader = context;
    for (ssize_t n = 1; n > 0; reader->len += n > 0 ? (size_t)n : 0)
        n = recv(reader->fd, reader->bytes + reader->len, FLOOD - reader->len, 0);
    return NULL;
}

/* The bytes that arrive are a beginning of those sent, however often the peer makes room in
 * between. */
START_TEST(sockets_send_the_beginning_in_order_and_no_more_than_fits)
{
    struct tcp_pair pair = tcp_pair_open();
    uint32_t *sent = malloc(FLOOD);
    struct reader reader = {.fd = pair.theirs, .bytes = malloc(FLOOD)};
    pthread_t thread;
    for (uint32_t i = 0; i < FLOOD / sizeof *sent; i++)
        sent[i] = i;
    ck_assert_int_eq(pthread_create(&thread, NULL, read_all, &reader), 0);
    sockets_send(pair.ours, sent, FLOOD);
    shutdown(pair.ours, SHUT_WR);
    pthread_join(thread, NULL);
    ck_assert_uint_gt(reader.len, 0);
    ck_assert_int_eq(memcmp(reader.bytes, sent, reader.len), 0);
    free(sent);
    free(reader.bytes);
    tcp_pair_close(&pair);
}
END_TEST

START_TEST(sockets_take_every_port_there_is)
{
    struct err err = {0};
    int fd = 7;
    if (sockets_listen(&fd, "127.0.0.1", 65535, &err) == ERR_OK)
        close(fd);
    else
        ck_assert_int_eq(strncmp(err.text, "listen: port 65535 cannot be bound: ", 36), 0);
    err = (struct err){0};
    ck_assert_int_eq(sockets_listen(&fd, "127.0.0.1", 65536, &err), ERR_IO);
    ck_assert_str_eq(err.text, "listen: not a numeric IPv4 or IPv6 address and port");
    ck_assert_int_eq(fd, -1);
}
END_TEST

/* Nobody reads: bytes that do not fit are left out, though the descriptor would wait. A client that
 * has gone raises no signal. */
START_TEST(sockets_send_without_waiting_and_without_a_signal)
{
    static const char much[16 * 1024 * 1024];
    struct tcp_pair pair = tcp_pair_open();
    sockets_send(pair.ours, much, sizeof much);
    close(pair.theirs);
    pair.theirs = -1;
    for (int i = 0; i < 3; i++)
        sockets_send(pair.ours, "x", 1);
    close(pair.ours);
}
END_TEST

/* A server that starts again takes the port of the one that has just closed its connections. */
START_TEST(sockets_listen_where_a_connection_has_just_ended)
{
    struct err err = {0};
    int fd = listen_on("127.0.0.1"), on = 0;
    socklen_t len = sizeof on;
    unsigned port = sockets_port(fd);
    int client = connect_to(port);
    ck_assert(is_connected(client, suite_patience_ms()));
    int ours = accepted(fd);
    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, &len), 0);
    ck_assert_int_ne(on, 0);
    close(ours); /* ours is the first to close: the port is in TIME_WAIT */
    close(client);
    close(fd);
    ck_assert_msg(sockets_listen(&fd, "127.0.0.1", port, &err) == ERR_OK, "%s", err.text);
    close(fd);
}
END_TEST

/* ---- where a connection came in ---- */

/* A connection to `to` on a listener on `on`; the descriptor that the server has of it. */
static int accepted_on(const char *on, int family, const char *to, unsigned *port, int *client)
{
    int listener = listen_on(on);
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    *port = sockets_port(listener);
    four.sin_port = six.sin6_port = htons((uint16_t)*port);
    ck_assert_int_eq(
        inet_pton(family, to, family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr),
        1);
    *client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(family == AF_INET ? connect(*client, (struct sockaddr *)&four, sizeof four)
                                       : connect(*client, (struct sockaddr *)&six, sizeof six),
                     0);
    int ours = accepted(listener);
    close(listener);
    return ours;
}

static bool has_version_six(void)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&six, sizeof six) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

static void expect_loopback(const char *on, int family, const char *to, const char *shown)
{
    char out[64] = "", expected[64];
    unsigned port;
    int client, fd = accepted_on(on, family, to, &port, &client);
    ck_assert(sockets_loopback(fd, out, sizeof out));
    snprintf(expected, sizeof expected, "%s:%u", shown, port);
    ck_assert_str_eq(out, expected);
    close(fd);
    close(client);
}

START_TEST(sockets_name_the_loopback_address_on_which_a_connection_came)
{
    expect_loopback("127.0.0.1", AF_INET, "127.0.0.1", "127.0.0.1");
    expect_loopback("0.0.0.0", AF_INET, "127.0.0.1", "127.0.0.1");
    expect_loopback("0.0.0.0", AF_INET, "127.1.2.3", "127.1.2.3"); /* the whole network is */
    if (!has_version_six())
        suite_skip("there is no ::1");
    expect_loopback("::1", AF_INET6, "::1", "[::1]");
    expect_loopback("::", AF_INET6, "::1", "[::1]");
}
END_TEST

/* A socket of version six that takes both shows an address of version four as ::ffff:127.0.0.1. */
START_TEST(sockets_show_a_mapped_address_as_what_it_is)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    socklen_t len = sizeof any;
    int both = 0;
    char out[64], expected[64];
    if (!has_version_six())
        suite_skip("there is no ::1");
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both), 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&any, sizeof any), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&any, &len), 0);
    int client = connect_to(ntohs(any.sin6_port));
    ck_assert(is_connected(client, suite_patience_ms()));
    int fd = accept(listener, NULL, NULL);
    ck_assert(sockets_loopback(fd, out, sizeof out));
    snprintf(expected, sizeof expected, "127.0.0.1:%u", ntohs(any.sin6_port));
    ck_assert_str_eq(out, expected);
    close(fd);
    close(client);
    close(listener);
}
END_TEST

START_TEST(sockets_take_no_other_address_for_a_loopback_one)
{
    char out[64];
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert(!sockets_loopback(pair[0], out, sizeof out));
    ck_assert(!sockets_loopback(-1, out, sizeof out));
    int unbound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* 0.0.0.0 */
    ck_assert(!sockets_loopback(unbound, out, sizeof out));
    close(unbound);
    if (has_version_six()) {
        unbound = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0); /* :: */
        ck_assert(!sockets_loopback(unbound, out, sizeof out));
        close(unbound);
    }
    close(pair[0]);
    close(pair[1]);
}
END_TEST

SUITE("sockets", sockets_take_every_port_there_is,
      sockets_send_without_waiting_and_without_a_signal,
      sockets_listen_where_a_connection_has_just_ended, sockets_listen_on_a_free_port_and_tell_it,
      sockets_listen_on_the_same_port_of_ipv6, sockets_say_why_they_cannot_listen,
      sockets_let_no_new_connection_in_but_keep_those_that_knocked,
      sockets_see_unread_bytes_and_what_tcp_has_carried, sockets_take_more_while_the_peer_reads,
      sockets_take_no_byte_that_arrives_meanwhile_for_one_that_was_read,
      sockets_tell_a_peer_that_has_said_all_from_one_that_left, sockets_know_a_broken_connection,
      sockets_send_the_beginning_in_order_and_no_more_than_fits,
      sockets_name_the_loopback_address_on_which_a_connection_came,
      sockets_show_a_mapped_address_as_what_it_is, sockets_take_no_other_address_for_a_loopback_one)
