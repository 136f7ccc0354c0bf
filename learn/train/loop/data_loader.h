/* data_loader.h - prepares inputs, one batch at a time, with all threads, and cuts a batch into
 * micro-batches that the network can hold.
 *
 *     data_loader_open(&loader, samples, batch, &err);
 *     data_loader_prepare(&loader, pool, items, count, &order, &err);
 *     for (unsigned at = 0; data_loader_next(&loader, &at, tokens_max, &part);) ...
 *
 * Random numbers of an input are a function of seed and position in the run, not of the thread that
 * prepares it. Threads: one at a time, with the caller's pool.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_DATA_LOADER_H
#define ATTND_LEARN_TRAIN_LOOP_DATA_LOADER_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/model/input.h"
#include "learn/data/samples.h"

#include <stdbool.h>

struct data_loader {
    const struct samples *samples;
    unsigned rows_max, rows;            /* of a batch; of the current one */
    struct engine_input *inputs;        /* [rows] */
    const struct engine_input **listed; /* [rows] their addresses, as struct network_batch wants */
    struct samples_targets *targets;    /* [rows] of masked language modelling, tags and texts */
    struct engine_input *read;          /* [rows] of a model that writes: what its decoder reads */
    const struct engine_input **listed_read; /* [rows] their addresses */
    bool writes;                             /* the current batch is of such a model */
    struct arena *arenas;                    /* [rows_max] memory of each input */
    struct err *errs;                        /* [rows_max] */
    struct arena arena;                      /* of these arrays */
};

/* How a batch is prepared. */
struct data_loader_order {
    const struct samples_view *view;
    bool draws;              /* random augmentation, dropout and windows; else as for serving */
    bool masks;              /* masked language modelling, which is random too */
    bool tags;               /* targets are the tags of tokens; the samples have some */
    bool writes;             /* targets are texts; the samples have some */
    uint64_t seed, position; /* of the first input in the run */
};

/* Rows [first, first + rows) of the batch. */
struct data_loader_part {
    unsigned first, rows, tokens;
};

enum err_code data_loader_open(struct data_loader *out, const struct samples *samples,
                               unsigned rows_max, struct err *err);
void data_loader_close(struct data_loader *loader);

/* Prepares items[0..count), count <= rows_max. The previous batch is invalid then. Fails with the
 * first row's error. */
enum err_code data_loader_prepare(struct data_loader *loader, struct thread_pool *pool,
                                  const size_t *items, unsigned count,
                                  const struct data_loader_order *order, struct err *err);

/* Takes the next rows from *at on whose tokens sum to at most tokens_max, and so do those that a
 * decoder reads, but at least one row, and moves *at past them. False at the end. */
bool data_loader_next(const struct data_loader *loader, unsigned *at, unsigned tokens_max,
                      struct data_loader_part *out);

#endif
