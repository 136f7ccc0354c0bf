/* batch_run.c - see batch_run.h. Each thread does all there is to do for a chunk: it reads the
 * chunk (one thread at a time), prepares its inputs, computes their packed batches and makes their
 * lines. So all cores are busy with different steps at once, nobody waits for a neighbour, and no
 * queue stands between steps. On two shared cores 1 500 lines of kernel logs take 0.93 s by
 * testlog-bert and 3.35 s by kernel-bert; with one session of two threads, as the server has it,
 * 0.98 s and 3.6 s, and the difference grows with what else the cores do. Chunks lie in a ring, in
 * the order of the input; who finishes the oldest one writes it and all finished ones behind it. A
 * thread that is a whole ring ahead of the oldest chunk waits, which bounds the memory, whatever
 * the number of inputs.
 *
 * Locks: `reading` is held while a chunk is read; `ring` guards the fields below it and is never
 * held while reading, computing or writing. `reading` before `ring`. */
#include "tools/batch/batch_run.h"

#include "engine/base/clock.h"
#include "engine/cli/screen.h"
#include "tools/batch/chunk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNKS_AHEAD = 2, SAVE_MS = 1000, LOOK_MS = 50, BAR_CELLS = 24 };

struct batch {
    const struct batch_run_options *options;
    struct output *output;
    struct chunk *chunks; /* [size] the ring */
    unsigned size;
    struct batch_place first;          /* where this run began */
    char failure[CHUNK_FAILURE_BYTES]; /* of the writer */

    pthread_mutex_t reading;
    struct sources *sources; /* under reading, with the rest of this group */
    uint64_t start_ns, next;
    bool has_ended;

    pthread_mutex_t ring;
    pthread_cond_t moved;
    uint64_t written; /* chunks; chunks[n % size] is written's for n from here to next */
    bool is_writing;  /* by one thread, which alone uses the output and the next two */
    uint64_t saved_ns;
    struct screen screen;
    bool is_given_up; /* a chunk, because of a stop */
    struct err err;   /* the first of any thread */
};

struct worker {
    struct batch *batch;
    struct local *local;
    struct remote *remote;
    pthread_t thread;
    bool is_started;
};

static bool is_stopped(const struct batch *batch)
{
    return batch->options->stop != NULL && atomic_load(batch->options->stop);
}

static void fail(struct batch *batch, const struct err *err)
{
    pthread_mutex_lock(&batch->ring);
    err_set(&batch->err, err->code, "%s", err->text);
    pthread_cond_broadcast(&batch->moved);
    pthread_mutex_unlock(&batch->ring);
}

/* ---- reading ---- */

static enum err_code keep_record(struct chunk *chunk, const struct record *record, struct err *err)
{
    const char *bytes = arena_copy(&chunk->arena, record->bytes, record->len);
    if (bytes == NULL)
        return err_no_memory(err, record->len);
    chunk->records[chunk->count] = *record;
    chunk->records[chunk->count++].bytes = bytes;
    return ERR_OK;
}

static enum err_code read_chunk(struct batch *batch, struct chunk *chunk, struct err *err)
{
    bool found = true;
    double rate = batch->options->rate; /* a chunk has at most the inputs of a second */
    unsigned inputs = rate <= 0 || rate > CHUNK_INPUTS ? CHUNK_INPUTS
                      : rate < 1                       ? 1
                                                       : (unsigned)rate;
    for (size_t bytes = 0; found && chunk->count < inputs && bytes < CHUNK_BYTES;) {
        struct record record;
        if (sources_next(batch->sources, &record, &found, err) ||
            (found && keep_record(chunk, &record, err)))
            return err->code;
        bytes += found ? record.len : 0;
    }
    struct sources_progress at = sources_progress(batch->sources);
    chunk->progress = at.done;
    chunk->progress_total = at.total;
    chunk->inputs = batch->sources->inputs;
    memcpy(chunk->digest, batch->sources->digest, sizeof chunk->digest);
    return ERR_OK;
}

