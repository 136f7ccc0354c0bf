/* http.c - see http.h. The life of a request, as libmicrohttpd (library.c: which) tells it:
 *
 *   on_connected   a socket of the edge (edge.h) has become a connection
 *   on_line        the request line is whole: the target as sent, before the library decodes it
 *   on_access      once when the head is whole, once for each piece of body, once at the end, and
 *                  once more after a resume
 *   on_completed   the reply is sent or the client gone
 *   on_closed      the connection ends; its socket is still open
 *
 * Deadlines. conns.h gives each state of a connection one total time. A slow body is a 408. A slow
 * head is one if any of it has arrived; a connection that never sent a byte, and one that is idle
 * after a reply, are closed without a reply: a 408 there would be taken for the answer to a request
 * that has just been sent. An overdue connection only loses its receiving side; its I/O thread sees
 * that and sends the reply. A client that does not read its reply gets the time of a body.
 *
 * The library misses an end of file that comes together with bytes: its epoll is edge-triggered,
 * and a short read makes it forget that there was more. So a state that waits for bytes asks the
 * socket first, and gets PARTING_MS if the client has closed its side (conns_move), and what is
 * overdue is shut every REMINDER_MS until it is gone. Only a part of a request line with an end of
 * file goes unnoticed, for header_timeout_ms.
 *
 * The library's own refusals (a header without a colon, a Content-Length that is no number, a bad
 * chunk) are plain 400s that do not pass through `refuse`, the Content-Length ones with a second
 * status line in the place of their text. What is too large for it is refused here. For a request
 * line that it cannot parse it closes without a reply; that one is answered here, which needs
 * MHD_USE_TURBO: without it the sending side is already shut in on_closed.
 *
 * What the library has parsed is looked at in http_head.c, and a request is answered through it in
 * http_answer.c. Code that does not use the library is in http_request.c: limits, refusals, the
 * body.
 *
 * What the I/O threads, the edge and the owner of a suspended request share: conns (locked), the
 * memory, and what http_shared says of draining and stopping (atomic). A request is touched by its
 * I/O thread alone, except while suspended. */
#include "server/http/http.h"

#include "server/http/edge.h"
#include "server/http/http_answer.h"
#include "server/http/http_head.h"
#include "server/http/http_request.h"
#include "server/http/tls.h"
#include "wire/limits.h"

#include <microhttpd.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum {
    PARTING_MS = 250, /* for what a client sent before it closed its side */
    REMINDER_MS = 50, /* until what is overdue is shut once more */
    IDLE_MS = 60000,  /* between requests: longer than most client pools keep theirs */
};

/* A connection's buffers. The library writes zeros over the whole after each request, so an idle
 * connection has it all resident. One half is for bytes as they arrive: a head, or a piece of body;
 * the other for what the head parses into, 64 bytes a field and the cookies once more. Anything up
 * to 32 KiB comes from malloc, more from a mmap for each connection. Bodies of 4 MB cost 2.5 ms in
 * pieces of 64 KiB and 3.4 ms in pieces of 16 KiB; 4000 idle connections 514 MB and 131 MB. */
enum { POOL_BYTES = 32 * 1024 };
_Static_assert((int)LIMIT_HEAD_BYTES <= POOL_BYTES / 2,
               "a head must leave room for what it parses into");
_Static_assert((int)HTTP_CONNECTION_BYTES > POOL_BYTES, "the pool is a part of a connection");

struct http_server {
    struct http_shared shared;
    struct MHD_Daemon *daemon;
    struct edge *edge;
};

/* -------------------------------------------------------------------------------------------- */
/* Callbacks of the library, always on the connection's I/O thread */

static bool take_turn(struct http_request *request, const char *method, const char *version,
                      const char *upload, size_t *upload_len)
{
    size_t len = *upload_len;
    if (request->phase == HTTP_PHASE_LINE)
        return http_answer_head(request, method, version);
    if (request->phase == HTTP_PHASE_SUSPENDED)
        return http_answer_resumed(request);
    if (len == 0)
        return http_answer_whole(request);
    *upload_len = 0;
    return http_request_take_body(request, upload, len);
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *library, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_len, void **request_slot)
{
    (void)context;
    (void)library;
    (void)url;
    struct http_request *request = *request_slot;
    if (request == NULL || request->phase == HTTP_PHASE_ANSWERED)
        return MHD_NO;
    request->connection->intake.unread_bytes = 0;
    return take_turn(request, method, version, upload, upload_len) ? MHD_YES : MHD_NO;
}

