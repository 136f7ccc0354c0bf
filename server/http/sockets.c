#include "server/http/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel cuts this to net.core.somaxconn. A long backlog costs nothing; a full one refuses
 * clients. */
enum { BACKLOG = 4096 };

/* The same time as CONNS_PARTING_MS: an end of file may arrive some packets later. */
enum { CLOSED_TOGETHER_MS = 250 };

static int open_listener(const struct addrinfo *info)
{
    const int on = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    /* Inherited by accepted sockets; small replies must not wait for an acknowledgement. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

enum err_code sockets_listen(int *out, const char *address, unsigned port, struct err *err)
{
    *out = -1;
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *info = NULL;
    if (port > UINT16_MAX || getaddrinfo(address, service, &hints, &info) != 0)
        return err_set(err, ERR_IO, "listen: not a numeric IPv4 or IPv6 address and port");
    *out = open_listener(info);
    freeaddrinfo(info);
    if (*out < 0)
        return errno == EADDRNOTAVAIL
                   ? err_set(err, ERR_IO, "listen: %s is no address of this machine", address)
                   : err_set(err, ERR_IO, "listen: port %u cannot be bound: %s%s", port,
                             strerror(errno), errno == EADDRINUSE ? "; choose another port" : "");
    return ERR_OK;
}

unsigned sockets_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return 0;
    return address.ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port)
               : ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

bool sockets_peer_gone(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLRDHUP};
    return poll(&poll_fd, 1, 0) > 0 &&
           (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* The end of file acknowledges something, too, and is the last to do so until it is answered; so
 * the two times are as far apart as it came after the last byte. */
static bool closed_with_last_byte(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           info.tcpi_last_data_recv < info.tcpi_last_ack_recv + CLOSED_TOGETHER_MS;
}

bool sockets_peer_left(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLRDHUP};
    if (poll(&poll_fd, 1, 0) <= 0)
        return false;
    return (poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0 ||
           ((poll_fd.revents & POLLRDHUP) != 0 && !closed_with_last_byte(fd));
}

/* A socket filter that returns 0 drops every packet (socket(7)). Clients that connect meanwhile
 * repeat their SYN and are refused once the socket is closed. */
void sockets_stop_arrivals(int listen_fd)
{
    struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &drop};
    setsockopt(listen_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

bool sockets_unread(int fd)
{
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

bool sockets_takes_more(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents == POLLOUT;
}

/* An older kernel fills in less of the struct. What arrives between the two calls is among the
 * unread alone: so both are asked again until the unread are as many as before. */
struct sockets_traffic sockets_traffic(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    int unread = 0, before;
    for (int tries = 8; tries > 0; tries--) {
        before = unread;
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
            len < offsetof(struct tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent ||
            ioctl(fd, FIONREAD, &unread) != 0)
            return (struct sockets_traffic){.known = false};
        if (unread == before)
            break;
    }
    uint64_t received = info.tcpi_bytes_received;
    return (struct sockets_traffic){.known = true,
                                    .received = received,
                                    .unread =
                                        (unsigned)unread < received ? (unsigned)unread : received,
                                    .sent = info.tcpi_bytes_sent};
}

void sockets_send(int fd, const void *bytes, size_t len)
{
    const char *from = bytes;
    while (len > 0) {
        ssize_t sent = send(fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        from += sent;
        len -= (size_t)sent;
    }
}

static bool is_of_path(const struct sockaddr_storage *own, socklen_t len)
{
    const struct sockaddr_un *local = (const struct sockaddr_un *)(const void *)own;
    return own->ss_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path) &&
           local->sun_path[0] == '/';
}

/* An IPv4 address that an IPv6 socket shows is an IPv4 address. */
bool sockets_loopback(int fd, char *out, size_t size)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &len) != 0)
        return false;
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&own;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&own;
    unsigned char bytes[4];
    bool is_mapped = own.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);
    if (own.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)) {
        snprintf(out, size, "[::1]:%u", ntohs(six->sin6_port));
        return true;
    }
    if (is_of_path(&own, len)) {
        snprintf(out, size, "localhost:80");
        return true;
    }
    if (own.ss_family != AF_INET && !is_mapped)
        return false;
    memcpy(bytes, is_mapped ? (const void *)(six->sin6_addr.s6_addr + 12) : &four->sin_addr, 4);
    unsigned port = ntohs(is_mapped ? six->sin6_port : four->sin_port);
    snprintf(out, size, "%u.%u.%u.%u:%u", bytes[0], bytes[1], bytes[2], bytes[3], port);
    return bytes[0] == 127;
}
