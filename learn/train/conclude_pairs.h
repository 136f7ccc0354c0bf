/* conclude_pairs.h - the end of a cross-encoder's run: evaluates the finished directory on the
 * validation part, and writes report.json. Nothing is fitted. Threads: one caller. */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_PAIRS_H
#define ATTND_LEARN_TRAIN_CONCLUDE_PAIRS_H

#include "learn/train/conclude.h"

/* Called after the checkpoint is written; part of conclude. Sets out->judged, out->accuracy,
 * out->ndcg and out->ndcg_words; the last two are 0 if no text is paired with several. */
enum err_code conclude_pairs(struct run *run, const struct conclude_progress *progress,
                             struct conclusion *out, struct err *err);

#endif
