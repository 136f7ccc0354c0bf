/* ngram_branch.h - gives a checkpoint a table of n-grams (engine/ngrams/ngram_table.h): it is
 * fitted on inputs that the encoder learnt, and how much it weighs on inputs that neither learnt,
 *
 *     min over a, b   mean -log softmax(a z + b e)[truth],   table = b / a of what was fitted
 *
 * with the encoder's logits z and the evidence e. The temperature, which is fitted later, is what
 * is left of a.
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
    NGRAM_TABLE_BYTES = 8 * 1024 * 1024, /* on disk, at most */
    NGRAM_ROWS_USUAL = 1 << 16,          /* of so many rows at most */
    NGRAM_WEIGHT_MIN = 50,               /* inputs; with fewer the weight is NGRAM_WEIGHT_USUAL */
};

/* Of five folds of crash logs, each weighed by the other four: 1.9 to 2.3. */
#define NGRAM_WEIGHT_USUAL 2.0

struct ngram_settings {
    unsigned characters; /* of each text; 0: no table is made */
    unsigned key_lines;
    const char *key_words; /* separated by '|'; NULL: none */
    double weight;         /* b / a; below 0: fitted */
};

/* Labelled inputs, in the model's labels; both lists are of texts. */
struct ngram_data {
    const struct dataset *learnt;
    const unsigned *learnt_classes; /* [learnt->count] */
    const struct dataset *validation;
    const unsigned *classes;             /* [validation->count] */
    const struct evaluation *evaluation; /* of the validation, without a table */
    unsigned threads;                    /* 0: one */
};

struct ngram_result {
    double weight;        /* what the table was multiplied by; 0: nothing was written */
    double before, after; /* mean -log p of the truth, of the validation inputs; after at best a */
};

/* ERR_UNUSABLE for a setting that is out of its limits, by the name of its option. */
enum err_code ngram_settings_check(const struct ngram_settings *settings, struct err *err);

/* Writes the table into DIR/attnd_head.safetensors, whose other parts stay, and names it in
 * DIR/attnd.json. */
enum err_code ngram_branch_add(const char *dir, const struct ngram_data *data,
                               const struct ngram_settings *settings, struct ngram_result *result,
                               struct err *err);

#endif
