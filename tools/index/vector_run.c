#include "tools/index/vector_run.h"

#include "engine/base/thread_pool.h"
#include "learn/eval/measure/input_reader.h"

#include <stdlib.h>

enum { CHUNK_ITEMS = 64, BATCH_TOKENS = 256 };

/* Items first .. first + count - 1; each has an arena, so that any thread may prepare it. */
struct chunk {
    const struct vector_run *run;
    const struct dataset *dataset;
    struct engine_session *session;
    struct thread_pool *pool;
    struct input_reader *readers; /* [members of the pool] */
    unsigned members, tokens_max;
    size_t first;
    unsigned count;
    struct engine_input inputs[CHUNK_ITEMS];
    struct engine_result results[CHUNK_ITEMS];
    struct arena arenas[CHUNK_ITEMS];
    struct err errs[CHUNK_ITEMS];
};

/* A pool's task. Each member keeps open the lot that it read last. */
static void prepare_items(void *context, unsigned member, unsigned count)
{
    struct chunk *chunk = context;
    for (unsigned i = member; i < chunk->count; i += count) {
        const struct dataset_item *item = &chunk->dataset->items[chunk->first + i];
        const bool is_image = chunk->dataset->kind == ENGINE_IMAGE;
        const struct listed_input input = {.is_image = is_image,
                                           .path = is_image ? item->input : NULL,
                                           .text = item->input,
                                           .text_len = item->input_len,
                                           .pair = item->pair};
        chunk->errs[i] = (struct err){0};
        arena_init(&chunk->arenas[i]);
        if (!input_reader_prepare(&chunk->readers[member], &input, &chunk->arenas[i],
                                  &chunk->inputs[i], &chunk->errs[i]))
            engine_result_init(&chunk->results[i], chunk->run->model, &chunk->arenas[i],
                               &chunk->errs[i]);
        chunk->results[i].scores = NULL; /* a zero-shot model may have no label */
    }
}

/* The vectors of a batch are told before the next one runs: features are the session's. */
static enum err_code run_batch(struct chunk *chunk, unsigned *at, struct err *err)
{
    const struct vector_run *run = chunk->run;
    const struct engine_info *info = engine_describe(run->model);
    const struct engine_input *inputs[CHUNK_ITEMS];
    struct engine_result *results[CHUNK_ITEMS];
    const unsigned begin = *at;
    unsigned rows = 0, tokens = 0;
    for (; *at < chunk->count; ++*at) {
        if (chunk->errs[*at].code != ERR_OK)
            continue;
        if (rows > 0 && tokens + chunk->inputs[*at].tokens > chunk->tokens_max)
            break; /* but a text in windows, run in several passes, may be longer */
        inputs[rows] = &chunk->inputs[*at];
        results[rows++] = &chunk->results[*at];
        tokens += chunk->inputs[*at].tokens;
    }
    if (rows > 0)
        engine_run(chunk->session, inputs, rows, results);
    for (unsigned i = 0; i < rows; i++)
        *run->truncated += results[i]->truncated;
    for (unsigned i = begin; i < *at && err->code == ERR_OK; i++) {
        const struct err *cause = &chunk->errs[i];
        if (err_is_of_system(cause->code))
            err_set(err, cause->code, "%.80s: %s", chunk->dataset->items[chunk->first + i].name,
                    cause->text);
        else
            run->take(run->context, chunk->first + i,
                      cause->code == ERR_OK ? engine_compared(info, &chunk->results[i]) : NULL,
                      cause, err);
    }
    return err->code;
}

static enum err_code run_chunk(struct chunk *chunk, size_t first, struct err *err)
{
    const size_t left = chunk->dataset->count - first;
    chunk->first = first;
    chunk->count = left < CHUNK_ITEMS ? (unsigned)left : CHUNK_ITEMS;
    thread_pool_run(chunk->pool, prepare_items, chunk);
    for (unsigned at = 0; at < chunk->count && err->code == ERR_OK;)
        run_batch(chunk, &at, err);
    for (unsigned i = 0; i < chunk->count; i++)
        arena_deinit(&chunk->arenas[i]);
    return err->code;
}

enum err_code vector_run_all(const struct vector_run *run, const struct dataset *dataset,
                             unsigned threads, struct err *err)
{
    const unsigned longest = engine_describe(run->model)->tokens_max;
    struct chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL)
        return err_no_memory(err, sizeof *chunk);
    chunk->run = run;
    chunk->dataset = dataset;
    chunk->members = threads;
    chunk->tokens_max = longest > BATCH_TOKENS ? longest : BATCH_TOKENS;
    chunk->readers = calloc(threads, sizeof *chunk->readers);
    if (chunk->readers == NULL) {
        err_no_memory(err, threads * sizeof *chunk->readers);
        goto out;
    }
    for (unsigned t = 0; t < threads; t++)
        chunk->readers[t] =
            (struct input_reader){.model = run->model, .prompt_name = run->prompt_name};
    if (!engine_session_open(&chunk->session, run->model, chunk->tokens_max, threads, err) &&
        !thread_pool_open(&chunk->pool, threads, err))
        for (size_t first = 0; first < dataset->count && err->code == ERR_OK; first += CHUNK_ITEMS)
            run_chunk(chunk, first, err);
out:
    for (unsigned t = 0; chunk->readers != NULL && t < threads; t++)
        input_reader_close(&chunk->readers[t]);
    free(chunk->readers);
    thread_pool_close(chunk->pool);
    engine_session_close(chunk->session);
    free(chunk);
    return err->code;
}
