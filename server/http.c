/* http.c - see http.h. The life of a request, as libmicrohttpd (0.9.75) tells it:
 *
 *   on_connected   a socket of the edge (edge.h) has become a connection
 *   on_line        the request line is whole: the target as sent, before the library decodes it
 *   on_access      once when the head is whole, once for each piece of body, once at the end, and
 *                  once more after a resume
 *   on_completed   the reply is sent or the client gone
 *   on_closed      the connection ends; its socket is still open
 *
 * Answering. The library takes a reply only before the body or after it, and one that is queued
 * before the body closes the connection, even if there is no body. So a refusal of the application
 * waits until the body has come and been dropped: the client can read it, and goes on using the
 * connection. Refused at once, with Connection: close, are a body over the limit, a body that still
 * waits for "100 Continue", and bad framing, after which nothing on the connection can be trusted.
 * A body that grows over its limit is answered past the library (rawreply.h). Whoever is refused
 * while still sending is seen off by the edge, lest a reset destroy the answer.
 *
 * Deadlines. conns.h gives each state of a connection one total time. A slow body is a 408. A slow
 * head is one if any of it has arrived; a connection that never sent a byte, and one that idles
 * after a reply, are closed in silence: a 408 there would be taken for the answer to a request that
 * has just been sent. An overdue connection only loses its receiving side; its I/O thread notices
 * and says the rest. A client that does not read its reply gets the time of a body.
 *
 * The library's own refusals (a header without a colon, a Content-Length that is no number, a bad
 * chunk) are plain 400s that do not pass through `refuse`, the Content-Length ones with a second
 * status line in the place of their text. For a request line that it cannot read it closes without
 * a word; that one is answered here, which needs MHD_USE_TURBO: without it the sending side is
 * already shut in on_closed.
 *
 * What the I/O threads, the edge and the baton's holder share: conns (locked), draining and the
 * body budget (atomic). A request is touched by its I/O thread alone, except while suspended. */
#include "server/http.h"

#include "engine/base/clock.h"
#include "server/body.h"
#include "server/conns.h"
#include "server/edge.h"
#include "server/framing.h"
#include "server/limits.h"
#include "server/rawreply.h"
#include "server/sockets.h"

#include <microhttpd.h>

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOL_BYTES = 128 * 1024, /* a connection's buffers; bodies then arrive in pieces of 64 KiB */
    IDLE_MS = 60000,         /* between requests: longer than most client pools keep theirs */
    BUDGET_BODIES = 16,      /* bodies of the largest size that may be held at once */
};

struct http_server {
    struct MHD_Daemon *daemon;
    struct http_app app;
    struct http_options options;
    struct conns conns;
    struct edge *edge;
    struct body_budget budget;
    atomic_bool draining; /* alone: read when a reply is queued */
};

struct connection {
    struct conn conn; /* first: what conns.h links */
    struct http_server *server;
    struct sockets_traffic before; /* what had been carried when the last request was done */
    bool linger;                   /* the last answer went to a client that was still sending */
};

enum phase {
    PHASE_LINE,      /* nobody has been told of the request */
    PHASE_BODY,      /* body arriving */
    PHASE_DROP,      /* body arriving in vain: the reply is decided */
    PHASE_SUSPENDED, /* somebody else has the baton, or has just given it back */
    PHASE_ANSWERED,
};

struct request {
    struct http_exchange exchange; /* first: what the application holds */
    struct http_server *server;
    struct connection *connection;
    struct MHD_Connection *mhd; /* NULL: a refusal without a request */
    const char *target;
    enum phase phase;
    bool told; /* head or refuse has been called: done is owed */
    struct framing framing;
    struct body body;
    size_t body_bytes_max; /* the route's limit or the server's, whichever is less */
    size_t dropped;        /* bytes of a body that nobody wants */
};

/* -------------------------------------------------------------------------------------------- */
/* Requests */

