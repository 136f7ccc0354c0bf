/* server_url.h - the URL of a server, as a person types it: http://HOST:PORT[/PATH] or https://.
 *
 *     struct server_url url;
 *     if (server_url_read(&url, "http://127.0.0.1:8080", "/predict", &err) ||
 *         server_url_resolve(&url, &err))
 *         ...
 *     connection_send(&connection, &url.address.any, url.address_len, ...);
 *
 * Threads: immutable once it is resolved.
 */
#ifndef ATTND_TOOLS_CLIENT_SERVER_URL_H
#define ATTND_TOOLS_CLIENT_SERVER_URL_H

#include "engine/base/err.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

struct server_url {
    bool is_secure;     /* https */
    char authority[64]; /* HOST:PORT, the Host header */
    char host[64];      /* without brackets: whose certificate it must be */
    unsigned port;
    const char *path; /* borrowed from the text, or the path that is taken if there is none */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address; /* set by server_url_resolve */
    socklen_t address_len;
};

/* ERR_UNUSABLE, with what is expected; the port must be there. */
enum err_code server_url_read(struct server_url *out, const char *text, const char *path,
                              struct err *err);

/* The first address of the host, by the machine's resolver: it may take seconds. ERR_IO. */
enum err_code server_url_resolve(struct server_url *url, struct err *err);

/* localhost or a numeric loopback address, which is then the address; no resolver is asked. */
bool server_url_take_loopback(struct server_url *url);

#endif
