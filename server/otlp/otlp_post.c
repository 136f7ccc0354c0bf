/* otlp_post.c - see otlp_post.h: the endpoint, the answer, and the connection between them. */
#include "server/otlp/otlp_post.h"

#include "engine/base/clock.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    LOOK_MS = 50, /* interval of looking at the patience */
    HEAD_BYTES = OTLP_ENDPOINT_BYTES + 256,
    ANSWER_BYTES = 16 * 1024,
};

/* ---- the endpoint ---- */

static enum err_code refuse_endpoint(struct err *err)
{
    return err_set(err, ERR_UNUSABLE,
                   "expected http://ADDRESS:PORT/PATH, such as http://127.0.0.1:4318/v1/traces, "
                   "with a numeric address or localhost, a port from 1 to 65535, and at most %d "
                   "characters; https and names are for a collector beside attnd, which forwards",
                   OTLP_ENDPOINT_BYTES - 1);
}

/* "65535"; 0: not one. */
static unsigned parse_port(const char *text, size_t len)
{
    unsigned port = 0;
    if (len == 0 || len > 5)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i]))
            return 0;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return port <= 65535 ? port : 0;
}

/* "127.0.0.1", "[::1]" or "localhost". */
static bool parse_address(struct otlp_endpoint *out, const char *text, size_t len, unsigned port)
{
    char host[INET6_ADDRSTRLEN];
    bool is_v6 = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(is_v6 ? len - 2 : len), is_v6 ? text + 1 : text);
    if (len >= sizeof host)
        return false;
    if (is_v6) {
        out->address.v6.sin6_family = AF_INET6;
        out->address.v6.sin6_port = htons((uint16_t)port);
        out->address_len = sizeof out->address.v6;
        return inet_pton(AF_INET6, host, &out->address.v6.sin6_addr) == 1;
    }
    out->address.v4.sin_family = AF_INET;
    out->address.v4.sin_port = htons((uint16_t)port);
    out->address_len = sizeof out->address.v4;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                     &out->address.v4.sin_addr) == 1;
}

/* True if the path may stand in a request line. */
static bool is_path(const char *path)
{
    for (const char *at = path; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == '#')
            return false;
    return true;
}

enum err_code otlp_post_endpoint(struct otlp_endpoint *out, const char *url, struct err *err)
{
    static const char scheme[] = "http://";
    memset(out, 0, sizeof *out);
    if (strncmp(url, scheme, sizeof scheme - 1) != 0 || strlen(url) >= OTLP_ENDPOINT_BYTES)
        return refuse_endpoint(err);
    const char *host = url + sizeof scheme - 1, *path = host + strcspn(host, "/");
    size_t len = (size_t)(path - host);
    const char *colon = memrchr(host, ':', len);
    if (colon == NULL || len >= sizeof out->host)
        return refuse_endpoint(err);
    unsigned port = parse_port(colon + 1, (size_t)(path - colon - 1));
    if (port == 0 || !parse_address(out, host, (size_t)(colon - host), port) || !is_path(path))
        return refuse_endpoint(err);
    memcpy(out->host, host, len);
    snprintf(out->path, sizeof out->path, "%s", path[0] != '\0' ? path : "/v1/traces");
    return ERR_OK;
}

/* ---- the answer: its head ---- */

/* Start of the body; NULL: the head is not whole. */
static const char *body_of(const char *bytes, size_t len)
{
    const char *end = memmem(bytes, len, "\r\n\r\n", 4);
    return end != NULL ? end + 4 : NULL;
}

/* A whole number at the start of a value, at most 9 digits; false: there is none. */
static bool read_number(const char *text, const char *end, unsigned *out)
{
    *out = 0;
    size_t digits = 0;
    while (text < end && *text == ' ')
        text++;
    for (; text < end && *text >= '0' && *text <= '9' && digits < 9; text++, digits++)
        *out = *out * 10 + (unsigned)(*text - '0');
    return digits > 0 && text < end && *text == '\r';
}

/* The number that a header of a whole head has for its value. */
static bool header_number(const char *bytes, const char *body, const char *name, unsigned *out)
{
    size_t len = strlen(name);
    const char *line = bytes;
    while ((line = memmem(line, (size_t)(body - line), "\r\n", 2)) != NULL) {
        line += 2;
        if ((size_t)(body - line) > len && strncasecmp(line, name, len) == 0 && line[len] == ':')
            return read_number(line + len + 1, body, out);
    }
    return false;
}

bool otlp_post_is_whole(const char *bytes, size_t len)
{
    const char *body = body_of(bytes, len);
    unsigned body_len;
    return body != NULL && header_number(bytes, body, "content-length", &body_len) &&
           (size_t)(bytes + len - body) >= body_len;
}

/* "HTTP/1.1 200 " */
static unsigned read_status(const char *bytes, size_t len)
{
    static const char version[] = "HTTP/1.";
    enum { AT = sizeof version + 1 }; /* behind the last digit and a blank */
    unsigned status = 0;
    if (len < AT + 4 || memcmp(bytes, version, sizeof version - 1) != 0)
        return 0;
    for (size_t i = AT; i < AT + 3; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return 0;
        status = status * 10 + (unsigned)(bytes[i] - '0');
    }
    return status >= 100 && status <= 599 ? status : 0;
}

/* ---- the answer: its body ---- */

struct reader {
    const unsigned char *at, *end;
    bool has_failed;
};

static uint64_t read_varint(struct reader *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at == in->end)
            break;
        const unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    in->has_failed = true;
    return 0;
}

