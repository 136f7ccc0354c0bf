/* corpus_remarks.h - what a person should know of the data before hours are spent on them. Threads:
 * pure functions. */
#ifndef ATTND_LEARN_TRAIN_LOOP_CORPUS_REMARKS_H
#define ATTND_LEARN_TRAIN_LOOP_CORPUS_REMARKS_H

#include "learn/train/loop/corpus.h"

#include <stdio.h>

/* A line each, after "note: "; nothing if there is nothing to say. ERR_NO_MEMORY; what the file
 * cannot take shows in ferror. */
enum err_code corpus_remarks_print(const struct corpus *corpus, FILE *file, struct err *err);

#endif
