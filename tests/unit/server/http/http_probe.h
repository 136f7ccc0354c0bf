/* http_probe.h - a tiny application and a tiny client for the tests of the HTTP edge.
 *
 * The application answers "METHOD PATH BODYLEN" and remembers every path that it began. Its
 * answer depends on the path: /missing is 404 from head, /small takes 64 KiB, /later suspends and a
 * second thread resumes it, /held suspends until app_release (and so does every /later meanwhile),
 * /kept suspends until app_stop. /parts/N answers in parts: the usual answer, then "part 1\n" to
 * "part N\n", every second one after a suspension; /long likewise, each of 64 KiB and without an
 * end; /broken breaks off behind its first part.
 */
#ifndef ATTND_TESTS_UNIT_SERVER_HTTP_HTTP_PROBE_H
#define ATTND_TESTS_UNIT_SERVER_HTTP_HTTP_PROBE_H

#include "engine/base/clock.h"
#include "server/http/http.h"
#include "server/http/http_request.h"
#include "tests/support/suite.h"
#include "wire/problem.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* True if the library is 0.9.x (library.c), which leaves more for us to refuse. */
static inline bool library_is_lax(void)
{
    struct library library;
    struct err err = {0};
    ck_assert_int_eq(library_identify(&library, MHD_get_version(), &err), ERR_OK);
    return library.is_lax;
}

enum { APP_SMALL = 64 * 1024, APP_PART = 64 * 1024, APP_QUEUE = 4096 };

struct app {
    struct http_server *server;
    unsigned port;
    atomic_uint heads, begins, parts, refuses, dones;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct http_exchange *queue[APP_QUEUE]; /* suspended, oldest first */
    unsigned first, last;
    struct http_exchange *kept;
    bool stopping, held;
    char paths[8192]; /* of every begin, each followed by a newline */
    char request_id[64];
    pthread_t thread;
};

static void app_reply(struct app *app, struct http_exchange *exchange, unsigned status)
{
    char *text = arena_format(&exchange->arena, "%s %s %zu\n", http_method_name(exchange->method),
                              exchange->path, exchange->body_len);
    exchange->reply = (struct http_reply){.status = status,
                                          .content_type = "text/plain",
                                          .body = text,
                                          .body_len = strlen(text),
                                          .allow = status == 405 ? "GET, POST" : NULL,
                                          .request_id = app->request_id};
}

static enum http_next app_head(void *context, struct http_exchange *exchange)
{
    struct app *app = context;
    atomic_fetch_add(&app->heads, 1);
    if (strcmp(exchange->path, "/small") == 0)
        exchange->body_bytes_max = APP_SMALL;
    if (exchange->method == HTTP_OTHER || exchange->method == HTTP_OPTIONS)
        app_reply(app, exchange, 405);
    else if (strcmp(exchange->path, "/missing") == 0)
        app_reply(app, exchange, 404);
    else
        return HTTP_CONTINUE;
    return HTTP_REPLY;
}

static void app_enqueue(struct app *app, struct http_exchange *exchange)
{
    pthread_mutex_lock(&app->lock);
    app->queue[app->last++ % APP_QUEUE] = exchange;
    pthread_cond_broadcast(&app->wake);
    pthread_mutex_unlock(&app->lock);
}

/* How many parts follow the first one; 0: there are none. */
static unsigned long app_parts(const struct http_exchange *exchange)
{
    if (strcmp(exchange->path, "/long") == 0 || strcmp(exchange->path, "/broken") == 0)
        return ULONG_MAX;
    return strncmp(exchange->path, "/parts/", 7) == 0 ? strtoul(exchange->path + 7, NULL, 10) : 0;
}

