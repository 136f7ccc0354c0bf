/* One request without the HTTP library: a socket, an application that writes down what it is asked,
 * and what stands on the wire afterwards, byte by byte but for the date. */
#include "server/http/http_request.h"

#include "engine/base/clock.h"
#include "tests/unit/server/http/request_bench.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The bytes sent so far, with "DATE" for the date; "": nothing was sent, and the caller does not
 * wait. */
static const char *sent(const struct bench *bench, bool waits)
{
    static char text[1024], masked[1024];
    struct pollfd theirs = {.fd = bench->pair.theirs, .events = POLLIN};
    ck_assert_int_ge(poll(&theirs, 1, waits ? 10000 : 0), waits);
    ssize_t got = recv(bench->pair.theirs, text, sizeof text - 1, MSG_DONTWAIT);
    text[got > 0 ? got : 0] = '\0';
    const char *date = strstr(text, "Date: ");
    if (date == NULL)
        return text;
    const char *end = strstr(date, "\r\n");
    ck_assert_int_eq((int)(end - date), (int)strlen("Date: Sun, 06 Nov 1994 08:49:37 GMT"));
    ck_assert_int_eq(strncmp(end - 4, " GMT", 4), 0);
    snprintf(masked, sizeof masked, "%.*sDATE%s", (int)(date + 6 - text), text, end);
    return masked;
}

static void expect_sent(const struct bench *bench, const char *expected)
{
    ck_assert_str_eq(sent(bench, expected[0] != '\0'), expected);
}

#define ANSWER(line, length, body)                                                                 \
    "HTTP/1.1 " line "\r\nDate: DATE\r\nConnection: close\r\nContent-Length: " length              \
    "\r\nContent-Type: text/x\r\n\r\n" body

START_TEST(a_request_begins_empty_and_owes_nothing)
{
    struct bench bench;
    bench_open(&bench);
    uint64_t before = clock_now_ns();
    struct http_request *request = bench_request(&bench, "/a?b");
    ck_assert_str_eq(request->target, "/a?b");
    ck_assert_str_eq(request->exchange.path, "");
    ck_assert_str_eq(request->exchange.body, "");
    ck_assert_int_eq(request->exchange.method, HTTP_OTHER);
    ck_assert(request->exchange.head_ns >= before && request->exchange.head_ns <= clock_now_ns());
    ck_assert_int_eq(request->phase, HTTP_PHASE_LINE);
    ck_assert_ptr_eq(request->connection, &bench.connection);
    bench_done(&bench);
    ck_assert_uint_eq(bench.dones, 0);
    bench_close(&bench);
}
END_TEST

START_TEST(request_is_done_once_and_gives_its_memory_back)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    http_request_ask_head(request);
    ck_assert_int_eq(memory_take(&bench.memory, 1000, MEMORY_LARGE, &err), ERR_OK);
    request->exchange.memory_bytes = 1000;
    ck_assert(http_request_take_body(request, "12345", 5));
    ck_assert_uint_gt(memory_taken(&bench.memory), 1000);
    bench_done(&bench);
    ck_assert_uint_eq(bench.dones, 1);
    bench_close(&bench);
}
END_TEST

START_TEST(a_refusal_begins_with_an_empty_reply_and_closes)
{
    struct bench bench;
    const struct err err = {.code = ERR_LENGTH, .text = "how long?"};
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    request->exchange.reply.body = "another";
    http_request_refuse(request, &err);
    ck_assert_uint_eq(bench.refuses, 1);
    ck_assert_str_eq(bench.refused.text, "how long?");
    ck_assert(request->told && request->exchange.reply.close);
    ck_assert_uint_eq(request->exchange.reply.status, 411);
    bench_done(&bench);
    ck_assert_uint_eq(bench.dones, 1);
    bench_close(&bench);
}
END_TEST

