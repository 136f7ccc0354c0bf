/* set_assessment.h - evaluates a multi-label model on inputs that may have several labels or none
 * (multi_label_*).
 *
 *     set_assessment_take(&assessment, model, &dataset, "validation.jsonl", &err);
 *     set_assessment_run(&assessment, &options, &err);
 *     ... assessment.sets.micro.f1 ...
 *     set_assessment_close(&assessment);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SET_ASSESSMENT_H
#define ATTND_LEARN_EVAL_MEASURE_SET_ASSESSMENT_H

#include "engine/base/err.h"
#include "learn/eval/measure/evaluation.h"

#include <stdbool.h>
#include <stddef.h>

/* How well a model finds the labels of inputs that may have several or none: each
 * label by itself, and all together.
 *
 *     struct multi_label sets;
 *     multi_label_measure(&sets, scores, truths, count, labels, &err);
 *     ... sets.rows[label].f1, sets.micro.f1, sets.exact_match ...
 *     multi_label_close(&sets);
 *
 * A label is given if its score is at least MULTI_LABEL_THRESHOLD. Threads: no state.
 */

#define MULTI_LABEL_THRESHOLD 0.5f

/* NAN where it is not defined: precision without an answer, recall without an input, F1 without
 * either. */
struct multi_label_rates {
    double precision, recall, f1;
};

struct multi_label_row {
    size_t support, given, both; /* inputs that have the label, are given it, and both */
    struct multi_label_rates rates;
    double auroc; /* of its scores; NAN if all inputs have the label, or none has it */
};

struct multi_label {
    size_t count; /* inputs */
    unsigned labels;
    struct multi_label_row *rows;   /* [labels] */
    struct multi_label_rates micro; /* of all pairs of input and label */
    struct multi_label_rates macro; /* means over the labels; an undefined one counts as 0 */
    double macro_auroc;             /* mean over the labels that have one; NAN: none has */
    double exact_match;             /* share of inputs that are given exactly their labels */
    double hamming_loss;            /* share of pairs of input and label that are wrong */
};

/* scores and truths are [count, labels], labels at least 1. All zeros and NAN without inputs.
 * ERR_NO_MEMORY. Close it in any case. */
enum err_code multi_label_measure(struct multi_label *out, const float *scores, const bool *truths,
                                  size_t count, unsigned labels, struct err *err);
void multi_label_close(struct multi_label *sets);

struct set_assessment {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    bool *truths;          /* [dataset->count, labels] */
    struct evaluation evaluation;
    struct multi_label sets; /* of the inputs that were answered */
};

/* Matches the labels of the data, which was opened with labels_many, with the model's.
 * ERR_UNUSABLE names the first input with another label, or a model whose labels exclude each
 * other. Close it in any case. */
enum err_code set_assessment_take(struct set_assessment *out, const struct engine_model *model,
                                  const struct dataset *dataset, const char *data_path,
                                  struct err *err);
/* Runs the model and measures. As evaluation_run; ERR_NO_MEMORY. */
enum err_code set_assessment_run(struct set_assessment *assessment,
                                 const struct evaluation_options *options, struct err *err);
void set_assessment_close(struct set_assessment *assessment);

#endif
