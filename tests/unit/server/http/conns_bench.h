/* conns_bench.h - a list of connections with a few of them in it. */
#ifndef ATTND_TESTS_UNIT_SERVER_HTTP_CONNS_BENCH_H
#define ATTND_TESTS_UNIT_SERVER_HTTP_CONNS_BENCH_H

#include "server/http/conns.h"
#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"

enum { PAIRS = 3 };

struct bench {
    struct conns conns;
    struct conn conn[PAIRS];
    struct tcp_pair pair[PAIRS];
};

static inline void bench_open(struct bench *bench, const unsigned limit_ms[CONN_STATES])
{
    ck_assert(conns_init(&bench->conns, limit_ms));
    for (int i = 0; i < PAIRS; i++) {
        bench->pair[i] = tcp_pair_open();
        conns_add(&bench->conns, &bench->conn[i], bench->pair[i].ours);
    }
}

/* All that is left must be empty. */
static inline void bench_close(struct bench *bench)
{
    for (int i = 0; i < PAIRS; i++) {
        conns_remove(&bench->conns, &bench->conn[i]);
        tcp_pair_close(&bench->pair[i]);
    }
    for (int state = 0; state < CONN_STATES; state++) {
        ck_assert_ptr_null(bench->conns.lists[state].first);
        ck_assert_ptr_null(bench->conns.lists[state].last);
        ck_assert_uint_eq(bench->conns.lists[state].count, 0);
    }
    ck_assert_uint_eq(conns_count(&bench->conns), 0);
    conns_deinit(&bench->conns);
}

static inline enum conn_state state_of(struct bench *bench, int i)
{
    enum conn_state overdue_in;
    return conns_state(&bench->conns, &bench->conn[i], &overdue_in);
}

#endif
