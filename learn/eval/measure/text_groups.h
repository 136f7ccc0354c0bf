/* text_groups.h - numbers texts so that those that are equal, byte for byte, have one number.
 * Threads: a pure function. */
#ifndef ATTND_LEARN_EVAL_MEASURE_TEXT_GROUPS_H
#define ATTND_LEARN_EVAL_MEASURE_TEXT_GROUPS_H

#include "learn/eval/measure/lexical.h"

/* groups [count] <- numbers from 0 on, in the order of the texts' bytes. Cost: a sort.
 * ERR_NO_MEMORY. */
enum err_code text_groups_number(const struct lexical_text *texts, size_t count, unsigned *groups,
                                 struct err *err);

#endif
