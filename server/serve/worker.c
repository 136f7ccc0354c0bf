/* worker.c - see worker.h.
 *
 * A worker takes batches until the queue is closed and empty. All its memory is taken before it
 * begins; a batch costs no allocation. Rows are checked once more when they are taken: one that has
 * expired or whose client has left is finished without computing it. That check needs poll(2), so
 * it is made here and not under the queue's lock.
 *
 * A model may be closed once the last of its rows is done: nothing of it is touched afterwards.
 */
#include "server/serve/worker.h"

#include "engine/base/clock.h"
#include "engine/base/thread_pool.h"
#include "server/placement/affinity.h"
#include "server/serve/likeness.h"
#include "server/serve/windows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    const struct worker_options *options;
    unsigned index;
    pthread_t thread;
    bool is_started;
    struct batch batch;
    const struct engine_input **inputs; /* [batch.capacity]: what engine_run reads */
    struct engine_result **results;     /* [batch.capacity] */
};

struct workers {
    struct worker_options options;
    struct worker *workers;     /* [options.workers] */
    struct thread_pool **pools; /* [options.workers] */
};

/* JSON cannot represent infinity, and a result that is not finite must not become a confident
 * answer. */
static void answer(struct row *row)
{
    struct served_model *model = row->model;
    row->answer.model_name = model->name;
    row->answer.model_version = model->info->version;
    row->answer.model_digest = served_model_digest(model);
    row->answer.info = row_info(row);
    if (row->likeness != NULL)
        likeness_take(row->likeness, row->answer.result.features, model->info->classifier_size);
    atomic_fetch_add_explicit(&model->answered, 1, memory_order_relaxed);
    if (!row->answer.result.is_finite)
        err_set(&row->err, ERR_INTERNAL, "the model gave a score that is not a finite number");
}

/* All windows of a text are computed: what they give together. */
static void join(const struct worker *worker, struct row *row)
{
    struct engine_session *session = row->model->sessions[worker->index];
    for (unsigned i = 0; i < row->input.windows; i++)
        engine_pool(session, row->windows[i].features, i, row->input.windows);
    engine_pooled(session, &row->input, &row->answer.result);
    answer(row);
}

/* Afterwards the row may be gone. */
static void finish(const struct worker *worker, struct row *row)
{
    struct row *done = windows_done(row);
    if (done == NULL)
        return;
    if (done != row && done->err.code == ERR_OK)
        join(worker, done);
    request_row_done(done);
}

/* Keeps the rows whose clients still wait; finishes the others. */
static void drop_abandoned(struct worker *worker)
{
    struct batch *batch = &worker->batch;
    unsigned kept = 0;
    for (unsigned i = 0; i < batch->row_count; i++) {
        struct row *row = batch->rows[i];
        if (!http_client_gone(row->request->exchange)) {
            batch->rows[kept++] = row;
            continue;
        }
        batch->tokens -= row->input.tokens;
        row->is_abandoned = true;
        err_set(&row->err, ERR_SLOW, "the client closed the connection before its turn");
        finish(worker, row);
    }
    batch->row_count = kept;
}

static void keep_result(struct row *row)
{
    if (row->whole == NULL)
        answer(row);
    else
        memcpy(row->features, row->answer.result.features,
               row->model->info->feature_size * sizeof *row->features);
}

static void run_batch(struct worker *worker)
{
    struct batch *batch = &worker->batch;
    struct served_model *model = batch->rows[0]->model;
    struct engine_session *session = model->sessions[worker->index];
    uint64_t started = clock_now_ns();
    for (unsigned i = 0; i < batch->row_count; i++) {
        batch->rows[i]->started_ns = started;
        worker->inputs[i] = &batch->rows[i]->input;
        worker->results[i] = &batch->rows[i]->answer.result;
    }
    engine_run(session, worker->inputs, batch->row_count, worker->results);
    uint64_t done = clock_now_ns();
    batcher_computed(worker->options->batcher, model, batch->tokens, done - started);
    metrics_batch(worker->options->metrics, model->slot, batch->row_count, batch->tokens);
    for (unsigned i = 0; i < batch->row_count; i++) {
        keep_result(batch->rows[i]);
        batch->rows[i]->done_ns = done;
    }
    for (unsigned i = 0; i < batch->row_count; i++)
        finish(worker, batch->rows[i]);
}

