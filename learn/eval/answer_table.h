/* answer_table.h - one answer for a person at a terminal: the labels with their scores as bars,
 * what is decided, and where the model looked.
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

/* rows: labels to show, best first; 0: all. Goes on in the line that names the input.
 * ERR_NO_MEMORY. */
enum err_code answer_table_print(const struct engine_info *info, const struct engine_result *result,
                                 unsigned rows, FILE *file, struct err *err);

/* The grid of patches, two characters each, the darker the less relevant. For a text its spans:
 * relevance, the first words of each, character offsets; text[0..len) is what was prepared, UTF-8,
 * `pair` the second text of a pair or NULL. */
void answer_table_explain(const struct explanation *explanation, const char *text, size_t len,
                          const char *pair, FILE *file);

#endif
