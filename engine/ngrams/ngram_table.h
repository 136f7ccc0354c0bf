/* ngram_table.h - a linear classifier on hashed n-grams (ngrams.h), which stands beside an encoder:
 *
 *     logits = encoder's logits + evidence,   evidence[c] = bias[c] + sum over rows of value W[c]
 *
 * The encoder reads what words mean together, and only as far as its window goes; the table knows
 * words and phrases from anywhere that gave a class away. learn/ngrams fits it.
 *
 * Threads: immutable once it is made.
 */
#ifndef ATTND_ENGINE_NGRAMS_NGRAM_TABLE_H
#define ATTND_ENGINE_NGRAMS_NGRAM_TABLE_H

#include "engine/ngrams/ngrams.h"

struct ngram_table {
    struct ngram_reading reading;
    unsigned labels;
    const float *weight; /* [reading.rows, labels]; NULL: there is no table */
    const float *bias;   /* [labels] */
    double scale;        /* what weight and bias were multiplied by after they were fitted */
};

/* evidence [labels] of a text that was read already. */
void ngram_table_add_up(const struct ngram_table *table, const struct ngram_list *list,
                        float *evidence);

/* evidence [labels]. The arena is for what passes. ERR_NO_MEMORY. */
enum err_code ngram_table_evidence(const struct ngram_table *table, const char *text, size_t len,
                                   struct arena *arena, float *evidence, struct err *err);

/* A stretch of neighbouring words that speaks for a label. */
struct ngram_phrase {
    size_t start, end; /* bytes of the text, end exclusive */
    float evidence;    /* what it adds to the label's logit, less what it adds to all on average */
};

/* The phrases that speak most for a label, the strongest first; at most `most`. An n-gram's share
 * is its words' in equal parts; neighbouring words with a share above 0 make a phrase. Returns in
 * *count how many there are. The arena is for what passes. ERR_NO_MEMORY. */
enum err_code ngram_table_phrases(const struct ngram_table *table, const char *text, size_t len,
                                  unsigned label, struct arena *arena, struct ngram_phrase *out,
                                  unsigned most, unsigned *count, struct err *err);
/* Upper bound of what that takes from the arena. */
size_t ngram_table_phrases_bytes(const struct ngram_table *table, size_t len);

#endif
