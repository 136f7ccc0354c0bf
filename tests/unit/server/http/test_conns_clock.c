/* The list of connections to the nanosecond, and under its lock: the clock stands where the test
 * puts it. */
#include "engine/base/clock.h"
#include "server/http/conns.h"
#include "tests/unit/server/http/conns_bench.h"
#include "tests/unit/server/lock_counter.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t now_ns = UINT64_C(1000) * CLOCK_NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_sec = (time_t)(now_ns / CLOCK_NS_PER_S) - CLOCK_AHEAD_S,
                              .tv_nsec = (long)(now_ns % CLOCK_NS_PER_S)};
    return 0;
}

static const uint64_t ms = CLOCK_NS_PER_MS;
static const unsigned limit_ms[CONN_STATES] = {
    [CONN_NEW] = 400,    [CONN_IDLE] = 100,  [CONN_HEAD] = 200,  [CONN_BODY] = 300,
    [CONN_PARTING] = 50, [CONN_REPLY] = 500, [CONN_OVERDUE] = 10};

/* The sides that are shut: 'r' ours for receiving, 'w' for sending. */
static const char *shut_sides(const struct bench *bench, int i)
{
    char byte;
    bool receiving = recv(bench->pair[i].ours, &byte, 1, MSG_DONTWAIT) == 0;
    bool sending = send(bench->pair[i].ours, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1;
    return receiving && sending ? "rw" : receiving ? "r" : sending ? "w" : "";
}

START_TEST(each_state_has_its_deadline_and_its_end)
{
    static const struct {
        enum conn_state state;
        const char *shut;
    } cases[] = {{CONN_NEW, "r"},
                 {CONN_HEAD, "r"},
                 {CONN_BODY, "r"},
                 {CONN_IDLE, "rw"},
                 {CONN_PARTING, "rw"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        enum conn_state in;
        bench_open(&bench, limit_ms);
        for (int k = 0; k < PAIRS; k++)
            ck_assert(conns_move(&bench.conns, &bench.conn[k], CONN_HELD));
        now_ns += 7;
        ck_assert(conns_move(&bench.conns, &bench.conn[1], cases[i].state));
        uint64_t end_ns = now_ns + limit_ms[cases[i].state] * ms;
        ck_assert_uint_eq(bench.conn[1].since_ns, now_ns);
        ck_assert_uint_eq(bench.conn[1].deadline_ns, end_ns);
        ck_assert_uint_eq(conns_sweep(&bench.conns, end_ns - 1), end_ns);
        ck_assert_uint_eq(bench.conns.sweep_ns, end_ns);
        ck_assert_str_eq(shut_sides(&bench, 1), "");
        now_ns = end_ns;
        ck_assert_uint_eq(conns_sweep(&bench.conns, now_ns), now_ns + 10 * ms);
        ck_assert_int_eq(conns_state(&bench.conns, &bench.conn[1], &in), CONN_OVERDUE);
        ck_assert_int_eq(in, cases[i].state);
        ck_assert_str_eq(shut_sides(&bench, 1), cases[i].shut);
        ck_assert_str_eq(shut_sides(&bench, 0), "");
        ck_assert_uint_eq(bench.conn[0].deadline_ns, UINT64_MAX);
        bench_close(&bench);
    }
}
END_TEST

/* conn[1] alone has a deadline, after which it is still in the state: it has one more round, and at
 * the end of that no other. */
static void expect_one_round_more(struct bench *bench, uint64_t late_ns)
{
    const enum conn_state state = state_of(bench, 1);
    now_ns = bench->conn[1].deadline_ns + late_ns;
    const uint64_t end_ns = now_ns + limit_ms[state] * ms;
    ck_assert_uint_eq(conns_sweep(&bench->conns, now_ns), end_ns);
    ck_assert_int_eq(state_of(bench, 1), state);
    now_ns = end_ns + late_ns;
    conns_sweep(&bench->conns, now_ns);
    ck_assert_int_eq(state_of(bench, 1), CONN_OVERDUE);
}

static void bench_open_in(struct bench *bench, enum conn_state state)
{
    bench_open(bench, limit_ms);
    for (int k = 0; k < PAIRS; k++)
        ck_assert(conns_move(&bench->conns, &bench->conn[k], CONN_HELD));
    ck_assert(conns_move(&bench->conns, &bench->conn[1], state));
}

static const enum conn_state timed[] = {CONN_NEW,  CONN_IDLE,  CONN_HEAD,
                                        CONN_BODY, CONN_REPLY, CONN_PARTING};
enum { TIMED = sizeof timed / sizeof timed[0] };

/* The client has sent a byte, which the server has not read. In CONN_REPLY the client has room for
 * more bytes, and the server has not sent them. */
START_TEST(a_connection_whose_io_thread_has_work_gets_one_more_round_of_any_state)
{
    for (int i = 0; i < TIMED; i++) {
        struct bench bench;
        bench_open_in(&bench, timed[i]);
        if (timed[i] != CONN_REPLY)
            tcp_pair_say(&bench.pair[1], "G");
        expect_one_round_more(&bench, 0);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_connection_gets_one_more_round_of_any_state_if_the_process_stood_still)
{
    for (int i = 0; i < TIMED; i++) {
        struct bench bench;
        bench_open_in(&bench, timed[i]);
        expect_one_round_more(&bench, 1000 * ms);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_client_that_does_not_read_its_reply_gets_no_other_round)
{
    static const char bytes[65536];
    struct bench bench;
    bench_open_in(&bench, CONN_REPLY);
    while (send(bench.pair[1].ours, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        continue;
    now_ns = bench.conn[1].deadline_ns;
    conns_sweep(&bench.conns, now_ns);
    ck_assert_int_eq(state_of(&bench, 1), CONN_OVERDUE);
    bench_close(&bench);
}
END_TEST

/* A state that is entered again has its own round. */
START_TEST(a_round_more_is_of_one_state)
{
    struct bench bench;
    bench_open_in(&bench, CONN_IDLE);
    tcp_pair_say(&bench.pair[1], "G");
    for (int i = 0; i < 3; i++) {
        ck_assert(conns_move(&bench.conns, &bench.conn[1], CONN_IDLE));
        now_ns = bench.conn[1].deadline_ns;
        conns_sweep(&bench.conns, now_ns);
        ck_assert_int_eq(state_of(&bench, 1), CONN_IDLE);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(a_connection_with_a_request_unread_is_not_shed)
{
    for (int i = 0; i < 2; i++) {
        struct bench bench;
        bench_open_in(&bench, i == 0 ? CONN_IDLE : CONN_NEW);
        bench.conns.has_handshakes = true;
        tcp_pair_say(&bench.pair[1], "G");
        now_ns += 100 * ms;
        conns_shed(&bench.conns);
        ck_assert_int_eq(state_of(&bench, 1), i == 0 ? CONN_IDLE : CONN_NEW);
        ck_assert(conns_move(&bench.conns, &bench.conn[2], CONN_IDLE));
        conns_shed(&bench.conns);
        ck_assert_int_eq(state_of(&bench, 2), CONN_OVERDUE);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_stop_waits_for_what_came_during_a_handshake_and_is_unread)
{
    struct bench bench;
    bench_open_in(&bench, CONN_NEW);
    bench.conns.has_handshakes = true;
    const unsigned held = PAIRS - 1;
    ck_assert_uint_eq(conns_busy(&bench.conns), held);
    tcp_pair_say(&bench.pair[1], "G");
    ck_assert_uint_eq(conns_busy(&bench.conns), held + 1);
    bench_close(&bench);
}
END_TEST

START_TEST(the_sweeper_comes_back_for_the_nearest_deadline)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    conns_move(&bench.conns, &bench.conn[0], CONN_BODY);
    conns_move(&bench.conns, &bench.conn[1], CONN_HEAD);
    conns_move(&bench.conns, &bench.conn[2], CONN_HELD);
    ck_assert_uint_eq(conns_sweep(&bench.conns, now_ns), now_ns + 200 * ms);
    conns_move(&bench.conns, &bench.conn[1], CONN_HELD);
    ck_assert_uint_eq(conns_sweep(&bench.conns, now_ns), now_ns + 300 * ms);
    conns_move(&bench.conns, &bench.conn[0], CONN_HELD);
    ck_assert_uint_eq(conns_sweep(&bench.conns, now_ns), UINT64_MAX);
    bench_close(&bench);
}
END_TEST

/* One tenth of a second of silence makes a new connection fit to be shed. */
START_TEST(a_new_connection_is_shed_after_its_time_to_speak)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    now_ns += 100 * ms - 1;
    conns_shed(&bench.conns);
    ck_assert_int_eq(state_of(&bench, 0), CONN_NEW);
    now_ns += 1;
    conns_shed(&bench.conns);
    ck_assert_int_eq(state_of(&bench, 0), CONN_OVERDUE);
    ck_assert_int_eq(state_of(&bench, 1), CONN_NEW);
    tcp_pair_say(&bench.pair[1], "G");
    tcp_pair_say(&bench.pair[2], "G");
    conns_shed(&bench.conns); /* nobody is left */
    ck_assert_int_eq(state_of(&bench, 1), CONN_NEW);
    ck_assert_int_eq(state_of(&bench, 2), CONN_NEW);
    bench_close(&bench);
}
END_TEST

/* The connections in front have sent a byte. They are more than one call looks at. */
START_TEST(a_silent_connection_is_found_behind_any_number_of_others)
{
    enum { OTHERS = 5000, CALLS = 5 };
    static struct conn others[OTHERS];
    struct bench bench;
    bench_open(&bench, limit_ms);
    tcp_pair_say(&bench.pair[0], "G");
    tcp_pair_say(&bench.pair[1], "G");
    for (int i = 0; i < OTHERS; i++)
        conns_add(&bench.conns, &others[i], bench.pair[i % 2].ours);
    conns_remove(&bench.conns, &bench.conn[2]);
    conns_add(&bench.conns, &bench.conn[2], bench.pair[2].ours);
    now_ns += 100 * ms;
    for (int call = 0; call < CALLS; call++)
        conns_shed(&bench.conns);
    ck_assert_int_eq(state_of(&bench, 2), CONN_OVERDUE);
    for (int i = 0; i < OTHERS; i++) {
        ck_assert_int_eq(others[i].state, CONN_NEW);
        conns_remove(&bench.conns, &others[i]);
    }
    bench_close(&bench);
}
END_TEST

START_TEST(while_draining_the_new_are_expected_for_a_quarter_of_a_second)
{
    struct bench bench;
    bench_open(&bench, limit_ms);
    ck_assert_uint_eq(conns_busy(&bench.conns), 0);
    now_ns += 1000 * ms;
    conns_drain(&bench.conns);
    ck_assert_uint_eq(bench.conns.drain_ns, now_ns);
    now_ns += 100 * ms;
    conns_remove(&bench.conns, &bench.conn[2]);
    conns_add(&bench.conns, &bench.conn[2], bench.pair[2].ours);
    now_ns += 150 * ms - 1;
    ck_assert_uint_eq(conns_busy(&bench.conns), 3);
    now_ns += 1;
    ck_assert_uint_eq(conns_busy(&bench.conns), 1); /* that came last */
    now_ns += 100 * ms - 1;
    ck_assert_uint_eq(conns_busy(&bench.conns), 1);
    now_ns += 1;
    ck_assert_uint_eq(conns_busy(&bench.conns), 0);
    bench_close(&bench);
}
END_TEST

START_TEST(the_list_is_looked_at_and_changed_under_its_lock)
{
    struct bench bench;
    enum conn_state in;
    bench_open(&bench, limit_ms);
    struct conns *conns = &bench.conns;
    LOCK_COUNTER_EXPECT_ONE(conns_count(conns), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_busy(conns), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_move(conns, &bench.conn[0], CONN_IDLE), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_state(conns, &bench.conn[0], &in), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_sweep(conns, now_ns), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_drain(conns), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_shed(conns), 0);
    LOCK_COUNTER_EXPECT_ONE(conns_remove(conns, &bench.conn[0]), 0);
    ck_assert_uint_eq(conns_count(conns), PAIRS - 1);
    LOCK_COUNTER_EXPECT_ONE(conns_add(conns, &bench.conn[0], bench.pair[0].ours), 0);
    ck_assert_uint_eq(conns_count(conns), PAIRS);
    bench_close(&bench);
}
END_TEST

/* A process without standard input gets its descriptor. */
START_TEST(the_first_descriptor_is_as_good_as_another)
{
    struct conns conns;
    int saved = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    ck_assert(conns_init(&conns, limit_ms));
    ck_assert_int_eq(conns.wake_fd, STDIN_FILENO);
    ck_assert_int_eq(eventfd_write(conns.wake_fd, 1), 0);
    conns_deinit(&conns);
    dup2(saved, STDIN_FILENO);
    close(saved);
}
END_TEST

START_TEST(conns_init_fails_without_a_descriptor)
{
    struct conns conns;
    struct rlimit before, none;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool made = conns_init(&conns, limit_ms);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert(!made);
}
END_TEST

/* The library has no memory for it, closes it and tells nobody: a stop must not wait for it, nor the
 * limit of connections be reached by such sockets. */
START_TEST(a_socket_that_was_closed_before_it_was_a_connection_counts_no_longer)
{
    struct conns conns;
    struct conn conn;
    const int lost = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int kept = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(conns_init(&conns, limit_ms));
    conns_accepted(&conns, lost);
    conns_accepted(&conns, kept);
    close(lost);
    ck_assert_uint_eq(conns_count(&conns), 2);
    now_ns += 100 * ms;
    ck_assert_uint_eq(conns_count(&conns), 1);
    ck_assert_uint_eq(conns_busy(&conns), 1);
    conns_accepted(&conns, lost); /* whatever has its number now */
    ck_assert_uint_eq(conns_count(&conns), 2);
    ck_assert_int_eq(dup2(conns.wake_fd, lost), lost);
    now_ns += 100 * ms;
    ck_assert_uint_eq(conns_count(&conns), 1);
    conns_accepted(&conns, kept);
    ck_assert_uint_eq(conns_count(&conns), 1); /* the same one */
    conns_add(&conns, &conn, kept);
    ck_assert_uint_eq(conns_count(&conns), 1);
    conns_remove(&conns, &conn);
    conns_accepted(&conns, kept);
    conns_turned_away(&conns, kept);
    ck_assert_uint_eq(conns_count(&conns), 0);
    close(lost);
    close(kept);
    conns_deinit(&conns);
}
END_TEST

START_TEST(any_number_of_sockets_may_wait_to_become_connections)
{
    enum { SOCKETS = 300 };
    struct conns conns;
    struct conn conn[SOCKETS];
    int fds[SOCKETS];
    ck_assert(conns_init(&conns, limit_ms));
    for (int i = 0; i < SOCKETS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        conns_accepted(&conns, fds[i]);
        ck_assert_uint_eq(conns_count(&conns), (unsigned)i + 1);
    }
    now_ns += 100 * ms;
    for (int i = 0; i < SOCKETS; i++) {
        const int next = i % 2 > 0 ? i - 1 : i + 1; /* I/O threads take them nearly in order */
        conns_add(&conns, &conn[next], fds[next]);
        ck_assert_uint_eq(conns_count(&conns), SOCKETS);
    }
    ck_assert_uint_eq(conns.arrival_count, 0);
    for (int i = 0; i < SOCKETS; i++) {
        conns_remove(&conns, &conn[i]);
        close(fds[i]);
    }
    conns_deinit(&conns);
}
END_TEST

SUITE("conns_clock", a_socket_that_was_closed_before_it_was_a_connection_counts_no_longer,
      any_number_of_sockets_may_wait_to_become_connections, conns_init_fails_without_a_descriptor,
      a_connection_whose_io_thread_has_work_gets_one_more_round_of_any_state,
      a_connection_gets_one_more_round_of_any_state_if_the_process_stood_still,
      a_client_that_does_not_read_its_reply_gets_no_other_round, a_round_more_is_of_one_state,
      a_connection_with_a_request_unread_is_not_shed,
      a_stop_waits_for_what_came_during_a_handshake_and_is_unread,
      each_state_has_its_deadline_and_its_end, the_sweeper_comes_back_for_the_nearest_deadline,
      a_new_connection_is_shed_after_its_time_to_speak,
      a_silent_connection_is_found_behind_any_number_of_others,
      while_draining_the_new_are_expected_for_a_quarter_of_a_second,
      the_list_is_looked_at_and_changed_under_its_lock, the_first_descriptor_is_as_good_as_another)
