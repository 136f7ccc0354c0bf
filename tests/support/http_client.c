#include "tests/support/http_client.h"

#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static struct timeval patience(void)
{
    return (struct timeval){.tv_sec = suite_patience_s()};
}

int http_connect(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = patience();
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("http_connect");
        abort();
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return fd;
}

int http_connect_path(const char *path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval limit = patience();
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

bool http_send(int fd, const void *bytes, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(fd, (const char *)bytes + sent, len - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

bool http_send_text(int fd, const char *text)
{
    return http_send(fd, text, strlen(text));
}

/* Reads up to and including the empty line; false if the connection ends before it. */
static bool read_head(int fd, struct http_answer *answer)
{
    size_t len = 0;
    while (len + 1 < sizeof answer->head) {
        if (recv(fd, answer->head + len, 1, 0) != 1)
            return false;
        len++;
        if (len >= 4 && memcmp(answer->head + len - 4, "\r\n\r\n", 4) == 0)
            return true;
    }
    return false;
}

/* Exactly `expected` bytes, or all up to the connection's end if that is negative. */
static bool read_body(int fd, struct http_answer *answer, long expected)
{
    size_t size = expected >= 0 ? (size_t)expected + 1 : 1 << 20;
    answer->body = malloc(size);
    while (answer->body != NULL && answer->body_len + 1 < size) {
        ssize_t n = recv(fd, answer->body + answer->body_len, size - 1 - answer->body_len, 0);
        if (n <= 0)
            break;
        answer->body_len += (size_t)n;
    }
    if (answer->body == NULL)
        return false;
    answer->body[answer->body_len] = '\0';
    return expected < 0 || answer->body_len == (size_t)expected;
}

struct http_answer http_read(int fd, bool no_body)
{
    struct http_answer answer = {0};
    char length[32];
    if (!read_head(fd, &answer) || strncmp(answer.head, "HTTP/1.", 7) != 0)
        return answer;
    int status = (int)strtol(answer.head + 9, NULL, 10);
    long expected = http_answer_header(&answer, "Content-Length", length, sizeof length)
                        ? strtol(length, NULL, 10)
                        : -1;
    if (no_body || status == 100 || read_body(fd, &answer, expected))
        answer.status = status;
    return answer;
}

void http_answer_free(struct http_answer *answer)
{
    free(answer->body);
    answer->body = NULL;
}

bool http_answer_header(const struct http_answer *answer, const char *name, char *out, size_t size)
{
    size_t len = strlen(name);
    for (const char *line = strstr(answer->head, "\r\n"); line != NULL;
         line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, len) == 0 && line[2 + len] == ':') {
            const char *value = line + 3 + len + strspn(line + 3 + len, " ");
            snprintf(out, size, "%.*s", (int)strcspn(value, "\r"), value);
            return true;
        }
    return false;
}

struct http_answer http_request(unsigned port, const char *method, const char *path,
                                const char *extra, const void *body, size_t body_len)
{
    char head[4096];
    int fd = http_connect(port);
    int len =
        snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: test\r\n%s", method, path, extra);
    if (body != NULL)
        len += snprintf(head + len, sizeof head - (size_t)len, "Content-Length: %zu\r\n", body_len);
    len += snprintf(head + len, sizeof head - (size_t)len, "Connection: close\r\n\r\n");
    http_send(fd, head, (size_t)len);
    if (body != NULL)
        http_send(fd, body, body_len);
    struct http_answer answer = http_read(fd, strcmp(method, "HEAD") == 0);
    close(fd);
    return answer;
}

struct http_answer http_post_json(unsigned port, const char *path, const char *json)
{
    return http_request(port, "POST", path, "Content-Type: application/json\r\n", json,
                        strlen(json));
}

struct http_answer http_get(unsigned port, const char *path)
{
    return http_request(port, "GET", path, "", NULL, 0);
}