static struct http_connection *connection_of(struct MHD_Connection *library)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* The library owes an on_completed for every on_line, but forgets it when an error of its own
 * follows upon another (a Cookie that its pool cannot hold, then a Content-Length that is no
 * number). Then on_closed makes up for it. */
static void end_request(struct http_connection *connection)
{
    struct http_request *request = connection->request;
    connection->request = NULL;
    if (request == NULL)
        return;
    http_answer_end(request);
    http_request_destroy(request);
    received_forget(&connection->received);
}

/* Returns the request's slot; NULL makes on_access close the connection. */
static void *on_line(void *context, const char *target, struct MHD_Connection *library)
{
    struct http_server *server = context;
    struct http_connection *connection = connection_of(library);
    if (connection == NULL || target == NULL ||
        !conns_move(&server->shared.conns, &connection->conn, CONN_HEAD))
        return NULL;
    end_request(connection);
    connection->intake.unread_bytes = 0;
    struct http_request *request = connection->request = http_request_create(connection, target);
    if (request == NULL)
        return NULL;
    request->library = library;
    request->target_at = target;
    http_head_hide_query(target);
    return request;
}

static void on_completed(void *context, struct MHD_Connection *library, void **request_slot,
                         enum MHD_RequestTerminationCode why)
{
    (void)library;
    struct http_server *server = context;
    struct http_request *request = *request_slot;
    *request_slot = NULL;
    if (request == NULL)
        return;
    struct http_connection *connection = request->connection;
    http_request_answer_slow_body(request);
    bool told = request->told;
    end_request(connection);
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK || !told || connection->linger)
        return;
    connection->before = sockets_traffic(connection->conn.fd);
    conns_move(&server->shared.conns, &connection->conn, CONN_IDLE);
}

static void *session_of(struct MHD_Connection *library)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info != NULL ? info->tls_session : NULL;
}

/* The descriptor is copied: in 1.0.x the next question to the library overwrites this answer. */
static void on_connected(struct http_server *server, struct MHD_Connection *library, void **slot)
{
    const int fd = MHD_get_connection_info(library, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct http_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        /* The deadline of a connection that is not in conns would not be checked: it is shut at
         * once, and the library's own limit, in seconds of silence, closes it should that be
         * missed. */
        shutdown(fd, SHUT_RDWR);
        MHD_set_connection_option(library, MHD_CONNECTION_OPTION_TIMEOUT, 1u);
        conns_turned_away(&server->shared.conns, fd);
        return;
    }
    if (server->shared.options.tls != NULL)
        tls_bound(session_of(library), &connection->intake, fd);
    received_open(&connection->received, fd, server->shared.options.tls != NULL);
    connection->shared = &server->shared;
    arena_init(&connection->arena);
    *slot = connection;
    conns_add(&server->shared.conns, &connection->conn, fd);
}

static void on_closed(struct http_server *server, struct http_connection *connection)
{
    int fd = connection->conn.fd;
    end_request(connection);
    http_request_part(connection);
    conns_remove(&server->shared.conns, &connection->conn);
    received_close(&connection->received);
    if ((connection->linger || sockets_unread(fd)) && !sockets_peer_gone(fd))
        edge_linger(server->edge, fd);
    arena_deinit(&connection->arena);
    free(connection);
    edge_room(server->edge);
}

static void on_notify(void *context, struct MHD_Connection *library, void **slot,
                      enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        on_connected(context, library, slot);
    else if (*slot != NULL)
        on_closed(context, *slot);
}

static void ignore_log(void *context, const char *format, va_list args)
{
    (void)context;
    (void)format;
    (void)args;
}

