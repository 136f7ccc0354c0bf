/* fits_process.h - a program run beside the server, to its end or until it is cancelled.
 *
 *     struct fits_process process = {.argv = argv, .line = take, .is_cancelled = ask, ...};
 *     fits_process_run(&process, &status, &err);
 *
 * It gets nothing of the server's but its working directory: no descriptor beside /dev/null and a
 * pipe for both outputs, an environment of its own, no signal blocked or ignored, and a process
 * group of its own, so that a terminal's Ctrl-C is the server's. Of the environment it needs only
 * where libraries are.
 *
 * Threads: a run belongs to one.
 */
#ifndef ATTND_SERVER_FITS_FITS_PROCESS_H
#define ATTND_SERVER_FITS_FITS_PROCESS_H

#include "engine/base/err.h"

#include <stdbool.h>

enum {
    FITS_PROCESS_LINE_BYTES = 1024, /* longer lines are cut */
    FITS_PROCESS_KILL_MS = 1000     /* from SIGTERM to SIGKILL */
};

struct fits_process {
    const char *const *argv; /* argv[0] is the path; NULL behind the last */
    int wake;                /* readable: is_cancelled is worth asking; it is not read */
    /* Each line of its output, without the end of line. */
    void (*line)(void *context, const char *line);
    bool (*is_cancelled)(void *context);
    void *context;
};

/* *status as waitpid tells it, of one that was cancelled, too. ERR_IO: it could not be started, or
 * its end is not known. */
enum err_code fits_process_run(const struct fits_process *process, int *status, struct err *err);

#endif
