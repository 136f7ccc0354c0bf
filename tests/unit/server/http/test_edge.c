/* The edge without the HTTP library: clients that are let in, clients that wait, and the length of
 * a farewell. The clock stands where the test puts it. A client that is let in proves that the edge
 * has looked since. */
#include "server/http/edge.h"

#include "engine/base/clock.h"
#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint_fast64_t now_ns = UINT64_C(1000) * CLOCK_NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    uint64_t now = atomic_load(&now_ns);
    *time = (struct timespec){.tv_sec = (time_t)(now / CLOCK_NS_PER_S),
                              .tv_nsec = (long)(now % CLOCK_NS_PER_S)};
    return 0;
}

enum { PLACES = 256, MANY = 600 };

static const uint64_t ms = CLOCK_NS_PER_MS;

struct bench {
    struct conns conns;
    struct edge *edge;
    unsigned connections_max;
    int admitted[2]; /* a pipe: what was let in is written to it */
    int clients[MANY];
    unsigned count;
};

static void admit(void *context, int fd, const struct sockaddr *address, socklen_t len)
{
    struct bench *bench = context;
    bool right = address->sa_family == AF_INET && len == sizeof(struct sockaddr_in) &&
                 (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
    if (!right || write(bench->admitted[1], &fd, sizeof fd) != (ssize_t)sizeof fd)
        abort();
}

static void bench_begin(struct bench *bench, unsigned connections_max, bool is_held)
{
    const unsigned limits[CONN_STATES] = {0};
    struct listener listener;
    struct err err = {0};
    *bench = (struct bench){.connections_max = connections_max};
    ck_assert_int_eq(pipe(bench->admitted), 0);
    ck_assert(conns_init(&bench->conns, limits));
    ck_assert_int_eq(listener_open(&listener, "127.0.0.1", 0, &err), ERR_OK);
    ck_assert_msg(edge_open(&bench->edge, &listener, &bench->conns, connections_max, admit, bench,
                            &err) == ERR_OK,
                  "%s", err.text);
    if (is_held)
        edge_hold(bench->edge);
    ck_assert_int_eq(edge_run(bench->edge, &err), ERR_OK);
}

static void bench_open(struct bench *bench, unsigned connections_max)
{
    bench_begin(bench, connections_max, false);
}

static int dial(struct bench *bench)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)edge_listener(bench->edge)->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        bench->clients[bench->count++] = fd;
        return fd;
    }
    close(fd);
    return -1;
}

/* The next that is let in; -1: nobody, without waiting. */
static int let_in(struct bench *bench, bool waits)
{
    int fd = -1;
    struct pollfd pipe_fd = {.fd = bench->admitted[0], .events = POLLIN};
    if (poll(&pipe_fd, 1, waits ? suite_patience_ms() : 0) == 1)
        ck_assert_int_eq(read(bench->admitted[0], &fd, sizeof fd), (int)sizeof fd);
    ck_assert(fd >= 0 || !waits);
    if (fd >= 0)
        conns_turned_away(&bench->conns, fd);
    return fd;
}

/* The edge has looked at its deadlines since the clock was set. */
static void look_at(struct bench *bench, uint64_t moment_ns)
{
    atomic_store(&now_ns, moment_ns);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(eventfd_write(bench->conns.wake_fd, 1), 0);
        ck_assert_int_ge(dial(bench), 0);
        close(let_in(bench, true));
    }
}

/* The edge has been through its loop, and so past whatever it was told of before. */
static void await_turn(struct bench *bench)
{
    for (int i = 0; i < 2; i++) {
        struct pollfd wake = {.fd = bench->conns.wake_fd, .events = POLLIN};
        ck_assert_int_eq(eventfd_write(wake.fd, 1), 0);
        while (poll(&wake, 1, 0) == 1)
            sched_yield();
    }
}

static void bench_close(struct bench *bench)
{
    edge_stop(bench->edge);
    edge_stop(bench->edge);
    edge_close(bench->edge);
    conns_deinit(&bench->conns);
    for (unsigned i = 0; i < bench->count; i++)
        close(bench->clients[i]);
    close(bench->admitted[0]);
    close(bench->admitted[1]);
}

