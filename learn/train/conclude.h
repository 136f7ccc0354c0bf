/* conclude.h - the end of a run: writes the checkpoint, fits its class biases, evaluates it on the
 * validation part as it will be served, and writes attnd.json and the report from the results.
 *
 * There are two evaluations. The first is of the weights as they were trained: biases, temperature,
 * thresholds and the OOD score are fitted on it. The second is of the finished directory, for the
 * report. For masked language modelling, and with several labels an input, only the checkpoint is
 * written. Threads: one caller.
 */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_H
#define ATTND_LEARN_TRAIN_CONCLUDE_H

#include "learn/train/conclusion.h"
#include "learn/train/loop/run.h"

/* `call` is called with the number of inputs evaluated, `done` of `total`; NULL: not called. */
struct conclude_progress {
    void (*call)(void *context, size_t done, size_t total);
    void *context;
};

/* The caller frees out->remarks. */
enum err_code conclude(struct run *run, const struct conclude_progress *progress,
                       struct conclusion *out, struct err *err);

#endif
