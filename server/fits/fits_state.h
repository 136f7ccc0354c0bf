/* fits_state.h - the list of fits, which fits.c, fits_submit.c, fits_run.c and fits_told.c work on.
 * Private to them. Threads: functions are called under the lock.
 */
#ifndef ATTND_SERVER_FITS_FITS_STATE_H
#define ATTND_SERVER_FITS_FITS_STATE_H

#include "server/fits/fits.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

struct fits {
    struct fits_options options;
    char dir[PATH_MAX], program[PATH_MAX];
    atomic_bool stop; /* partners: fits_stop, engine_digest */
    int wake;         /* an eventfd: is_cancelled of the one that runs was set */
    pthread_mutex_t lock;
    pthread_cond_t wanted; /* with lock: a job came, or all is closing */
    /* Under lock. */
    struct fit_job *jobs[FITS_KEPT]; /* [count] oldest first */
    unsigned count;
    uint64_t last; /* number */
    bool is_started, is_closing, is_running;
    uint64_t ended[FITS_STATE_COUNT];
    /* Used by the main thread; the thread borrows the reloader. */
    struct reloader *reloader;
    pthread_t thread;
};

/* fits_state.c */
bool fits_is_over(const struct fit_job *job);
void fits_take_out_locked(struct fits *fits, unsigned at);
unsigned fits_waiting_locked(const struct fits *fits);
/* The place of one that others see. ERR_NOT_FOUND. */
enum err_code fits_find_locked(const struct fits *fits, uint64_t number, unsigned *at,
                               struct err *err);

/* fits_run.c: carries one out, by the thread. */
void fits_run(struct fits *fits, struct fit_job *job);

/* fits_told.c. ERR_NO_MEMORY. */
enum err_code fits_copy_locked(const struct fit_job *job, struct arena *arena, struct fits_row *out,
                               struct err *err);

#endif
