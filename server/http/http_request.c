#include "server/http/http_request.h"

#include "engine/base/clock.h"
#include "server/http/rawreply.h"
#include "wire/limits.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the body ---- */

void body_init(struct body *body, struct memory *memory)
{
    *body = (struct body){.memory = memory};
}

static enum err_code grow(struct body *body, size_t need, size_t announced, struct err *err)
{
    /* doubling keeps copies below twice the bytes; an announced length caps the last step */
    size_t capacity = body->capacity > 0 ? body->capacity : BODY_SMALL_BYTES / 16;
    while (capacity < need)
        capacity = capacity > SIZE_MAX / 4 ? need : capacity * 2;
    if (announced >= need && announced < capacity)
        capacity = announced;
    size_t more = capacity - body->capacity;
    enum memory_use use = capacity > BODY_SMALL_BYTES ? MEMORY_LARGE : MEMORY_SMALL;
    if (memory_take_more(body->memory, body->capacity, more, use, err))
        return err->code;
    char *bytes = realloc(body->bytes, capacity + 1);
    if (bytes == NULL) {
        memory_give(body->memory, more);
        return err_no_memory(err, capacity + 1);
    }
    body->bytes = bytes;
    body->capacity = capacity;
    return ERR_OK;
}

enum err_code body_append(struct body *body, const void *bytes, size_t len, size_t announced,
                          struct err *err)
{
    if (len > SIZE_MAX / 4 - body->len)
        return err_no_memory(err, len);
    if (len > body->capacity - body->len && grow(body, body->len + len, announced, err))
        return err->code;
    memcpy(body->bytes + body->len, bytes, len);
    body->len += len;
    body->bytes[body->len] = '\0';
    return ERR_OK;
}

void body_deinit(struct body *body)
{
    memory_give(body->memory, body->capacity);
    free(body->bytes);
    body_init(body, body->memory);
}

/* ---- the request ---- */

struct http_request *http_request_create(struct http_connection *connection, const char *target)
{
    struct http_request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->shared = connection->shared;
    request->connection = connection;
    request->exchange.method = HTTP_OTHER;
    request->exchange.is_admin = connection->shared->options.is_admin;
    request->exchange.path = "";
    request->exchange.body = "";
    request->exchange.head_ns = clock_now_ns();
    arena_init(&request->exchange.arena);
    body_init(&request->body, connection->shared->options.memory);
    request->target = arena_copy(&request->exchange.arena, target, strlen(target));
    if (request->target != NULL)
        return request;
    http_request_destroy(request);
    return NULL;
}

void http_request_destroy(struct http_request *request)
{
    if (request->told)
        request->shared->app.done(request->shared->app.context, &request->exchange);
    body_deinit(&request->body);
    arena_deinit(&request->exchange.arena);
    memory_give(request->shared->options.memory, request->exchange.memory_bytes);
    free(request);
}

void http_request_refuse(struct http_request *request, const struct err *err)
{
    request->told = true;
    request->exchange.reply = (struct http_reply){0};
    request->shared->app.refuse(request->shared->app.context, &request->exchange, err);
    request->exchange.reply.close = true;
}

/* Under TLS nothing can be written past the library: the connection is closed without an answer. */
static void answer_raw(struct http_request *request)
{
    request->phase = HTTP_PHASE_ANSWERED;
    if (request->shared->options.tls != NULL)
        return;
    rawreply_send(request->connection->conn.fd, &request->exchange.reply,
                  request->exchange.method != HTTP_HEAD, &request->exchange.arena);
}

enum err_code http_request_check_head(struct http_request *request, const struct layout_head *head,
                                      const struct framing_field *fields, size_t count,
                                      struct err *err)
{
    struct http_exchange *exchange = &request->exchange;
    size_t path_bytes = strlen(request->target) + 1;
    exchange->head_ns = clock_now_ns();
    enum http_method known = 0;
    while (known < HTTP_OTHER && strcmp(head->method, http_method_name(known)) != 0)
        known++;
    exchange->method = known;
    request->body_at = head->method + head->bytes;
    if (head->bytes > LIMIT_HEAD_BYTES)
        return err_set(err, ERR_TOO_LARGE, "request head: larger than %d bytes", LIMIT_HEAD_BYTES);
    if (request->shared->library.is_lax && layout_check_head(head, fields, count, err))
        return err->code;
    char *path = arena_alloc(&exchange->arena, path_bytes);
    if (path == NULL)
        return err_no_memory(err, path_bytes);
    if (framing_path(path, head->method, request->target, err))
        return err->code;
    exchange->path = path;
    if (query_parse(&request->query, request->target, &exchange->arena, err))
        return err->code;
    if (framing_check(&request->framing, head->method, head->version, fields, count, err))
        return err->code;
    exchange->has_length = request->framing.has_length;
    if (request->framing.body == FRAMING_CHUNKED && request->shared->library.is_lax &&
        !received_begin_chunks(&request->connection->received, request->body_at))
        return err_set(err, ERR_MALFORMED,
                       "request body: chunks must not be sent before the last request is answered");
    return ERR_OK;
}

enum http_next http_request_ask_head(struct http_request *request)
{
    struct http_exchange *exchange = &request->exchange;
    const struct http_shared *shared = request->shared;
    exchange->body_bytes_max = shared->options.body_bytes_max;
    request->told = true;
    request->phase = HTTP_PHASE_BODY;
    enum http_next next = shared->app.head(shared->app.context, exchange);
    request->body_bytes_max = exchange->body_bytes_max < shared->options.body_bytes_max
                                  ? exchange->body_bytes_max
                                  : shared->options.body_bytes_max;
    return next;
}

