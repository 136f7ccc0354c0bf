/* output.h - where the lines go: standard output, or a file that a later run continues.
 *
 *     output_open(&output, "out.jsonl", &state, &err);     state: what the run is; then how far
 *     output_begin(&output, &err);
 *     output_append(&output, bytes, len, &err);
 *     output.state.done = ...
 *     output_save(&output, &err);                          now and then, and at the end
 *     output_close(&output);
 *
 * A file is cut to what OUT.state vouches for and goes on from there: lines behind it, whole or
 * torn, are computed again. While it is open no other run may write it.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TOOLS_BATCH_OUTPUT_H
#define ATTND_TOOLS_BATCH_OUTPUT_H

#include "engine/base/err.h"
#include "tools/batch/batch_state.h"

#include <limits.h>
#include <stddef.h>

struct output {
    int fd;           /* -1: none */
    const char *path; /* NULL: standard output, of which nothing is saved */
    char state_path[PATH_MAX];
    struct batch_state state;
};

/* Takes the state over, whose parts say what the run is. ERR_UNUSABLE: the file is none of this
 * program's, belongs to another command or is shorter than its state says; ERR_CONFLICT: another
 * run writes it. Close it in any case. */
enum err_code output_open(struct output *out, const char *path, struct batch_state *state,
                          struct err *err);
/* After the caller has found that the inputs are the same. */
enum err_code output_begin(struct output *output, struct err *err);
enum err_code output_append(struct output *output, const char *bytes, size_t len, struct err *err);
/* Everything so far survives the end of the process, and of the machine. */
enum err_code output_save(struct output *output, struct err *err);
void output_close(struct output *output);

#endif
