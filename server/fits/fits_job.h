/* fits_job.h - one fit: the call, its state, and its lines in the audit log and in the program log.
 *
 *     {"type":"fit","action":"requested","fit":7,"model","from_version","version","key"?,"reason"?}
 *     {"type":"fit","action":"succeeded","fit":7,...,"labels":{"Donut":12},"digest"?,"failed"?}
 *
 * "action" is then the state that the fit ended in. "failed" is what went wrong, also if the fit
 * succeeded and could not be loaded. "digest" is the new version's, if it was loaded.
 *
 * Threads: a job belongs to the thread that carries it out; others read the fields "under lock"
 * under the lock of fits_state.h.
 */
#ifndef ATTND_SERVER_FITS_FITS_JOB_H
#define ATTND_SERVER_FITS_FITS_JOB_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"
#include "server/audit/audit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FITS_KEPT = 64,              /* fits that are remembered, with those that wait */
    FITS_WAITING_MAX = 16,       /* fits that wait for the one that runs */
    FITS_TEXT_BYTES = 16 * 1024, /* limit of the counts of labels, and of the report's figures */
    FITS_DETAIL_BYTES = 512,
    FITS_VERSION_BYTES = 64
};

#define FITS_STATES(X)                                                                             \
    X(FITS_QUEUED, "queued")                                                                       \
    X(FITS_RUNNING, "running")                                                                     \
    X(FITS_SUCCEEDED, "succeeded")                                                                 \
    X(FITS_REFUSED, "refused") /* the labels make no model, or one that is worse */                \
    X(FITS_FAILED, "failed")                                                                       \
    X(FITS_CANCELLED, "cancelled")

enum fits_state {
#define X(state, name) state,
    FITS_STATES(X)
#undef X
        FITS_STATE_COUNT
};

/* "queued", ... */
const char *fits_state_name(enum fits_state state);

/* A request for a fit. Strings are borrowed. */
struct fits_call {
    const char *name;
    const char *version; /* NULL: one more than the primary's, the next that is free */
    double loss_max, target_precision;
    bool is_prior_equal;
    double shadow;      /* 0: the new version is written, and not loaded */
    const char *reason; /* NULL: none was given */
    const char *key;    /* name of the key that asks; NULL: none was needed */
};

/* Private to server/fits. */
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
    char digest[72]; /* the new version's; "": not known */
    /* Under lock. */
    enum fits_state state;
    bool is_held;      /* its line is on the way to the audit log: nobody sees it */
    bool is_cancelled; /* partners: fits_remove, fits_stop, the thread */
    bool is_loading;   /* no longer to be cancelled */
    const char *step;  /* static */
    size_t done, total;
    uint64_t begun_ns, ended_ns;
    char finished[32];
    char detail[FITS_DETAIL_BYTES];
    char *labels, *report; /* allocated; NULL: none */
};

void fits_job_free(struct fit_job *job); /* NULL is allowed */

/* "2026-11-22T21:39:44.123Z" */
void fits_job_time(char out[32]);

/* ERR_NOT_READY: the audit log cannot be written, and it is to refuse then. */
enum err_code fits_job_tell_requested(struct audit *audit, const struct fit_job *job,
                                      struct err *err);
void fits_job_tell_started(const struct fit_job *job);
void fits_job_tell_ended(struct audit *audit, const struct fit_job *job);

/* ---- the report ---- */

/* The main figures of the report that attnd-fit leaves in a model's directory (fits_report.c).
 *
 *     {"before": {"inputs", "accuracy", "accuracy_interval", "macro_f1", "macro_f1_interval",
 *                 "f1": {label: {"f1", "f1_interval"}}}, "after": {the same}}
 *
 * as report.json has them, without the paths of the models. If that is more than FITS_TEXT_BYTES,
 * "f1" is left out on both sides.
 */

/* Yours to free; NULL in *out if the report has none. ERR_IO, ERR_MALFORMED, ERR_NO_MEMORY. */
enum err_code fits_report_read(char **out, const char *dir, struct err *err);

#endif
