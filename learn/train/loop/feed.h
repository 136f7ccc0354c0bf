/* feed.h - prepared inputs, a batch at a time, made by all threads; and the cut of a batch into
 * micro-batches that the network can hold.
 *
 *     feed_open(&feed, samples, batch, &err);
 *     feed_prepare(&feed, team, items, count, &order, &err);
 *     for (unsigned at = 0; feed_next(&feed, &at, tokens_max, &part);) ...
 *
 * What is drawn for an input is a function of seed and position in the run, not of the thread that
 * prepares it. Threads: one at a time, with the caller's team.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_FEED_H
#define ATTND_LEARN_TRAIN_LOOP_FEED_H

#include "engine/base/err.h"
#include "engine/base/team.h"
#include "engine/model/input.h"
#include "learn/data/samples.h"

#include <stdbool.h>

struct feed {
    const struct samples *samples;
    unsigned rows_max, rows;            /* of a batch; of the current one */
    struct engine_input *inputs;        /* [rows] */
    const struct engine_input **listed; /* [rows] the same by address, as networks want them */
    struct samples_masked *masked;      /* [rows] for masked language modelling */
    struct arena *arenas;               /* [rows_max] what each input holds */
    struct err *errs;                   /* [rows_max] */
};

/* How a batch is prepared. */
struct feed_order {
    const struct samples_view *view;
    bool draws; /* augmentation, dropout and windows by chance; else as serving prepares */
    bool masks; /* masked language modelling; draws too */
    uint64_t seed, position; /* of the first input in the run */
};

/* Rows [first, first + rows) of the batch;. */
struct feed_part {
    unsigned first, rows, tokens;
};

enum err_code feed_open(struct feed *out, const struct samples *samples, unsigned rows_max,
                        struct err *err);
void feed_close(struct feed *feed);

/* Prepares items[0..count), count <= rows_max; the batch before it is gone. The first error. */
enum err_code feed_prepare(struct feed *feed, struct team *team, const size_t *items,
                           unsigned count, const struct feed_order *order, struct err *err);

/* The next rows from *at on whose tokens together are at most tokens_max (one row at least); moves
 * *at past them. False at the end. */
bool feed_next(const struct feed *feed, unsigned *at, unsigned tokens_max, struct feed_part *out);

#endif
