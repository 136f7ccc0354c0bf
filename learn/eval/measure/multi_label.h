/* multi_label.h - how well a model finds the labels of inputs that may have several or none: each
 * label by itself, and all together.
 *
 *     struct multi_label sets;
 *     multi_label_measure(&sets, scores, truths, count, labels, &err);
 *     ... sets.rows[label].f1, sets.micro.f1, sets.exact_match ...
 *     multi_label_close(&sets);
 *
 * A label is given if its score is at least MULTI_LABEL_THRESHOLD. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_MULTI_LABEL_H
#define ATTND_LEARN_EVAL_MEASURE_MULTI_LABEL_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
