/* prior_estimate.h - what class_prior a stream asks for: its shares, estimated from inputs that
 * need no labels (fit/prior_fit.h), and what the answers to them would become.
 *
 *     prior_estimate_measure(&estimate, &assessment, &stream, &err);
 *     prior_estimate_print(&estimate, &assessment, "july.jsonl", stdout);
 *     prior_estimate_write(&estimate, &assessment, "reports", &err);     class_prior.json
 *     prior_estimate_close(&estimate);
 *
 * It is a file that a person looks at and puts into attnd.json: an estimate that moved by itself
 * while a server answers would make answers that cannot be reproduced.
 * Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_PRIOR_ESTIMATE_H
#define ATTND_LEARN_EVAL_PRIOR_ESTIMATE_H

#include "learn/eval/assessment.h"

struct prior_estimate_label {
    double known, share; /* of the labelled inputs; estimated of the stream */
    size_t now, then;    /* answers by the model as it was opened, and with the estimate */
};

struct prior_estimate {
    size_t count;   /* inputs that it is of */
    size_t unknown; /* inputs that are left out: unlike what the model knows */
    size_t moved;   /* answers that would change, of `count` */
    unsigned steps;
    struct prior_estimate_label *labels; /* [label_count] */
};

/* `assessment` has run, on labelled inputs of the same labels; `stream` is of its model, with
 * features. ERR_UNSUPPORTED for a model without one of several fixed labels; ERR_UNUSABLE if no
 * input is left. Close it in any case. */
enum err_code prior_estimate_measure(struct prior_estimate *out,
                                     const struct assessment *assessment,
                                     const struct evaluation *stream, struct err *err);
void prior_estimate_close(struct prior_estimate *estimate);

void prior_estimate_print(const struct prior_estimate *estimate,
                          const struct assessment *assessment, const char *path, FILE *file);
/* FOLDER/class_prior.json: {label: share}, as attnd.json's class_prior and --class-prior take it.
 */
enum err_code prior_estimate_write(const struct prior_estimate *estimate,
                                   const struct assessment *assessment, const char *folder,
                                   struct err *err);

#endif
