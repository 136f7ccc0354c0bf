/* fit.h - fits a new head on a checkpoint whose encoder stays unchanged: labels are corrected or
 * added within seconds, without a training run.
 *
 *     struct fit_options options = {.model = dir, .data = path, .out = new_dir, .threads = 2, ...};
 *     fit_open(&fit, &options, &err);              reports what is wrong with the inputs
 *     fit_features(&fit, &progress, &err);         one pass of the encoder over all inputs
 *     fit_head(&fit, &progress, &err);             head_fit.h
 *     fit_accept(&fit, &err);                      fails if the new head is worse than the old one
 *     fit_write(&fit, &err);                       fit_write.h
 *     fit_close(&fit);
 *
 * The features of each input are computed once. The head on them is multinomial logistic regression
 * (head_fit.h). All reported figures are cross-validated: each input is answered by a head that has
 * not learnt it ("left out").
 *
 * Threads: one at a time; starts options.threads of its own for the time of a call.
 */
#ifndef ATTND_LEARN_FIT_FIT_H
#define ATTND_LEARN_FIT_FIT_H

#include "engine/engine.h"
#include "engine/format/head_file.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"
#include "learn/eval/measure/confusion.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/measure/selective.h"
#include "learn/fit/fit_labels.h"
#include "learn/ngrams/ngram_rows.h"

/* The rows that a head is fitted on: first the readable inputs of the data, then the examples that
 * the model carries (engine/format/head_file.h), which represent the labels that the data lack. An
 * example whose input is also among the data is left out, since people correct labels. */
struct fit_rows {
    size_t count, of_data; /* rows; rows of the data, which come first */
    unsigned width, labels, old_labels;
    size_t *items;             /* [of_data] indices in the data set */
    float *features;           /* [count, width] */
    unsigned *classes;         /* [count], below labels */
    uint64_t *digests;         /* [count] */
    float *before;             /* [count, old_labels] the old model's logits */
    float *after;              /* [count, labels] the new head's left-out logits; zeros at first */
    struct ngram_list *ngrams; /* [count]; entries belong to the data and the bank; NULL: the model
                                  has no table of n-grams */
    struct arena arena;
};

struct fit_options {
    const char *model, *data, *out;
    struct dataset_options fields; /* kind is the model's */
    unsigned threads;              /* at least 1 */
    double usable_min;             /* dataset_check_usable's */
    double loss_max;               /* most points of F1 that a label of the model may lose */
    double automatic_max;          /* most points of rise of automatic answers: fit_trust.h */
    double target_precision;       /* of the thresholds */
    const char *version;           /* attnd.json's; NULL: one more than the model's */
    const char *prior;             /* fit_prior.h */
};

struct fit_progress {
    void (*call)(void *context, size_t done); /* NULL: not called */
    void *context;
};

/* Figures of a head's winners, over all rows and labels. */
struct fit_figures {
    struct confusion confusion; /* over the new labels */
    struct interval accuracy, macro_f1;
    struct interval *f1; /* [labels.count] */
    struct selective_decisions decisions;
    /* Examples of the old bank whose answer is automatic, with a label that had a threshold. */
    size_t trusted;
};

struct fit {
    struct fit_options options;
    struct engine_model *model;
    struct spec old;           /* the model's */
    struct head_bank bank;     /* the model's examples; count 0: none */
    struct head_matrix matrix; /* the model's head; weight NULL: model.safetensors' classifier */
    struct ngram_table table;  /* the model's; weight NULL: it has none */
    struct dataset dataset;
    struct ngram_rows ngrams; /* of the data set, if the model has a table */
    struct fit_labels labels;
    unsigned *classes;            /* [dataset.count] */
    struct evaluation evaluation; /* of the data set by the old model, with features */
    bool *learnt;                 /* [dataset.count] known to be learnt by the old model */
    size_t fresh_count;           /* readable inputs that it has not learnt */
    size_t fresh_known;           /* those of them that have an old label */
    struct fit_rows rows;         /* the head is fitted on these */
    bool adds;    /* the data have only new labels: the old labels' classifier is kept */
    float *plain; /* [labels.count, classifier size + 1] for the features, bias last */
    float *full;  /* [labels.count, rows.width + 1] for features and mean; NULL: plain answers */
    struct ngram_table new_table; /* fit_ngrams */
    double strength;              /* chosen strength of the head that answers */
    float *shifts;                /* [labels.count] of the prior, in rows.after and plain already */
    struct fit_figures before, after; /* over all rows; fit_write sets decisions */
    bool is_refused; /* the new head is worse than the old one: set by fit_accept, fit_write */
    struct arena arena;
};

/* ERR_UNSUPPORTED for a model that does not choose one of several labels (regression, independent
 * labels, zero-shot). ERR_UNUSABLE for data that cannot be fitted, and if `out` exists. */
enum err_code fit_open(struct fit *out, const struct fit_options *options, struct err *err);
void fit_close(struct fit *fit);

/* ERR_UNUSABLE if a label has too few inputs that can be read. */
enum err_code fit_features(struct fit *fit, const struct fit_progress *progress, struct err *err);
enum err_code fit_head(struct fit *fit, const struct fit_progress *progress, struct err *err);

/* ERR_UNUSABLE if a label of the model loses more than loss_max points of F1 against the old model
 * on these inputs. The error names the label, both figures and what can be done. */
enum err_code fit_accept(struct fit *fit, struct err *err);

/* ---- the rows ---- */

/* The inputs of the data, run through the old model. */
struct fit_data {
    const struct evaluation *evaluation;
    const unsigned *classes;         /* [evaluation->count] */
    const struct ngram_list *ngrams; /* [evaluation->count]; NULL: the model has no table */
};

/* bank->count may be 0. Its examples must have n-grams if the data have. ERR_NO_MEMORY. Close it in
 * any case. */
enum err_code fit_rows_open(struct fit_rows *out, const struct fit_data *data,
                            const struct head_bank *bank, unsigned labels, struct err *err);
void fit_rows_close(struct fit_rows *rows);

/* Makes the bank of the new model from the rows and their left-out answers
 * (learn/eval/fit/example_bank.h). The arena owns it. */
enum err_code fit_rows_bank(const struct fit_rows *rows, struct head_bank *out, struct arena *arena,
                            struct err *err);

#endif
