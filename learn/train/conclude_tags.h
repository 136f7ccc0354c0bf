/* conclude_tags.h - the end of a run of a model of tags: evaluates the finished directory on the
 * validation part, and writes report.json. Threads: one caller. */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_TAGS_H
#define ATTND_LEARN_TRAIN_CONCLUDE_TAGS_H

#include "learn/train/conclude.h"

/* Called after the checkpoint is written; part of conclude. Sets out->judged, out->accuracy, of
 * tokens, out->span_f1 and out->exact. */
enum err_code conclude_tags(struct run *run, const struct conclude_progress *progress,
                            struct conclusion *out, struct err *err);

#endif
