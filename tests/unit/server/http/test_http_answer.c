/* test_http_answer.c - a request's way to its answer, without the HTTP library: the test gives what
 * http_head.c would find, and writes down the replies that would be queued. */
#include "server/http/http_answer.h"

#include "server/http/http_head.h"
#include "tests/unit/server/http/request_bench.h"

#include <microhttpd.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The fake library. */
static struct {
    struct framing framing;       /* of the head that it has read */
    enum err_code head, trailers; /* their faults */
    bool full;                    /* it takes no reply */
    unsigned replies, status;     /* those it took, and the last of them */
    bool closes;                  /* ... which has Connection: close */
    char headers[512];            /* ... and else "Name: value; " of each */
    const struct MHD_Connection *suspended, *resumed;
} library;

/* A connection that nobody looks into. */
static char handle;
#define HANDLE ((struct MHD_Connection *)(void *)&handle)

enum err_code http_head_check(struct http_request *request, const char *method, const char *version,
                              struct err *err)
{
    ck_assert_str_eq(method, "POST");
    ck_assert_str_eq(version, "HTTP/1.1");
    request->framing = library.framing;
    return library.head != ERR_OK ? err_set(err, library.head, "a bad head") : ERR_OK;
}

enum err_code http_head_check_trailers(struct http_request *request, struct err *err)
{
    (void)request;
    return library.trailers != ERR_OK ? err_set(err, library.trailers, "bad trailers") : ERR_OK;
}

static enum MHD_Result list_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)context;
    (void)kind;
    size_t len = strlen(library.headers);
    if (strcmp(name, "Connection") == 0) {
        library.closes = strcmp(value, "close") == 0;
        return MHD_YES;
    }
    snprintf(library.headers + len, sizeof library.headers - len, "%s: %s; ", name, value);
    return MHD_YES;
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response)
{
    ck_assert_ptr_eq(connection, HANDLE);
    if (library.full)
        return MHD_NO;
    library.replies++;
    library.status = status;
    library.headers[0] = '\0';
    library.closes = false;
    MHD_get_response_headers(response, list_header, NULL);
    return MHD_YES;
}

void MHD_suspend_connection(struct MHD_Connection *connection)
{
    library.suspended = connection;
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    library.resumed = connection;
}

/* An application that answers at once with 200, unless a test says otherwise. */
static struct http_request *answer_open(struct bench *bench)
{
    memset(&library, 0, sizeof library);
    bench_open(bench);
    bench->begin_says = HTTP_REPLY;
    bench->reply.status = 200;
    struct http_request *request = bench_request(bench, "/");
    request->library = HANDLE;
    return request;
}

static bool head(struct http_request *request)
{
    return http_answer_head(request, "POST", "HTTP/1.1");
}

static enum conn_state state_of(struct bench *bench)
{
    enum conn_state in;
    return conns_state(&bench->shared.conns, &bench->connection.conn, &in);
}

/* One reply has been queued, the last for now. */
static void expect_reply(struct bench *bench, unsigned status, bool closes)
{
    ck_assert_uint_eq(library.replies, 1);
    ck_assert_uint_eq(library.status, status);
    ck_assert_int_eq(library.closes, closes);
    ck_assert_int_eq(bench->connection.closing, closes);
    ck_assert_int_eq(bench->request->phase, HTTP_PHASE_ANSWERED);
    ck_assert_int_eq(state_of(bench), CONN_REPLY);
    ck_assert_uint_eq(atomic_load(&bench->shared.entered), 0);
}

/* ---- the head ---- */

START_TEST(a_request_without_a_body_is_answered_when_it_is_whole)
{
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    ck_assert(head(request));
    ck_assert_int_eq(state_of(&bench), CONN_HELD);
    ck_assert_uint_eq(library.replies, 0);
    ck_assert(http_answer_whole(request));
    ck_assert_uint_eq(bench.begins, 1);
    expect_reply(&bench, 200, false);
    ck_assert(!bench.connection.linger);
    bench_close(&bench);
}
END_TEST

START_TEST(a_body_is_waited_for_and_begun_with)
{
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    library.framing = (struct framing){.body = FRAMING_LENGTH, .length = LIMIT};
    ck_assert(head(request));
    ck_assert_int_eq(state_of(&bench), CONN_BODY);
    ck_assert(http_request_take_body(request, "0123456789", LIMIT));
    ck_assert(http_answer_whole(request));
    ck_assert_str_eq(bench.body, "0123456789");
    expect_reply(&bench, 200, false);
    bench_close(&bench);
}
END_TEST