static enum http_next app_begin(void *context, struct http_exchange *exchange)
{
    struct app *app = context;
    atomic_fetch_add(&app->begins, 1);
    pthread_mutex_lock(&app->lock);
    size_t used = strlen(app->paths);
    snprintf(app->paths + used, sizeof app->paths - used, "%s\n", exchange->path);
    bool held = strcmp(exchange->path, "/held") == 0;
    app->held = app->held || held;
    pthread_mutex_unlock(&app->lock);
    if (strcmp(exchange->path, "/kept") == 0) {
        app->kept = exchange;
        http_suspend(exchange);
        return HTTP_SUSPENDED;
    }
    if (held || strcmp(exchange->path, "/later") == 0) {
        http_suspend(exchange);
        app_enqueue(app, exchange);
        return HTTP_SUSPENDED;
    }
    app_reply(app, exchange, 200);
    exchange->reply.has_more = app_parts(exchange) > 0;
    return HTTP_REPLY;
}

static void app_part(struct http_exchange *exchange)
{
    const unsigned long part = ++*(unsigned long *)exchange->state;
    char *text = arena_alloc(&exchange->arena, APP_PART);
    memset(text, '.', APP_PART);
    exchange->reply.body = text;
    exchange->reply.body_len = APP_PART;
    exchange->reply.has_more = true;
    if (strcmp(exchange->path, "/broken") == 0)
        exchange->reply.body = NULL;
    if (strncmp(exchange->path, "/parts/", 7) != 0)
        return;
    exchange->reply.body_len = (size_t)sprintf(text, "part %lu\n", part);
    exchange->reply.has_more = part < app_parts(exchange);
}

static void app_finish(void *context, struct http_exchange *exchange)
{
    struct app *app = context;
    if (exchange->state != NULL)
        app_part(exchange);
    else
        app_reply(app, exchange, 200);
}

static enum http_next app_more(void *context, struct http_exchange *exchange)
{
    struct app *app = context;
    if (exchange->state == NULL)
        exchange->state = arena_alloc_array(&exchange->arena, 1, sizeof(unsigned long));
    atomic_fetch_add(&app->parts, 1);
    if (*(unsigned long *)exchange->state % 2 == 0) {
        app_part(exchange);
        return HTTP_REPLY;
    }
    http_suspend(exchange);
    app_enqueue(app, exchange);
    return HTTP_SUSPENDED;
}

static void app_refuse(void *context, struct http_exchange *exchange, const struct err *err)
{
    struct app *app = context;
    atomic_fetch_add(&app->refuses, 1);
    app_reply(app, exchange, problem_status(err->code));
    exchange->reply.body = arena_format(&exchange->arena, "refused: %s\n", err->text);
    exchange->reply.body_len = strlen(exchange->reply.body);
}

static void app_done(void *context, struct http_exchange *exchange)
{
    struct app *app = context;
    ck_assert_ptr_nonnull(exchange->path);
    atomic_fetch_add(&app->dones, 1);
}

/* Resumes in the order of suspension, but not while something is held. */
static void *app_main(void *argument)
{
    struct app *app = argument;
    pthread_mutex_lock(&app->lock);
    while (!app->stopping) {
        if (app->first == app->last || app->held) {
            pthread_cond_wait(&app->wake, &app->lock);
            continue;
        }
        struct http_exchange *exchange = app->queue[app->first++ % APP_QUEUE];
        pthread_mutex_unlock(&app->lock);
        http_resume(exchange);
        pthread_mutex_lock(&app->lock);
    }
    pthread_mutex_unlock(&app->lock);
    return NULL;
}

/* The request that was suspended first, once it is. */
static inline struct http_exchange *app_await_suspended(struct app *app)
{
    pthread_mutex_lock(&app->lock);
    while (app->last == 0)
        pthread_cond_wait(&app->wake, &app->lock);
    struct http_exchange *exchange = app->queue[0];
    pthread_mutex_unlock(&app->lock);
    return exchange;
}

static inline void app_release(struct app *app)
{
    pthread_mutex_lock(&app->lock);
    app->held = false;
    pthread_cond_broadcast(&app->wake);
    pthread_mutex_unlock(&app->lock);
}

/* Roomy: tests of the budget set another. */
static struct memory app_memory = {.pool_bytes = (size_t)1 << 30};

static struct http_options app_options(void)
{
    return (struct http_options){.address = "127.0.0.1",
                                 .io_threads = 2,
                                 .connections_max = 512,
                                 .header_timeout_ms = 10000,
                                 .body_timeout_ms = 10000,
                                 .body_bytes_max = 4 * 1024 * 1024,
                                 .memory = &app_memory};
}

