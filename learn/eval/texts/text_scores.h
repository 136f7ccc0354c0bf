/* text_scores.h - how near written texts are to the right ones: exact matches, edits, chrF, BLEU.
 *
 *     struct text_counts sum = {0}, one;
 *     text_counts_take(&one, written, written_len, right, right_len, &scratch, &err);
 *     text_counts_add(&sum, &one);                                  for each text
 *     struct text_scores scores = text_scores_of(&sum);
 *
 * chrF and BLEU are those of a whole set, from sums of counts, and equal sacrebleu's (2.6, its
 * defaults): Popovic 2015, "chrF: character n-gram F-score", with 1 to 6 characters, recall counted
 * beta = 2 times, no white space; Papineni et al. 2002, "BLEU", with 1 to 4 words (bleu_tokens.h),
 * a precision without a match smoothed as NIST does. Texts of fewer than four words in all have no
 * BLEU: it is 0. Threads: plain data; pure functions.
 */
#ifndef ATTND_LEARN_EVAL_TEXTS_TEXT_SCORES_H
#define ATTND_LEARN_EVAL_TEXTS_TEXT_SCORES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/statistics/statistics.h"

#include <stddef.h>
#include <stdint.h>

#define TEXT_SCORES_CHRF "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no"
#define TEXT_SCORES_BLEU "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"

enum { CHRF_ORDERS = 6, BLEU_ORDERS = 4 };

/* Sequences of n characters or words: of the written text, of the right one, in both. */
struct ngram_count {
    size_t written, right, both;
};

/* All members are counts, so that those of several texts can be added. */
struct text_counts {
    size_t texts, exact;
    size_t edits;      /* characters put in, taken out or replaced to make the right text */
    size_t characters; /* of the right text */
    struct ngram_count characters_of[CHRF_ORDERS]; /* both 0 where the right text has none */
    struct ngram_count words_of[BLEU_ORDERS];
};

/* Compares two texts, UTF-8. ERR_NO_MEMORY. Cost: the product of the lengths of what differs, for
 * the edits. */
enum err_code text_counts_take(struct text_counts *out, const char *written, size_t written_len,
                               const char *right, size_t right_len, struct arena *scratch,
                               struct err *err);
void text_counts_add(struct text_counts *sum, const struct text_counts *one);

struct text_scores {
    double exact;         /* share of the texts that are the right ones */
    double edit_distance; /* mean edits of a text */
    double error_rate;    /* edits over the right texts' characters (CER); NaN: they have none */
    double chrf, bleu;    /* 0 to 100 */
};
struct text_scores text_scores_of(const struct text_counts *sum);

/* 95 % intervals: Wilson's of the share, the others by a percentile bootstrap over texts. */
struct text_intervals {
    struct interval exact, edit_distance, error_rate, chrf, bleu;
};

/* counts: [count] of each text. The same seed gives the same intervals. ERR_NO_MEMORY. */
enum err_code text_scores_intervals(struct text_intervals *out, const struct text_counts *counts,
                                    size_t count, uint64_t seed, struct err *err);

#endif