static struct request *request_create(struct http_server *server, struct connection *connection)
{
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return NULL;
    request->server = server;
    request->connection = connection;
    request->exchange.method = HTTP_OTHER;
    request->exchange.path = "";
    request->exchange.body = "";
    request->exchange.head_ns = clock_now_ns();
    arena_init(&request->exchange.arena);
    body_init(&request->body, &server->budget);
    return request;
}

static void request_free(struct request *request)
{
    if (request->told)
        request->server->app.done(request->server->app.context, &request->exchange);
    body_deinit(&request->body);
    arena_deinit(&request->exchange.arena);
    free(request);
}

static void refuse(struct request *request, const struct err *err)
{
    request->told = true;
    request->exchange.reply = (struct http_reply){0};
    request->server->app.refuse(request->server->app.context, &request->exchange, err);
    request->exchange.reply.close = true;
}

static void answer_raw(struct request *request)
{
    const struct http_reply *reply = &request->exchange.reply;
    request->phase = PHASE_ANSWERED;
    rawreply_send(request->connection->conn.fd, reply, MHD_get_reason_phrase_for(reply->status),
                  request->exchange.method != HTTP_HEAD, &request->exchange.arena);
}

/* -------------------------------------------------------------------------------------------- */
/* Replies through the library */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value != NULL)
        MHD_add_response_header(response, name, value);
}

