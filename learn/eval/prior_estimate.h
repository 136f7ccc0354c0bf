/* prior_estimate.h - estimates the class_prior for a stream: the shares of its labels, from inputs
 * without labels (fit/prior_fit.h), and how the answers to them would change.
 *
 *     prior_estimate_measure(&estimate, &assessment, &stream, &err);
 *     prior_estimate_print(&estimate, &assessment, "july.jsonl", stdout);
 *     prior_estimate_write(&estimate, &assessment, "reports", &err);     class_prior.json
 *     prior_estimate_close(&estimate);
 *
 * The result is a file that a person reads and copies to attnd.json: with an estimate that changed
 * by itself while a server answers, answers could not be reproduced. Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_PRIOR_ESTIMATE_H
#define ATTND_LEARN_EVAL_PRIOR_ESTIMATE_H

#include "learn/eval/assessment.h"

struct prior_estimate_label {
    double known, share; /* share of the labelled inputs; estimated share of the stream */
    size_t now, then;    /* answers by the model as it was opened; answers with the estimate */
};

struct prior_estimate {
    size_t count;   /* inputs in the estimate */
    size_t unknown; /* inputs left out because the model calls them unknown */
    size_t moved;   /* answers that would change, of `count` */
    unsigned steps;
    struct prior_estimate_label *labels; /* [label_count] */
};

/* `assessment` must have run, on inputs with the model's labels; `stream` must be of its model,
 * with features. ERR_UNSUPPORTED for a model that does not choose one of several fixed labels;
 * ERR_UNUSABLE if no input is left. Close it in any case. */
enum err_code prior_estimate_measure(struct prior_estimate *out,
                                     const struct assessment *assessment,
                                     const struct evaluation *stream, struct err *err);
void prior_estimate_close(struct prior_estimate *estimate);

void prior_estimate_print(const struct prior_estimate *estimate,
                          const struct assessment *assessment, const char *path, FILE *file);
/* Writes FOLDER/class_prior.json: {label: share}, as attnd.json's class_prior and --class-prior
 * read it. */
enum err_code prior_estimate_write(const struct prior_estimate *estimate,
                                   const struct assessment *assessment, const char *folder,
                                   struct err *err);

#endif
