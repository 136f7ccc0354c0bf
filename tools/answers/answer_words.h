/* answer_words.h - the options of programs that are about answers, as words.
 *
 * Threads: no state.
 */
#ifndef ATTND_TOOLS_ANSWERS_ANSWER_WORDS_H
#define ATTND_TOOLS_ANSWERS_ANSWER_WORDS_H

#include "engine/engine.h"

enum { ANSWER_TOP_K_MAX = 1000000 };

/* "all", which is 0, or a whole number from 1 to ANSWER_TOP_K_MAX. ERR_UNUSABLE. */
enum err_code answer_words_top_k(const char *word, unsigned *top_k, struct err *err);

/* "default" or the name of a method. ERR_UNUSABLE names those that there are. */
enum err_code answer_words_method(const char *word, enum explain_method *method, struct err *err);

#endif