static void add_headers(struct MHD_Response *response, struct request *request)
{
    const struct http_reply *reply = &request->exchange.reply;
    struct arena *arena = &request->exchange.arena;
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->content_type);
    add_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow);
    add_header(response, "X-Request-Id", rawreply_header_safe(reply->request_id, arena));
    if (reply->retry_after_s > 0)
        add_header(response, MHD_HTTP_HEADER_RETRY_AFTER,
                   arena_format(arena, "%u", reply->retry_after_s));
    if (reply->close || atomic_load(&request->server->draining))
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* The body stays in the arena until on_completed, so the library need not copy it. */
static enum MHD_Result answer(struct request *request)
{
    const struct http_reply *reply = &request->exchange.reply;
    request->phase = PHASE_ANSWERED;
    if (!conns_move(&request->server->conns, &request->connection->conn, CONN_REPLY))
        return MHD_NO;
    union {
        const char *from;
        void *to;
    } body = {.from = reply->body}; /* the library only reads it */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->body_len, body.to, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    add_headers(response, request);
    enum MHD_Result queued = MHD_queue_response(request->mhd, reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

/* Before the body: the library then closes the connection. */
static enum MHD_Result answer_early(struct request *request)
{
    request->exchange.reply.close = true;
    request->connection->linger = true;
    return answer(request);
}

/* -------------------------------------------------------------------------------------------- */
/* The head */

struct field_list {
    struct framing_field *fields;
    size_t count, room;
};

static enum MHD_Result collect_field(void *context, enum MHD_ValueKind kind, const char *name,
                                     size_t name_len, const char *value, size_t value_len)
{
    (void)kind;
    struct field_list *list = context;
    if (list->count == list->room)
        return MHD_NO;
    list->fields[list->count++] = (struct framing_field){.name = name,
                                                         .name_len = name_len,
                                                         .value = value != NULL ? value : "",
                                                         .value_len = value_len};
    return MHD_YES;
}

static enum err_code collect_fields(struct field_list *list, struct request *request,
                                    enum MHD_ValueKind kind, struct err *err)
{
    int count = MHD_get_connection_values(request->mhd, kind, NULL, NULL);
    *list = (struct field_list){.room = count > 0 ? (size_t)count : 0};
    list->fields = arena_alloc_array(&request->exchange.arena, list->room, sizeof *list->fields);
    if (list->fields == NULL)
        return err_no_memory(err, list->room * sizeof *list->fields);
    MHD_get_connection_values_n(request->mhd, kind, collect_field, list);
    return ERR_OK;
}

static enum http_method parse_method(const char *method)
{
    return strcmp(method, "GET") == 0    ? HTTP_GET
           : strcmp(method, "HEAD") == 0 ? HTTP_HEAD
           : strcmp(method, "POST") == 0 ? HTTP_POST
                                         : HTTP_OTHER;
}

static size_t head_bytes(struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL ? info->header_size : 0;
}

static enum err_code check_head(struct request *request, const char *method, const char *version,
                                struct err *err)
{
    struct http_exchange *exchange = &request->exchange;
    char *path = arena_alloc(&exchange->arena, strlen(request->target) + 1);
    struct field_list list;
    if (path == NULL)
        return err_no_memory(err, strlen(request->target) + 1);
    if (head_bytes(request) > LIMIT_HEAD_BYTES)
        return err_set(err, ERR_TOO_LARGE, "request head: larger than %d bytes", LIMIT_HEAD_BYTES);
    if (framing_path(path, method, request->target, err) ||
        collect_fields(&list, request, MHD_HEADER_KIND, err))
        return err->code;
    exchange->path = path;
    return framing_check(&request->framing, method, version, list.fields, list.count, err);
}

static void set_too_large(const struct request *request, struct err *err)
{
    err_set(err, ERR_TOO_LARGE, "request body: larger than %zu bytes", request->body_bytes_max);
}

static bool is_over_limit(const struct request *request)
{
    return request->framing.body == FRAMING_LENGTH &&
           request->framing.length > request->body_bytes_max;
}

/* The application has answered from the head alone. */
static enum MHD_Result answer_from_head(struct request *request)
{
    const struct framing *framing = &request->framing;
    bool waits = framing->body != FRAMING_NO_BODY && framing->expects_continue;
    if (is_over_limit(request) || waits)
        return answer_early(request);
    request->phase = PHASE_DROP;
    return MHD_YES;
}

static enum http_next ask_head(struct request *request)
{
    struct http_exchange *exchange = &request->exchange;
    const struct http_server *server = request->server;
    exchange->body_bytes_max = server->options.body_bytes_max;
    request->told = true;
    request->phase = PHASE_BODY;
    enum http_next next = server->app.head(server->app.context, exchange);
    request->body_bytes_max = exchange->body_bytes_max < server->options.body_bytes_max
                                  ? exchange->body_bytes_max
                                  : server->options.body_bytes_max;
    return next;
}

static enum MHD_Result on_head(struct request *request, const char *method, const char *version)
{
    struct conns *conns = &request->server->conns;
    struct err err = {0};
    if (!conns_move(conns, &request->connection->conn, CONN_HELD))
        return MHD_NO;
    request->exchange.head_ns = clock_now_ns();
    request->exchange.method = parse_method(method);
    if (check_head(request, method, version, &err)) {
        refuse(request, &err);
        return answer_early(request);
    }
    if (ask_head(request) == HTTP_REPLY) {
        if (answer_from_head(request) == MHD_NO)
            return MHD_NO;
    } else if (is_over_limit(request)) {
        set_too_large(request, &err);
        refuse(request, &err);
        return answer_early(request);
    }
    if (request->phase == PHASE_ANSWERED || request->framing.body == FRAMING_NO_BODY)
        return MHD_YES;
    return conns_move(conns, &request->connection->conn, CONN_BODY) ? MHD_YES : MHD_NO;
}

/* -------------------------------------------------------------------------------------------- */
/* The body and after */

/* In the middle of a body; the connection ends here and the client is seen off. */
static enum MHD_Result break_off(struct request *request)
{
    request->connection->linger = true;
    answer_raw(request);
    return MHD_NO;
}

static enum MHD_Result drop_body(struct request *request, size_t len)
{
    if (len <= request->body_bytes_max - request->dropped) {
        request->dropped += len;
        return MHD_YES;
    }
    request->exchange.reply.close = true;
    return break_off(request);
}

static enum MHD_Result on_body(struct request *request, const char *bytes, size_t len)
{
    struct err err = {0};
    if (request->phase == PHASE_DROP)
        return drop_body(request, len);
    if (len > request->body_bytes_max - request->body.len)
        set_too_large(request, &err);
    else if (!body_append(&request->body, bytes, len, (size_t)request->framing.length, &err))
        return MHD_YES;
    refuse(request, &err);
    return break_off(request);
}

static enum err_code check_trailers(struct request *request, struct err *err)
{
    struct field_list list;
    if (request->framing.body != FRAMING_CHUNKED)
        return ERR_OK;
    if (collect_fields(&list, request, MHD_FOOTER_KIND, err))
        return err->code;
    return framing_check_trailers(list.fields, list.count, err);
}

/* begin may hand the exchange to another thread: after HTTP_SUSPENDED it is not ours to look at. */
static enum MHD_Result on_whole(struct request *request)
{
    struct http_exchange *exchange = &request->exchange;
    struct http_server *server = request->server;
    struct err err = {0};
    if (!conns_move(&server->conns, &request->connection->conn, CONN_HELD))
        return MHD_NO;
    exchange->body_ns = clock_now_ns();
    exchange->body = request->body.bytes != NULL ? request->body.bytes : "";
    exchange->body_len = request->body.len;
    if (check_trailers(request, &err)) {
        refuse(request, &err);
        return answer(request);
    }
    if (request->phase == PHASE_DROP)
        return answer(request);
    if (server->app.begin(server->app.context, exchange) == HTTP_SUSPENDED)
        return MHD_YES;
    return answer(request);
}

static enum MHD_Result on_resumed(struct request *request)
{
    request->server->app.finish(request->server->app.context, &request->exchange);
    return answer(request);
}

/* -------------------------------------------------------------------------------------------- */
/* What the library calls, always on the connection's I/O thread */

static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_len, void **request_slot)
{
    (void)context;
    (void)mhd;
    (void)url;
    struct request *request = *request_slot;
    if (request == NULL || request->phase == PHASE_ANSWERED)
        return MHD_NO;
    if (request->phase == PHASE_LINE)
        return on_head(request, method, version);
    if (request->phase == PHASE_SUSPENDED)
        return on_resumed(request);
    if (*upload_len == 0)
        return on_whole(request);
    size_t len = *upload_len;
    *upload_len = 0;
    return on_body(request, upload, len);
}

static struct connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* What it returns becomes the request's slot; NULL makes on_access close the connection. */
static void *on_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    struct http_server *server = context;
    struct connection *connection = connection_of(mhd);
    if (connection == NULL || !conns_move(&server->conns, &connection->conn, CONN_HEAD))
        return NULL;
    struct request *request = request_create(server, connection);
    if (request == NULL)
        return NULL;
    request->mhd = mhd;
    request->target = arena_copy(&request->exchange.arena, target != NULL ? target : "",
                                 target != NULL ? strlen(target) : 0);
    if (request->target != NULL)
        return request;
    request_free(request);
    return NULL;
}