/* Waits until the rate allows as many inputs as were read. */
static void keep_to_rate(const struct batch *batch)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    if (batch->options->rate <= 0)
        return;
    double due_ms =
        (double)(batch->sources->inputs - batch->first.inputs) / batch->options->rate * 1e3;
    while (clock_ms_between(batch->start_ns, clock_now_ns()) < due_ms && !is_stopped(batch))
        nanosleep(&look, NULL);
}

static struct chunk *take_reading(struct batch *batch, struct err *err)
{
    if (batch->has_ended)
        return NULL;
    pthread_mutex_lock(&batch->ring); /* until the ring has room, or the run has failed */
    while (batch->next - batch->written >= batch->size && batch->err.code == ERR_OK &&
           !batch->is_given_up)
        pthread_cond_wait(&batch->moved, &batch->ring);
    bool is_good = batch->err.code == ERR_OK && !batch->is_given_up;
    pthread_mutex_unlock(&batch->ring);
    if (!is_good)
        return NULL;
    keep_to_rate(batch);
    struct chunk *chunk = &batch->chunks[batch->next % batch->size];
    if (is_stopped(batch) || read_chunk(batch, chunk, err) || chunk->count == 0) {
        batch->has_ended = true;
        return NULL;
    }
    batch->next++;
    return chunk;
}

/* The next chunk; NULL if there is none, or none is wanted any more. */
static struct chunk *take(struct batch *batch)
{
    struct err err = {0};
    pthread_mutex_lock(&batch->reading);
    struct chunk *chunk = take_reading(batch, &err);
    pthread_mutex_unlock(&batch->reading);
    if (err.code != ERR_OK && !(err.code == ERR_NOT_READY && is_stopped(batch)))
        fail(batch, &err);
    return chunk;
}

/* ---- writing ---- */

static void clear(struct chunk *chunk)
{
    arena_deinit(&chunk->arena);
    free(chunk->lines);
    *chunk = (struct chunk){0};
    arena_init(&chunk->arena);
}

/* ---- progress ---- */

void batch_run_progress(char out[BATCH_PROGRESS_BYTES], const struct batch_place *first,
                        const struct batch_place *at, double seconds)
{
    char bar[BAR_CELLS + 1], left[48] = "", share[BAR_CELLS + 16] = "";
    double rate = (double)(at->inputs - first->inputs) / seconds;
    double speed = (double)(at->done - first->done) / seconds;
    if (at->total > 0) {
        double part = (double)at->done / (double)at->total;
        unsigned cells = part < 1 ? (unsigned)(part * BAR_CELLS) : BAR_CELLS;
        for (unsigned i = 0; i < BAR_CELLS; i++)
            bar[i] = i < cells ? '#' : ' ';
        bar[BAR_CELLS] = '\0';
        snprintf(share, sizeof share, "[%s] %3.0f %%, ", bar, part < 1 ? 100 * part : 100.0);
    }
    if (at->total >= at->done && speed > 0) {
        unsigned long long s = (unsigned long long)((double)(at->total - at->done) / speed + 0.5);
        snprintf(left, sizeof left, ", %llu:%02llu left", s / 60, s % 60);
    }
    snprintf(out, BATCH_PROGRESS_BYTES, "%s%llu inputs, %.1f a second%s", share,
             (unsigned long long)at->inputs, rate, left);
}

/* A bar on a terminal; a file gets a line a minute. */
static void show_progress(struct batch *batch, const struct chunk *chunk)
{
    const struct batch_place place = {chunk->inputs, chunk->progress, chunk->progress_total};
    struct screen *screen = &batch->screen;
    char text[BATCH_PROGRESS_BYTES];
    if (!screen_begin(screen))
        return;
    batch_run_progress(text, &batch->first, &place,
                       clock_ms_between(screen->start_ns, screen->shown_ns) / 1e3);
    fprintf(stderr, "%s%s", screen->is_terminal ? "" : "attnd-batch: ", text);
    screen_end(screen);
}

