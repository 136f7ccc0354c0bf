/* watch.h - whether a request is still worth working for: the interrupt (engine/base/interrupt.h)
 * of whatever is long to do for it.
 *
 *     struct watch watch;
 *     struct interrupt *interrupt = watch_begin(&watch, service, request);
 *     engine_prepare_image(..., interrupt, ...);      ends within some milliseconds
 *
 * Threads: the holder of the baton.
 */
#ifndef ATTND_SERVER_SERVE_WATCH_H
#define ATTND_SERVER_SERVE_WATCH_H

#include "engine/base/interrupt.h"
#include "server/serve/service.h"

/* Between two looks of one watch: each is a poll(2) of the client's socket. */
enum { WATCH_INTERVAL_MS = 2 };

struct watch {
    const struct service *service;
    struct request *request;
    struct interrupt interrupt;
};

/* Why nobody needs the answer any more, in request->err: ERR_NOT_READY (the server stops),
 * ERR_DEADLINE (request->deadline_ns has passed), ERR_SLOW (the client has gone;
 * request->is_abandoned is set). True if there is no such reason, nor any other error. */
bool watch_wanted(const struct service *service, struct request *request);

/* An interrupt that asks watch_wanted by watch_look, whose context is the watch. It lives there. */
enum err_code watch_look(void *context, struct err *err);
struct interrupt *watch_begin(struct watch *watch, const struct service *service,
                              struct request *request);

#endif
