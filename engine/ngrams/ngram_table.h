/* ngram_table.h - a linear classifier on hashed n-grams (ngrams.h), which is added to an encoder:
 *
 *     logits = encoder's logits + evidence,   evidence[c] = bias[c] + sum over rows of value W[c]
 *
 * The encoder reads words in context, but only within its window. The table has words and phrases
 * that are typical of a class, and reads them anywhere in the text. learn/ngrams fits it.
 *
 * Threads: immutable once it is made.
 */
#ifndef ATTND_ENGINE_NGRAMS_NGRAM_TABLE_H
#define ATTND_ENGINE_NGRAMS_NGRAM_TABLE_H

#include "engine/ngrams/ngrams.h"

struct ngram_table {
    struct ngram_reading reading;
    unsigned labels;
    const float *weight;    /* [reading.rows, labels] W; NULL: halves has it */
    const uint16_t *halves; /* W in binary16, as files have it */
    const float *bias;      /* [labels]; NULL: there is no table */
    double scale;           /* factor of weight and bias, applied after they were fitted */
};

/* Writes the numbers [first, first + count) of W to out[count]. */
void ngram_table_read(const struct ngram_table *table, size_t first, size_t count, float *out);

/* Computes evidence [labels] from the n-grams of a text. */
void ngram_table_add_up(const struct ngram_table *table, const struct ngram_list *list,
                        float *evidence);

/* Computes evidence [labels] of a text. The arena is for temporary memory. ERR_NO_MEMORY. */
enum err_code ngram_table_evidence(const struct ngram_table *table, const char *text, size_t len,
                                   struct arena *arena, float *evidence, struct err *err);

/* A stretch of neighbouring words that supports a label. */
struct ngram_phrase {
    size_t start, end; /* bytes of the text, end exclusive */
    float evidence;    /* its part of the label's logit, minus the average over all labels */
};

/* Finds the phrases that support a label most, the strongest first; at most `most`. An n-gram's
 * evidence is split equally among its words; neighbouring words with evidence above 0 make a
 * phrase. *count: their number. The arena is for temporary memory. ERR_NO_MEMORY. */
enum err_code ngram_table_phrases(const struct ngram_table *table, const char *text, size_t len,
                                  unsigned label, struct arena *arena, struct ngram_phrase *out,
                                  unsigned most, unsigned *count, struct err *err);
/* Upper bound of the bytes that ngram_table_phrases takes from the arena. */
size_t ngram_table_phrases_bytes(const struct ngram_table *table, size_t len);

#endif
