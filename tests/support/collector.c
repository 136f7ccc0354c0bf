#include "tests/support/collector.h"

#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUESTS_MAX = 64, BODY_BYTES = 1024 * 1024, HEAD_BYTES = 1024, ANSWERS_MAX = 16 };

struct kept {
    char head[HEAD_BYTES];
    char *body;
    size_t len;
};

struct collector {
    const char *answers[ANSWERS_MAX];
    unsigned answer_count;
    int listener;
    unsigned port;
    char url[64];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t came;

    /* Under the lock. */
    struct kept requests[REQUESTS_MAX];
    unsigned count;
    int connection; /* -1: none */
    bool is_stopping;
};

/* The head, and the body that its length announces; false: the client left before. */
static bool read_request(int fd, struct kept *out)
{
    char *bytes = malloc(BODY_BYTES), *end = NULL;
    size_t len = 0, want = BODY_BYTES - 1;
    ck_assert_ptr_nonnull(bytes);
    while (len < want) {
        ssize_t got = recv(fd, bytes + len, want - len, 0);
        if (got <= 0)
            break;
        bytes[len += (size_t)got] = '\0';
        if (end == NULL && (end = strstr(bytes, "\r\n\r\n")) != NULL)
            want = (size_t)(end + 4 - bytes) +
                   strtoul(strstr(bytes, "Content-Length: ") + 16, NULL, 10);
    }
    if (end == NULL || len < want) {
        free(bytes);
        return false;
    }
    size_t head = (size_t)(end + 4 - bytes);
    snprintf(out->head, sizeof out->head, "%.*s", (int)head, bytes);
    out->len = len - head;
    memmove(bytes, bytes + head, out->len);
    out->body = bytes;
    return true;
}

/* Keeps a request, and returns its number. */
static unsigned keep(struct collector *collector, const struct kept *request)
{
    pthread_mutex_lock(&collector->lock);
    ck_assert_uint_lt(collector->count, REQUESTS_MAX);
    unsigned index = collector->count++;
    collector->requests[index] = *request;
    pthread_cond_broadcast(&collector->came);
    pthread_mutex_unlock(&collector->lock);
    return index;
}

static void answer(struct collector *collector, int fd, unsigned index)
{
    char byte;
    unsigned last = collector->answer_count - 1;
    const char *text = collector->answers[index < last ? index : last];
    if (strcmp(text, COLLECTOR_IS_SILENT) == 0)
        while (recv(fd, &byte, 1, 0) > 0)
            continue;
    else if (send(fd, text, strlen(text), MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
}

static bool begin(struct collector *collector, int fd)
{
    pthread_mutex_lock(&collector->lock);
    collector->connection = fd;
    bool goes_on = !collector->is_stopping;
    pthread_mutex_unlock(&collector->lock);
    return goes_on;
}

static void *run(void *context)
{
    struct collector *collector = context;
    for (int fd; (fd = accept(collector->listener, NULL, NULL)) >= 0;) {
        struct kept request;
        if (begin(collector, fd) && read_request(fd, &request))
            answer(collector, fd, keep(collector, &request));
        begin(collector, -1);
        close(fd);
    }
    return NULL;
}

struct collector *collector_start(const char *const *answers)
{
    struct collector *collector = calloc(1, sizeof *collector);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    ck_assert_ptr_nonnull(collector);
    while (*answers != NULL)
        collector->answers[collector->answer_count++] = *answers++;
    collector->connection = -1;
    pthread_mutex_init(&collector->lock, NULL);
    pthread_cond_init(&collector->came, NULL);
    collector->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(collector->listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(collector->listener, 16), 0);
    ck_assert_int_eq(getsockname(collector->listener, (struct sockaddr *)&address, &len), 0);
    collector->port = ntohs(address.sin_port);
    snprintf(collector->url, sizeof collector->url, "http://127.0.0.1:%u/v1/traces",
             collector->port);
    ck_assert_int_eq(pthread_create(&collector->thread, NULL, run, collector), 0);
    return collector;
}

unsigned collector_port(const struct collector *collector)
{
    return collector->port;
}

const char *collector_url(const struct collector *collector)
{
    return collector->url;
}

void collector_await(struct collector *collector, unsigned count)
{
    struct timespec end;
    int failure = 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += suite_patience_s();
    pthread_mutex_lock(&collector->lock);
    while (collector->count < count && failure == 0)
        failure = pthread_cond_timedwait(&collector->came, &collector->lock, &end);
    unsigned came = collector->count;
    pthread_mutex_unlock(&collector->lock);
    ck_assert_msg(came >= count, "%u requests of %u came", came, count);
}

unsigned collector_count(struct collector *collector)
{
    pthread_mutex_lock(&collector->lock);
    unsigned count = collector->count;
    pthread_mutex_unlock(&collector->lock);
    return count;
}

const char *collector_head(struct collector *collector, unsigned index)
{
    collector_await(collector, index + 1);
    return collector->requests[index].head;
}

const void *collector_body(struct collector *collector, unsigned index, size_t *len)
{
    collector_await(collector, index + 1);
    *len = collector->requests[index].len;
    return collector->requests[index].body;
}

void collector_stop(struct collector *collector)
{
    pthread_mutex_lock(&collector->lock);
    collector->is_stopping = true;
    if (collector->connection >= 0)
        shutdown(collector->connection, SHUT_RDWR);
    pthread_mutex_unlock(&collector->lock);
    shutdown(collector->listener, SHUT_RDWR); /* ends accept */
    pthread_join(collector->thread, NULL);
    close(collector->listener);
    for (unsigned i = 0; i < collector->count; i++)
        free(collector->requests[i].body);
    pthread_cond_destroy(&collector->came);
    pthread_mutex_destroy(&collector->lock);
    free(collector);
}
