/* worker.h - the compute threads: take a batch, run it, hand each row back.
 *
 *     worker_start(&workers, &options, &err);    returns when all are warm
 *     ...
 *     batcher_close(batcher);
 *     worker_stop(workers);                      joins; every row taken is done
 *
 * Each worker owns a session (a workspace) per model, opened and warmed by one run before it takes
 * its first batch, so that the first client pays for nothing.
 *
 * Threads: start and stop belong to the main thread.
 */
#ifndef ATTND_SERVER_SERVE_WORKER_H
#define ATTND_SERVER_SERVE_WORKER_H

#include "server/observe/metrics.h"
#include "server/serve/batcher.h"
#include "server/serve/registry.h"

struct worker_options {
    unsigned workers;
    unsigned threads_per_worker;
    struct registry *registry;
    struct batcher *batcher;
    struct metrics *metrics;
};

struct workers;

/* On an error no thread is left. */
enum err_code worker_start(struct workers **out, const struct worker_options *options,
                           struct err *err);

/* Joins the threads; the queue must be closed. */
void worker_stop(struct workers *workers);

#endif