static struct tcp_pair farewell(struct bench *bench)
{
    struct tcp_pair pair = tcp_pair_open();
    edge_linger(bench->edge, pair.ours);
    close(pair.ours);
    pair.ours = -1;
    return pair;
}

/* True if the far end is still read from: its bytes are not answered by a reset. */
static bool is_read(const struct tcp_pair *pair, bool expected)
{
    struct pollfd theirs = {.fd = pair->theirs, .events = 0};
    for (int i = 0; i < (expected ? 1 : suite_patience_ms()); i++) {
        if (send(pair->theirs, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN)
            return false;
        if (poll(&theirs, 1, expected ? 0 : 1) == 1 && (theirs.revents & (POLLERR | POLLHUP)) != 0)
            return false;
    }
    return true;
}

START_TEST(a_farewell_ends_our_side_and_takes_ten_seconds)
{
    struct bench bench;
    char byte;
    bench_open(&bench, 10);
    uint64_t start_ns = atomic_load(&now_ns);
    struct tcp_pair pair = farewell(&bench);
    ck_assert_int_eq(recv(pair.theirs, &byte, 1, 0), 0);
    look_at(&bench, start_ns + 10000 * ms - 1);
    ck_assert(is_read(&pair, true));
    look_at(&bench, start_ns + 10000 * ms);
    ck_assert(!is_read(&pair, false));
    close(pair.theirs);
    bench_close(&bench);
}
END_TEST

START_TEST(a_farewell_begins_again_if_the_process_stood_still)
{
    struct bench bench;
    bench_open(&bench, 10);
    uint64_t start_ns = atomic_load(&now_ns);
    struct tcp_pair pair = farewell(&bench);
    atomic_store(&now_ns, start_ns + 11000 * ms);
    await_turn(&bench);
    ck_assert(is_read(&pair, true));
    look_at(&bench, start_ns + 21000 * ms - 1);
    ck_assert(is_read(&pair, true));
    look_at(&bench, start_ns + 21000 * ms);
    ck_assert(!is_read(&pair, false));
    close(pair.theirs);
    bench_close(&bench);
}
END_TEST

START_TEST(a_farewell_ends_when_the_client_closes)
{
    struct bench bench;
    bench_open(&bench, 10);
    struct tcp_pair pair = farewell(&bench);
    ck_assert(is_read(&pair, true));
    ck_assert_int_eq(shutdown(pair.theirs, SHUT_WR), 0);
    struct pollfd theirs = {.fd = pair.theirs, .events = 0};
    ck_assert_int_eq(poll(&theirs, 1, suite_patience_ms()), 1); /* both sides are closed */
    ck_assert_int_ne(theirs.revents & POLLHUP, 0);
    look_at(&bench, atomic_load(&now_ns) + 1);
    close(pair.theirs);
    bench_close(&bench);
}
END_TEST

/* Beyond half of the places a farewell takes a second. */
START_TEST(farewells_are_short_in_a_crowd)
{
    static struct tcp_pair pairs[PLACES / 2 + 1];
    struct bench bench;
    bench_open(&bench, 10);
    uint64_t start_ns = atomic_load(&now_ns);
    for (int i = 0; i < PLACES / 2; i++)
        pairs[i] = farewell(&bench);
    look_at(&bench, start_ns + 1000 * ms);
    ck_assert(is_read(&pairs[0], true));
    atomic_store(&now_ns, start_ns + 1000 * ms - 1);
    pairs[PLACES / 2] = farewell(&bench);
    look_at(&bench, start_ns + 1000 * ms);
    for (int i = 0; i < PLACES / 2; i++)
        ck_assert(!is_read(&pairs[i], false));
    ck_assert(is_read(&pairs[PLACES / 2], true));
    for (int i = 0; i <= PLACES / 2; i++)
        close(pairs[i].theirs);
    bench_close(&bench);
}
END_TEST

START_TEST(the_oldest_farewell_makes_room_for_one_too_many)
{
    static struct tcp_pair pairs[PLACES + 1];
    struct bench bench;
    bench_open(&bench, 10);
    uint64_t start_ns = atomic_load(&now_ns);
    for (int i = 0; i < PLACES; i++) {
        atomic_store(&now_ns, start_ns + (i == 7 ? 0 : 1 + (uint64_t)i));
        pairs[i] = farewell(&bench);
    }
    ck_assert(is_read(&pairs[7], true));
    pairs[PLACES] = farewell(&bench);
    ck_assert(!is_read(&pairs[7], false));
    ck_assert(is_read(&pairs[0], true) && is_read(&pairs[PLACES], true));
    for (int i = 0; i <= PLACES; i++)
        close(pairs[i].theirs);
    bench_close(&bench);
}
END_TEST

/* The limit is reached: the next waits until there is room, or until the edge looks again. */
static int listener_of_this_process(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        int listens = 0;
        socklen_t len = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens)
            return fd;
    }
    return -1;
}