static struct app *app_start_with(struct http_options options)
{
    struct app *app = calloc(1, sizeof *app);
    struct err err = {0};
    const struct http_app table = {app,      app_head,   app_begin, app_finish,
                                   app_more, app_refuse, app_done};
    pthread_mutex_init(&app->lock, NULL);
    pthread_cond_init(&app->wake, NULL);
    ck_assert_int_eq(pthread_create(&app->thread, NULL, app_main, app), 0);
    ck_assert_msg(http_start(&app->server, &options, &table, &err) == ERR_OK, "%s", err.text);
    app->port = http_port(app->server);
    return app;
}

static inline struct app *app_start(void)
{
    return app_start_with(app_options());
}

/* After http_stop: every head and refuse must have had its done. */
static void app_free(struct app *app)
{
    pthread_mutex_lock(&app->lock);
    app->stopping = true;
    pthread_cond_broadcast(&app->wake);
    pthread_mutex_unlock(&app->lock);
    pthread_join(app->thread, NULL);
    ck_assert_uint_ge(atomic_load(&app->dones), atomic_load(&app->heads));
    ck_assert_uint_le(atomic_load(&app->dones),
                      atomic_load(&app->heads) + atomic_load(&app->refuses));
    pthread_cond_destroy(&app->wake);
    pthread_mutex_destroy(&app->lock);
    free(app);
}

static void app_stop(struct app *app)
{
    app_release(app);
    if (app->kept != NULL)
        http_resume(app->kept);
    for (int i = 0; i < 500 && http_busy(app->server) > 0; i++)
        usleep(10000);
    http_stop(app->server);
    app_free(app);
}

static int client_try(unsigned port)
{
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int client_open(const struct app *app)
{
    int fd = client_try(app->port);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* False once the server takes no more. */
static bool client_send(int fd, const void *bytes, size_t len)
{
    const char *from = bytes;
    while (len > 0) {
        ssize_t sent = send(fd, from, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        from += sent;
        len -= (size_t)sent;
    }
    return true;
}

static inline bool client_say(int fd, const char *text)
{
    return client_send(fd, text, strlen(text));
}

struct answer {
    unsigned status;
    bool closed; /* the server closed the connection, or failed to answer in time */
    char head[2048], body[2048];
};

static bool client_wait(int fd, int ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, ms) > 0;
}

/* One response, byte by byte, so that the next one stays in the socket. status 0: none came. */
static struct answer client_read(int fd, bool with_body)
{
    struct answer answer = {0};
    size_t len = 0, body_len = 0, want = 0;
    while (len < sizeof answer.head - 1 && strstr(answer.head, "\r\n\r\n") == NULL) {
        if (!client_wait(fd, suite_patience_ms()) || recv(fd, answer.head + len, 1, 0) <= 0) {
            answer.closed = true;
            return answer;
        }
        len++;
    }
    sscanf(answer.head, "HTTP/1.%*c %u", &answer.status);
    const char *length = strcasestr(answer.head, "\r\nContent-Length:");
    if (length != NULL && with_body && answer.status >= 200)
        want = strtoul(length + 17, NULL, 10);
    while (body_len < want && body_len < sizeof answer.body - 1 &&
           client_wait(fd, suite_patience_ms()) && recv(fd, answer.body + body_len, 1, 0) == 1)
        body_len++;
    return answer;
}

static inline bool client_is_closed(int fd)
{
    char byte;
    return client_wait(fd, suite_patience_ms()) && recv(fd, &byte, 1, 0) <= 0;
}

/* A request on a connection of its own. */
static inline struct answer client_ask(const struct app *app, const char *request)
{
    int fd = client_open(app);
    client_say(fd, request);
    struct answer answer = client_read(fd, strncmp(request, "HEAD", 4) != 0);
    close(fd);
    return answer;
}

static inline uint64_t now_ms(void)
{
    return clock_now_ns() / CLOCK_NS_PER_MS;
}

#endif
