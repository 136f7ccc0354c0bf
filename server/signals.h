/* signals.h - signals of the server, from its start on. While it serves the main thread waits for
 * them, and tells the service manager that the server is alive.
 *
 *     signals_block();                              before any other thread, which inherits it
 *     signals_watch_start(&start, &err);            SIGTERM and SIGINT end the process
 *     ... models are opened, which may take minutes ...
 *     signals_watch_end(&start);
 *     signals_await_stop(&service);                 until SIGTERM or SIGINT; SIGHUP reloads
 *
 * Threads: the main thread.
 */
#ifndef ATTND_SERVER_SIGNALS_H
#define ATTND_SERVER_SIGNALS_H

#include "server/audit/audit.h"
#include "server/serve/service.h"

#include <pthread.h>

/* SIGTERM, SIGINT and SIGHUP wait for who asks for them. SIGPIPE and SIGXFSZ are ignored. */
void signals_block(void);

/* A start that is watched by a thread; all zeros: it is not. */
struct signals_start {
    struct audit *_Atomic audit; /* partner: who opens it; NULL: there is none yet */
    pthread_t thread;
    int end; /* an eventfd; 0: there is no thread */
};

/* Until signals_watch_end SIGTERM and SIGINT end the process with 0, after a line in the log and in
 * the audit log: nobody has been promised anything yet. The audit log stays open until then.
 * ERR_IO. */
enum err_code signals_watch_start(struct signals_start *start, struct err *err);
/* A signal that comes now waits for signals_await_stop. One that was not begun is allowed. */
void signals_watch_end(struct signals_start *start);

/* Returns when the server is to stop. */
void signals_await_stop(const struct service *service);

#endif