static enum err_code too_large(const struct http_request *request, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "request body: larger than %zu bytes",
                   request->body_bytes_max);
}

enum err_code http_request_check_length(const struct http_request *request, struct err *err)
{
    bool over = request->framing.body == FRAMING_LENGTH &&
                request->framing.length > request->body_bytes_max;
    return over ? too_large(request, err) : ERR_OK;
}

/* The connection lingers: what the client still sends is read and dropped until it stops. */
static bool end_early(struct http_request *request)
{
    request->connection->linger = true;
    answer_raw(request);
    return false;
}

bool http_request_break_off(struct http_request *request, const struct err *err)
{
    http_request_refuse(request, err);
    return end_early(request);
}

static bool drop(struct http_request *request, size_t len)
{
    if (len > request->body_bytes_max - request->dropped)
        return end_early(request);
    request->dropped += len;
    return true;
}

static bool keep(struct http_request *request, const void *bytes, size_t len)
{
    struct err err = {0};
    size_t announced = (size_t)request->framing.length; /* within the limit, which is a size_t */
    if (len > request->body_bytes_max - request->body.len)
        too_large(request, &err);
    else if (!body_append(&request->body, bytes, len, announced, &err))
        return true;
    return http_request_break_off(request, &err);
}

/* An end of file that the library has missed came with the bytes that it read last, so one look for
 * all the chunks in them is enough. */
static bool is_still_there(struct http_request *request)
{
    struct http_connection *connection = request->connection;
    return !sockets_peer_gone(connection->conn.fd) ||
           conns_move(&request->shared->conns, &connection->conn, CONN_PARTING);
}

enum err_code http_request_check_chunks(const struct http_request *request, bool is_whole,
                                        struct err *err)
{
    const struct received *received = &request->connection->received;
    const struct chunks *chunks = &received->chunks;
    if (!received->is_chunked || (!chunks->has_failed && (chunks->is_whole || !is_whole)))
        return ERR_OK;
    return err_set(
        err, ERR_MALFORMED,
        "request body: a line of its chunks, or behind them, breaks RFC 9112, section 7.1: it "
        "must end with CR LF and have no control character");
}

bool http_request_take_body(struct http_request *request, const void *bytes, size_t len)
{
    struct err err = {0};
    if (http_request_check_chunks(request, false, &err))
        return http_request_break_off(request, &err);
    if (!(request->phase == HTTP_PHASE_DROP ? drop(request, len) : keep(request, bytes, len)))
        return false;
    return !received_is_new(&request->connection->received) || is_still_there(request);
}

enum http_next http_request_begin(struct http_request *request)
{
    struct http_exchange *exchange = &request->exchange;
    exchange->body_ns = clock_now_ns();
    exchange->body = request->body.bytes != NULL ? request->body.bytes : "";
    exchange->body_len = request->body.len;
    return request->shared->app.begin(request->shared->app.context, exchange);
}

/* The receiving side is shut by then; the answer can still leave. */
void http_request_answer_slow_body(struct http_request *request)
{
    struct err err = {0};
    enum conn_state in;
    struct http_shared *shared = request->shared;
    bool arriving = request->phase == HTTP_PHASE_BODY || request->phase == HTTP_PHASE_DROP;
    if (!arriving || conns_state(&shared->conns, &request->connection->conn, &in) != CONN_OVERDUE ||
        in != CONN_BODY)
        return;
    err_set(&err, ERR_SLOW, "request body: not whole after %u ms; %zu bytes had arrived",
            shared->options.body_timeout_ms, request->body.len + request->dropped);
    http_request_refuse(request, &err);
    answer_raw(request);
}

/* An answer that belongs to no request. */
static void answer_headless(struct http_connection *connection, const struct err *err)
{
    struct http_request *request = http_request_create(connection, "");
    if (request == NULL)
        return;
    http_request_refuse(request, err);
    answer_raw(request);
    http_request_destroy(request);
}

/* The library closes by itself after a reply that said so, when the client does, and when it cannot
 * read a request line; only in the last case have bytes arrived since the last reply without an
 * answer. A head that it could not parse it has answered itself. If it has read none of the bytes,
 * they are not the reason why it closes: it could not watch the socket. */
static void answer_unreadable(struct http_connection *connection, enum conn_state state)
{
    struct err err = {0};
    int fd = connection->conn.fd;
    struct sockets_traffic now = sockets_traffic(fd);
    bool silent = now.known && now.received <= connection->before.received && now.unread == 0;
    if (sockets_peer_gone(fd) || silent)
        return;
    connection->linger = true;
    bool read_some = now.received - now.unread > connection->before.received;
    if (connection->closing || state == CONN_HEAD || !now.known ||
        now.sent != connection->before.sent || !read_some)
        return;
    err_set(&err, ERR_MALFORMED, "request line: not METHOD TARGET HTTP/1.1");
    answer_headless(connection, &err);
}

void http_request_part(struct http_connection *connection)
{
    enum conn_state in;
    enum conn_state state = conns_state(&connection->shared->conns, &connection->conn, &in);
    if (connection->shared->options.tls != NULL)
        return; /* the bytes may be a handshake, which cannot be answered */
    if (state == CONN_OVERDUE && (in == CONN_NEW || in == CONN_HEAD)) {
        struct err err = {0};
        err_set(&err, ERR_SLOW, "request head: not whole after %u ms",
                connection->shared->options.header_timeout_ms);
        struct sockets_traffic now = sockets_traffic(connection->conn.fd);
        if (!now.known || now.received > 0)
            answer_headless(connection, &err);
    } else if (state == CONN_NEW || state == CONN_IDLE || state == CONN_HEAD)
        answer_unreadable(connection, state);
}
