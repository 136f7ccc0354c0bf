/* batch_run.h - all inputs of the sources, answered on several threads, their lines in the order of
 * the inputs.
 *
 *     batch_run(&sources, &output, &options, &result, &err);
 *
 * Threads: it starts its own, and returns when they have ended.
 */
#ifndef ATTND_TOOLS_BATCH_BATCH_RUN_H
#define ATTND_TOOLS_BATCH_BATCH_RUN_H

#include "engine/base/err.h"
#include "engine/cli/cli.h"
#include "tools/answers/answers.h"
#include "tools/batch/chunk.h"
#include "tools/batch/output.h"
#include "tools/batch/remote_call.h"
#include "tools/batch/result.h"
#include "tools/batch/sources.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- answers of a server ---- */

/* Remote answers of chunks, through a running attnd (remote.c): inputs go in envelopes of
 * POST /predict, as many as the server takes at once. What will pass (429, 503, a connection that
 * breaks) is asked again, REMOTE_ATTEMPTS times in all with growing pauses: a prediction may be
 * asked for twice. A server is immutable after open; a struct remote belongs to one thread at a
 * time.
 *
 *     remote_server_open(&server, &options, &err);      asks GET /models
 *     remote_open(&remote, &server, &err);
 *     remote_answer(remote, chunk, &err);
 *     remote_close(remote);
 *     remote_server_close(&server);
 */

/* ERR_UNUSABLE for a model that it does not serve, or another answer than is expected; ERR_IO. */
enum err_code remote_server_open(struct remote_server *out, const struct remote_options *options,
                                 struct err *err);
void remote_server_close(struct remote_server *server);

struct remote;
enum err_code remote_open(struct remote **out, const struct remote_server *server, struct err *err);
void remote_close(struct remote *remote);

/* The same as local_answer. It also fails if the server refuses a whole request for good (the key,
 * the model), or cannot be reached after all attempts. */
enum err_code remote_answer(struct remote *remote, struct chunk *chunk, struct err *err);

/* ---- answers of this process ---- */

/* Local answers of chunks, in this process (local.c, tools/answers). A model is immutable after
 * open; a struct local belongs to one thread at a time.
 *
 *     local_model_open(&model, &options, &err);
 *     local_open(&local, &model, &err);
 *     local_answer(local, chunk, &err);
 *     local_close(local);
 *     local_model_close(&model);
 */

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

/* A failed input gets its problem document in its place. Only a failure of the system is an error,
 * and ERR_NOT_READY of texts that a stop gave up: the run must end then, and the chunk has no
 * lines. */
enum err_code local_answer(struct local *local, struct chunk *chunk, struct err *err);

/* ---- options ---- */

/* Options of attnd-batch, and which ones exclude each other (batch_options.c). */
struct batch_options {
    const char *model; /* a directory; with url the name of a served model, or NULL */
    struct sources sources;
    const char *out; /* NULL: standard output */
    const char *format, *text_field, *image_field, *id_field;
    unsigned threads; /* 0: as many as there are cores */
    double rate;      /* 0: none */
    const char *explain;
    struct local_options local;
    struct remote_options remote;
};

extern const struct cli batch_options_cli;

/* After the command line. ERR_UNUSABLE for wrong use. Strings are argv's. */
enum err_code batch_options_settle(struct batch_options *out, struct err *err);

/* The state that a later run must share to resume this one. `model`: the model's digest, or a
 * server's description of its models: name, version, dtype and digest of the weights. `dtype`: the
 * model's, which auto may have chosen; NULL for a server. The caller frees it. ERR_NO_MEMORY;
 * ERR_IO if a file of the model cannot be read. */
enum err_code batch_options_state(struct output_state *out, const struct batch_options *options,
                                  const char *model, const char *dtype, struct err *err);

/* ---- the run ---- */

struct batch_run_options {
    const struct local_model *local;    /* NULL: */
    const struct remote_server *remote; /* these answer */
    const struct result_format *format;
    unsigned threads;
    double rate;             /* inputs a second; 0: as fast as they are answered */
    const atomic_bool *stop; /* set at any time: no further input is read; NULL: never */
};

struct batch_run_result {
    uint64_t inputs, failed; /* inputs of the output, with those that were there before */
    uint64_t before;         /* inputs done by earlier runs */
    double seconds;          /* time of this run */
    bool is_stopped;
    char failure[CHUNK_FAILURE_BYTES]; /* why this run's first failed input did; "" if none did */
};

/* Goes on behind what the output has. ERR_UNUSABLE if the inputs before that are not those of the
 * earlier run; else an error of the system, and what was written before it stays valid. */
enum err_code batch_run(struct sources *sources, struct output *output,
                        const struct batch_run_options *options, struct batch_run_result *out,
                        struct err *err);

/* Progress of a run. */
struct batch_place {
    uint64_t inputs;
    uint64_t done, total; /* bytes; total 0: unknown */
};

/* Writes "[####      ]  40 %, 120 inputs, 60.0 a second, 0:03 left" into out. seconds > 0 since
 * `first`. */
enum { BATCH_PROGRESS_BYTES = 160 };
void batch_run_progress(char out[BATCH_PROGRESS_BYTES], const struct batch_place *first,
                        const struct batch_place *at, double seconds);

#endif
