/* worker.c - see worker.h.
 *
 * A worker's life: open and warm its sessions, say so, take batches until the queue is closed and
 * empty. All its memory is taken before it says so; a batch costs no allocation. Rows are looked at
 * once more when they are taken: what has expired or whose client has hung up is finished without
 * computing it. That look needs poll(2), so it is made here and not under the queue's lock.
 */
#include "server/serve/worker.h"

#include "engine/base/clock.h"
#include "server/observe/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    const struct worker_options *options;
    struct workers *all;
    pthread_t thread;
    bool started;
    struct engine_session **sessions; /* [models] */
    struct batch batch;
    const struct engine_input **inputs; /* [batch.capacity]: what engine_run reads */
    float **logits;                     /* [batch.capacity] */
    struct err err; /* why it could not be opened; read after the join or under ready's lock */
};

struct workers {
    struct worker_options options;
    struct worker *workers; /* [options.workers] */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* with lock: ready or failed grew */
    unsigned ready, failed; /* under lock */
};

/* One transparent pixel: the smallest valid PNG there is (67 bytes; IHDR, IDAT, IEND). */
static const unsigned char warm_png[] = {
    0x89, 'P',  'N',  'G',  '\r', '\n', 0x1A, '\n', 0,    0,    0,    13,   'I',  'H',
    'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    8,    0,    0,    0,
    0,    0x3A, 0x7E, 0x9B, 0x55, 0,    0,    0,    10,   'I',  'D',  'A',  'T',  0x78,
    0x9C, 0x63, 0x60, 0,    0,    0,    2,    0,    1,    0x48, 0xAF, 0xA4, 0x71, 0,
    0,    0,    0,    'I',  'E',  'N',  'D',  0xAE, 0x42, 0x60, 0x82};

/* Prepares any valid input of the model. */
static enum err_code warm_input(const struct engine_model *model, const struct engine_info *info,
                                struct arena *arena, struct engine_input *input, struct err *err)
{
    static const char text[] = "pass"; /* every weight is read once, whatever the length */
    if (info->kind == ENGINE_TEXT)
        return engine_prepare_text(model, text, sizeof text - 1, NULL, arena, input, err);
    return engine_prepare_image(model, warm_png, sizeof warm_png, 1, NULL, arena, input, err);
}

/* Runs the model once: pages are touched, kernels chosen, and a model that cannot run is found. */
static enum err_code warm_session(struct engine_session *session,
                                  const struct registry_model *model, struct err *err)
{
    struct arena arena;
    struct engine_input input = {0};
    arena_init(&arena);
    float *logits = arena_alloc_array(&arena, model->info->label_count, sizeof *logits);
    if (logits == NULL)
        err_no_memory(err, model->info->label_count * sizeof *logits);
    else if (!warm_input(model->engine, model->info, &arena, &input, err))
        engine_run(session, (const struct engine_input *[]){&input}, 1, (float *[]){logits});
    arena_deinit(&arena);
    return err->code;
}

static enum err_code open_session(struct worker *worker, unsigned index, struct err *err)
{
    const struct worker_options *options = worker->options;
    const struct registry_model *model = registry_at(options->registry, index);
    if (engine_session_open(&worker->sessions[index], model->engine, model->batch_tokens,
                            options->threads_per_worker, err) ||
        warm_session(worker->sessions[index], model, err))
        return err_prefix(err, "model %s: ", model->name);
    return ERR_OK;
}

static unsigned batch_tokens_max(struct registry *registry)
{
    unsigned most = 1;
    for (unsigned i = 0; i < registry_count(registry); i++)
        if (registry_at(registry, i)->batch_tokens > most)
            most = registry_at(registry, i)->batch_tokens;
    return most;
}

/* A row has at least one token, so a batch never has more rows than tokens. */
static enum err_code worker_open(struct worker *worker, struct err *err)
{
    struct registry *registry = worker->options->registry;
    unsigned rows = batch_tokens_max(registry);
    worker->sessions = calloc(registry_count(registry), sizeof(struct engine_session *));
    worker->inputs = calloc(rows, sizeof *worker->inputs);
    worker->logits = calloc(rows, sizeof *worker->logits);
    if (worker->sessions == NULL || worker->inputs == NULL || worker->logits == NULL)
        return err_no_memory(err, rows * (sizeof *worker->inputs + sizeof *worker->logits));
    if (batch_init(&worker->batch, rows, err))
        return err->code;
    for (unsigned i = 0; i < registry_count(registry); i++)
        if (open_session(worker, i, err))
            return err->code;
    return ERR_OK;
}

static void worker_close(struct worker *worker)
{
    unsigned count = worker->sessions != NULL ? registry_count(worker->options->registry) : 0;
    for (unsigned i = 0; i < count; i++)
        if (worker->sessions[i] != NULL)
            engine_session_close(worker->sessions[i]);
    free(worker->sessions);
    free(worker->inputs);
    free(worker->logits);
    batch_deinit(&worker->batch);
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
        request_row_done(row);
    }
    batch->row_count = kept;
}