/* A body whose time was up: the receiving side is shut, the answer can still leave. */
static void answer_slow_body(struct request *request)
{
    struct err err = {0};
    enum conn_state in;
    bool arriving = request->phase == PHASE_BODY || request->phase == PHASE_DROP;
    bool overdue =
        conns_state(&request->server->conns, &request->connection->conn, &in) == CONN_OVERDUE;
    if (!arriving || !overdue || in != CONN_BODY)
        return;
    err_set(&err, ERR_SLOW, "request body: not whole after %u ms; %zu bytes had arrived",
            request->server->options.body_timeout_ms, request->body.len + request->dropped);
    refuse(request, &err);
    answer_raw(request);
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **request_slot,
                         enum MHD_RequestTerminationCode why)
{
    (void)mhd;
    struct http_server *server = context;
    struct request *request = *request_slot;
    *request_slot = NULL;
    if (request == NULL)
        return;
    struct connection *connection = request->connection;
    answer_slow_body(request);
    bool told = request->told;
    request_free(request);
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK || !told || connection->linger)
        return;
    connection->before = sockets_traffic(connection->conn.fd);
    conns_move(&server->conns, &connection->conn, CONN_IDLE);
}

static void on_connected(struct http_server *server, struct MHD_Connection *mhd, void **slot)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL || info == NULL) {
        free(connection);
        return; /* on_line then finds no connection and has it closed */
    }
    connection->server = server;
    *slot = connection;
    conns_add(&server->conns, &connection->conn, info->connect_fd);
}

