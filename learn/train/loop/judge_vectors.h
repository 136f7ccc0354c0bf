/* judge_vectors.h - judge.h's evaluation of an embedding: the loss over pairs of the validation
 * part, and nDCG@10 of searching in it. Threads: one at a time. */
#ifndef ATTND_LEARN_TRAIN_LOOP_JUDGE_VECTORS_H
#define ATTND_LEARN_TRAIN_LOOP_JUDGE_VECTORS_H

#include "learn/train/loop/judge.h"

/* Part of judge_run: the learner is paused, the loader reads the part's samples. Of pairs the first
 * texts search among the second ones; of labels each text among all others. With more than
 * JUDGE_QUERIES_MAX texts that search, so many of them, spread evenly, do. */
enum { JUDGE_QUERIES_MAX = 2000 };
enum err_code judge_vectors(const struct judge *judge, struct learner *learner,
                            struct data_loader *loader, struct judge_result *out, struct err *err);

#endif