/* JSON has no word for infinity, and a model that yields one must not look sure of itself. */
static void answer(struct row *row, const float *features)
{
    const struct registry_model *model = row->model;
    row->answer.model_name = model->name;
    row->answer.model_version = model->info->version;
    row->answer.model_digest = registry_digest(model);
    row->answer.info = model->info;
    row->answer.scores = row->scores;
    row->answer.truncated = row->input.truncated;
    if (engine_scores(model->engine, row->logits, row->scores))
        engine_judge(model->engine, row->logits, row->scores, features, &row->answer.judgement);
    else
        err_set(&row->err, ERR_INTERNAL, "the model gave a score that is not a finite number");
}

static void run_batch(struct worker *worker)
{
    struct batch *batch = &worker->batch;
    const struct registry_model *model = batch->rows[0]->model;
    uint64_t started = clock_now_ns();
    for (unsigned i = 0; i < batch->row_count; i++) {
        batch->rows[i]->started_ns = started;
        worker->inputs[i] = &batch->rows[i]->input;
        worker->logits[i] = batch->rows[i]->logits;
    }
    engine_run(worker->sessions[model->index], worker->inputs, batch->row_count, worker->logits);
    uint64_t done = clock_now_ns();
    batcher_computed(worker->options->batcher, model->index, batch->tokens, done - started);
    metrics_batch(worker->options->metrics, model->index, batch->row_count, batch->tokens);
    for (unsigned i = 0; i < batch->row_count; i++) {
        struct row *row = batch->rows[i];
        answer(row, engine_features(worker->sessions[model->index], i));
        row->done_ns = done;
        request_row_done(row);
    }
}

static void worker_loop(struct worker *worker)
{
    while (batcher_take(worker->options->batcher, &worker->batch)) {
        for (unsigned i = 0; i < worker->batch.expired_count; i++)
            request_row_done(worker->batch.expired[i]);
        drop_abandoned(worker);
        if (worker->batch.row_count > 0)
            run_batch(worker);
    }
}

/* Tells worker_start how opening went. */
static void report(struct worker *worker)
{
    struct workers *all = worker->all;
    pthread_mutex_lock(&all->lock);
    if (worker->err.code == ERR_OK)
        all->ready++;
    else
        all->failed++;
    pthread_mutex_unlock(&all->lock);
    pthread_cond_signal(&all->changed);
}

static void *worker_main(void *context)
{
    struct worker *worker = context;
    worker_open(worker, &worker->err);
    report(worker);
    if (worker->err.code == ERR_OK)
        worker_loop(worker);
    worker_close(worker);
    return NULL;
}

/* Waits until each of the `started` threads is warm or has failed; the first failure, if any. */
static enum err_code await_ready(struct workers *all, unsigned started, struct err *err)
{
    pthread_mutex_lock(&all->lock);
    while (all->ready + all->failed < started)
        pthread_cond_wait(&all->changed, &all->lock);
    for (unsigned i = 0; i < started && err->code == ERR_OK; i++)
        *err = all->workers[i].err;
    pthread_mutex_unlock(&all->lock);
    return err->code;
}

static enum err_code spawn(struct workers *all, struct err *err)
{
    unsigned started = 0;
    for (; started < all->options.workers && err->code == ERR_OK; started++) {
        struct worker *worker = &all->workers[started];
        worker->options = &all->options;
        worker->all = all;
        int failure = pthread_create(&worker->thread, NULL, worker_main, worker);
        worker->started = failure == 0;
        if (failure != 0) {
            err_set(err, ERR_IO, "cannot start worker thread %u: %s", started, strerror(failure));
            break;
        }
    }
    return await_ready(all, started, err);
}

enum err_code worker_start(struct workers **out, const struct worker_options *options,
                           struct err *err)
{
    struct workers *all = calloc(1, sizeof *all);
    *out = NULL;
    if (all == NULL)
        return err_no_memory(err, sizeof *all);
    all->options = *options;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    all->workers = calloc(options->workers, sizeof *all->workers);
    if (all->workers == NULL)
        err_no_memory(err, options->workers * sizeof *all->workers);
    else if (!spawn(all, err)) {
        *out = all;
        return ERR_OK;
    }
    batcher_close(options->batcher); /* those that are warm wait for rows that will not come */
    worker_stop(all);
    return err->code;
}

void worker_stop(struct workers *workers)
{
    if (workers == NULL)
        return;
    for (unsigned i = 0; workers->workers != NULL && i < workers->options.workers; i++)
        if (workers->workers[i].started)
            pthread_join(workers->workers[i].thread, NULL);
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->lock);
    free(workers->workers);
    free(workers);
}