/* An answer that belongs to no request: the head never became whole. */
static void answer_headless(struct connection *connection, const struct err *err)
{
    struct request *request = request_create(connection->server, connection);
    if (request == NULL)
        return;
    refuse(request, err);
    answer_raw(request);
    request_free(request);
}

static void answer_slow_head(struct connection *connection)
{
    struct err err = {0};
    err_set(&err, ERR_SLOW, "request head: not whole after %u ms",
            connection->server->options.header_timeout_ms);
    struct sockets_traffic now = sockets_traffic(connection->conn.fd);
    if (!now.known || now.received > 0)
        answer_headless(connection, &err);
}

/* The library closes by itself after a reply that said so, when the client does, and when it cannot
 * read a request line; only then have bytes come since the last reply without an answer to them. A
 * head that it could not read it has answered. */
static void answer_unreadable(struct connection *connection, enum conn_state state)
{
    struct err err = {0};
    int fd = connection->conn.fd;
    struct sockets_traffic now = sockets_traffic(fd);
    if (sockets_peer_gone(fd) || (now.known && now.received <= connection->before.received))
        return;
    connection->linger = true;
    if (state == CONN_HEAD || !now.known || now.sent != connection->before.sent)
        return;
    err_set(&err, ERR_MALFORMED, "request line: not METHOD TARGET HTTP/1.1");
    answer_headless(connection, &err);
}

static void on_closed(struct http_server *server, struct connection *connection)
{
    enum conn_state in;
    int fd = connection->conn.fd;
    enum conn_state state = conns_state(&server->conns, &connection->conn, &in);
    if (state == CONN_OVERDUE && (in == CONN_NEW || in == CONN_HEAD))
        answer_slow_head(connection);
    else if (state == CONN_NEW || state == CONN_IDLE || state == CONN_HEAD)
        answer_unreadable(connection, state);
    conns_remove(&server->conns, &connection->conn);
    if (connection->linger && !sockets_peer_gone(fd))
        edge_linger(server->edge, fd);
    free(connection);
    edge_room(server->edge);
}

static void on_notify(void *context, struct MHD_Connection *mhd, void **slot,
                      enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        on_connected(context, mhd, slot);
    else if (*slot != NULL)
        on_closed(context, *slot);
}

static void ignore_log(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

/* -------------------------------------------------------------------------------------------- */
/* The server */

/* On the edge's thread. The library closes the socket if it does not want it. */
static void admit(void *context, int fd, const struct sockaddr *address, socklen_t len)
{
    struct http_server *server = context;
    MHD_add_connection(server->daemon, fd, address, len);
}

/* The library's own limit is divided by its threads; the edge keeps the true one, so this is only
 * out of the way. STRICT_FOR_CLIENT is -1 on purpose: it refuses space before a colon, which 1 does
 * not in this version. */
static enum err_code start_daemon(struct http_server *server, struct err *err)
{
    const unsigned threads = server->options.io_threads;
    struct MHD_OptionItem items[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)ignore_log, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL_BYTES, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, -1, NULL},
        {MHD_OPTION_CONNECTION_LIMIT,
         (intptr_t)(server->options.connections_max + 256) * (threads > 1 ? threads : 1), NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_line, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_notify, server},
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    server->daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                             MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_TURBO,
                         0, NULL, NULL, on_access, server, MHD_OPTION_ARRAY, items, MHD_OPTION_END);
    return server->daemon != NULL ? ERR_OK : err_set(err, ERR_IO, "the HTTP library did not start");
}

static void server_free(struct http_server *server)
{
    if (server->edge != NULL)
        edge_stop(server->edge);
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    if (server->edge != NULL)
        edge_close(server->edge);
    conns_deinit(&server->conns);
    free(server);
}

