#include "server/serve/served_index.h"

#include "engine/base/clock.h"
#include "server/observe/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum err_code served_index_check(const struct served_index *index, const struct served_model *model,
                                 struct err *err)
{
    const char *known = served_model_digest(model);
    char digest[INDEX_DIGEST_BYTES];
    if (known == NULL && engine_digest(model->engine, NULL, digest, err))
        return err->code;
    const enum index_space space =
        model->info->task == ENGINE_EMBED ? INDEX_EMBEDDING : INDEX_FEATURES;
    if (index_check(index->info, known != NULL ? known : digest, space,
                    engine_compared_size(model->info), err))
        return err_prefix(err, "%s: ", index->path);
    return ERR_OK;
}

enum err_code served_index_open(struct served_index **out, const char *path,
                                const struct served_model *model, struct memory *memory,
                                struct err *err)
{
    const uint64_t start = clock_now_ns(), stamp = served_model_file_stamp(AT_FDCWD, path);
    struct index_info info;
    *out = NULL;
    if (index_measure(&info, path, err))
        return err->code;
    if (memory_hold(memory, info.bytes, err))
        return err_prefix(err, "%s: ", path);
    struct served_index *index = calloc(1, sizeof *index);
    if (index == NULL) {
        memory_release(memory, info.bytes);
        return err_no_memory(err, sizeof *index);
    }
    arena_init(&index->arena);
    atomic_init(&index->users, 1);
    index->path = arena_copy(&index->arena, path, strlen(path));
    index->stamp = stamp;
    index->memory = memory;
    if (index->path == NULL)
        err_no_memory(err, strlen(path));
    else if (!index_open(&index->index, path, err)) {
        index->info = index_describe(index->index);
        /* the file may be another one than it was a moment ago */
        if (index->info->bytes != info.bytes)
            err_set(err, ERR_IO, "%s: it was exchanged while it was read; try again", path);
        else
            served_index_check(index, model, err);
    }
    if (err->code != ERR_OK) {
        index_close(index->index);
        arena_deinit(&index->arena);
        free(index);
        memory_release(memory, info.bytes);
        return err->code;
    }
    log_event(LOG_INFO, "index_opened", LOG_TEXT("model", model->name),
              LOG_NUMBER("rows", info.rows), LOG_NUMBER("bytes", info.bytes),
              LOG_NUMBER("ms", clock_ms_between(start, clock_now_ns())));
    *out = index;
    return ERR_OK;
}

void served_index_acquire(struct served_index *index)
{
    if (index != NULL)
        atomic_fetch_add_explicit(&index->users, 1, memory_order_relaxed);
}

void served_index_release(struct served_index *index)
{
    if (index == NULL || atomic_fetch_sub_explicit(&index->users, 1, memory_order_acq_rel) != 1)
        return;
    struct memory *memory = index->memory;
    const size_t bytes = index->info->bytes;
    index_close(index->index);
    arena_deinit(&index->arena);
    free(index);
    memory_release(memory, bytes);
}
