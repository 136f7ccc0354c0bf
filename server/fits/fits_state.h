/* fits_state.h - what fits.c keeps and the other files of this room work on. Private to
 * this room.
 *
 * A fit belongs to the thread while it runs; what others are told of it is under the lock.
 */
#ifndef ATTND_SERVER_FITS_FITS_STATE_H
#define ATTND_SERVER_FITS_FITS_STATE_H

#include "server/fits/fits.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

struct fit_job {
    struct arena arena; /* holds the strings of what does not change */
    uint64_t number;
    struct fits_call call;
    const char *from_version, *version, *model_dir, *dtype;
    const char *dir, *out; /* NAME-VERSION, and its path */
    enum engine_kind kind;
    char created[32];
    /* Written by the thread that carries it out or cancels it, before `state` shows it. */
    enum fits_state outcome;
    char digest[72]; /* of the new version; "": not known */
    /* Under lock. */
    enum fits_state state;
    bool is_held;      /* its line is on the way to the audit log: nobody sees it */
    bool is_cancelled; /* partners: fits_remove, fits_stop, the thread */
    const char *step;  /* static */
    size_t done, total;
    uint64_t begun_ns, ended_ns;
    char finished[32];
    char detail[FITS_DETAIL_BYTES];
    char *labels, *report; /* of malloc; NULL: none */
};

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

/* fits_run.c: carries one out, by the thread. */
void fits_run(struct fits *fits, struct fit_job *job);

/* fits_submit.c: a job for a call, in memory of its own, or why there is none. It has no number. */
enum err_code fits_make(struct fits *fits, const struct snapshot *snapshot,
                        const struct fits_call *call, struct fit_job **out, struct err *err);
void fits_free(struct fit_job *job); /* NULL is allowed */

/* fits.c: whether a fit that waits or runs is to make this version. */
bool fits_is_claimed(struct fits *fits, const char *name, const char *version);

/* fits.c: the place of one that others see. ERR_NOT_FOUND. */
enum err_code fits_find_locked(const struct fits *fits, uint64_t number, unsigned *at,
                               struct err *err);
unsigned fits_waiting_locked(const struct fits *fits);

/* fits_told.c. ERR_NO_MEMORY. */
enum err_code fits_copy_locked(const struct fit_job *job, struct arena *arena, struct fits_row *out,
                               struct err *err);

/* fits.c: what the thread tells. */
void fits_step(struct fits *fits, struct fit_job *job, const char *step, size_t done, size_t total);
bool fits_is_cancelled(struct fits *fits, const struct fit_job *job);
/* False: it was cancelled before; from now on it cannot be. */
bool fits_begin_loading(struct fits *fits, struct fit_job *job);

/* "2026-11-22T21:39:44.123Z" */
void fits_time(char out[32]);

#endif