static enum err_code write_chunk(struct batch *batch, const struct chunk *chunk, struct err *err)
{
    struct output_state *state = &batch->output->state;
    uint64_t now_ns = clock_now_ns();
    if (output_append(batch->output, chunk->lines, chunk->lines_len, err))
        return err->code;
    state->done = chunk->inputs;
    state->failed += chunk->failed;
    if (chunk->failed > 0 && batch->failure[0] == '\0')
        memcpy(batch->failure, chunk->failure, sizeof batch->failure);
    memcpy(state->digest, chunk->digest, sizeof state->digest);
    show_progress(batch, chunk);
    if (clock_ms_between(batch->saved_ns, now_ns) < SAVE_MS)
        return ERR_OK;
    batch->saved_ns = now_ns;
    return output_save(batch->output, err);
}

/* Writes what is finished, from the oldest chunk on, without the lock. */
static void write_finished_locked(struct batch *batch)
{
    struct chunk *chunk = &batch->chunks[batch->written % batch->size];
    batch->is_writing = true;
    while (chunk->is_done && batch->err.code == ERR_OK) {
        struct err err = {0};
        pthread_mutex_unlock(&batch->ring);
        write_chunk(batch, chunk, &err);
        clear(chunk);
        pthread_mutex_lock(&batch->ring);
        err_set(&batch->err, err.code, "%s", err.text);
        batch->written++;
        chunk = &batch->chunks[batch->written % batch->size];
        pthread_cond_broadcast(&batch->moved);
    }
    batch->is_writing = false;
}

static void give(struct batch *batch, struct chunk *chunk)
{
    pthread_mutex_lock(&batch->ring);
    chunk->is_done = true;
    if (!batch->is_writing)
        write_finished_locked(batch);
    pthread_mutex_unlock(&batch->ring);
}

/* A chunk that a stop has cut: the next run computes it anew, and what is behind it. */
static void give_up(struct batch *batch)
{
    pthread_mutex_lock(&batch->ring);
    batch->is_given_up = true;
    pthread_cond_broadcast(&batch->moved);
    pthread_mutex_unlock(&batch->ring);
}

/* ---- threads ---- */

static void *work(void *context)
{
    struct worker *worker = context;
    for (struct chunk *chunk; (chunk = take(worker->batch)) != NULL;) {
        struct err err = {0};
        if (worker->local != NULL)
            local_answer(worker->local, chunk, &err);
        else
            remote_answer(worker->remote, chunk, &err);
        if (err.code == ERR_NOT_READY && is_stopped(worker->batch))
            give_up(worker->batch);
        else if (err.code != ERR_OK)
            fail(worker->batch, &err);
        else
            give(worker->batch, chunk);
    }
    return NULL;
}

static enum err_code open_worker(struct worker *worker, struct batch *batch, struct err *err)
{
    worker->batch = batch;
    if (batch->options->local != NULL)
        return local_open(&worker->local, batch->options->local, err);
    return remote_open(&worker->remote, batch->options->remote, err);
}

