/* http_answer.c - see http_answer.h.
 *
 * A step ends in a reply that is queued (HTTP_PHASE_ANSWERED), in a body that is waited for
 * (HTTP_PHASE_BODY, or HTTP_PHASE_DROP if the reply is decided), or in a suspension. Each time it
 * sets the connection's next state in conns.h; if the connection is overdue, nothing is sent here:
 * http.c has http_request.c do that when the library ends the request.
 *
 * A reply in parts is a body that the library asks for whenever it has sent what it had
 * (read_part). While the application works on the next part, the connection is suspended as it is
 * before a reply, and has no deadline; each part has the time of a reply.
 *
 * Stopping. The library aborts the process if it is stopped with a connection suspended, so
 * requests that the application handles are counted, from begin or more until they are answered or
 * resumed. */
#include "server/http/http_answer.h"

#include "server/http/http_head.h"
#include "server/http/rawreply.h"

#include <microhttpd.h>

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* -------------------------------------------------------------------------------------------- */
/* Replies through the library */

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
    return value == NULL || MHD_add_response_header(response, name, value) == MHD_YES;
}

/* Nothing may come after a chunked body, where another reader might end it elsewhere. */
static bool is_last(struct http_request *request)
{
    return request->exchange.reply.close || request->framing.body == FRAMING_CHUNKED ||
           atomic_load(&request->shared->draining);
}

/* False if there is no memory: an answer must not be sent without its type or its "close". */
static bool add_headers(struct MHD_Response *response, struct http_request *request)
{
    const struct http_reply *reply = &request->exchange.reply;
    struct arena *arena = &request->exchange.arena;
    const char *retry =
        reply->retry_after_s > 0 ? arena_format(arena, "%u", reply->retry_after_s) : NULL;
    const char *connection = request->connection->closing ? "close" : NULL;
    bool added =
        add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type) &&
        add_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow) &&
        add_header(response, "X-Request-Id", rawreply_header_safe(reply->request_id, arena)) &&
        add_header(response, "traceparent", reply->traceparent) &&
        add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, retry) &&
        add_header(response, MHD_HTTP_HEADER_CONNECTION, connection);
    for (const struct http_field *more = reply->more; more != NULL && more->name != NULL; more++)
        added = added && add_header(response, more->name, more->value);
    return added;
}

/* False while the server stops: nothing begins any more. */
static bool enter(struct http_shared *shared)
{
    atomic_fetch_add(&shared->entered, 1);
    if (!atomic_load(&shared->stopping))
        return true;
    atomic_fetch_sub(&shared->entered, 1);
    return false;
}

static void leave(struct http_shared *shared)
{
    atomic_fetch_sub(&shared->entered, 1);
}

/* The next part of the reply, made by `finish` after a suspension, else by `more`. False: the
 * application has suspended the exchange (*is_suspended), or the reply must end here. */
static bool next_part(struct http_request *request, bool *is_suspended)
{
    struct http_shared *shared = request->shared;
    struct http_exchange *exchange = &request->exchange;
    struct conn *conn = &request->connection->conn;
    const bool is_resumed = request->phase == HTTP_PHASE_SUSPENDED;
    if (!is_resumed && (!conns_move(&shared->conns, conn, CONN_HELD) || !enter(shared)))
        return false;
    if (is_resumed)
        shared->app.finish(shared->app.context, exchange);
    else if (shared->app.more(shared->app.context, exchange) == HTTP_SUSPENDED) {
        *is_suspended = true;
        return false;
    }
    leave(shared);
    request->phase = HTTP_PHASE_ANSWERED;
    request->sent = 0;
    return exchange->reply.body != NULL && conns_move(&shared->conns, conn, CONN_REPLY);
}

