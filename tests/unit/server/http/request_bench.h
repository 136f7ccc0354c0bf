/* request_bench.h - one request for the tests of its steps, without the HTTP library: a connection
 * over a real socket, and an application that writes down what it is asked.
 *
 *     struct bench bench;
 *     bench_open(&bench);
 *     struct http_request *request = bench_request(&bench, "/");
 *     ... bench.heads, bench.refused ...
 *     bench_close(&bench);
 */
#ifndef ATTND_TESTS_UNIT_SERVER_HTTP_REQUEST_BENCH_H
#define ATTND_TESTS_UNIT_SERVER_HTTP_REQUEST_BENCH_H

#include "server/http/http_request.h"
#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"
#include "wire/problem.h"

enum { LIMIT = 10 };

struct bench {
    struct http_shared shared;
    struct memory memory;
    struct http_connection connection;
    struct http_request *request;
    struct tcp_pair pair;
    unsigned heads, begins, finishes, refuses, dones;
    enum http_next head_says, begin_says;
    size_t wanted_max; /* the application's limit of a body; 0: it sets none */
    struct http_reply reply;
    struct err refused;
    const char *body; /* the body that begin saw */
    size_t body_len;
};

static enum http_next app_head(void *context, struct http_exchange *exchange)
{
    struct bench *bench = context;
    bench->heads++;
    if (bench->wanted_max > 0)
        exchange->body_bytes_max = bench->wanted_max;
    if (bench->head_says == HTTP_REPLY)
        exchange->reply = bench->reply;
    return bench->head_says;
}

static enum http_next app_begin(void *context, struct http_exchange *exchange)
{
    struct bench *bench = context;
    bench->begins++;
    bench->body = exchange->body;
    bench->body_len = exchange->body_len;
    if (bench->begin_says == HTTP_REPLY)
        exchange->reply = bench->reply;
    return bench->begin_says;
}

static void app_finish(void *context, struct http_exchange *exchange)
{
    struct bench *bench = context;
    bench->finishes++;
    exchange->reply = bench->reply;
}

static void app_refuse(void *context, struct http_exchange *exchange, const struct err *err)
{
    struct bench *bench = context;
    bench->refuses++;
    bench->refused = *err;
    ck_assert_ptr_null(exchange->reply.body); /* nothing is left of another reply */
    exchange->reply = bench->reply;
    exchange->reply.status = problem_status(err->code);
}

static void app_done(void *context, struct http_exchange *exchange)
{
    struct bench *bench = context;
    bench->dones++;
    ck_assert_ptr_nonnull(exchange->path);
}

static inline void bench_open(struct bench *bench)
{
    const unsigned limits[CONN_STATES] = {0};
    *bench = (struct bench){.begin_says = HTTP_SUSPENDED,
                            .reply = {.content_type = "text/x", .body = "no", .body_len = 2}};
    memory_init(&bench->memory, 1 << 24, 0, 0);
    bench->shared.app = (struct http_app){.context = bench,
                                          .head = app_head,
                                          .begin = app_begin,
                                          .finish = app_finish,
                                          .refuse = app_refuse,
                                          .done = app_done};
    bench->shared.library.is_lax = true;
    bench->shared.options = (struct http_options){.body_bytes_max = LIMIT,
                                                  .header_timeout_ms = 111,
                                                  .body_timeout_ms = 222,
                                                  .memory = &bench->memory};
    ck_assert(conns_init(&bench->shared.conns, limits));
    bench->pair = tcp_pair_open();
    bench->connection.shared = &bench->shared;
    conns_add(&bench->shared.conns, &bench->connection.conn, bench->pair.ours);
}

static inline struct http_request *bench_request(struct bench *bench, const char *target)
{
    bench->request = http_request_create(&bench->connection, target);
    ck_assert_ptr_nonnull(bench->request);
    bench->request->body_bytes_max = LIMIT;
    return bench->request;
}

static inline void bench_done(struct bench *bench)
{
    if (bench->request != NULL)
        http_request_destroy(bench->request);
    bench->request = NULL;
}

static inline void bench_close(struct bench *bench)
{
    bench_done(bench);
    ck_assert_uint_eq(memory_taken(&bench->memory), 0);
    conns_remove(&bench->shared.conns, &bench->connection.conn);
    tcp_pair_close(&bench->pair);
    conns_deinit(&bench->shared.conns);
}

/* The state of the connection as if its time had run out in `in`. */
static inline void make_overdue(struct bench *bench, enum conn_state in)
{
    struct conn *conn = &bench->connection.conn;
    conns_move(&bench->shared.conns, conn, CONN_OVERDUE);
    conn->overdue_in = in;
}

#endif
