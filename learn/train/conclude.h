/* conclude.h - the end of a run: writes the checkpoint, fits its class biases, evaluates it on the
 * validation part as it will be served, and writes attnd.json and the report from the results.
 *
 * There are two evaluations. The first is of the weights as they were trained: biases, temperature,
 * thresholds and the OOD score are fitted on it. The second is of the finished directory, for the
 * report. A regression, an embedding, a model of tags and one that writes are evaluated once. For
 * masked language modelling, and with several labels an input, only the checkpoint is written.
 * Threads: one caller.
 */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_H
#define ATTND_LEARN_TRAIN_CONCLUDE_H

#include "engine/base/err.h"
#include "learn/eval/measure/number_errors.h"
#include "learn/ngrams/ngram_branch.h"

#include <stdbool.h>
#include <stddef.h>

struct run;

/* Figures of the finished model on the validation part. */
struct conclusion {
    bool judged;   /* false: only the checkpoint was written */
    char *remarks; /* lines of the report that a person should read; NULL: not judged */
    double accuracy, macro_f1, ece, temperature;
    double automatic;        /* share of inputs with an automatic answer */
    double right;            /* share of these that are right */
    double macro_f1_before;  /* without class biases */
    double macro_f1_crossed; /* with class biases that were fitted on other inputs */
    struct ngram_result ngrams;
    double ndcg, ndcg_words;       /* of an embedding or of pairs: nDCG@10, and that of BM25 */
    double span_f1, span_macro_f1; /* of a model of tags, whose accuracy is that of tokens */
    double exact;                  /* share of its texts whose spans are all right; its
                                      `automatic` and `right` are of spans. Of a model that writes
                                      share of the texts that are written as they are wanted */
    struct number_errors errors; /* of a regression's first output; the others are in the report */
};

/* `call` is called with the number of inputs evaluated, `done` of `total`; NULL: not called. */
struct conclude_progress {
    void (*call)(void *context, size_t done, size_t total);
    void *context;
};

/* The caller frees out->remarks. */
enum err_code conclude(struct run *run, const struct conclude_progress *progress,
                       struct conclusion *out, struct err *err);

#endif