static void worker_loop(struct worker *worker)
{
    while (batcher_take(worker->options->batcher, &worker->batch)) {
        for (unsigned i = 0; i < worker->batch.expired_count; i++)
            finish(worker, worker->batch.expired[i]);
        drop_abandoned(worker);
        if (worker->batch.row_count > 0)
            run_batch(worker);
    }
}

static const unsigned short *cpus_of(const struct worker *worker)
{
    const struct placement_pool *places = worker->options->places;
    return places != NULL ? places[worker->index].cpus : NULL;
}

static void *worker_main(void *context)
{
    const struct worker *worker = context;
    struct affinity affinity = {0};
    if (cpus_of(worker) != NULL) {
        affinity_add(&affinity, cpus_of(worker)[0]);
        affinity_enter(&affinity);
    }
    worker_loop(context);
    return NULL;
}

/* ---- start and stop ---- */

static enum err_code worker_open(struct workers *all, unsigned index, struct err *err)
{
    struct worker *worker = &all->workers[index];
    const unsigned rows = all->options.rows_max;
    worker->options = &all->options;
    worker->index = index;
    if (batch_init(&worker->batch, rows, err) ||
        thread_pool_open_on(&all->pools[index], all->options.threads_per_worker, cpus_of(worker),
                            err))
        return err->code;
    worker->inputs = calloc(rows, sizeof *worker->inputs);
    worker->results = calloc(rows, sizeof *worker->results);
    if (worker->inputs == NULL || worker->results == NULL)
        return err_no_memory(err, 2 * rows * sizeof *worker->inputs);
    int failure = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (failure != 0)
        return err_no_thread(err, failure);
    worker->is_started = true;
    return ERR_OK;
}

enum err_code worker_start(struct workers **out, const struct worker_options *options,
                           struct err *err)
{
    struct workers *all = calloc(1, sizeof *all);
    *out = NULL;
    if (all == NULL)
        return err_no_memory(err, sizeof *all);
    all->options = *options;
    all->workers = calloc(options->workers, sizeof *all->workers);
    all->pools = calloc(options->workers, sizeof(struct thread_pool *));
    if (all->workers == NULL || all->pools == NULL) {
        all->options.workers = 0;
        err_no_memory(err, options->workers * sizeof *all->workers);
    }
    for (unsigned i = 0; i < options->workers && err->code == ERR_OK; i++)
        worker_open(all, i, err);
    if (err->code == ERR_OK) {
        *out = all;
        return ERR_OK;
    }
    batcher_close(options->batcher); /* otherwise the running workers would wait forever */
    worker_join(all);
    worker_free(all);
    return err->code;
}

struct thread_pool *const *worker_pools(const struct workers *workers)
{
    return workers->pools;
}

void worker_join(struct workers *workers)
{
    for (unsigned i = 0; workers != NULL && i < workers->options.workers; i++) {
        struct worker *worker = &workers->workers[i];
        if (worker->is_started)
            pthread_join(worker->thread, NULL);
        worker->is_started = false;
    }
}

void worker_free(struct workers *workers)
{
    if (workers == NULL)
        return;
    for (unsigned i = 0; i < workers->options.workers; i++) {
        free(workers->workers[i].inputs);
        free(workers->workers[i].results);
        batch_deinit(&workers->workers[i].batch);
        thread_pool_close(workers->pools[i]);
    }
    free(workers->pools);
    free(workers->workers);
    free(workers);
}
