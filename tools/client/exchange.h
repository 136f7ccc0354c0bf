/* exchange.h - one request and its reply on a connection that stays open, waiting for it.
 *
 *     connection_init(&connection);
 *     if (exchange_run(&connection, &url, request, len, 30000, &err) == ERR_OK)
 *         ... connection.reply.status, connection.reply.body ...
 *     connection_deinit(&connection);
 *
 * Threads: a connection belongs to one at a time.
 */
#ifndef ATTND_TOOLS_CLIENT_EXCHANGE_H
#define ATTND_TOOLS_CLIENT_EXCHANGE_H

#include "engine/base/err.h"
#include "tools/client/connection.h"
#include "tools/client/server_url.h"

/* The url is resolved. ERR_IO if no whole reply came, with why; the connection is then closed.
 * Whether the server took the request is not known: send again only what may be done twice. */
enum err_code exchange_run(struct connection *connection, const struct server_url *url,
                           const char *request, size_t len, unsigned timeout_ms, struct err *err);

#endif
