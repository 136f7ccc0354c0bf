/* batcher.h - one bounded queue for all models, ordered by deadline, emptied in packed batches.
 *
 *     if (batcher_reserve(batcher, count, &err)) ...      429, before any work is done
 *     ... prepare the rows ...
 *     batcher_submit(batcher, rows, count);               the reserved places are now rows
 *
 *     while (batcher_take(batcher, &batch))               in a worker; sleeps while all is empty
 *         ... finish batch.expired, compute batch.rows ...
 *
 * Order: a row is due at its deadline, and at the latest BATCHER_PATIENCE_MS after it was
 * submitted; the row that is due first leads the next batch. So a stream of hurried rows, those
 * whose deadline is what makes them due, cannot starve those that named none. Nor the reverse: when
 * the queue is longer than the patience, every row in it is overdue, and a text with a deadline of
 * half a second would wait behind all of them. So a batch led by a row that is not hurried is
 * followed by one led by a hurried row, if any waits: either kind has at least every other batch.
 * Equal rows keep the order of arrival.
 *
 * A text of several windows, or an image of several views, is computed by as many takes as it
 * needs. A batch has one window of each row and, where room is left, more of them. A text that is
 * written takes one step for each of its tokens, together with the texts of other requests. A row
 * that is not done is submitted again; it counts as if it had come BATCHER_WINDOW_MS later for each
 * window or token done, so that what others send meanwhile is not behind all of them.
 * While a step is computed, the rest of its row is not in the bound of batcher_limit_wait.
 *
 * Threads: internally locked. The lock is held for one pass over the queue at most, and no other
 * subsystem is called under it.
 */
#ifndef ATTND_SERVER_SERVE_BATCHER_H
#define ATTND_SERVER_SERVE_BATCHER_H

#include "engine/base/err.h"
#include "server/serve/request.h"
#include "server/serve/served_model.h"

enum {
    BATCHER_PATIENCE_MS = 1000,
    BATCHER_WINDOW_MS = 50,
    /* An idle worker is worth waking only for at least this many tokens: below, a batch costs what
     * streaming the weights costs, whatever its size. */
    BATCHER_SHARE_TOKENS_MIN = 64,
};

struct batcher;

/* Result of one take: rows of one model whose tokens fit its budget. */
struct batch {
    struct row **rows;    /* [row_count] to compute */
    struct row **expired; /* [expired_count] never to compute: their deadline has passed */
    unsigned row_count, expired_count;
    unsigned tokens;
    unsigned capacity; /* of each array */
};

enum err_code batch_init(struct batch *batch, unsigned capacity, struct err *err);
void batch_deinit(struct batch *batch);

/* A queue of at most `limit` rows and reservations. */
enum err_code batcher_open(struct batcher **out, unsigned limit, struct err *err);
/* Frees an empty queue that no thread uses any more. */
void batcher_free(struct batcher *batcher);

/* Bounds the queue in time: while the waiting rows would keep `takers` busy for longer than that,
 * no place can be reserved. 0: no bound, as before this call. Before the queue is used. */
void batcher_limit_wait(struct batcher *batcher, unsigned wait_ms_max, unsigned takers);
/* Records the time of a computed batch, from which the bound is estimated. A model without a
 * computed batch counts as 0. */
void batcher_computed(struct batcher *batcher, struct served_model *model, unsigned tokens,
                      uint64_t ns);
/* Copies the estimate of a model to the model that replaces it. Before that one is published. */
void batcher_inherit(struct batcher *batcher, struct served_model *model,
                     const struct served_model *from);
/* Seconds after which a refused request may succeed: until the work that waits is back within its
 * bound if nothing else comes, at least 1. */
unsigned batcher_retry_after_s(struct batcher *batcher);

/* ERR_OK if `count` places could be reserved now. Errors as batcher_reserve. */
enum err_code batcher_admit(struct batcher *batcher, unsigned count, struct err *err);

/* Reserves `count` places or none. ERR_QUEUE_FULL; ERR_NOT_READY after batcher_close. */
enum err_code batcher_reserve(struct batcher *batcher, unsigned count, struct err *err);
/* Gives back places that were reserved and not submitted. */
void batcher_release(struct batcher *batcher, unsigned count);

/* Queues `count` prepared rows in places reserved before. All or, after batcher_close, none: then
 * false, the places are given back and the caller still holds the rows. Nothing of the rows may be
 * touched after true. A row with windows_done keeps its submitted_ns. */
bool batcher_submit(struct batcher *batcher, struct row *const *rows, unsigned count);

/* Waits for rows, then fills the batch: the first row in order, and further rows of its model
 * while their tokens fit the model's batch_tokens. While other takers wait idle, only a fair share
 * of the model's rows. Sets the step of each row's result. The place of a row with steps stays
 * reserved: submit it again or release it. Expired rows met on the way go to batch->expired, with
 * err set. False: the queue is closed and empty. */
bool batcher_take(struct batcher *batcher, struct batch *batch);

/* Takes rows, as above, while a step of a model that writes is computed: of other models, that are
 * not written for, without waiting. False: there are none. */
bool batcher_take_between(struct batcher *batcher, const struct served_model *running,
                          struct batch *batch);

/* No new rows; takers get what is left and then nothing. */
void batcher_close(struct batcher *batcher);

/* Takes up to `max` waiting rows of any model without waiting; returns how many. */
unsigned batcher_flush(struct batcher *batcher, struct row **rows, unsigned max);

/* Does the queue move? Rows that wait now; batches that were taken so far, and rows in them. */
struct batcher_progress {
    unsigned waiting;
    uint64_t batches, rows;
};
struct batcher_progress batcher_progress(struct batcher *batcher);

/* Takers that wait for rows now. */
unsigned batcher_idle(struct batcher *batcher);

/* Rows of a model that wait now. */
unsigned batcher_depth(struct batcher *batcher, const struct served_model *model);

#endif
