/* conns_sweep gets its clock from the test. Functions that read the clock themselves compare
 * moments that lie far apart, because the test sets them so. */
#include "server/http/conns.h"

#include "engine/base/clock.h"
#include "tests/unit/server/http/conns_bench.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MS = 100000, IDLE_MS = 200000, OVERDUE_MS = 1000000 };

static const unsigned limit_ms[CONN_STATES] = {
    [CONN_HEAD] = HEAD_MS, [CONN_IDLE] = IDLE_MS, [CONN_OVERDUE] = OVERDUE_MS};

static bool ended_at(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static bool can_send(int fd)
{
    return send(fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static void let_pass(struct conn *conn, uint64_t ms)
{
    conn->since_ns -= ms * CLOCK_NS_PER_MS;
}

START_TEST(conns_sweep_shuts_what_is_overdue_and_says_when_to_come_back)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    ck_assert(conns_sweep(&bench.conns, UINT64_MAX - 1) == UINT64_MAX); /* the new have no limit */
    for (int i = 0; i < PAIRS; i++)
        ck_assert(conns_move(&bench.conns, &bench.conn[i], CONN_HEAD));
    uint64_t first = bench.conn[0].deadline_ns;
    ck_assert_uint_eq(first, bench.conn[0].since_ns + (uint64_t)HEAD_MS * CLOCK_NS_PER_MS);
    ck_assert_uint_eq(conns_sweep(&bench.conns, first - 1), first);
    ck_assert_int_eq(state_of(&bench, 0), CONN_HEAD);

    bench.conn[1].deadline_ns = first + 1;
    bench.conn[2].deadline_ns = first + 2;
    uint64_t next = conns_sweep(&bench.conns, first + 1);
    enum conn_state overdue_in;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(conns_state(&bench.conns, &bench.conn[i], &overdue_in), CONN_OVERDUE);
        ck_assert_int_eq(overdue_in, CONN_HEAD);
        ck_assert(!conns_move(&bench.conns, &bench.conn[i], CONN_HELD));
    }
    ck_assert_int_eq(state_of(&bench, 2), CONN_HEAD);
    ck_assert_uint_eq(next, bench.conn[0].deadline_ns < first + 2 ? bench.conn[0].deadline_ns
                                                                  : first + 2);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_leave_the_way_open_for_a_408_but_not_to_the_idle)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    conns_move(&bench.conns, &bench.conn[0], CONN_HEAD);
    conns_move(&bench.conns, &bench.conn[1], CONN_IDLE);
    conns_sweep(&bench.conns, bench.conn[0].deadline_ns);
    conns_sweep(&bench.conns, bench.conn[1].deadline_ns);
    ck_assert(ended_at(bench.conn[0].fd) && can_send(bench.conn[0].fd));
    ck_assert(ended_at(bench.conn[1].fd) && !can_send(bench.conn[1].fd));
    ck_assert(!ended_at(bench.conn[2].fd) && can_send(bench.conn[2].fd));
    bench_close(&bench);
}
END_TEST

