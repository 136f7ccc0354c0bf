/* edge.h - the edge thread: it accepts connections, shuts the overdue ones, and closes, after a
 * linger, connections that were refused while still sending.
 *
 *     edge_open(&edge, &listener, &conns, 4096, admit, context, &err);
 *     edge_run(edge, &err);
 *     ... edge_quiesce(edge) ...
 *     edge_stop(edge);       no admit after this
 *     edge_close(edge);
 *
 * It sleeps in epoll_wait until a client, a deadline or a lingering close needs it: an idle server
 * uses no processor time.
 */
#ifndef ATTND_SERVER_HTTP_EDGE_H
#define ATTND_SERVER_HTTP_EDGE_H

#include "engine/base/err.h"
#include "server/http/conns.h"
#include "server/http/listener.h"

#include <sys/socket.h>

struct edge;

/* Takes over a connected non-blocking socket; on the edge's thread, or in edge_quiesce. */
typedef void edge_admit(void *context, int fd, const struct sockaddr *address, socklen_t len);

/* Takes the listener over, also if it fails; nothing is accepted yet. */
enum err_code edge_open(struct edge **out, struct listener *listener, struct conns *conns,
                        unsigned connections_max, edge_admit *admit, void *context,
                        struct err *err);
/* Call it before edge_run: clients then wait in the backlog until edge_room. */
void edge_hold(struct edge *edge);
enum err_code edge_run(struct edge *edge, struct err *err);
const struct listener *edge_listener(const struct edge *edge); /* address and port are constant */

/* Accepts all completed connections, then closes the listening socket before it returns; those of
 * an inherited one wait for the next process. Any thread. */
void edge_quiesce(struct edge *edge);

/* Tells the edge that a connection has gone, in case it had to stop accepting. Any thread. */
void edge_room(struct edge *edge);

/* Keeps a connection open on a descriptor of its own until the client has read its answer: closing
 * with unread bytes would send a reset that destroys it. Any thread. */
void edge_linger(struct edge *edge, int fd);

void edge_stop(struct edge *edge);
void edge_close(struct edge *edge);

#endif
