/* fits.h - new versions of a model from the labels that people gave: attnd-fit run beside the
 * server on the kept inputs that have a right label, one fit at a time.
 *
 *     fits_open(&fits, &(struct fits_options){.state_dir = dir, .review = review, ...}, &err);
 *     fits_start(fits, reloader, &err);                  from now on fits are taken
 *     fits_submit(fits, snapshot, &call, &number, &err); POST /admin/fits
 *     fits_read(fits, number, &arena, &row, &err);       how far it is, and what became of it
 *     fits_stop(fits);                                   ends one that runs
 *     fits_close(fits);
 *
 * A fit gathers its inputs into STATE_DIR/fits/N (fits_gather.h), runs attnd-fit in the lowest
 * class of the system (fits_process.h), which writes MODELS_ROOT/NAME-VERSION or nothing, and asks
 * the reloader to load that as a shadow. The inputs are removed when it has ended, however it did.
 * The last FITS_KEPT are remembered until the process ends; what each was is in the audit log.
 *
 * Threads: any, but for open, start, stop and close.
 */
#ifndef ATTND_SERVER_FITS_FITS_H
#define ATTND_SERVER_FITS_FITS_H

#include "server/fits/fits_job.h"
#include "server/serve/snapshots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct feedback;
struct fits;
struct metrics;
struct reloader;
struct review;

struct fits_options {
    const char *state_dir;
    const char *program; /* "": attnd-fit beside the running program */
    unsigned threads;    /* 0: half of the processors, at least 1 */
    struct audit *audit; /* borrowed, like the others; NULL: none is kept */
    struct feedback *feedback;
    struct review *review; /* NULL: no inputs are kept */
    struct snapshots *const *snapshots;
};

/* Removes what a process before left in STATE_DIR/fits, which is there only while a fit runs. Yours
 * to close. ERR_UNUSABLE: a path is too long; ERR_IO; ERR_NO_MEMORY. */
enum err_code fits_open(struct fits **out, const struct fits_options *options, struct err *err);
enum err_code fits_start(struct fits *fits, struct reloader *reloader, struct err *err);
/* Cancels all that wait and ends the one that runs, within two seconds. NULL is allowed, as for
 * close. */
void fits_stop(struct fits *fits);
void fits_close(struct fits *fits);

/* Queues it. ERR_NOT_FOUND: no such model; ERR_UNUSABLE: a version that names no directory;
 * ERR_CONFLICT: an option is missing, or labels, or the version is taken; ERR_QUEUE_FULL;
 * ERR_NOT_READY: starting or stopping, labels are still being read, or the audit log cannot be
 * written. Then nothing was queued. */
enum err_code fits_submit(struct fits *fits, const struct snapshot *snapshot,
                          const struct fits_call *call, uint64_t *number, struct err *err);

/* One fit as it is now. */
struct fits_row {
    uint64_t number;
    const char *name, *from_version, *version;
    const char *dir; /* directory of the new version, below models_root */
    enum fits_state state;
    const char *step;   /* "gathering", "features", "fits", "writing", "loading"; NULL: none yet */
    size_t done, total; /* progress of the step */
    const char *labels; /* {label: examples} as text; NULL: not gathered yet */
    const char *created, *finished; /* RFC 3339; finished NULL: not yet */
    double seconds;                 /* since it began to run */
    const char *detail;             /* error text; NULL: none */
    const char *report;             /* fits_report_read's text; NULL: there is none */
};

/* Strings are the arena's. ERR_NOT_FOUND; ERR_NO_MEMORY. */
enum err_code fits_read(struct fits *fits, uint64_t number, struct arena *arena,
                        struct fits_row *out, struct err *err);
/* Newest first. ERR_NO_MEMORY. */
enum err_code fits_list(struct fits *fits, struct arena *arena, struct fits_row **out,
                        unsigned *count, struct err *err);
/* Most bytes that one row takes from an arena. */
size_t fits_row_bytes(void);

/* Cancels a fit that waits or runs. Forgets a fit that has ended, and removes the directory that it
 * wrote, unless a version in service lies there. *out: its state afterwards; a running fit is
 * cancelled when its process has ended. ERR_NOT_FOUND; ERR_CONFLICT: it is being loaded. */
enum err_code fits_remove(struct fits *fits, uint64_t number, struct arena *arena,
                          struct fits_row *out, struct err *err);

/* The report.html of one that succeeded, whole, in the arena. ERR_NOT_FOUND. */
enum err_code fits_report_page(struct fits *fits, uint64_t number, struct arena *arena,
                               const char **html, size_t *len, struct err *err);
/* Bytes that the page takes from an arena; 0: there is no page. */
size_t fits_report_page_bytes(struct fits *fits, uint64_t number);

/* Its collector of metrics: metrics_register. All 0 of NULL. */
void fits_register(struct fits *fits, struct metrics *metrics);

#endif
