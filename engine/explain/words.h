/* words.h - converts the relevance of tokens to words and spans of a text.
 *
 * A word is the tokenizer's (letters and digits, or one sign of punctuation). Its relevance is the
 * sum of its pieces', in every window that has them. [CLS] and [SEP] are left out; the rest sums to
 * one.
 *
 * A span is a stretch of neighbouring words that is denser than twice the average of the text. The
 * first is the stretch with the largest sum of (relevance - 2 / words) (Bentley 1984, "Algorithm
 * design techniques": maximum subarray). The next ones are found in the rest of the text, until
 * there are `spans_max` or no more.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_EXPLAIN_WORDS_H
#define ATTND_ENGINE_EXPLAIN_WORDS_H

#include "engine/explain/explanation.h"
#include "engine/model/input.h"

/* relevance [input->tokens]; out has room for as many. Returns the number of words. If the text's
 * tokens have no relevance, all words get the same. */
unsigned words_fold(const struct engine_input *input, const float *relevance, struct excerpt *out);

/* Finds the densest spans, the most relevant first; out has room for spans_max. Returns their
 * number. */
unsigned words_spans(const struct excerpt *words, unsigned count, unsigned spans_max,
                     struct excerpt *out);

#endif
