#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 256, REQUEST_BYTES = 64 * 1024 };

struct peer {
    struct scripted_server *server;
    int fd;
    pthread_t thread;
};

struct scripted_server {
    int listener;
    unsigned port;
    pthread_t thread;
    atomic_uint connections, requests;
    struct peer peers[CONNECTIONS_MAX]; /* of the accepting thread until it is joined */
};

/* Reads one request, head and body. False at the connection's end. */
static bool read_request(int fd, char request[REQUEST_BYTES + 1])
{
    size_t len = 0;
    for (;;) {
        request[len] = '\0';
        const char *body = strstr(request, "\r\n\r\n");
        const char *length = strcasestr(request, "Content-Length:");
        size_t want = length != NULL ? strtoul(length + 15, NULL, 10) : 0;
        if (body != NULL && len >= (size_t)(body + 4 - request) + want)
            return true;
        ssize_t got = recv(fd, request + len, REQUEST_BYTES - len, 0);
        if (got <= 0)
            return false;
        len += (size_t)got;
    }
}

static void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return; /* the client has gone: nobody is left to tell */
}

static void reply(int fd, const char *status, const char *header, const char *body)
{
    char text[1024];
    snprintf(text, sizeof text, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status, header,
             strlen(body), body);
    say(fd, text);
}

static void answer_other(int fd)
{
    reply(fd, "200 OK", "", "{\"label\":\"z\",\"score\":0.75,\"predictions\":[]}");
}

static void answer_slowly(int fd)
{
    usleep(200 * 1000);
    reply(fd, "200 OK", "", SCRIPTED_OK_BODY);
}

/* A server that is there again at the third request of the process. */
static void answer_recovering(int fd)
{
    static atomic_uint asked;
    if (atomic_fetch_add(&asked, 1) < 2)
        reply(fd, "503 Service Unavailable", "Retry-After: 1\r\n", "{}");
    else
        reply(fd, "200 OK", "", SCRIPTED_OK_BODY);
}

/* Deeds after which the connection goes on. False: it is none of them. */
static bool answer(int fd, const char *request)
{
    static const struct {
        const char *deed, *status, *header, *body;
    } rows[] = {
        {"do-ok", "200 OK", "", SCRIPTED_OK_BODY},
        {"do-garbage", "200 OK", "", "not JSON"},
        {"do-reject", "429 Too Many Requests", "Retry-After: 1\r\n", "{}"},
        {"do-429", "429 Too Many Requests", "", "{}"},
        {"do-503", "503 Service Unavailable", "", "{}"},
        {"do-500", "500 Internal Server Error", "", "{}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(request, rows[i].deed) != NULL) {
            reply(fd, rows[i].status, rows[i].header, rows[i].body);
            return true;
        }
    if (strstr(request, "do-other") != NULL)
        answer_other(fd);
    else if (strstr(request, "do-slowly") != NULL)
        answer_slowly(fd);
    else if (strstr(request, "do-recover") != NULL)
        answer_recovering(fd);
    else
        return strstr(request, "do-nothing") != NULL;
    return true;
}

/* The answer and the connection's end go out as one segment, so the client has seen both when it
 * has read the answer. A descriptor stays, for scripted_server_stop. */
static void answer_and_leave(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &(int){1}, sizeof(int));
    reply(fd, "200 OK", "", SCRIPTED_OK_BODY);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, fd) < 0)
        abort();
    close(nothing);
}

/* Deeds that end the connection. */
static void end(int fd, const char *request)
{
    if (strstr(request, "do-leave") != NULL)
        answer_and_leave(fd);
    else if (strstr(request, "do-close") != NULL)
        reply(fd, "200 OK", "Connection: close\r\n", SCRIPTED_OK_BODY);
    else if (strstr(request, "do-cut") != NULL)
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"label\":");
    else if (strstr(request, "do-noise") != NULL)
        say(fd, "220 mail.example ESMTP\r\n\r\n");
    shutdown(fd, SHUT_RDWR);
}

static void *peer_main(void *context)
{
    struct peer *peer = context;
    char *request = malloc(REQUEST_BYTES + 1);
    while (request != NULL && read_request(peer->fd, request)) {
        atomic_fetch_add(&peer->server->requests, 1);
        if (answer(peer->fd, request))
            continue;
        end(peer->fd, request);
        break;
    }
    free(request);
    return NULL;
}

static void *server_main(void *context)
{
    struct scripted_server *server = context;
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0)
            break;
        server->peers[i] = (struct peer){.server = server, .fd = fd};
        atomic_fetch_add(&server->connections, 1); /* before its first answer */
        if (pthread_create(&server->peers[i].thread, NULL, peer_main, &server->peers[i]) != 0)
            abort();
    }
    return NULL;
}

struct scripted_server *scripted_server_start(void)
{
    struct scripted_server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    if (server == NULL)
        abort();
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, len) != 0 ||
        listen(server->listener, CONNECTIONS_MAX) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &len) != 0 ||
        pthread_create(&server->thread, NULL, server_main, server) != 0)
        abort();
    server->port = ntohs(address.sin_port);
    return server;
}

unsigned scripted_server_port(const struct scripted_server *server)
{
    return server->port;
}

unsigned scripted_server_connections(const struct scripted_server *server)
{
    return atomic_load(&server->connections);
}

unsigned scripted_server_requests(const struct scripted_server *server)
{
    return atomic_load(&server->requests);
}

void scripted_server_stop(struct scripted_server *server)
{
    shutdown(server->listener, SHUT_RDWR); /* wakes accept */
    pthread_join(server->thread, NULL);
    close(server->listener);
    for (unsigned i = 0; i < scripted_server_connections(server); i++) {
        shutdown(server->peers[i].fd, SHUT_RDWR);
        pthread_join(server->peers[i].thread, NULL);
        close(server->peers[i].fd);
    }
    free(server);
}
