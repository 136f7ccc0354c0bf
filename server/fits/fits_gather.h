/* fits_gather.h - gathers the inputs of a fit: the kept inputs of a model that have a right label,
 * as a list; images are files that the list names.
 *
 *     fits_gather_any(review, feedback, "wafer-vit", &any, &err);       cheap
 *     fits_gather(&gather, &gathered, &err);
 *     {"image":"42.png","label":"Donut"}                                DIR/data.jsonl
 *
 * Inputs of all versions of the model count. An id that was used again stands for its newest input.
 * Inputs that were deleted meanwhile, to make room, are passed over.
 *
 * Threads: any; no state.
 */
#ifndef ATTND_SERVER_FITS_FITS_GATHER_H
#define ATTND_SERVER_FITS_FITS_GATHER_H

#include "engine/base/err.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>

struct feedback;
struct review;

#define FITS_GATHER_LIST "data.jsonl"

/* *any: an input of the model that is still kept has a right label. ERR_NOT_READY: inputs or labels
 * are still being read. */
enum err_code fits_gather_any(struct review *review, struct feedback *feedback, const char *model,
                              bool *any, struct err *err);

struct fits_gather {
    struct review *review;
    struct feedback *feedback;
    const char *model;
    enum engine_kind kind;                                   /* others are passed over */
    const char *dir;                                         /* made, and empty */
    bool (*go_on)(void *context, size_t done, size_t total); /* false: ERR_NOT_READY */
    void *context;
};

struct fits_gathered {
    size_t count;
    char *labels; /* {label: examples}, at most FITS_TEXT_BYTES: the rest is left out; yours to
                     free */
};

/* ERR_IO, ERR_NO_MEMORY, ERR_NOT_READY. */
enum err_code fits_gather(const struct fits_gather *gather, struct fits_gathered *out,
                          struct err *err);

#endif
