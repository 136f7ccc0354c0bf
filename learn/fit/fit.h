/* fit.h - a new head on a checkpoint whose encoder stays as it is: labels are corrected or added
 * within seconds, without a training run.
 *
 *     struct fit_options options = {.model = dir, .data = path, .out = new_dir, .threads = 2, ...};
 *     fit_open(&fit, &options, &err);              what is wrong with the inputs is said here
 *     fit_features(&fit, &progress, &err);         one pass of the encoder over all inputs
 *     fit_head(&fit, &progress, &err);             head_cross.h
 *     fit_accept(&fit, &err);                      or the reason why it is worse than it was
 *     fit_write(&fit, &err);                       fit_write.h
 *     fit_close(&fit);
 *
 * What the classifier reads of each input is computed once; the head on it is multinomial logistic
 * regression (head_fit.h). Everything that is reported of it comes from heads that have not learnt
 * the input that they answer.
 *
 * Threads: one at a time; options.threads of its own for the time of a call.
 */
#ifndef ATTND_LEARN_FIT_FIT_H
#define ATTND_LEARN_FIT_FIT_H

#include "engine/engine.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"
#include "learn/eval/measure/confusion.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/measure/selective.h"
#include "learn/fit/fit_labels.h"
#include "learn/fit/fit_rows.h"
#include "learn/ngrams/ngram_rows.h"

struct fit_options {
    const char *model, *data, *out;
    struct dataset_options fields; /* kind is the model's */
    unsigned threads;              /* at least 1 */
    double loss_max;               /* points of F1 that a label of the model may lose */
    double automatic_max;          /* points by which automatic answers may rise: fit_trust.h */
    double target_precision;       /* of the thresholds */
    const char *version;           /* attnd.json's; NULL: one more than the model's */
    const char *prior;             /* fit_prior.h */
};

struct fit_progress {
    void (*call)(void *context, size_t done); /* NULL: not called */
    void *context;
};

/* How well a set of winners does, over all rows and labels. */
struct fit_figures {
    struct confusion confusion; /* over the new labels */
    struct interval accuracy, macro_f1;
    struct interval *f1; /* [labels.count] */
    struct selective_decisions decisions;
    size_t
        trusted; /* examples of the old bank that are automatic by a label that had a threshold */
};

struct fit {
    struct fit_options options;
    struct engine_model *model;
    struct spec old;           /* of the model */
    struct head_bank bank;     /* that it carries; count 0: none */
    struct head_matrix matrix; /* that it answers by; weight NULL: model.safetensors' classifier */
    struct ngram_table table;  /* its own; weight NULL: it has none */
    struct dataset dataset;
    struct ngram_rows ngrams; /* of the data set, if the model has a table */
    struct fit_labels labels;
    unsigned *classes;            /* [dataset.count] */
    struct evaluation evaluation; /* by the model as it was, with features */
    bool *learnt;                 /* [dataset.count] by the model as it was, as far as is known */
    size_t fresh_count;           /* inputs that can be read and were not */
    size_t fresh_known;           /* of these with a label that the model has */
    struct fit_rows rows;         /* what the head is fitted on */
    bool adds;    /* the data have new labels alone: the classifier of the others stays as it is */
    float *plain; /* [labels.count, classifier size + 1] of the features as they are, bias last */
    float *full;  /* [labels.count, rows.width + 1] of features and mean; NULL: plain answers */
    struct ngram_table new_table; /* fit_ngrams.h */
    double strength;              /* that was chosen, of the one that answers */
    float *shifts;                /* [labels.count] of the prior, in rows.after and plain already */
    struct fit_figures before, after; /* over all rows; decisions by fit_write */
    bool is_refused; /* what was fitted is worse than what it replaces: fit_accept, fit_write */
    struct arena arena;
};

/* ERR_UNSUPPORTED for a model whose head is not one label of several (a regression, independent
 * labels, zero-shot); ERR_UNUSABLE for data that cannot be fitted, and if `out` is there. */
enum err_code fit_open(struct fit *out, const struct fit_options *options, struct err *err);
void fit_close(struct fit *fit);

/* ERR_UNUSABLE if an input of a label that has few cannot be read. */
enum err_code fit_features(struct fit *fit, const struct fit_progress *progress, struct err *err);
enum err_code fit_head(struct fit *fit, const struct fit_progress *progress, struct err *err);

/* ERR_UNUSABLE if a label of the model loses more than loss_max points of F1 against the model as
 * it was, on these inputs: the text names the label, both figures and what can be done. */
enum err_code fit_accept(struct fit *fit, struct err *err);

#endif