static enum MHD_Result refuse_too_large(struct http_request *request, unsigned status)
{
    struct err err = {0};
    const bool is_lax = request->shared->library.is_lax;
    const bool is_head = request->phase == HTTP_PHASE_LINE;
    if (is_head && !is_lax && status == 413)
        err_set(&err, ERR_TOO_LARGE,
                "request body: larger than any limit; Content-Length is 2^64 - 1 or more");
    else if (is_head)
        err_set(&err, ERR_TOO_LARGE, "request head: larger than %d bytes", LIMIT_HEAD_BYTES);
    else
        err_set(&err, ERR_TOO_LARGE, "request body: the lines between or behind chunks too long");
    if (is_head || is_lax)
        return http_answer_refuse(request, &err) ? MHD_YES : MHD_NO;
    /* 1.0.1 would wait for bytes that it has no room for, and send nothing; so does its closing. */
    http_request_break_off(request, &err);
    shutdown(request->connection->conn.fd,
             request->shared->options.tls != NULL ? SHUT_RDWR : SHUT_WR);
    return MHD_NO;
}

/* Stands before the library's function of that name, which the library calls for its own refusals,
 * too: through the dynamic linker, which finds this one first. What does not fit into the pool
 * (413, 414 and 431 and, from a line of a chunked body, 500, all in HTML) is a refusal like others
 * here. 1.0.x says 501 of an endless method, and 413 also of a Content-Length of 2^64 - 1 and more.
 */
enum MHD_Result MHD_queue_response(struct MHD_Connection *library, unsigned status,
                                   struct MHD_Response *response)
{
    union {
        void *symbol;
        enum MHD_Result (*call)(struct MHD_Connection *, unsigned, struct MHD_Response *);
    } next = {.symbol = dlsym(RTLD_NEXT, "MHD_queue_response")};
    struct http_connection *connection = connection_of(library);
    bool is_too_large =
        status == 413 || status == 414 || status == 431 || status == 500 || status == 501;
    if (connection == NULL || !is_too_large)
        return next.call(library, status, response);
    if (connection->request == NULL) { /* not even a request line */
        connection->request = http_request_create(connection, "");
        if (connection->request != NULL)
            connection->request->library = library;
    }
    struct http_request *request = connection->request;
    if (request == NULL || request->phase == HTTP_PHASE_ANSWERED)
        return next.call(library, status, response);
    return refuse_too_large(request, status);
}

/* -------------------------------------------------------------------------------------------- */
/* The server */

/* Called on the edge's thread. The library closes the socket if it refuses the connection. */
static void admit(void *context, int fd, const struct sockaddr *address, socklen_t len)
{
    struct http_server *server = context;
    if (MHD_add_connection(server->daemon, fd, address, len) != MHD_YES)
        conns_turned_away(&server->shared.conns, fd);
}

/* The library's own limit is divided by its threads; the edge keeps the true one, so this is only
 * out of the way. */
static enum err_code start_daemon(struct http_server *server, struct err *err)
{
    const unsigned threads = server->shared.options.io_threads;
    const struct library *library = &server->shared.library;
    struct MHD_OptionItem tls[4];
    struct MHD_OptionItem items[] = {
        {MHD_OPTION_ARRAY, 0, tls},
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)ignore_log, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, POOL_BYTES, NULL},
        {(enum MHD_OPTION)library->strict_option, library->strict_level, NULL},
        {MHD_OPTION_CONNECTION_LIMIT,
         (intptr_t)(server->shared.options.connections_max + 256) * (threads > 1 ? threads : 1),
         NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_line, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_notify, server},
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    union {
        const char *from;
        void *to;
    } priorities = {.from = tls_priorities()}, authorities = {.from = NULL};
    unsigned count = 0;
    struct tls *own = server->shared.options.tls;
    if (own != NULL) {
        authorities.from = tls_client_authorities(own);
        tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities.to};
        tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0,
                                               tls_certificate_callback(own)};
        if (authorities.from != NULL)
            tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, authorities.to};
    }
    tls[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    const unsigned secure = own != NULL ? MHD_USE_TLS : 0;
    server->daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                             MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_TURBO | secure,
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
    conns_deinit(&server->shared.conns);
    free(server);
}