/* True if an epoll descriptor of this process has the listener in its set (proc(5), fdinfo). */
static bool listener_is_watched(void)
{
    int listener = listener_of_this_process(), watched;
    bool found = false;
    ck_assert_int_ge(listener, 0);
    for (int fd = 0; fd < 1024 && !found; fd++) {
        char path[64], line[256];
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        FILE *info = fopen(path, "re");
        while (info != NULL && !found && fgets(line, sizeof line, info) != NULL)
            found = sscanf(line, "tfd: %d", &watched) == 1 && watched == listener;
        if (info != NULL)
            fclose(info);
    }
    return found;
}

/* A level that nobody takes down would keep the edge's thread busy. */
START_TEST(an_edge_that_rests_does_not_watch_its_listener)
{
    struct bench bench;
    struct conn conn;
    enum conn_state in;
    struct tcp_pair pair = tcp_pair_open();
    bench_open(&bench, 1);
    ck_assert(listener_is_watched());
    conns_add(&bench.conns, &conn, pair.ours);
    conns_move(&bench.conns, &conn, CONN_IDLE);
    ck_assert_int_ge(dial(&bench), 0);
    while (conns_state(&bench.conns, &conn, &in) != CONN_OVERDUE)
        sched_yield();
    ck_assert(!listener_is_watched());
    conns_remove(&bench.conns, &conn);
    edge_room(bench.edge);
    close(let_in(&bench, true));
    ck_assert(listener_is_watched());
    tcp_pair_close(&pair);
    bench_close(&bench);
}
END_TEST

START_TEST(beyond_its_limit_the_edge_rests)
{
    for (int way = 0; way < 2; way++) {
        struct bench bench;
        struct conn conns[2];
        struct tcp_pair pairs[2] = {tcp_pair_open(), tcp_pair_open()};
        bench_open(&bench, 2);
        for (int i = 0; i < 2; i++) {
            conns_add(&bench.conns, &conns[i], pairs[i].ours);
            conns_move(&bench.conns, &conns[i], i == 0 ? CONN_HELD : CONN_IDLE);
        }
        ck_assert_int_ge(dial(&bench), 0);
        enum conn_state in;
        while (conns_state(&bench.conns, &conns[1], &in) != CONN_OVERDUE) /* the idle one is shed */
            sched_yield();
        ck_assert_int_eq(conns_state(&bench.conns, &conns[0], &in), CONN_HELD);
        ck_assert_int_eq(let_in(&bench, false), -1);
        conns_remove(&bench.conns, &conns[1]);
        if (way == 0) {
            edge_room(bench.edge);
        } else {
            atomic_fetch_add(&now_ns, 100 * ms);
            ck_assert_int_eq(eventfd_write(bench.conns.wake_fd, 1), 0);
        }
        close(let_in(&bench, true));
        look_at(&bench, atomic_load(&now_ns)); /* and it listens again */
        conns_remove(&bench.conns, &conns[0]);
        tcp_pair_close(&pairs[0]);
        tcp_pair_close(&pairs[1]);
        bench_close(&bench);
    }
}
END_TEST

