/* conclude_vectors.h - the end of an embedding's run: evaluates the finished directory on the
 * validation part, and writes report.json. Nothing is fitted. Threads: one caller. */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_VECTORS_H
#define ATTND_LEARN_TRAIN_CONCLUDE_VECTORS_H

#include "learn/train/conclude.h"

/* Called after the checkpoint is written; part of conclude. Sets out->judged, out->ndcg and
 * out->ndcg_words. */
enum err_code conclude_vectors(struct run *run, const struct conclude_progress *progress,
                               struct conclusion *out, struct err *err);

#endif
