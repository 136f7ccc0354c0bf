/* signals.h - what the main thread does while the server serves: it waits for signals, and tells
 * the service manager that the server is alive.
 *
 *     signals_block();                    before any other thread, which inherits it
 *     signals_await_stop(&service);       until SIGTERM or SIGINT; SIGHUP reloads
 *
 * Threads: the main thread.
 */
#ifndef ATTND_SERVER_SIGNALS_H
#define ATTND_SERVER_SIGNALS_H

#include "server/serve/service.h"

/* SIGTERM, SIGINT and SIGHUP wait for signals_await_stop. SIGPIPE and SIGXFSZ are ignored. */
void signals_block(void);

/* Returns when the server is to stop. */
void signals_await_stop(const struct service *service);

#endif