static enum err_code run_threads(struct batch *batch, struct err *err)
{
    unsigned count = batch->options->threads;
    struct worker *workers = calloc(count, sizeof *workers);
    batch->size = CHUNKS_AHEAD * count + 1;
    batch->chunks = calloc(batch->size, sizeof *batch->chunks);
    if (workers == NULL || batch->chunks == NULL)
        err_no_memory(err, batch->size * sizeof *batch->chunks);
    for (unsigned i = 0; batch->chunks != NULL && i < batch->size; i++)
        arena_init(&batch->chunks[i].arena);
    if (err->code == ERR_OK) {
        /* if a thread cannot be started, the ones before it do the work */
        for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
            open_worker(&workers[i], batch, err);
        for (unsigned i = 0; i < count && err->code == ERR_OK; i++) {
            int failure = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
            workers[i].is_started = failure == 0;
            if (failure != 0)
                err_no_thread(err, failure);
        }
        if (err->code != ERR_OK)
            fail(batch, err);
        for (unsigned i = 0; i < count; i++) {
            if (workers[i].is_started)
                pthread_join(workers[i].thread, NULL);
            local_close(workers[i].local);
            remote_close(workers[i].remote);
        }
    }
    for (unsigned i = 0; batch->chunks != NULL && i < batch->size; i++)
        clear(&batch->chunks[i]);
    free(batch->chunks);
    free(workers);
    return err_set(err, batch->err.code, "%s", batch->err.text);
}

/* ---- the whole ---- */

/* Reads the inputs that an earlier run has done once more, to check that they are the same. */
static enum err_code pass_over_done(struct sources *sources, const struct output *output,
                                    const atomic_bool *stop, struct err *err)
{
    struct record record;
    bool found = true;
    const struct output_state *state = &output->state;
    while (found && sources->inputs < state->done && (stop == NULL || !atomic_load(stop)))
        if (sources_next(sources, &record, &found, err) == ERR_NOT_READY)
            *err = (struct err){0}; /* stopped: the loop sees it */
        else if (err->code != ERR_OK)
            return err->code;
    if (stop != NULL && atomic_load(stop))
        return ERR_OK; /* nothing was changed */
    if (strcmp(sources->digest, state->digest) == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "%s: the first %llu inputs are not those that it holds the answers of: one has "
                   "changed, is new or is gone; give the same inputs, another --out, or remove it "
                   "and %s",
                   output->path, (unsigned long long)state->done, output->state_path);
}

static enum err_code begin(struct batch *batch, struct err *err)
{
    struct output *output = batch->output;
    if (output_begin(output, err) || output->state.bytes > 0)
        return err->code;
    char *header = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&header, &len);
    if (file == NULL)
        return err_no_memory(err, 0);
    result_header(batch->options->format, file);
    if (fclose(file) != 0)
        err_no_memory(err, len);
    else
        output_append(output, header, len, err);
    free(header);
    return err->code;
}

enum err_code batch_run(struct sources *sources, struct output *output,
                        const struct batch_run_options *options, struct batch_run_result *out,
                        struct err *err)
{
    struct batch batch = {.options = options, .sources = sources, .output = output};
    *out = (struct batch_run_result){.before = output->state.done, .inputs = output->state.done};
    if (pass_over_done(sources, output, options->stop, err))
        return err->code;
    out->is_stopped = is_stopped(&batch);
    if (out->is_stopped || begin(&batch, err))
        return err->code;
    struct sources_progress at = sources_progress(sources);
    batch.first = (struct batch_place){sources->inputs, at.done, at.total};
    screen_open(&batch.screen, SCREEN_MS, SCREEN_FILE_MS);
    pthread_mutex_init(&batch.reading, NULL);
    pthread_mutex_init(&batch.ring, NULL);
    pthread_cond_init(&batch.moved, NULL);
    batch.start_ns = batch.saved_ns = clock_now_ns();
    run_threads(&batch, err);
    screen_clear(&batch.screen);
    struct err saving = {0};
    if (output_save(output, &saving) != ERR_OK)
        err_set(err, saving.code, "%s", saving.text);
    out->seconds = clock_ms_between(batch.start_ns, clock_now_ns()) / 1e3;
    out->inputs = output->state.done;
    out->failed = output->state.failed;
    memcpy(out->failure, batch.failure, sizeof out->failure);
    out->is_stopped = is_stopped(&batch);
    pthread_cond_destroy(&batch.moved);
    pthread_mutex_destroy(&batch.ring);
    pthread_mutex_destroy(&batch.reading);
    return err->code;
}
