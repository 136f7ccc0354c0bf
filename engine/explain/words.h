/* words.h - the relevance of tokens as relevance of words and spans of a text.
 *
 * A word is what the tokenizer took for one (letters and digits, or one sign of punctuation), its
 * pieces added up, in every window that has them; [CLS] and [SEP] are left out, and what is left
 * sums to one.
 *
 * A span is a stretch of neighbouring words that is denser than twice the average of the text: the
 * stretch with the largest sum of (relevance - 2 / words) (Bentley 1984, "Algorithm design
 * techniques": maximum subarray), then the same in what is left of the text, until `spans_max` are
 * found or none is.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_EXPLAIN_WORDS_H
#define ATTND_ENGINE_EXPLAIN_WORDS_H

#include "engine/explain/explanation.h"
#include "engine/model/input.h"

/* relevance [input->tokens]; out has room for as many. Returns the number of words; their relevance
 * is all alike if the text's tokens have none. */
unsigned words_fold(const struct engine_input *input, const float *relevance, struct excerpt *out);

/* The densest spans, the most relevant first; out has room for spans_max. Returns their number. */
unsigned words_spans(const struct excerpt *words, unsigned count, unsigned spans_max,
                     struct excerpt *out);

#endif
