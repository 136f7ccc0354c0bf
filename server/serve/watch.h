/* watch.h - whether a request's result is still needed: the interrupt (engine/base/interrupt.h) for
 * long work.
 *
 *     struct watch watch;
 *     struct interrupt *interrupt = watch_begin(&watch, service, request);
 *     engine_prepare(..., interrupt, ...);            ends within some milliseconds
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_SERVE_WATCH_H
#define ATTND_SERVER_SERVE_WATCH_H

#include "engine/base/interrupt.h"
#include "server/serve/service.h"

/* Interval between two checks of one watch: each is a poll(2) of the client's socket. */
enum { WATCH_INTERVAL_MS = 2 };

struct watch {
    const struct service *service;
    struct request *request;
    struct interrupt interrupt;
};

/* Sets the reason why the answer is no longer needed in request->err: ERR_NOT_READY (the server
 * stops), ERR_DEADLINE (request->deadline_ns has passed), ERR_SLOW (the client has gone;
 * request->is_abandoned is set). True if there is no such reason, nor any other error. */
bool watch_wanted(const struct service *service, struct request *request);

/* An interrupt, stored in the watch, that calls watch_wanted. */
enum err_code watch_look(void *context, struct err *err);
struct interrupt *watch_begin(struct watch *watch, const struct service *service,
                              struct request *request);

#endif
