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

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    const struct worker_options *options;
    unsigned index;
    pthread_t thread;
    bool is_started;
    struct work {
        struct batch batch;
        const struct engine_input **inputs; /* [batch.capacity]: what engine_step reads */
        struct engine_result **results;     /* [batch.capacity] */
    } work, between;                        /* and what is let in between the layers of a step */
    const struct served_model *writing;     /* of that step; NULL: there is none */
    uint64_t step_ns, between_ns;           /* when it began; what was let in took so long */
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
    row_answer(row);
    vector_form_scale(&row->answer.vector, row->answer.info, &row->input, &row->answer.result);
    if (row->likeness != NULL)
        likeness_take(row->likeness, row->answer.result.features, model->info->classifier_size);
    if (row->compared != NULL)
        memcpy(row->compared, engine_compared(row->answer.info, &row->answer.result),
               engine_compared_size(row->answer.info) * sizeof *row->compared);
    atomic_fetch_add_explicit(&model->answered, 1, memory_order_relaxed);
    if (!row->answer.result.is_finite)
        err_set(&row->err, ERR_INTERNAL, "the model gave a score that is not a finite number");
}

/* The row is computed or failed; afterwards it may be gone. */
static void finish(const struct worker *worker, struct row *row)
{
    if (row_has_steps(row))
        batcher_release(worker->options->batcher, 1);
    request_row_done(row);
}

/* Keeps the rows whose clients still wait; finishes the others. */
static void drop_abandoned(const struct worker *worker, struct batch *batch)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < batch->row_count; i++) {
        struct row *row = batch->rows[i];
        if (!http_client_gone(row->request->exchange)) {
            batch->rows[kept++] = row;
            continue;
        }
        const struct engine_result *result = &row->answer.result;
        batch->tokens -= row->input.windows > 0
                             ? engine_input_tokens(&row->input, result->windows_done, result->step)
                             : engine_step_tokens(&row->input, result);
        row->is_abandoned = true;
        err_set(&row->err, ERR_SLOW, "the client closed the connection before its turn");
        finish(worker, row);
    }
    batch->row_count = kept;
}

/* Passes on the rows that are done, and those of which a reader waits for more; the others wait for
 * their next step. A part of a text is told at once if it is the first, else every few steps: the
 * row is not in the batches meanwhile. */
static void pass_on(const struct worker *worker, struct row *row)
{
    enum { PART_MS = 20 };
    const struct request *request = row->request;
    if (row->answer.result.is_done) {
        finish(worker, row);
    } else if (request->call.stream && row->answer.result.written > 0 &&
               row->done_ns - request->told_ns >= (uint64_t)PART_MS * CLOCK_NS_PER_MS) {
        request_tell(row);
    } else if (!batcher_submit(worker->options->batcher, &row, 1)) {
        err_set(&row->err, ERR_NOT_READY, "the server is stopping");
        request_row_done(row);
    }
}

static void let_in(void *context);

static void run_batch(struct worker *worker, struct work *work)
{
    const struct batch *batch = &work->batch;
    struct served_model *model = batch->rows[0]->model;
    struct engine_session *session = model->sessions[worker->index];
    uint64_t started = clock_now_ns();
    for (unsigned i = 0; i < batch->row_count; i++) {
        struct row *row = batch->rows[i];
        if (row->answer.result.windows_done == 0)
            row->started_ns = started;
        work->inputs[i] = &row->input;
        work->results[i] = &row->answer.result;
    }
    uint64_t others_ns = 0;
    if (model->info->task == ENGINE_GENERATE) {
        engine_session_let_in(session, let_in, worker);
        worker->writing = model;
        worker->step_ns = started;
        worker->between_ns = 0;
    }
    engine_step(session, work->inputs, batch->row_count, work->results);
    uint64_t done = clock_now_ns();
    if (worker->writing == model) {
        others_ns = worker->between_ns;
        worker->writing = NULL;
    }
    batcher_computed(worker->options->batcher, model, batch->tokens, done - started - others_ns);
    metrics_batch(worker->options->metrics, model->slot, batch->row_count, batch->tokens);
    for (unsigned i = 0; i < batch->row_count; i++) {
        batch->rows[i]->done_ns = done;
        if (batch->rows[i]->answer.result.is_done)
            answer(batch->rows[i]);
    }
    for (unsigned i = 0; i < batch->row_count; i++)
        pass_on(worker, batch->rows[i]);
}

static void run_taken(struct worker *worker, struct work *work)
{
    for (unsigned i = 0; i < work->batch.expired_count; i++)
        request_row_done(work->batch.expired[i]);
    drop_abandoned(worker, &work->batch);
    if (work->batch.row_count > 0)
        run_batch(worker, work);
}

/* Between two layers of a step of a model that writes: what waits for another model is computed,
 * for as long as the step itself has been, so that texts go on. */
static void let_in(void *context)
{
    struct worker *worker = context;
    const uint64_t now = clock_now_ns(), passed = now - worker->step_ns;
    if (worker->writing == NULL || worker->between_ns > passed - worker->between_ns ||
        !batcher_take_between(worker->options->batcher, worker->writing, &worker->between.batch))
        return;
    run_taken(worker, &worker->between);
    worker->between_ns += clock_now_ns() - now;
}

static void worker_loop(struct worker *worker)
{
    while (batcher_take(worker->options->batcher, &worker->work.batch))
        run_taken(worker, &worker->work);
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

static enum err_code work_open(struct work *work, unsigned rows, struct err *err)
{
    if (batch_init(&work->batch, rows, err))
        return err->code;
    work->inputs = calloc(rows, sizeof *work->inputs);
    work->results = calloc(rows, sizeof *work->results);
    return work->inputs != NULL && work->results != NULL
               ? ERR_OK
               : err_no_memory(err, 2 * rows * sizeof *work->inputs);
}

static void work_close(struct work *work)
{
    free(work->inputs);
    free(work->results);
    batch_deinit(&work->batch);
}

static enum err_code worker_open(struct workers *all, unsigned index, struct err *err)
{
    struct worker *worker = &all->workers[index];
    const unsigned rows = all->options.rows_max;
    worker->options = &all->options;
    worker->index = index;
    if (work_open(&worker->work, rows, err) || work_open(&worker->between, rows, err) ||
        thread_pool_open_on(&all->pools[index], all->options.threads_per_worker, cpus_of(worker),
                            err))
        return err->code;
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
        work_close(&workers->workers[i].work);
        work_close(&workers->workers[i].between);
        thread_pool_close(workers->pools[i]);
    }
    free(workers->pools);
    free(workers->workers);
    free(workers);
}