static bool init_conns(struct http_server *server)
{
    const struct http_options *options = &server->options;
    return conns_init(&server->conns, (const unsigned[CONN_STATES]){
                                          [CONN_NEW] = options->header_timeout_ms,
                                          [CONN_IDLE] = IDLE_MS,
                                          [CONN_HEAD] = options->header_timeout_ms,
                                          [CONN_BODY] = options->body_timeout_ms,
                                          [CONN_REPLY] = options->body_timeout_ms,
                                      });
}

enum err_code http_start(struct http_server **out, const struct http_options *options,
                         const struct http_app *app, struct err *err)
{
    *out = NULL;
    struct http_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return err_no_memory(err, sizeof *server);
    server->app = *app;
    server->options = *options;
    server->budget.bytes_max = options->body_bytes_max > SIZE_MAX / BUDGET_BODIES
                                   ? SIZE_MAX
                                   : options->body_bytes_max * BUDGET_BODIES;
    if (!init_conns(server)) {
        free(server);
        return err_set(err, ERR_IO, "no event descriptor");
    }
    if (edge_open(&server->edge, options->address, options->port, &server->conns,
                  options->connections_max, admit, server, err) ||
        start_daemon(server, err) || edge_run(server->edge, err)) {
        server_free(server);
        return err->code;
    }
    *out = server;
    return ERR_OK;
}

unsigned http_port(const struct http_server *server)
{
    return edge_port(server->edge);
}

void http_drain(struct http_server *server)
{
    atomic_store(&server->draining, true);
    conns_drain(&server->conns);
}

void http_quiesce(struct http_server *server)
{
    edge_quiesce(server->edge);
}

unsigned http_busy(const struct http_server *server)
{
    union {
        const struct http_server *from;
        struct http_server *to;
    } ours = {.from = server}; /* looking takes the lock */
    return conns_busy(&ours.to->conns);
}

void http_stop(struct http_server *server)
{
    server_free(server);
}

/* -------------------------------------------------------------------------------------------- */
/* What the application asks of an exchange, which is a request's first member */

static const struct request *request_of(const struct http_exchange *exchange)
{
    return (const struct request *)(const void *)exchange;
}

const char *http_header(const struct http_exchange *exchange, const char *name)
{
    const struct request *request = request_of(exchange);
    return request->mhd != NULL ? MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name)
                                : NULL;
}

const char *http_query(const struct http_exchange *exchange, const char *name)
{
    const struct request *request = request_of(exchange);
    const char *value = NULL;
    if (request->mhd == NULL ||
        MHD_lookup_connection_value_n(request->mhd, MHD_GET_ARGUMENT_KIND, name, strlen(name),
                                      &value, NULL) == MHD_NO)
        return NULL;
    return value != NULL ? value : "";
}

struct visitor {
    void (*visit)(void *context, const char *name, const char *value);
    void *context;
};

static enum MHD_Result visit_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    (void)kind;
    const struct visitor *visitor = context;
    visitor->visit(visitor->context, name, value);
    return MHD_YES;
}

void http_query_each(const struct http_exchange *exchange,
                     void (*visit)(void *context, const char *name, const char *value),
                     void *context)
{
    struct visitor visitor = {.visit = visit, .context = context};
    if (request_of(exchange)->mhd != NULL)
        MHD_get_connection_values(request_of(exchange)->mhd, MHD_GET_ARGUMENT_KIND, visit_argument,
                                  &visitor);
}

void http_suspend(struct http_exchange *exchange)
{
    struct request *request = (struct request *)(void *)exchange;
    assert(request->phase == PHASE_BODY);
    request->phase = PHASE_SUSPENDED;
    MHD_suspend_connection(request->mhd);
}

void http_resume(struct http_exchange *exchange)
{
    MHD_resume_connection(request_of(exchange)->mhd);
}

bool http_client_gone(const struct http_exchange *exchange)
{
    return sockets_peer_gone(request_of(exchange)->connection->conn.fd);
}
