/* state.h - the state of a run in one file: a run that was killed or stopped resumes from it and
 * ends with the same weights as without the interruption.
 *
 * The file is a safetensors file, replaced as a whole: a U64 or F64 tensor for each counter, the
 * history in F64, weights and moments in F32. Its metadata have the version of this format, the
 * run's fingerprint, made of options and data, by which another run's state is refused, and the
 * options, to say in what the other run differs. Files of attnd 0.1, which had fp32 numbers only,
 * are read. Threads: pure functions.
 */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_STATE_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_STATE_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"
#include "learn/train/checkpoint/history.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counters of a run. */
struct state_counters {
    uint64_t step;            /* batches done */
    uint64_t optimizer_steps; /* batches that changed the weights */
    uint64_t image_size;      /* 0 for texts */
    uint64_t best_epoch;      /* from 1; 0: none yet */
    double best;              /* the best epoch's figure: larger is better */
    double epoch_loss;        /* sum over the current epoch's batches */
    double epoch_seconds;
    uint64_t epoch_skipped;
};

/* Contents of a file. Arrays are [numbers] and belong to the caller. */
struct state {
    char fingerprint[SHA256_HEX_BYTES];
    const char *lines; /* the options, in UTF-8; NULL: not written; state_read does not set it */
    struct state_counters counters;
    struct history history; /* after state_read the caller frees it */
    float *values, *m, *v;
    float *average; /* NULL: the run has none */
    float *best;
    size_t numbers;
};

enum err_code state_write(const char *path, const struct state *state, struct err *err);

/* Reads the counters; called first, since image_size decides how large the arrays are. *found is
 * false if there is no file. ERR_UNUSABLE if the fingerprint is another run's. */
enum err_code state_read_counters(const char *path, const char *fingerprint, bool *found,
                                  struct state_counters *out, struct err *err);
/* Reads the options of the file's run; the caller frees them. NULL for files of older formats,
 * which have none. */
enum err_code state_read_lines(const char *path, char **lines, struct err *err);
/* Reads history and arrays. ERR_UNSUPPORTED if an array has another number of values. */
enum err_code state_read(const char *path, struct state *state, struct err *err);

#endif
