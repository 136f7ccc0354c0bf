/* connection.c - see connection.h. How the end of a connection is interpreted.
 *
 * HTTP leaves it open whether a server that closes a connection has taken the request (RFC 9112
 * section 9.3.1), so a client may not repeat it without knowing more. On Linux more is known,
 * because a FIN carries the count of bytes that had arrived when it was sent, and TCP_INFO tells
 * that count:
 *   - not all bytes written when the connection ended: the server never saw the whole request.
 *     OUTCOME_UNSENT.
 *   - orderly end, not all bytes acknowledged: the server had closed before they arrived, the known
 *     race between an idle close and the next request. OUTCOME_UNSENT; if the connection had served
 *     before, the client repeats the request once on a new connection. UNSENT is the only case in
 *     which a request is repeated.
 *   - orderly end, all acknowledged, no byte of a reply: OUTCOME_LOST.
 *   - a reset: the acknowledgement may have been delayed and then never sent, so its absence proves
 *     nothing. The server closed with bytes unread, or was killed, or its listener closed while the
 *     connection waited to be accepted: OUTCOME_RESET.
 * Under TLS what is compared are the bytes of records, from the handshake on. A connection that
 * ends during the handshake is UNSENT, a certificate that is not trusted REFUSED.
 * Without TCP_INFO the bytes count as acknowledged: the server is then judged strictly. */
#include "tools/client/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* linux/tcp.h has the fields that glibc's struct tcp_info lacks, but the two cannot be included
 * together; tcpi_bytes_acked is a u64 at byte 120 of the kernel's structure, which only grows at
 * its end. */
enum { TCP_INFO_BYTES_ACKED = 120, TCP_INFO_BYTES = 128 };

void connection_init(struct connection *connection)
{
    memset(connection, 0, sizeof *connection);
    connection->fd = -1;
    connection->state = CONNECTION_NONE;
}

void connection_deinit(struct connection *connection)
{
    connection_close(connection);
    http_parse_deinit(&connection->reply);
}

void connection_close(struct connection *connection)
{
    tls_stream_close(connection->tls);
    connection->tls = NULL;
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
    connection->state = CONNECTION_NONE;
    connection->served = 0;
}

/* False if the kernel does not provide it. */
static bool acknowledged(int fd, uint64_t *bytes)
{
    unsigned char info[TCP_INFO_BYTES];
    socklen_t len = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) || len < sizeof info)
        return false;
    memcpy(bytes, info + TCP_INFO_BYTES_ACKED, sizeof *bytes);
    return true;
}

static void begin_count(struct connection *connection)
{
    if (!acknowledged(connection->fd, &connection->acknowledged_0))
        connection->acknowledged_0 = 0;
}

/* Bytes that the peer must have acknowledged once the whole request has been sent. */
static uint64_t due_bytes(const struct connection *connection)
{
    return connection->tls != NULL ? tls_stream_wire_bytes(connection->tls)
                                   : connection->request_len;
}

bool connection_send(struct connection *connection, const struct sockaddr *address,
                     socklen_t address_len, const char *request, size_t len)
{
    connection->request = request;
    connection->request_len = len;
    connection->sent = 0;
    connection->retryable = false;
    http_parse_reset(&connection->reply);
    if (connection->state == CONNECTION_IDLE) {
        if (connection->tls == NULL)
            begin_count(connection);
        connection->state = CONNECTION_SENDING;
        return true;
    }
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (connect(fd, address, address_len) && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        errno = error;
        return false;
    }
    connection->fd = fd;
    connection->state = CONNECTION_CONNECTING;
    return true;
}

static enum connection_result failed(struct connection *connection, enum outcome outcome)
{
    connection->failure = outcome;
    connection->retryable = outcome == OUTCOME_UNSENT && connection->served > 0;
    return CONNECTION_FAILED;
}

static enum connection_result failed_tls(struct connection *connection, enum outcome outcome)
{
    connection->reply.why = connection->err.text;
    return failed(connection, outcome);
}

static enum connection_result shake_hands(struct connection *connection)
{
    switch (tls_stream_shake_hands(connection->tls, &connection->err)) {
    case TLS_STREAM_DONE:
        connection->state = CONNECTION_SENDING;
        break;
    case TLS_STREAM_WAIT:
        break;
    case TLS_STREAM_UNTRUSTED:
        return failed_tls(connection, OUTCOME_REFUSED);
    case TLS_STREAM_BROKEN:
        return failed_tls(connection, OUTCOME_UNSENT);
    }
    return CONNECTION_WAITING;
}

