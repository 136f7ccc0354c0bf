/* state.h - the state of a run in one file: a run that was killed or stopped resumes from it and
 * ends with the same weights as without the interruption.
 *
 * The file is a safetensors file, replaced as a whole: a U64 or F64 tensor for each counter, the
 * history in F64, weights and moments in F32. Its metadata have the version of this form and the
 * run's fingerprint, made of options and data: another run's state is refused; and the options, to
 * say in what it is another. Files of the form
 * before (state_digits.h) are read. Threads: pure functions.
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
    uint64_t optimizer_steps; /* of these, those that changed the weights */
    uint64_t image_size;      /* 0 for texts */
    uint64_t best_epoch;      /* from 1; 0: none yet */
    double best;              /* its figure: larger is better */
    double epoch_loss;        /* sum over the current epoch's batches */
    double epoch_seconds;
    uint64_t epoch_skipped;
};

/* What a file holds; arrays are [numbers] and the caller's. */
struct state {
    char fingerprint[SHA256_HEX_BYTES];
    const char *lines; /* of the options, in UTF-8; NULL: none are written, and none are read */
    struct state_counters counters;
    struct history history; /* read: yours to free */
    float *values, *m, *v;
    float *average; /* NULL: the run has none */
    float *best;
    size_t numbers;
};

enum err_code state_write(const char *path, const struct state *state, struct err *err);

/* First the counters: image_size decides how large the arrays are. *found is false if there is no
 * file. ERR_UNUSABLE if the fingerprint is another run's. */
enum err_code state_read_counters(const char *path, const char *fingerprint, bool *found,
                                  struct state_counters *out, struct err *err);
/* The options of the run that a file is of, yours to free; NULL if it is of the forms before, which
 * had none. */
enum err_code state_read_lines(const char *path, char **lines, struct err *err);
/* Then history and arrays, whose number must be right: ERR_UNSUPPORTED. */
enum err_code state_read(const char *path, struct state *state, struct err *err);

#endif