/* An I/O thread that is late must not make the last clients invisible: a server that is stopping
 * would see nothing to wait for, and a limit would not hold. */
START_TEST(edge_counts_an_accepted_client_before_its_io_thread_sees_it)
{
    struct bench bench;
    struct pollfd admitted;
    bench_open(&bench, 2);
    admitted = (struct pollfd){.fd = bench.admitted[0], .events = POLLIN};
    ck_assert_int_ge(dial(&bench), 0);
    ck_assert_int_eq(poll(&admitted, 1, suite_patience_ms()), 1);
    edge_quiesce(bench.edge);
    ck_assert_uint_eq(conns_busy(&bench.conns), 1);
    ck_assert_uint_eq(conns_count(&bench.conns), 1);
    close(let_in(&bench, true));
    ck_assert_uint_eq(conns_busy(&bench.conns), 0);
    ck_assert_uint_eq(conns_count(&bench.conns), 0);
    bench_close(&bench);
}
END_TEST

/* The last place is taken, and nobody waits: the listener is watched on, and no idle connection
 * goes. */
START_TEST(a_full_edge_without_a_client_waiting_leaves_the_others_alone)
{
    struct bench bench;
    struct conn conn;
    enum conn_state in;
    struct tcp_pair pair = tcp_pair_open();
    bench_open(&bench, 2);
    conns_add(&bench.conns, &conn, pair.ours);
    conns_move(&bench.conns, &conn, CONN_IDLE);
    ck_assert_int_ge(dial(&bench), 0);
    struct pollfd admitted = {.fd = bench.admitted[0], .events = POLLIN};
    ck_assert_int_eq(poll(&admitted, 1, suite_patience_ms()), 1);
    await_turn(&bench);
    ck_assert(listener_is_watched());
    ck_assert_int_eq(conns_state(&bench.conns, &conn, &in), CONN_IDLE);
    close(let_in(&bench, true));
    conns_remove(&bench.conns, &conn);
    tcp_pair_close(&pair);
    bench_close(&bench);
}
END_TEST

START_TEST(edge_lets_no_client_in_after_quiescing)
{
    struct bench bench;
    bench_open(&bench, 10);
    ck_assert_int_ge(dial(&bench), 0);
    close(let_in(&bench, true));
    edge_quiesce(bench.edge);
    ck_assert_int_eq(dial(&bench), -1);
    edge_quiesce(bench.edge);
    struct tcp_pair pair = farewell(&bench); /* bytes of leaving clients are read */
    ck_assert(is_read(&pair, true));
    edge_stop(bench.edge);
    struct tcp_pair late = farewell(&bench);
    ck_assert(!is_read(&late, false));
    close(pair.theirs);
    close(late.theirs);
    bench_close(&bench);
}
END_TEST

START_TEST(edge_holds_a_client_until_there_is_room)
{
    struct bench bench;
    bench_begin(&bench, 10, true);
    ck_assert_int_ge(dial(&bench), 0);
    await_turn(&bench);
    ck_assert_int_eq(let_in(&bench, false), -1);
    edge_room(bench.edge);
    close(let_in(&bench, true));
    bench_close(&bench);
}
END_TEST

SUITE("edge", edge_holds_a_client_until_there_is_room,
      a_farewell_ends_our_side_and_takes_ten_seconds,
      a_farewell_begins_again_if_the_process_stood_still, a_farewell_ends_when_the_client_closes,
      farewells_are_short_in_a_crowd, the_oldest_farewell_makes_room_for_one_too_many,
      an_edge_that_rests_does_not_watch_its_listener, beyond_its_limit_the_edge_rests,
      edge_counts_an_accepted_client_before_its_io_thread_sees_it,
      a_full_edge_without_a_client_waiting_leaves_the_others_alone,
      edge_lets_no_client_in_after_quiescing)
