/* lexical.h - search by words alone, the rivals of an embedding: BM25 and TF-IDF.
 *
 *     lexical_open(&lexical, texts, count, &err);
 *     lexical_score(&lexical, LEXICAL_BM25, &query, scores, &err);      scores [count]
 *     lexical_close(&lexical);
 *
 * A word is a run of letters, digits and "_"; capital ASCII letters are made small, and all bytes
 * above ASCII are letters. With tf the count of a word in a document, q in the query, df the
 * documents that have it, N documents, l a document's length in words:
 *
 *     BM25     sum over words of q idf tf (k + 1) / (tf + k (1 - b + b l / mean l)),
 *              idf = ln(1 + (N - df + 1/2) / (df + 1/2)),  k = 1.2, b = 0.75
 *              (Robertson and Zaragoza 2009, section 3; the idf is Lucene's)
 *     TF-IDF   cosine of the vectors tf idf, idf = ln((1 + N) / (1 + df)) + 1 (scikit-learn's)
 *
 * Cost: a query reads the documents that have its words. Threads: immutable after open, but that a
 * score uses scratch: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_LEXICAL_H
#define ATTND_LEARN_EVAL_MEASURE_LEXICAL_H

#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum lexical_kind { LEXICAL_BM25, LEXICAL_TFIDF, LEXICAL_KINDS };

struct lexical_text {
    const char *bytes; /* [len], borrowed until close; may hold NUL */
    size_t len;
};

struct lexical {
    size_t documents;
    double mean_length;
    double *lengths;            /* [documents] words of each */
    double *norms;              /* [documents] lengths of the TF-IDF vectors */
    struct lexical_word *words; /* [slots] an open hash table */
    size_t slots, word_count;
};

/* ERR_NO_MEMORY. Close it in any case. */
enum err_code lexical_open(struct lexical *out, const struct lexical_text *texts, size_t count,
                           struct err *err);
void lexical_close(struct lexical *lexical);

/* scores [documents]; all 0 for a query without a known word. ERR_NO_MEMORY. */
enum err_code lexical_score(struct lexical *lexical, enum lexical_kind kind,
                            const struct lexical_text *query, float *scores, struct err *err);

#endif
