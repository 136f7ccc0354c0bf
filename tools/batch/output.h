/* output.h - the output of attnd-batch: standard output, or a file that a later run continues.
 *
 *     output_open(&output, "out.jsonl", &state, &err);     state: what the run is; then how far
 *     output_begin(&output, &err);
 *     output_append(&output, bytes, len, &err);
 *     output.state.done = ...
 *     output_save(&output, &err);                          now and then, and at the end
 *     output_close(&output);
 *
 * OUT.state is a small file beside the output that says how far it is and what it belongs to. It is
 * replaced as a whole (engine/base/replace.h), after the bytes that it vouches for are on the disk.
 * So a run can go on after a kill at any moment: the file is cut to what OUT.state vouches for, and
 * lines behind it, whole or torn, are computed again. While it is open no other run may write it.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TOOLS_BATCH_OUTPUT_H
#define ATTND_TOOLS_BATCH_OUTPUT_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values that must be the same for a run to be resumed: key, name in error texts. */
#define OUTPUT_STATE_PARTS(X)                                                                      \
    X(model, "the model")                                                                          \
    X(inputs, "the list of inputs")                                                                \
    X(format, "--format")                                                                          \
    X(dtype, "--dtype")                                                                            \
    X(top_k, "--top-k")                                                                            \
    X(explain, "--explain")                                                                        \
    X(fields, "--text-field, --image-field or --id-field")                                         \
    X(asked, "what is asked beside the inputs")                                                    \
    X(url, "--url")

/* Digests of the model's files beside its weights, which must be the same, too; "none": there is no
 * such file. "" in the state of a server, whose files are out of reach, and in one that an older
 * attnd-batch wrote: an empty digest matches every file. */
#define OUTPUT_STATE_FILES(X)                                                                      \
    X(attnd_json, "attnd.json")                                                                    \
    X(reading, "config.json, or a file of the tokenizer or preprocessor,")

struct output_state {
#define X(key, name) char *key; /* NULL: "" */
    OUTPUT_STATE_PARTS(X)
    OUTPUT_STATE_FILES(X)
#undef X
    const char *dir;               /* the model's, for messages; borrowed, not saved; NULL: none */
    uint64_t done, failed;         /* inputs */
    uint64_t bytes;                /* length of their lines in the output */
    char digest[SHA256_HEX_BYTES]; /* digest of the inputs: sources.h */
};

void output_state_free(struct output_state *state);

struct output {
    int fd;           /* -1: none */
    const char *path; /* NULL: standard output, of which nothing is saved */
    char state_path[PATH_MAX];
    struct output_state state;
};

/* Takes the state over, whose parts say what the run is. ERR_UNUSABLE: the file is none of this
 * program's, belongs to another command or is shorter than its state says; ERR_CONFLICT: another
 * run writes it. Close it in any case. */
enum err_code output_open(struct output *out, const char *path, struct output_state *state,
                          struct err *err);
/* Begins to write. The caller has checked before that the inputs are the same. */
enum err_code output_begin(struct output *output, struct err *err);
enum err_code output_append(struct output *output, const char *bytes, size_t len, struct err *err);
/* Everything so far survives the end of the process, and of the machine. */
enum err_code output_save(struct output *output, struct err *err);
void output_close(struct output *output);

#endif
