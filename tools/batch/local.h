/* local.h - answers chunks in this process (tools/answers) and writes the lines.
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

#include "tools/answers/answers.h"
#include "tools/batch/chunk.h"
#include "tools/batch/result.h"

struct local_options {
    struct answers_options answers;
    struct result_format format;
};

struct local_model {
    const struct local_options *options;
    struct answers_model answers;
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