START_TEST(the_limit_of_a_body_is_the_lower_of_two)
{
    static const struct {
        size_t wanted, limit;
    } cases[] = {{0, LIMIT}, {LIMIT - 1, LIMIT - 1}, {LIMIT, LIMIT}, {LIMIT + 1, LIMIT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench);
        bench.wanted_max = cases[i].wanted;
        struct http_request *request = bench_request(&bench, "/");
        ck_assert_int_eq(http_request_ask_head(request), HTTP_CONTINUE);
        ck_assert_uint_eq(bench.heads, 1);
        ck_assert_uint_eq(request->body_bytes_max, cases[i].limit);
        ck_assert(request->told);
        ck_assert_int_eq(request->phase, HTTP_PHASE_BODY);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(an_announced_length_is_held_against_the_limit)
{
    static const struct {
        enum framing_body body;
        uint64_t length;
        bool over;
    } cases[] = {{FRAMING_LENGTH, LIMIT, false},
                 {FRAMING_LENGTH, LIMIT + 1, true},
                 {FRAMING_LENGTH, UINT64_MAX, true},
                 {FRAMING_CHUNKED, LIMIT + 1, false},
                 {FRAMING_NO_BODY, LIMIT + 1, false}};
    struct bench bench;
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        request->framing = (struct framing){.body = cases[i].body, .length = cases[i].length};
        ck_assert_int_eq(http_request_check_length(request, &err),
                         cases[i].over ? ERR_TOO_LARGE : ERR_OK);
        ck_assert_str_eq(err.text, cases[i].over ? "request body: larger than 10 bytes" : "");
    }
    bench_close(&bench);
}
END_TEST

START_TEST(a_body_is_kept_up_to_its_limit)
{
    struct bench bench;
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    uint64_t before = clock_now_ns();
    ck_assert_int_eq(http_request_begin(request), HTTP_SUSPENDED);
    ck_assert_str_eq(bench.body, "");
    ck_assert_uint_eq(bench.body_len, 0);
    request->phase = HTTP_PHASE_BODY;
    ck_assert(http_request_take_body(request, "01234", 5));
    ck_assert(http_request_take_body(request, "56789", 5));
    ck_assert_int_eq(http_request_begin(request), HTTP_SUSPENDED);
    ck_assert_str_eq(bench.body, "0123456789");
    ck_assert_uint_eq(bench.body_len, LIMIT);
    ck_assert(request->exchange.body_ns >= before && request->exchange.body_ns <= clock_now_ns());
    ck_assert(!bench.connection.linger);
    expect_sent(&bench, "");
    ck_assert(!http_request_take_body(request, "x", 1));
    ck_assert(bench.connection.linger);
    ck_assert_int_eq(request->phase, HTTP_PHASE_ANSWERED);
    ck_assert_str_eq(bench.refused.text, "request body: larger than 10 bytes");
    expect_sent(&bench, ANSWER("413 Content Too Large", "2", "no"));
    bench_close(&bench);
}
END_TEST

START_TEST(a_body_that_there_is_no_memory_for_is_refused)
{
    struct bench bench;
    struct err err = {0};
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    request->phase = HTTP_PHASE_BODY;
    const size_t all = bench.memory.pool_bytes;
    ck_assert_int_eq(memory_take(&bench.memory, all, MEMORY_SMALL, &err), ERR_OK);
    ck_assert(!http_request_take_body(request, "x", 1));
    ck_assert_int_eq(bench.refused.code, ERR_QUEUE_FULL);
    expect_sent(&bench, ANSWER("429 Too Many Requests", "2", "no"));
    memory_give(&bench.memory, all);
    bench_close(&bench);
}
END_TEST

/* The reply is decided: further bytes are counted, and dropped, up to the limit. */
START_TEST(a_body_in_vain_is_dropped_up_to_its_limit)
{
    struct bench bench;
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    request->phase = HTTP_PHASE_DROP;
    request->exchange.reply = bench.reply;
    request->exchange.reply.status = 404;
    ck_assert(http_request_take_body(request, "0123456", 7));
    ck_assert(http_request_take_body(request, "012", 3));
    ck_assert_uint_eq(request->dropped, LIMIT);
    ck_assert_uint_eq(request->body.len, 0);
    ck_assert_uint_eq(memory_taken(&bench.memory), 0);
    ck_assert(!http_request_take_body(request, "0", 1));
    ck_assert(bench.connection.linger);
    ck_assert_uint_eq(bench.refuses, 0);
    expect_sent(&bench, ANSWER("404 Not Found", "2", "no"));
    bench_close(&bench);
}
END_TEST

START_TEST(a_chunk_that_the_library_read_too_kindly_is_refused)
{
    static char read[] = "3\0\r\nabc"; /* a control byte in the line */
    struct bench bench;
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    request->phase = HTTP_PHASE_BODY;
    request->framing.body = FRAMING_CHUNKED;
    bench.connection.received = (struct received){.fd = -1, .is_chunked = true};
    chunks_read(&bench.connection.received.chunks, read, sizeof read - 1);
    ck_assert(!http_request_take_body(request, read + 4, 3));
    ck_assert_int_eq(bench.refused.code, ERR_MALFORMED);
    ck_assert(bench.connection.linger);
    expect_sent(&bench, ANSWER("400 Bad Request", "2", "no"));
    bench_close(&bench);
}
END_TEST

START_TEST(a_client_that_closes_in_its_body_gets_a_little_time_for_the_rest)
{
    struct bench bench;
    enum conn_state in;
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    request->phase = HTTP_PHASE_BODY;
    bench.connection.received.is_new = true;
    ck_assert(http_request_take_body(request, "1", 1));
    ck_assert_int_eq(conns_state(&bench.shared.conns, &bench.connection.conn, &in), CONN_NEW);
    shutdown(bench.pair.theirs, SHUT_WR);
    ck_assert(tcp_pair_wait(&bench.pair));
    ck_assert(http_request_take_body(request, "1", 1)); /* of the same read: not looked at again */
    ck_assert_int_eq(conns_state(&bench.shared.conns, &bench.connection.conn, &in), CONN_NEW);
    bench.connection.received.is_new = true;
    ck_assert(http_request_take_body(request, "2", 1));
    ck_assert_int_eq(conns_state(&bench.shared.conns, &bench.connection.conn, &in), CONN_PARTING);
    make_overdue(&bench, CONN_PARTING);
    bench.connection.received.is_new = true;
    ck_assert(!http_request_take_body(request, "3", 1));
    bench_close(&bench);
}
END_TEST

/* A client whose time ran out in its body is told so, and nobody else. */
START_TEST(a_slow_body_is_answered_with_what_had_arrived)
{
    static const struct {
        enum http_phase phase;
        enum conn_state overdue_in; /* CONN_STATES: not overdue */
        bool answered;
    } cases[] = {
        {HTTP_PHASE_BODY, CONN_BODY, true},      {HTTP_PHASE_DROP, CONN_BODY, true},
        {HTTP_PHASE_BODY, CONN_PARTING, false},  {HTTP_PHASE_BODY, CONN_STATES, false},
        {HTTP_PHASE_LINE, CONN_BODY, false},     {HTTP_PHASE_SUSPENDED, CONN_BODY, false},
        {HTTP_PHASE_ANSWERED, CONN_BODY, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench);
        struct http_request *request = bench_request(&bench, "/");
        request->phase = HTTP_PHASE_BODY;
        ck_assert(http_request_take_body(request, "abcd", 4));
        request->dropped = 3;
        request->phase = cases[i].phase;
        if (cases[i].overdue_in != CONN_STATES)
            make_overdue(&bench, cases[i].overdue_in);
        http_request_answer_slow_body(request);
        ck_assert_uint_eq(bench.refuses, cases[i].answered);
        ck_assert_str_eq(
            bench.refused.text,
            cases[i].answered ? "request body: not whole after 222 ms; 7 bytes had arrived" : "");
        expect_sent(&bench, cases[i].answered ? ANSWER("408 Request Timeout", "2", "no") : "");
        if (cases[i].answered)
            ck_assert_int_eq(request->phase, HTTP_PHASE_ANSWERED);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(an_answer_to_a_head_has_no_body)
{
    struct bench bench;
    bench_open(&bench);
    struct http_request *request = bench_request(&bench, "/");
    request->phase = HTTP_PHASE_DROP;
    request->exchange.method = HTTP_HEAD;
    make_overdue(&bench, CONN_BODY);
    http_request_answer_slow_body(request);
    expect_sent(&bench, ANSWER("408 Request Timeout", "2", ""));
    bench_close(&bench);
}
END_TEST

/* The end of a connection whose head never became whole. `read`: the bytes that the library has
 * taken from the socket; `unread`: the bytes that it has not. */
START_TEST(a_connection_that_ends_without_a_head_is_told_why_if_it_said_something)
{
    static const struct {
        enum conn_state state, overdue_in; /* CONN_STATES: not overdue */
        const char *read, *unread;
        bool closing, gone;
        const char *line; /* NULL: not a word */
        bool linger;
    } cases[] = {
        {CONN_OVERDUE, CONN_NEW, "GET", "", false, false, "408 Request Timeout", false},
        {CONN_OVERDUE, CONN_HEAD, "GET", "", false, false, "408 Request Timeout", false},
        {CONN_OVERDUE, CONN_NEW, "", "", false, false, NULL, false},
        {CONN_OVERDUE, CONN_IDLE, "GET", "", false, false, NULL, false},
        {CONN_OVERDUE, CONN_BODY, "GET", "", false, false, NULL, false},
        {CONN_NEW, CONN_STATES, "nonsense", "", false, false, "400 Bad Request", true},
        {CONN_IDLE, CONN_STATES, "nonsense", "", false, false, "400 Bad Request", true},
        {CONN_HEAD, CONN_STATES, "nonsense", "", false, false, NULL, true},
        {CONN_NEW, CONN_STATES, "nonsense", "", true, false, NULL, true},
        {CONN_NEW, CONN_STATES, "nonsense", "more", false, false, "400 Bad Request", true},
        {CONN_NEW, CONN_STATES, "", "GET", false, false, NULL, true},
        {CONN_NEW, CONN_STATES, "", "", false, false, NULL, false},
        {CONN_NEW, CONN_STATES, "nonsense", "", false, true, NULL, false},
        {CONN_REPLY, CONN_STATES, "nonsense", "", false, false, NULL, false},
        {CONN_BODY, CONN_STATES, "nonsense", "", false, false, NULL, false},
        {CONN_HELD, CONN_STATES, "nonsense", "", false, false, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        char dropped[64], expected[256] = "";
        bench_open(&bench);
        if (cases[i].read[0] != '\0') {
            tcp_pair_say(&bench.pair, cases[i].read);
            ck_assert_int_gt(recv(bench.pair.ours, dropped, sizeof dropped, 0), 0);
        }
        if (cases[i].unread[0] != '\0')
            tcp_pair_say(&bench.pair, cases[i].unread);
        conns_move(&bench.shared.conns, &bench.connection.conn, cases[i].state);
        if (cases[i].overdue_in != CONN_STATES)
            make_overdue(&bench, cases[i].overdue_in);
        bench.connection.closing = cases[i].closing;
        if (cases[i].gone) {
            shutdown(bench.pair.theirs, SHUT_WR);
            ck_assert(tcp_pair_wait(&bench.pair));
        }
        http_request_part(&bench.connection);
        if (cases[i].line != NULL)
            snprintf(expected, sizeof expected, ANSWER("%s", "2", "no"), cases[i].line);
        expect_sent(&bench, expected);
        ck_assert_int_eq(bench.connection.linger, cases[i].linger);
        ck_assert_uint_eq(bench.refuses, cases[i].line != NULL);
        ck_assert_uint_eq(bench.dones, bench.refuses);
        if (cases[i].line != NULL)
            ck_assert_str_eq(bench.refused.text, cases[i].state == CONN_OVERDUE
                                                     ? "request head: not whole after 111 ms"
                                                     : "request line: not METHOD TARGET HTTP/1.1");
        bench_close(&bench);
    }
}
END_TEST

/* After a reply only what has come since counts, and an answer of the library's is enough. */
START_TEST(a_second_request_line_that_cannot_be_read_is_answered_if_nothing_was_since)
{
    for (int way = 0; way < 3; way++) {
        struct bench bench;
        char dropped[64];
        bench_open(&bench);
        tcp_pair_say(&bench.pair, "first");
        ck_assert_int_gt(recv(bench.pair.ours, dropped, sizeof dropped, 0), 0);
        bench.connection.before = sockets_traffic(bench.pair.ours);
        if (way > 0) {
            tcp_pair_say(&bench.pair, "second");
            ck_assert_int_gt(recv(bench.pair.ours, dropped, sizeof dropped, 0), 0);
        }
        if (way == 2)
            sockets_send(bench.pair.ours, "?", 1);
        conns_move(&bench.shared.conns, &bench.connection.conn, CONN_IDLE);
        http_request_part(&bench.connection);
        ck_assert_uint_eq(bench.refuses, way == 1);
        ck_assert_int_eq(bench.connection.linger, way > 0);
        bench_close(&bench);
    }
}
END_TEST

SUITE("http_request", a_request_begins_empty_and_owes_nothing,
      request_is_done_once_and_gives_its_memory_back,
      a_refusal_begins_with_an_empty_reply_and_closes, the_limit_of_a_body_is_the_lower_of_two,
      an_announced_length_is_held_against_the_limit, a_body_is_kept_up_to_its_limit,
      a_body_that_there_is_no_memory_for_is_refused, a_body_in_vain_is_dropped_up_to_its_limit,
      a_chunk_that_the_library_read_too_kindly_is_refused,
      a_client_that_closes_in_its_body_gets_a_little_time_for_the_rest,
      a_slow_body_is_answered_with_what_had_arrived, an_answer_to_a_head_has_no_body,
      a_connection_that_ends_without_a_head_is_told_why_if_it_said_something,
      a_second_request_line_that_cannot_be_read_is_answered_if_nothing_was_since)
