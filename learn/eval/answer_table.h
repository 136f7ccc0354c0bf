/* answer_table.h - prints one answer for a person at a terminal: the labels with their scores as
 * bars, the decision, and where the model looked.
 *
 *     text (read in 2 windows)
 *       timing                    0.98  ###############################
 *       ...
 *       decision auto, ood_score -4.1 (rank 0.93), threshold 0.9
 *
 * Threads: one writer of a file.
 */
#ifndef ATTND_LEARN_EVAL_ANSWER_TABLE_H
#define ATTND_LEARN_EVAL_ANSWER_TABLE_H

#include "engine/engine.h"

#include <stdio.h>

/* rows: labels to show, best first; 0: all. text[0..len): the input's, UTF-8, of which spans show
 * parts. Continues the line that names the input. ERR_NO_MEMORY. */
enum err_code answer_table_print(const struct engine_info *info, const struct engine_result *result,
                                 const char *text, size_t len, unsigned rows, FILE *file,
                                 struct err *err);

/* Prints an image's grid of patches, two characters each; darker ones are less relevant. For a text
 * prints its spans: relevance, first words, character offsets; for a text that was written, each
 * of its tokens with the word that the model looked at most. text[0..len) is the prepared text,
 * UTF-8; `pair` is the second text of a pair or NULL. */
void answer_table_explain(const struct explanation *explanation, const char *text, size_t len,
                          const char *pair, FILE *file);

#endif
