/* batch_options.h - the options of attnd-batch, and which ones exclude each other.
 *
 * Threads: one. */
#ifndef ATTND_TOOLS_BATCH_BATCH_OPTIONS_H
#define ATTND_TOOLS_BATCH_BATCH_OPTIONS_H

#include "engine/base/err.h"
#include "engine/cli/cli.h"
#include "tools/batch/local.h"
#include "tools/batch/output.h"
#include "tools/batch/remote.h"
#include "tools/batch/sources.h"

#include <stdbool.h>

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

#endif
