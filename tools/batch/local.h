/* local.h - answers chunks in this process: prepares their inputs, runs them in packed batches on
 * one thread, judges and explains them, and writes the lines. Each thread of a run has its own over
 * one model: offline, as many batches at once as there are cores take less time than one batch on
 * all cores, since nobody waits for anybody, and one thread prepares while another computes.
 *
 *     local_model_open(&model, &options, &err);
 *     local_open(&local, &model, &err);
 *     local_answer(local, chunk, &err);
 *     local_close(local);
 *     local_model_close(&model);
 *
 * Threads: a model is immutable after open; a struct local belongs to one thread at a time.
 */
#ifndef ATTND_TOOLS_BATCH_LOCAL_H
#define ATTND_TOOLS_BATCH_LOCAL_H

#include "engine/engine.h"
#include "tools/batch/chunk.h"
#include "tools/batch/result.h"

#include <limits.h>

struct local_options {
    const char *dir;
    struct engine_options engine;
    bool explain;
    struct explain_options how;
    struct result_format format;
};

struct local_model {
    const struct local_options *options;
    struct engine_model *engine;
    char name[NAME_MAX + 1]; /* the last part of the directory's path */
    char digest[72];
};

/* Errors begin with the directory. Close it in any case. */
enum err_code local_model_open(struct local_model *out, const struct local_options *options,
                               struct err *err);
void local_model_close(struct local_model *model);

struct local;
enum err_code local_open(struct local **out, const struct local_model *model, struct err *err);
void local_close(struct local *local);

/* A failed input gets its problem document in its place. Only a failure of the system is an error:
 * the run must end then, and the chunk has no lines. */
enum err_code local_answer(struct local *local, struct chunk *chunk, struct err *err);

#endif
