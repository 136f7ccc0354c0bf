/* split.h - which inputs of a list were learnt and which were held back, written out as a list of
 * its own (dataset.h says how it is read).
 *
 * {"attnd_split": 1} first, then a line an input, in the data set's order: {"part": "train" |
 * "validation", "name", "label"} and, so that the list stands alone, the image's absolute path or,
 * of validation texts, the text, with the second one as "text_pair" where there is one. Texts
 * learnt are named only: they are nine tenths of the data, and nobody is to be judged by them.
 * Threads: pure functions.
 */
#ifndef ATTND_LEARN_DATA_SPLIT_H
#define ATTND_LEARN_DATA_SPLIT_H

#include "learn/data/dataset.h"

enum split_part { SPLIT_NONE, SPLIT_TRAIN, SPLIT_VALIDATION };

/* parts: [dataset->count]; SPLIT_NONE is not written, nor what is not UTF-8, which JSON cannot
 * hold. ERR_IO, ERR_NO_MEMORY. */
enum err_code split_write(const char *path, const struct dataset *dataset,
                          const enum split_part *parts, struct err *err);

#endif
