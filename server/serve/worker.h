/* worker.h - the compute threads: take a batch, run it, hand each row back.
 *
 *     worker_start(&workers, &options, &err);
 *     ...
 *     batcher_close(batcher);
 *     worker_join(workers);         every row taken is done
 *     ... close the models ...
 *     worker_free(workers);
 *
 * Each worker owns one pool of compute threads and lends it to the session that it runs, whatever
 * the number of models; a model has a session for each worker (served_model.h).
 *
 * Threads: start and stop belong to the main thread.
 */
#ifndef ATTND_SERVER_SERVE_WORKER_H
#define ATTND_SERVER_SERVE_WORKER_H

#include "server/observe/metrics.h"
#include "server/placement/placement.h"
#include "server/serve/batcher.h"

struct worker_options {
    unsigned workers;
    unsigned threads_per_worker;
    const struct placement_pool *places; /* [workers]; NULL: none is bound */
    unsigned rows_max; /* of a batch: as many as its tokens, since a row has at least one */
    struct batcher *batcher;
    struct metrics *metrics;
};

struct workers;

/* On an error no thread is left. */
enum err_code worker_start(struct workers **out, const struct worker_options *options,
                           struct err *err);

/* [workers] their pools, for the sessions that will run on them. */
struct thread_pool *const *worker_pools(const struct workers *workers);

/* Joins the threads; the queue must be closed. */
void worker_join(struct workers *workers);
/* Frees them and their pools, on which no session may be open any more. */
void worker_free(struct workers *workers);

#endif