/* Content of a field of the wire type "length". */
static struct reader read_inside(struct reader *in)
{
    uint64_t len = read_varint(in);
    if (in->has_failed || len > (uint64_t)(in->end - in->at)) {
        in->has_failed = true;
        return (struct reader){in->end, in->end, true};
    }
    const unsigned char *at = in->at;
    in->at += len;
    return (struct reader){at, in->at, false};
}

/* ExportTraceServiceResponse.partial_success (1), in it rejected_spans (1), int64, and
 * error_message (2). */
static uint64_t read_rejected(const char *bytes, size_t len)
{
    enum { PARTIAL_SUCCESS = 1 << 3 | 2, REJECTED_SPANS = 1 << 3 | 0, ERROR_MESSAGE = 2 << 3 | 2 };
    struct reader whole = {(const unsigned char *)bytes, (const unsigned char *)bytes + len, false};
    if (read_varint(&whole) != PARTIAL_SUCCESS)
        return 0;
    struct reader in = read_inside(&whole);
    uint64_t rejected = 0;
    while (!in.has_failed && in.at < in.end) {
        uint64_t tag = read_varint(&in);
        if (tag == REJECTED_SPANS)
            rejected = read_varint(&in);
        else if (tag == ERROR_MESSAGE)
            read_inside(&in);
        else
            return rejected;
    }
    return in.has_failed || rejected > INT64_MAX ? 0 : rejected;
}

void otlp_post_read(struct otlp_answer *out, const char *bytes, size_t len)
{
    const char *body = body_of(bytes, len);
    *out = (struct otlp_answer){0};
    if (body == NULL)
        return;
    out->status = read_status(bytes, len);
    if (!header_number(bytes, body, "retry-after", &out->retry_after_s))
        out->retry_after_s = 0;
    unsigned body_len; /* none: the body may be in chunks, which are not understood */
    if (out->status == 200 && header_number(bytes, body, "content-length", &body_len) &&
        (size_t)(bytes + len - body) >= body_len)
        out->rejected = read_rejected(body, body_len);
}

/* ---- the connection ---- */

static uint64_t left_ns(const struct otlp_patience *patience)
{
    uint64_t now_ns = clock_now_ns(), until_ns = patience->until_ns;
    uint64_t stop_ns = atomic_load(patience->stop_ns);
    if (stop_ns != 0 && stop_ns < until_ns)
        until_ns = stop_ns;
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

/* Waits until the socket can be read or written, or has failed. */
static enum err_code await(int fd, short events, const struct otlp_patience *patience,
                           struct err *err)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (uint64_t left; (left = left_ns(patience)) > 0;) {
        uint64_t ms = left / CLOCK_NS_PER_MS + 1;
        if (poll(&poll_fd, 1, ms < LOOK_MS ? (int)ms : LOOK_MS) > 0)
            return ERR_OK;
    }
    return err_set(err, ERR_IO, "no answer in time");
}

static enum err_code open_connection(int *fd, const struct otlp_endpoint *endpoint,
                                     const struct otlp_patience *patience, struct err *err)
{
    *fd = socket(endpoint->address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return err_set(err, ERR_IO, "no socket: %s", strerror(errno));
    if (connect(*fd, &endpoint->address.any, endpoint->address_len) == 0)
        return ERR_OK;
    if (errno != EINPROGRESS)
        return err_set(err, ERR_IO, "cannot be connected to: %s", strerror(errno));
    int failure = 0;
    socklen_t len = sizeof failure;
    if (await(*fd, POLLOUT, patience, err))
        return err->code;
    if (getsockopt(*fd, SOL_SOCKET, SO_ERROR, &failure, &len) != 0)
        failure = errno;
    return failure == 0 ? ERR_OK
                        : err_set(err, ERR_IO, "cannot be connected to: %s", strerror(failure));
}

static enum err_code send_all(int fd, const char *bytes, size_t len,
                              const struct otlp_patience *patience, struct err *err)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        } else if (errno != EAGAIN && errno != EINTR) {
            return err_set(err, ERR_IO, "closed the connection: %s", strerror(errno));
        } else if (await(fd, POLLOUT, patience, err)) {
            return err->code;
        }
    }
    return ERR_OK;
}

/* Reads until the answer is complete, the connection ends, or the buffer is full. An answer counts
 * even if the connection is reset behind it. */
static enum err_code receive(int fd, char bytes[ANSWER_BYTES], size_t *len,
                             const struct otlp_patience *patience, struct err *err)
{
    *len = 0;
    while (*len < ANSWER_BYTES && !otlp_post_is_whole(bytes, *len)) {
        ssize_t got = recv(fd, bytes + *len, ANSWER_BYTES - *len, 0);
        if (got > 0)
            *len += (size_t)got;
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            break;
        else if (await(fd, POLLIN, patience, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code otlp_post(const struct otlp_endpoint *endpoint, const void *body, size_t len,
                        const struct otlp_patience *patience, struct otlp_answer *out,
                        struct err *err)
{
    char head[HEAD_BYTES], answer[ANSWER_BYTES];
    size_t answer_len;
    int fd = -1;
    if (open_connection(&fd, endpoint, patience, err))
        goto out;
    int head_len = snprintf(head, sizeof head,
                            "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: attnd/%s\r\n"
                            "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n"
                            "Connection: close\r\n\r\n",
                            endpoint->path, endpoint->host, ATTND_VERSION, len);
    if (send_all(fd, head, (size_t)head_len, patience, err) ||
        send_all(fd, body, len, patience, err) || receive(fd, answer, &answer_len, patience, err))
        goto out;
    otlp_post_read(out, answer, answer_len);
    if (out->status == 0)
        err_set(err, ERR_IO, "gave no answer in HTTP");
out:
    if (fd >= 0)
        close(fd);
    return err->code;
}
