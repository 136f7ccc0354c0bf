/* ngram_rows.h - the n-grams of many texts, one sparse row for each. Threads: plain data. */
#ifndef ATTND_LEARN_NGRAMS_NGRAM_ROWS_H
#define ATTND_LEARN_NGRAMS_NGRAM_ROWS_H

#include "engine/ngrams/ngrams.h"
#include "learn/data/dataset.h"

struct ngram_rows {
    const struct ngram_list *lists; /* [count] */
    size_t count;
    struct arena arena;
};

/* Reads the n-grams of a data set of texts. ERR_NO_MEMORY. Close it in any case. */
enum err_code ngram_rows_open(struct ngram_rows *out, const struct ngram_reading *reading,
                              const struct dataset *dataset, struct err *err);
void ngram_rows_close(struct ngram_rows *rows);

#endif
