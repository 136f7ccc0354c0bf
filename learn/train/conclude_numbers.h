/* conclude_numbers.h - the end of a regression's run: evaluates the finished directory on the
 * validation part, and writes its answers' distribution into attnd.json and report.json. Nothing is
 * fitted. Threads: one caller. */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_NUMBERS_H
#define ATTND_LEARN_TRAIN_CONCLUDE_NUMBERS_H

#include "learn/train/conclude.h"

/* Called after the checkpoint is written; part of conclude. Sets out->judged and out->errors. */
enum err_code conclude_numbers(struct run *run, const struct conclude_progress *progress,
                               struct conclusion *out, struct err *err);

#endif
