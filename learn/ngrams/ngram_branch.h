/* ngram_branch.h - adds a table of n-grams (engine/ngrams/ngram_table.h) to a checkpoint. The table
 * is fitted on inputs that the encoder learnt. Its weight is fitted on validation inputs, which
 * neither encoder nor table learnt,
 *
 *     min over a, b   mean -log softmax(a z + b e)[truth],   table = b / a x the fitted table
 *
 * with the encoder's logits z and the table's evidence e. The remaining factor a becomes part of
 * the temperature, which is fitted later.
 *
 *     ngram_branch_add(dir, &data, &settings, &result, &err);
 *
 * Threads: one at a time in a directory.
 */
#ifndef ATTND_LEARN_NGRAMS_NGRAM_BRANCH_H
#define ATTND_LEARN_NGRAMS_NGRAM_BRANCH_H

#include "engine/ngrams/ngrams.h"
#include "learn/data/dataset.h"
#include "learn/eval/measure/evaluation.h"

enum {
    NGRAM_TABLE_BYTES = 8 * 1024 * 1024, /* most bytes of a table on disk */
    NGRAM_ROWS_USUAL = 1 << 16,          /* most rows of a table */
    NGRAM_WEIGHT_MIN = 50,               /* inputs; with fewer the weight is NGRAM_WEIGHT_USUAL */
};

/* On five folds of crash logs the weights, each fitted on the other four folds, were 1.9 to 2.3. */
#define NGRAM_WEIGHT_USUAL 2.0

struct ngram_settings {
    unsigned characters; /* first characters of a text that are read; 0: no table is made */
    unsigned key_lines;
    const char *key_words; /* separated by '|'; NULL: none */
    double weight;         /* b / a; below 0: fitted */
};

/* Labelled texts; classes are indices of the model's labels. */
struct ngram_data {
    const struct dataset *learnt;
    const unsigned *learnt_classes; /* [learnt->count] */
    const struct dataset *validation;
    const unsigned *classes;             /* [validation->count] */
    const struct evaluation *evaluation; /* of the validation texts, without a table */
    unsigned threads;                    /* 0: one */
};

struct ngram_result {
    double weight;        /* b / a: the table is multiplied by it; 0: nothing was written */
    double before, after; /* mean -log p of the truth on the validation inputs; after: at best a */
};

/* ERR_UNUSABLE for a setting that is out of its limits; the error names the option. */
enum err_code ngram_settings_check(const struct ngram_settings *settings, struct err *err);

/* Writes the table into DIR/attnd_head.safetensors, keeping its other parts, and names that file in
 * DIR/attnd.json. */
enum err_code ngram_branch_add(const char *dir, const struct ngram_data *data,
                               const struct ngram_settings *settings, struct ngram_result *result,
                               struct err *err);

#endif
