/* corpus_remarks.h - what a person should know of the data before hours are spent on them. Threads:
 * pure functions. */
#ifndef ATTND_LEARN_TRAIN_LOOP_CORPUS_REMARKS_H
#define ATTND_LEARN_TRAIN_LOOP_CORPUS_REMARKS_H

#include "learn/train/loop/corpus.h"

#include <stdio.h>

/* A config.json that leaves out how wide or deep the model is: the sizes are then those of Hugging
 * Face's class, too large for most data and processors. `dir` is the source's. ERR_IO,
 * ERR_NO_MEMORY. */
enum err_code corpus_remarks_print_defaults(const struct spec *spec, const char *dir, FILE *file,
                                            struct err *err);

/* A line each, after "note: "; nothing if there is nothing to say. ERR_NO_MEMORY; what the file
 * cannot take shows in ferror. */
enum err_code corpus_remarks_print(const struct corpus *corpus, FILE *file, struct err *err);

#endif