START_TEST(conns_shut_the_overdue_again)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    conns_move(&bench.conns, &bench.conn[0], CONN_HEAD);
    uint64_t next = conns_sweep(&bench.conns, bench.conn[0].deadline_ns);
    uint64_t since_ns = bench.conn[0].since_ns;
    ck_assert_uint_eq(next, since_ns + (uint64_t)OVERDUE_MS * CLOCK_NS_PER_MS);
    ck_assert(conns_sweep(&bench.conns, next) >= next);
    enum conn_state overdue_in;
    conns_state(&bench.conns, &bench.conn[0], &overdue_in);
    ck_assert_int_eq(overdue_in, CONN_HEAD);
    ck_assert_uint_gt(bench.conn[0].since_ns, since_ns);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_that_wait_for_bytes_of_a_closed_client_part)
{
    static const enum conn_state waiting[] = {CONN_IDLE, CONN_HEAD, CONN_BODY};
    struct bench bench;
    bench_open(&bench, limit_ms);
    shutdown(bench.pair[0].theirs, SHUT_WR);
    ck_assert(tcp_pair_wait(&bench.pair[0]));
    for (int i = 0; i < 3; i++) {
        conns_move(&bench.conns, &bench.conn[0], waiting[i]);
        ck_assert_int_eq(state_of(&bench, 0), CONN_PARTING);
        conns_move(&bench.conns, &bench.conn[1], waiting[i]);
        ck_assert_int_eq(state_of(&bench, 1), waiting[i]);
    }
    conns_move(&bench.conns, &bench.conn[0], CONN_REPLY);
    ck_assert_int_eq(state_of(&bench, 0), CONN_REPLY);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_wake_the_sweeper_only_if_it_would_come_too_late)
{
    struct bench bench;
    eventfd_t told;
    bench_open(&bench, limit_ms);
    ck_assert_int_eq(eventfd_read(bench.conns.wake_fd, &told), -1);
    conns_move(&bench.conns, &bench.conn[0], CONN_IDLE);
    ck_assert_int_eq(eventfd_read(bench.conns.wake_fd, &told), 0);
    ck_assert_uint_eq(bench.conns.sweep_ns, bench.conn[0].deadline_ns);
    conns_move(&bench.conns, &bench.conn[1], CONN_IDLE); /* later than the first */
    ck_assert_int_eq(eventfd_read(bench.conns.wake_fd, &told), -1);
    conns_move(&bench.conns, &bench.conn[2], CONN_HEAD); /* before both */
    ck_assert_int_eq(eventfd_read(bench.conns.wake_fd, &told), 0);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_count_a_connection_with_a_request_or_a_part_of_one_as_busy)
{
    static const struct {
        enum conn_state state;
        unsigned busy;
    } states[] = {{CONN_HEAD, 1}, {CONN_BODY, 1}, {CONN_REPLY, 1}, {CONN_PARTING, 1},
                  {CONN_HELD, 1}, {CONN_IDLE, 0}, {CONN_NEW, 0}};
    struct bench bench;
    bench_open(&bench, limit_ms);
    ck_assert_uint_eq(conns_count(&bench.conns), PAIRS);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        conns_move(&bench.conns, &bench.conn[0], states[i].state);
        ck_assert_uint_eq(conns_busy(&bench.conns), states[i].busy);
    }
    tcp_pair_say(&bench.pair[1], "G");
    ck_assert_uint_eq(conns_busy(&bench.conns), 1);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_expect_requests_of_the_idle_and_the_new_while_draining)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    conns_move(&bench.conns, &bench.conn[0], CONN_IDLE);
    let_pass(&bench.conn[1], 10 * CONNS_PARTING_MS);
    let_pass(&bench.conn[2], 10 * CONNS_PARTING_MS);
    ck_assert_uint_eq(conns_busy(&bench.conns), 0);
    conns_drain(&bench.conns);
    ck_assert_uint_eq(bench.conn[0].deadline_ns,
                      bench.conn[0].since_ns + (uint64_t)CONNS_PARTING_MS * CLOCK_NS_PER_MS);
    /* Counted from when draining began, however long ago they connected. */
    bench.conns.drain_ns = clock_now_ns() + 1000ull * CLOCK_NS_PER_MS;
    ck_assert_uint_eq(conns_busy(&bench.conns), 3);
    bench.conns.drain_ns = clock_now_ns() - 2ull * CONNS_PARTING_MS * CLOCK_NS_PER_MS;
    ck_assert_uint_eq(conns_busy(&bench.conns), 1);
    /* The time counts from when they connected, if that was later. */
    bench.conn[1].since_ns = clock_now_ns() + 1000ull * CLOCK_NS_PER_MS;
    ck_assert_uint_eq(conns_busy(&bench.conns), 2);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_drain_gives_each_idle_one_the_same_short_time)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    for (int i = 0; i < PAIRS; i++)
        conns_move(&bench.conns, &bench.conn[i], CONN_IDLE);
    conns_drain(&bench.conns);
    ck_assert_uint_gt(bench.conns.drain_ns, 0);
    conns_sweep(&bench.conns, bench.conn[PAIRS - 1].deadline_ns);
    for (int i = 0; i < PAIRS; i++)
        ck_assert_int_eq(state_of(&bench, i), CONN_OVERDUE);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_shed_the_longest_idle_first)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    conns_move(&bench.conns, &bench.conn[2], CONN_IDLE);
    conns_move(&bench.conns, &bench.conn[0], CONN_IDLE);
    let_pass(&bench.conn[1], 1000);
    conns_shed(&bench.conns);
    ck_assert_int_eq(state_of(&bench, 2), CONN_OVERDUE);
    ck_assert_int_eq(state_of(&bench, 0), CONN_IDLE);
    conns_shed(&bench.conns);
    ck_assert_int_eq(state_of(&bench, 0), CONN_OVERDUE);
    ck_assert_int_eq(state_of(&bench, 1), CONN_NEW);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_shed_then_the_oldest_that_has_said_nothing_for_a_while)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    bench.conn[0].since_ns = clock_now_ns() + 1000ull * CLOCK_NS_PER_MS;
    conns_shed(&bench.conns); /* the first has only just come: so have those behind it */
    for (int i = 0; i < PAIRS; i++)
        ck_assert_int_eq(state_of(&bench, i), CONN_NEW);
    let_pass(&bench.conn[0], 3000);
    let_pass(&bench.conn[1], 2000);
    let_pass(&bench.conn[2], 2000);
    tcp_pair_say(&bench.pair[0], "G");
    conns_shed(&bench.conns);
    ck_assert_int_eq(state_of(&bench, 0), CONN_NEW);
    ck_assert_int_eq(state_of(&bench, 1), CONN_OVERDUE);
    ck_assert_int_eq(state_of(&bench, 2), CONN_NEW);
    bench_close(&bench);
}
END_TEST

START_TEST(conns_keep_their_order_whoever_leaves)
{
    for (int leaves = 0; leaves < PAIRS; leaves++) {
        struct bench bench;
        bench_open(&bench, limit_ms);
        struct conn_list *list = &bench.conns.lists[CONN_NEW];
        conns_remove(&bench.conns, &bench.conn[leaves]);
        const struct conn *first = &bench.conn[leaves == 0 ? 1 : 0];
        const struct conn *last = &bench.conn[leaves == 2 ? 1 : 2];
        ck_assert_uint_eq(list->count, 2);
        ck_assert(list->first == first && first->next == last && last->next == NULL);
        ck_assert(list->last == last && last->prev == first && first->prev == NULL);
        conns_add(&bench.conns, &bench.conn[leaves], bench.pair[leaves].ours);
        bench_close(&bench);
    }
}
END_TEST

SUITE("conns", conns_sweep_shuts_what_is_overdue_and_says_when_to_come_back,
      conns_leave_the_way_open_for_a_408_but_not_to_the_idle, conns_shut_the_overdue_again,
      conns_that_wait_for_bytes_of_a_closed_client_part,
      conns_wake_the_sweeper_only_if_it_would_come_too_late,
      conns_count_a_connection_with_a_request_or_a_part_of_one_as_busy,
      conns_expect_requests_of_the_idle_and_the_new_while_draining,
      conns_drain_gives_each_idle_one_the_same_short_time, conns_shed_the_longest_idle_first,
      conns_shed_then_the_oldest_that_has_said_nothing_for_a_while,
      conns_keep_their_order_whoever_leaves)
