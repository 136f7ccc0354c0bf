/* judge_texts.h - judges a model that writes: its loss by the network, and the texts that it writes
 * through the engine's door, as they will be served. Threads: one at a time.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_JUDGE_TEXTS_H
#define ATTND_LEARN_TRAIN_LOOP_JUDGE_TEXTS_H

#include "learn/train/loop/judge.h"

/* A checkpoint whose greedy texts are compared with those that are wanted. */
struct judge_writer {
    const char *dir;
    const char *source_language, *target_language; /* NULL: the usual ones */
    unsigned threads, tokens;                      /* tokens: of the longest text to write */
    /* Called with each item's text, in order, and the number of items done; NULL: not called. */
    void (*written)(void *context, const struct dataset_item *item, const char *text);
    void (*progress)(void *context, size_t done);
    void *context;
};

/* *exact <- the share of the items whose text is written as it is wanted, to the byte; an item that
 * the engine does not take counts as written otherwise. Errors of engine_open begin with the
 * directory's name; ERR_IO and ERR_NO_MEMORY name the item. */
enum err_code judge_writer_run(const struct judge_writer *writer, const struct corpus_items *items,
                               double *exact, struct err *err);

/* Sets loss, accuracy (of tokens, each behind the right ones) and exact of out. The weights are
 * written to judge->texts->scratch_dir for the engine, and removed again. */
enum err_code judge_texts(const struct judge *judge, struct learner *learner,
                          struct data_loader *loader, struct judge_result *out, struct err *err);

#endif