static enum connection_result finish_connect(struct connection *connection)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &len))
        error = errno;
    if (error != 0)
        return failed(connection, OUTCOME_REFUSED);
    struct sockaddr_storage peer;
    len = sizeof peer;
    if (getpeername(connection->fd, (struct sockaddr *)&peer, &len))
        return CONNECTION_WAITING;
    begin_count(connection);
    if (connection->trust != NULL) {
        connection->err = (struct err){0};
        connection->state = CONNECTION_SHAKING;
        if (tls_stream_open(&connection->tls, connection->trust, connection->fd, connection->host,
                            &connection->err))
            return failed_tls(connection, OUTCOME_REFUSED);
        return CONNECTION_WAITING;
    }
    connection->state = CONNECTION_SENDING;
    return CONNECTION_WAITING;
}

/* A server may answer and close before it has read the body (413, 408): when writing fails the
 * reply, if there is one, is still waiting to be read, so the state moves on to receiving. */
static void write_request(struct connection *connection)
{
    while (connection->sent < connection->request_len) {
        const char *from = connection->request + connection->sent;
        size_t left = connection->request_len - connection->sent;
        ssize_t n = connection->tls != NULL ? tls_stream_send(connection->tls, from, left)
                                            : send(connection->fd, from, left, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0)
            break;
        connection->sent += (size_t)n;
        connection->bytes_out += (size_t)n;
    }
    connection->state = CONNECTION_RECEIVING;
}

/* A reply is complete. */
static enum connection_result replied(struct connection *connection, bool more_bytes)
{
    if (more_bytes)
        return failed(connection, OUTCOME_MALFORMED);
    connection->served++;
    connection->state = CONNECTION_IDLE;
    if (connection->reply.closes || connection->sent < connection->request_len)
        connection_close(connection);
    return CONNECTION_REPLIED;
}

static enum connection_result read_end(struct connection *connection, bool reset)
{
    if (!connection->reply.any_byte) { /* it has ended without any byte of a reply */
        uint64_t bytes;
        if (connection->sent < connection->request_len)
            return failed(connection, OUTCOME_UNSENT);
        if (reset)
            return failed(connection, OUTCOME_RESET);
        if (acknowledged(connection->fd, &bytes) &&
            bytes - connection->acknowledged_0 < due_bytes(connection))
            return failed(connection, OUTCOME_UNSENT);
        return failed(connection, OUTCOME_LOST);
    }
    if (!reset && http_parse_end(&connection->reply) == HTTP_PARSE_DONE)
        return replied(connection, false);
    return failed(connection, OUTCOME_CUT);
}

static enum connection_result read_reply(struct connection *connection)
{
    char piece[65536];
    for (;;) {
        ssize_t n = connection->tls != NULL ? tls_stream_recv(connection->tls, piece, sizeof piece)
                                            : recv(connection->fd, piece, sizeof piece, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return CONNECTION_WAITING;
        if (n <= 0)
            return read_end(connection, n < 0);
        connection->bytes_in += (size_t)n;
        size_t used;
        switch (http_parse_feed(&connection->reply, piece, (size_t)n, &used)) {
        case HTTP_PARSE_DONE:
            return replied(connection, used < (size_t)n);
        case HTTP_PARSE_BAD:
            return failed(connection, OUTCOME_MALFORMED);
        case HTTP_PARSE_MORE:
            break;
        }
    }
}

enum connection_result connection_event(struct connection *connection)
{
    if (connection->state == CONNECTION_IDLE) {
        /* No bytes are due, so the peer's close or unexpected bytes end the connection. Two events
         * do not end it: one about writing, from before the reply, and under TLS one about a ticket
         * for a later session. */
        char byte;
        ssize_t n = connection->tls != NULL ? tls_stream_recv(connection->tls, &byte, 1)
                                            : recv(connection->fd, &byte, 1, MSG_PEEK);
        bool has_ended = n >= 0 || (errno != EAGAIN && errno != EINTR);
        return has_ended ? CONNECTION_CLOSED : CONNECTION_WAITING;
    }
    if (connection->state == CONNECTION_CONNECTING) {
        enum connection_result result = finish_connect(connection);
        if (result == CONNECTION_FAILED)
            return result;
    }
    if (connection->state == CONNECTION_SHAKING) {
        enum connection_result result = shake_hands(connection);
        if (result == CONNECTION_FAILED)
            return result;
    }
    if (connection->state == CONNECTION_SENDING)
        write_request(connection);
    if (connection->state == CONNECTION_SENDING || connection->state == CONNECTION_RECEIVING)
        return read_reply(connection);
    return CONNECTION_WAITING;
}

uint32_t connection_wants(const struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_CONNECTING:
        return EPOLLOUT;
    case CONNECTION_SHAKING:
        return tls_stream_wants_write(connection->tls) ? EPOLLOUT : EPOLLIN;
    case CONNECTION_SENDING:
        return EPOLLIN | EPOLLOUT;
    default:
        return EPOLLIN;
    }
}
