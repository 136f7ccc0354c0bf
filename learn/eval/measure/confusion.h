/* confusion.h - measures a classifier from pairs of label and winner: confusion matrix, accuracy,
 * precision, recall, F1.
 *
 *     confusion_open(&confusion, class_count, &err);
 *     confusion_add(&confusion, label, winner);        // for each input
 *     confusion_finish(&confusion);                    // now the rest may be read
 *     confusion_close(&confusion);
 *
 * Precision, recall and F1 are scikit-learn's with zero_division=0: 0 / 0 is 0. Macro-F1 is the
 * mean over the classes that occur as a label or as a winner, as in f1_score(average="macro"): a
 * class without support counts with F1 = 0 if it is predicted, and not at all if it is never
 * predicted. Threads: one at a time.
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
    unsigned macro_classes;          /* number of classes in the mean macro_f1 */
    struct confusion_class *classes; /* [class_count] */
};

enum err_code confusion_open(struct confusion *out, unsigned class_count, struct err *err);
void confusion_close(struct confusion *confusion);

/* label and winner must be below class_count. */
void confusion_add(struct confusion *confusion, unsigned label, unsigned winner);
void confusion_finish(struct confusion *confusion);

#endif
