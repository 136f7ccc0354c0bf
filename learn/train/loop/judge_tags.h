/* judge_tags.h - judge.h's evaluation of a model of tags: the loss and the accuracy over tokens,
 * and the F1 of spans. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_JUDGE_TAGS_H
#define ATTND_LEARN_TRAIN_LOOP_JUDGE_TAGS_H

#include "learn/train/loop/judge.h"

/* Part of judge_run: the learner is paused, the loader reads the part's samples. Spans are those
 * that the server answers, by the aggregation of the learner's spec, but they are counted in each
 * window by itself, in tokens; the report of the finished directory counts those of whole texts. */
enum err_code judge_tags(const struct judge *judge, struct learner *learner,
                         struct data_loader *loader, struct judge_result *out, struct err *err);

#endif