/* The client can then read the answer, and goes on using the connection. */
START_TEST(answer_to_a_head_that_is_refused_waits_for_the_end_of_the_body)
{
    static const struct framing framings[] = {{.body = FRAMING_NO_BODY},
                                              {.body = FRAMING_NO_BODY, .expects_continue = true},
                                              {.body = FRAMING_LENGTH, .length = LIMIT}};
    for (size_t i = 0; i < sizeof framings / sizeof framings[0]; i++) {
        struct bench bench;
        struct http_request *request = answer_open(&bench);
        library.framing = framings[i];
        bench.head_says = HTTP_REPLY;
        bench.reply.status = 404;
        ck_assert(head(request));
        ck_assert_int_eq(request->phase, HTTP_PHASE_DROP);
        ck_assert_int_eq(state_of(&bench), i == 2 ? CONN_BODY : CONN_HELD);
        ck_assert_uint_eq(library.replies, 0);
        ck_assert(http_answer_whole(request));
        ck_assert_uint_eq(bench.begins, 0);
        expect_reply(&bench, 404, false);
        ck_assert(!bench.connection.linger);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_head_is_answered_at_once_and_for_the_last_time_if_its_body_must_not_come)
{
    const struct framing fits = {.body = FRAMING_LENGTH, .length = 1},
                         over = {.body = FRAMING_LENGTH, .length = LIMIT + 1},
                         waits = {.body = FRAMING_LENGTH, .length = 1, .expects_continue = true},
                         chunks = {.body = FRAMING_CHUNKED, .expects_continue = true};
    const struct {
        enum err_code head;
        struct framing framing;
        enum http_next says;
        unsigned heads, status;
    } cases[] = {
        {ERR_MALFORMED, fits, HTTP_CONTINUE, 0, 400}, {ERR_OK, over, HTTP_CONTINUE, 1, 413},
        {ERR_OK, over, HTTP_REPLY, 1, 404},           {ERR_OK, waits, HTTP_REPLY, 1, 404},
        {ERR_OK, chunks, HTTP_REPLY, 1, 404},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        struct http_request *request = answer_open(&bench);
        library.head = cases[i].head;
        library.framing = cases[i].framing;
        bench.head_says = cases[i].says;
        bench.reply.status = 404;
        ck_assert(head(request));
        ck_assert_uint_eq(bench.heads, cases[i].heads);
        ck_assert_uint_eq(bench.refuses, cases[i].says == HTTP_CONTINUE);
        expect_reply(&bench, cases[i].status, true);
        ck_assert(bench.connection.linger);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_body_that_is_asked_for_may_wait_until_then)
{
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    library.framing =
        (struct framing){.body = FRAMING_LENGTH, .length = 1, .expects_continue = true};
    ck_assert(head(request));
    ck_assert_int_eq(state_of(&bench), CONN_BODY);
    ck_assert_uint_eq(library.replies, 0);
    bench_close(&bench);
}
END_TEST

/* ---- replies ---- */

START_TEST(a_reply_is_the_last_if_it_says_so_after_chunks_and_while_draining)
{
    for (int way = 0; way < 3; way++) {
        struct bench bench;
        struct http_request *request = answer_open(&bench);
        bench.reply.close = way == 0;
        library.framing.body = way == 1 ? FRAMING_CHUNKED : FRAMING_NO_BODY;
        atomic_store(&bench.shared.draining, way == 2);
        ck_assert(head(request));
        ck_assert(http_answer_whole(request));
        expect_reply(&bench, 200, true);
        ck_assert(!bench.connection.linger);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_reply_has_the_headers_that_were_asked_for)
{
    static const struct http_field more[] = {{"X-A", "b"}, {"X-C", "d"}, {NULL, NULL}};
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    bench.reply = (struct http_reply){.status = 405,
                                      .content_type = "text/x",
                                      .allow = "GET",
                                      .retry_after_s = 7,
                                      .request_id = "an\r\nid",
                                      .traceparent = "00-t-s-01",
                                      .more = more};
    ck_assert(head(request));
    ck_assert(http_answer_whole(request));
    expect_reply(&bench, 405, false);
    ck_assert_str_eq(
        library.headers,
        "Content-Type: text/x; Allow: GET; X-Request-Id: anid; traceparent: 00-t-s-01; "
        "Retry-After: 7; X-A: b; X-C: d; ");
    bench_close(&bench);
}
END_TEST

START_TEST(trailers_that_do_not_belong_there_are_refused_instead_of_begun_with)
{
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    library.framing.body = FRAMING_CHUNKED;
    library.trailers = ERR_MALFORMED;
    ck_assert(head(request));
    ck_assert(http_answer_whole(request));
    ck_assert_uint_eq(bench.begins, 0);
    ck_assert_str_eq(bench.refused.text, "bad trailers");
    expect_reply(&bench, 400, true);
    ck_assert(!bench.connection.linger); /* it has sent all */
    bench_close(&bench);
}
END_TEST

START_TEST(answer_before_a_body_lingers)
{
    const struct err err = {.code = ERR_TOO_LARGE, .text = "too long"};
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    ck_assert(http_answer_refuse(request, &err));
    ck_assert_str_eq(bench.refused.text, "too long");
    expect_reply(&bench, 413, true);
    ck_assert(bench.connection.linger);
    bench_close(&bench);
}
END_TEST

START_TEST(a_reply_that_the_library_does_not_take_ends_the_connection)
{
    for (int early = 0; early < 2; early++) {
        struct bench bench;
        struct http_request *request = answer_open(&bench);
        library.full = true;
        library.head = early ? ERR_MALFORMED : ERR_OK;
        ck_assert_int_eq(head(request), !early);
        if (!early)
            ck_assert(!http_answer_whole(request));
        ck_assert_int_eq(request->phase, HTTP_PHASE_ANSWERED);
        ck_assert_uint_eq(atomic_load(&bench.shared.entered), 0);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(the_overdue_are_neither_asked_about_nor_answered)
{
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    make_overdue(&bench, CONN_HEAD);
    ck_assert(!head(request));
    ck_assert_uint_eq(bench.heads, 0);
    request->phase = HTTP_PHASE_BODY;
    ck_assert(!http_answer_whole(request));
    ck_assert_uint_eq(bench.begins, 0);
    ck_assert(!http_answer_refuse(request, &(struct err){.code = ERR_MALFORMED}));
    ck_assert_uint_eq(library.replies, 0);
    bench_close(&bench);
}
END_TEST

/* ---- suspensions ---- */

static enum http_next begin_later(void *context, struct http_exchange *exchange)
{
    struct bench *bench = context;
    bench->begins++;
    http_suspend(exchange);
    return HTTP_SUSPENDED;
}

static struct http_request *suspended_open(struct bench *bench)
{
    struct http_request *request = answer_open(bench);
    bench->shared.app.begin = begin_later;
    ck_assert(head(request));
    ck_assert(http_answer_whole(request));
    return request;
}

START_TEST(a_suspended_request_is_finished_when_it_is_back)
{
    struct bench bench;
    struct http_request *request = suspended_open(&bench);
    ck_assert_int_eq(request->phase, HTTP_PHASE_SUSPENDED);
    ck_assert_ptr_eq(library.suspended, HANDLE);
    ck_assert_ptr_null(library.resumed);
    ck_assert_int_eq(state_of(&bench), CONN_HELD);
    ck_assert_uint_eq(atomic_load(&bench.shared.entered), 1);
    ck_assert_uint_eq(library.replies, 0);
    http_resume(&request->exchange);
    ck_assert_ptr_eq(library.resumed, HANDLE);
    ck_assert_uint_eq(bench.finishes, 0); /* on the I/O thread alone */
    ck_assert(http_answer_resumed(request));
    ck_assert_uint_eq(bench.finishes, 1);
    expect_reply(&bench, 200, false);
    http_answer_end(request);
    ck_assert_uint_eq(atomic_load(&bench.shared.entered), 0);
    bench_close(&bench);
}
END_TEST

START_TEST(nothing_begins_after_the_stop)
{
    struct bench bench;
    struct http_request *request = answer_open(&bench);
    ck_assert(head(request));
    http_answer_stop(&bench.shared);
    ck_assert(!http_answer_whole(request));
    ck_assert_uint_eq(bench.begins, 0);
    ck_assert_uint_eq(atomic_load(&bench.shared.entered), 0);
    ck_assert_uint_eq(library.replies, 0);
    bench_close(&bench);
}
END_TEST

struct stopper {
    struct http_shared *shared;
    atomic_bool stopped;
};

static void *stop_main(void *context)
{
    struct stopper *stopper = context;
    http_answer_stop(stopper->shared);
    atomic_store(&stopper->stopped, true);
    return NULL;
}

/* The suspended request comes back, or its client has gone and the library forgets it. */
START_TEST(answer_stop_waits_for_a_suspended_request)
{
    for (int gone = 0; gone < 2; gone++) {
        struct bench bench;
        pthread_t thread;
        struct http_request *request = suspended_open(&bench);
        struct stopper stopper = {.shared = &bench.shared};
        ck_assert_int_eq(pthread_create(&thread, NULL, stop_main, &stopper), 0);
        while (!atomic_load(&bench.shared.stopping))
            usleep(1000);
        usleep(20000);
        ck_assert(!atomic_load(&stopper.stopped));
        if (gone)
            http_answer_end(request);
        else
            ck_assert(http_answer_resumed(request));
        pthread_join(thread, NULL);
        ck_assert_uint_eq(library.replies, !gone);
        bench_close(&bench);
    }
}
END_TEST

SUITE("http_answer", a_request_without_a_body_is_answered_when_it_is_whole,
      a_body_is_waited_for_and_begun_with,
      answer_to_a_head_that_is_refused_waits_for_the_end_of_the_body,
      a_head_is_answered_at_once_and_for_the_last_time_if_its_body_must_not_come,
      a_body_that_is_asked_for_may_wait_until_then,
      a_reply_is_the_last_if_it_says_so_after_chunks_and_while_draining,
      a_reply_has_the_headers_that_were_asked_for,
      trailers_that_do_not_belong_there_are_refused_instead_of_begun_with,
      answer_before_a_body_lingers, a_reply_that_the_library_does_not_take_ends_the_connection,
      the_overdue_are_neither_asked_about_nor_answered,
      a_suspended_request_is_finished_when_it_is_back, nothing_begins_after_the_stop,
      answer_stop_waits_for_a_suspended_request)
