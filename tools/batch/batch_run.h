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
#include "tools/batch/local.h"
#include "tools/batch/output.h"
#include "tools/batch/remote.h"
#include "tools/batch/sources.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- options ---- */

/* Options of attnd-batch, and which ones exclude each other (batch_options.c). */
struct batch_options {
    const char *model; /* a directory; with url the name of a served model, or NULL */
    struct sources sources;
    const char *out; /* NULL: standard output */
    const char *format, *text_field, *image_field;
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
 * server's description of its models. `dtype`: the model's, which auto may have chosen; NULL for a
 * server. The caller frees it. ERR_NO_MEMORY. */
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
