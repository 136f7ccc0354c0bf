/* corpus_remarks.h - prints remarks on the data that a person should read before hours are spent on
 * training. Threads: pure functions. */
#ifndef ATTND_LEARN_TRAIN_LOOP_CORPUS_REMARKS_H
#define ATTND_LEARN_TRAIN_LOOP_CORPUS_REMARKS_H

#include "learn/train/loop/corpus.h"

#include <stdio.h>

/* Prints a remark if config.json leaves out how wide or deep the model is. Its sizes are then the
 * defaults of Hugging Face's class, too large for most data and processors. `dir` is the source's.
 * ERR_IO, ERR_NO_MEMORY. */
enum err_code corpus_remarks_print_defaults(const struct spec *spec, const char *dir, FILE *file,
                                            struct err *err);

/* Prints one line for each remark, after "note: " or, for labels that are mostly numbers,
 * "warning: ". ERR_NO_MEMORY; a failed write shows in ferror. */
enum err_code corpus_remarks_print(const struct corpus *corpus, FILE *file, struct err *err);

#endif