/* TLS is for what may be listened to on the way. */
static enum err_code open_edge(struct http_server *server, struct err *err)
{
    struct http_options *options = &server->shared.options;
    struct listener listener;
    if (options->inherited > 0 ? listener_adopt(&listener, options->inherited, err)
                               : listener_open(&listener, options->address, options->port, err))
        return err->code;
    if (listener_is_local(&listener))
        options->tls = NULL;
    server->shared.conns.has_handshakes = options->tls != NULL;
    if (edge_open(&server->edge, &listener, &server->shared.conns, options->connections_max, admit,
                  server, err))
        return err->code;
    if (options->is_held)
        edge_hold(server->edge);
    return ERR_OK;
}

enum err_code http_check_library(struct err *err)
{
    struct library library;
    return library_identify(&library, MHD_get_version(), err);
}

enum err_code http_start(struct http_server **out, const struct http_options *options,
                         const struct http_app *app, struct err *err)
{
    *out = NULL;
    struct library library;
    if (library_identify(&library, MHD_get_version(), err))
        return err->code;
    struct http_server *server = calloc(1, sizeof *server);
    if (server == NULL)
        return err_no_memory(err, sizeof *server);
    server->shared.app = *app;
    server->shared.options = *options;
    server->shared.library = library;
    if (!conns_init(&server->shared.conns, (const unsigned[CONN_STATES]){
                                               [CONN_NEW] = options->header_timeout_ms,
                                               [CONN_IDLE] = IDLE_MS,
                                               [CONN_HEAD] = options->header_timeout_ms,
                                               [CONN_BODY] = options->body_timeout_ms,
                                               [CONN_REPLY] = options->body_timeout_ms,
                                               [CONN_PARTING] = PARTING_MS,
                                               [CONN_OVERDUE] = REMINDER_MS,
                                           })) {
        free(server);
        return err_set(err, ERR_IO, "no event descriptor");
    }
    if (open_edge(server, err) || start_daemon(server, err) || edge_run(server->edge, err)) {
        server_free(server);
        return err->code;
    }
    *out = server;
    return ERR_OK;
}

unsigned http_port(const struct http_server *server)
{
    return edge_listener(server->edge)->port;
}

const char *http_address(const struct http_server *server)
{
    return edge_listener(server->edge)->address;
}

void http_accept(struct http_server *server)
{
    edge_room(server->edge);
}

void http_drain(struct http_server *server)
{
    atomic_store(&server->shared.draining, true);
    conns_drain(&server->shared.conns);
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
    } ours = {.from = server}; /* reading it takes the lock */
    return conns_busy(&ours.to->shared.conns);
}

void http_stop(struct http_server *server)
{
    http_answer_stop(&server->shared);
    server_free(server);
}

/* -------------------------------------------------------------------------------------------- */
/* The application's functions on a connection */

bool http_loopback_address(const struct http_exchange *exchange, char out[HTTP_ADDRESS_BYTES])
{
    int fd = http_request_of(exchange)->connection->conn.fd;
    return sockets_loopback(fd, out, HTTP_ADDRESS_BYTES);
}

bool http_is_secure(const struct http_exchange *exchange)
{
    return http_request_of(exchange)->shared->options.tls != NULL;
}

const char *const *http_client_names(const struct http_exchange *exchange, unsigned *count)
{
    const struct http_request *request = http_request_of(exchange);
    struct http_connection *connection = request->connection;
    if (!connection->names_known && request->library != NULL && http_is_secure(exchange)) {
        void *session = session_of(request->library);
        connection->names_known = true;
        if (session != NULL)
            connection->names = tls_client_names(session, &connection->name_count,
                                                 &connection->names_until_s, &connection->arena);
    }
    const bool holds = connection->names != NULL && time(NULL) <= connection->names_until_s;
    *count = holds ? connection->name_count : 0;
    return holds ? connection->names : NULL;
}

bool http_client_gone(const struct http_exchange *exchange)
{
    return sockets_peer_left(http_request_of(exchange)->connection->conn.fd);
}
