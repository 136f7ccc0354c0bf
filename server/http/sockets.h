/* sockets.h - the few things done to TCP sockets without the HTTP library.
 *
 * Threads: no state; the descriptors are the caller's.
 */
#ifndef ATTND_SERVER_HTTP_SOCKETS_H
#define ATTND_SERVER_HTTP_SOCKETS_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A non-blocking listening socket on a numeric IPv4 or IPv6 address; port 0 picks a free one.
 * ERR_IO if it cannot be had. */
enum err_code sockets_listen(int *out, const char *address, unsigned port, struct err *err);
unsigned sockets_port(int fd);

/* From now on no new connection completes: the kernel drops what arrives at the listening socket,
 * so that accepting until there is nothing left leaves no client behind when it is closed. */
void sockets_stop_arrivals(int listen_fd);

/* True if there are received bytes that have not been read yet. */
bool sockets_unread(int fd);

/* True if the kernel would take more bytes to send. */
bool sockets_takes_more(int fd);

/* True if the peer has closed its side, or the connection has failed. */
bool sockets_peer_gone(int fd);

/* True if the peer has left: the connection has failed, or the peer closed its side some time after
 * its last byte. A peer that closed its side together with that byte (nc -N) has sent its request
 * and waits for the answer. */
bool sockets_peer_left(int fd);

/* Bytes that TCP has carried so far, in both directions. */
struct sockets_traffic {
    bool known; /* false: not provided by the kernel (since Linux 4.19) */
    /* unread: received bytes that nobody has read yet; too many, rather than too few, if bytes
     * arrive all the time that it is asked */
    uint64_t received, unread, sent;
};
struct sockets_traffic sockets_traffic(int fd);

/* The local address of the connection, as "127.0.0.1:8080" or "[::1]:8080", if that is a loopback
 * address, or "localhost:80" for a socket in the file system; false else. */
bool sockets_loopback(int fd, char *out, size_t size);

/* Sends what fits at once; a peer that takes no more than that gets no more. */
void sockets_send(int fd, const void *bytes, size_t len);

#endif