/* The library's MHD_ContentReaderCallback, on the I/O thread. */
static ssize_t read_part(void *context, uint64_t at, char *out, size_t room)
{
    struct http_request *request = context;
    const struct http_reply *reply = &request->exchange.reply;
    bool is_suspended = false;
    (void)at;
    while (request->phase == HTTP_PHASE_SUSPENDED || request->sent == reply->body_len) {
        if (request->phase != HTTP_PHASE_SUSPENDED && !reply->has_more)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (next_part(request, &is_suspended))
            continue;
        if (is_suspended)
            return 0;
        /* The library closes only with the next event of the socket, which this makes. */
        shutdown(request->connection->conn.fd, SHUT_RDWR);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    const size_t left = reply->body_len - request->sent, len = left < room ? left : room;
    memcpy(out, reply->body + request->sent, len);
    request->sent += len;
    return (ssize_t)len;
}

/* The body stays in the arena until on_completed, so the library need not copy it. */
static struct MHD_Response *response_of(struct http_request *request)
{
    enum {
        BLOCK_BYTES = 16 * 1024
    }; /* of the library's buffer for HTTP/1.0, which has no chunks */
    const struct http_reply *reply = &request->exchange.reply;
    union {
        const char *from;
        void *to;
    } body = {.from = reply->body}; /* the library only reads it */
    if (!reply->has_more)
        return MHD_create_response_from_buffer(reply->body_len, body.to, MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_part, request,
                                             NULL);
}

static bool answer(struct http_request *request)
{
    const struct http_reply *reply = &request->exchange.reply;
    request->phase = HTTP_PHASE_ANSWERED;
    if (!conns_move(&request->shared->conns, &request->connection->conn, CONN_REPLY))
        return false;
    struct MHD_Response *response = response_of(request);
    if (response == NULL)
        return false;
    request->connection->closing = is_last(request);
    bool queued = add_headers(response, request) &&
                  MHD_queue_response(request->library, reply->status, response) == MHD_YES;
    MHD_destroy_response(response);
    return queued;
}

/* Answers before the body: the library then closes the connection. */
static bool answer_early(struct http_request *request)
{
    request->exchange.reply.close = true;
    request->connection->linger = true;
    return answer(request);
}

bool http_answer_refuse(struct http_request *request, const struct err *err)
{
    http_request_refuse(request, err);
    return answer_early(request);
}

/* -------------------------------------------------------------------------------------------- */
/* The head */

/* The application has answered from the head alone. */
static bool answer_from_head(struct http_request *request)
{
    struct err err = {0};
    bool waits = request->framing.body != FRAMING_NO_BODY && request->framing.expects_continue;
    if (waits || http_request_check_length(request, &err))
        return answer_early(request);
    request->phase = HTTP_PHASE_DROP;
    return true;
}

bool http_answer_head(struct http_request *request, const char *method, const char *version)
{
    struct conns *conns = &request->shared->conns;
    struct conn *conn = &request->connection->conn;
    struct err err = {0};
    if (!conns_move(conns, conn, CONN_HELD))
        return false;
    if (http_head_check(request, method, version, &err))
        return http_answer_refuse(request, &err);
    if (http_request_ask_head(request) == HTTP_REPLY) {
        if (!answer_from_head(request))
            return false;
    } else if (http_request_check_length(request, &err)) {
        return http_answer_refuse(request, &err);
    }
    if (request->phase == HTTP_PHASE_ANSWERED || request->framing.body == FRAMING_NO_BODY)
        return true;
    return conns_move(conns, conn, CONN_BODY);
}

/* -------------------------------------------------------------------------------------------- */
/* The body and after */

/* begin may hand the exchange to another thread: after HTTP_SUSPENDED it must not be accessed
 * here. */
static bool begin(struct http_request *request)
{
    struct http_shared *shared = request->shared;
    if (!enter(shared))
        return false;
    if (http_request_begin(request) == HTTP_SUSPENDED)
        return true;
    leave(shared);
    return answer(request);
}

bool http_answer_whole(struct http_request *request)
{
    struct err err = {0};
    if (!conns_move(&request->shared->conns, &request->connection->conn, CONN_HELD))
        return false;
    if (http_head_check_trailers(request, &err))
        http_request_refuse(request, &err);
    else if (request->phase != HTTP_PHASE_DROP)
        return begin(request);
    return answer(request);
}

bool http_answer_resumed(struct http_request *request)
{
    request->shared->app.finish(request->shared->app.context, &request->exchange);
    leave(request->shared);
    return answer(request);
}

/* A request that is still suspended was resumed after the client had gone, without finish. */
void http_answer_end(struct http_request *request)
{
    if (request->phase == HTTP_PHASE_SUSPENDED)
        leave(request->shared);
}

/* A request may have come after the caller last looked, so exchanges that are suspended now are
 * waited for; the poll of a millisecond happens only here. */
void http_answer_stop(struct http_shared *shared)
{
    atomic_store(&shared->stopping, true);
    while (atomic_load(&shared->entered) > 0)
        usleep(1000);
}

/* -------------------------------------------------------------------------------------------- */
/* The application's side of a suspension */

void http_suspend(struct http_exchange *exchange)
{
    struct http_request *request = (struct http_request *)(void *)exchange;
    assert(request->phase == HTTP_PHASE_BODY || request->phase == HTTP_PHASE_ANSWERED);
    request->phase = HTTP_PHASE_SUSPENDED;
    MHD_suspend_connection(request->library);
}

void http_resume(struct http_exchange *exchange)
{
    MHD_resume_connection(http_request_of(exchange)->library);
}
