/* conclude.h - the end of a run: the checkpoint is written, its class biases are fitted, it is
 * evaluated on the validation part as it will be served, and attnd.json and the report are written
 * from that.
 *
 * The first evaluation, of the weights as they were trained, is what biases, temperature,
 * thresholds and the OOD score are fitted on; the second, of the directory as it stands, is what
 * the report shows. For masked language modelling, and with several labels an input, only the
 * checkpoint is written. Threads: one caller.
 */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_H
#define ATTND_LEARN_TRAIN_CONCLUDE_H

#include "learn/train/conclusion.h"
#include "learn/train/loop/run.h"

/* `done` is called with the number of inputs evaluated, of `total`; NULL: not called. */
struct conclude_progress {
    void (*call)(void *context, size_t done, size_t total);
    void *context;
};

/* out->remarks are yours to free. */
enum err_code conclude(struct run *run, const struct conclude_progress *progress,
                       struct conclusion *out, struct err *err);

#endif
