/* confusion.h - how good a classifier is, from pairs of label and winner. Pure numbers.
 *
 *     confusion_open(&confusion, class_count, &err);
 *     confusion_add(&confusion, label, winner);        // for each input
 *     confusion_finish(&confusion);                    // now the rest may be read
 *     confusion_close(&confusion);
 *
 * Precision, recall and F1 are scikit-learn's with zero_division=0: 0 / 0 is 0. Macro-F1 is the
 * mean over the classes that occur as a label or as a winner, as f1_score(average="macro") takes
 * it: a class without support that is predicted counts with its F1 of 0, one that is not even
 * predicted does not count. Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_CONFUSION_H
#define ATTND_LEARN_EVAL_MEASURE_CONFUSION_H

#include "engine/base/err.h"

#include <stddef.h>

struct confusion_class {
    size_t support, predicted, hits;
    double precision, recall, f1;
};

struct confusion {
    unsigned class_count;
    size_t *matrix; /* [label, winner] */

    size_t count, hits;
    double accuracy;
    double macro_f1;
    unsigned macro_classes;          /* how many classes macro_f1 is the mean of */
    struct confusion_class *classes; /* [class_count] */
};

enum err_code confusion_open(struct confusion *out, unsigned class_count, struct err *err);
void confusion_close(struct confusion *confusion);

/* Both below class_count. */
void confusion_add(struct confusion *confusion, unsigned label, unsigned winner);
void confusion_finish(struct confusion *confusion);

#endif
