/* batch_state.h - OUT.state, the small file beside an output that says how far it is and what it
 * belongs to, so that a run can go on after a kill at any moment.
 *
 *     batch_state_read(&state, "out.jsonl.state", &found, &err);
 *     batch_state_check(&state, &wanted, "out.jsonl", &err);
 *     batch_state_write(&state, "out.jsonl.state", &err);
 *     batch_state_free(&state);
 *
 * It is replaced as a whole (engine/base/replace.h), after the bytes that it vouches for are on the
 * disk. Threads: one at a time.
 */
#ifndef ATTND_TOOLS_BATCH_BATCH_STATE_H
#define ATTND_TOOLS_BATCH_BATCH_STATE_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"

#include <stdbool.h>
#include <stdint.h>

/* Values that must be the same for a run to be resumed: key, name in error texts. */
#define BATCH_STATE_PARTS(X)                                                                       \
    X(model, "the model")                                                                          \
    X(inputs, "the list of inputs")                                                                \
    X(format, "--format")                                                                          \
    X(dtype, "--dtype")                                                                            \
    X(top_k, "--top-k")                                                                            \
    X(explain, "--explain")                                                                        \
    X(fields, "--text-field or --image-field")                                                     \
    X(url, "--url")

struct batch_state {
#define X(key, name) char *key; /* NULL: "" */
    BATCH_STATE_PARTS(X)
#undef X
    uint64_t done, failed;         /* inputs */
    uint64_t bytes;                /* of the output that are theirs */
    char digest[SHA256_HEX_BYTES]; /* of the inputs: sources.h */
};

/* *found is false if there is no such file. ERR_UNUSABLE for a file that is none of this version;
 * ERR_IO. Yours to free in any case. */
enum err_code batch_state_read(struct batch_state *out, const char *path, bool *found,
                               struct err *err);
/* ERR_UNUSABLE: what differs, and what to do; `out` is the output's path. */
enum err_code batch_state_check(const struct batch_state *state, const struct batch_state *wanted,
                                const char *out, struct err *err);
enum err_code batch_state_write(const struct batch_state *state, const char *path, struct err *err);
void batch_state_free(struct batch_state *state);

#endif
