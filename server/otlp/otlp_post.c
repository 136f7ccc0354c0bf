#include "server/otlp/otlp_post.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LOOK_MS = 50, /* how often the patience is looked at */
    HEAD_BYTES = OTLP_ENDPOINT_BYTES + 256,
    ANSWER_BYTES = 16 * 1024,
};

static uint64_t left_ns(const struct otlp_patience *patience)
{
    uint64_t now_ns = clock_now_ns(), until_ns = patience->until_ns;
    uint64_t stop_ns = atomic_load(patience->stop_ns);
    if (stop_ns != 0 && stop_ns < until_ns)
        until_ns = stop_ns;
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

/* Until the socket can be read or written, or has failed. */
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

static enum err_code finish_connect(int fd, const struct otlp_patience *patience, struct err *err)
{
    int failure = 0;
    socklen_t len = sizeof failure;
    if (await(fd, POLLOUT, patience, err))
        return err->code;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) != 0)
        failure = errno;
    return failure == 0 ? ERR_OK
                        : err_set(err, ERR_IO, "cannot be connected to: %s", strerror(failure));
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
    return finish_connect(*fd, patience, err);
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

/* Until the answer is whole, or its end, or more than one has. A connection that is reset behind
 * an answer does not take it back. */
static enum err_code receive(int fd, char bytes[ANSWER_BYTES], size_t *len,
                             const struct otlp_patience *patience, struct err *err)
{
    *len = 0;
    while (*len < ANSWER_BYTES && !otlp_answer_is_whole(bytes, *len)) {
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

static enum err_code exchange(int fd, const struct otlp_endpoint *endpoint, const void *body,
                              size_t body_len, const struct otlp_patience *patience,
                              struct otlp_answer *out, struct err *err)
{
    char head[HEAD_BYTES], answer[ANSWER_BYTES];
    size_t answer_len;
    int len = snprintf(head, sizeof head,
                       "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: attnd/%s\r\n"
                       "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n"
                       "Connection: close\r\n\r\n",
                       endpoint->path, endpoint->host, ATTND_VERSION, body_len);
    if (send_all(fd, head, (size_t)len, patience, err) ||
        send_all(fd, body, body_len, patience, err) ||
        receive(fd, answer, &answer_len, patience, err))
        return err->code;
    otlp_answer_read(out, answer, answer_len);
    return out->status != 0 ? ERR_OK : err_set(err, ERR_IO, "gave no answer in HTTP");
}

enum err_code otlp_post(const struct otlp_endpoint *endpoint, const void *body, size_t len,
                        const struct otlp_patience *patience, struct otlp_answer *out,
                        struct err *err)
{
    int fd = -1;
    if (open_connection(&fd, endpoint, patience, err) == ERR_OK)
        exchange(fd, endpoint, body, len, patience, out, err);
    if (fd >= 0)
        close(fd);
    return err->code;
}
