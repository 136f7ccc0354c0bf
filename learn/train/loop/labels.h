/* labels.h - the labels of a model in training, and which of them an input has.
 *
 * Threads: immutable after labels_learn.
 */
#ifndef ATTND_LEARN_TRAIN_LOOP_LABELS_H
#define ATTND_LEARN_TRAIN_LOOP_LABELS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"
#include "learn/data/dataset.h"

#include <stdbool.h>

struct labels {
    const char **name; /* [count] */
    unsigned count;
    bool several; /* an input may have more than one, written with '|' between them */
};

/* Collects the distinct labels of a data set, sorted by bytes. If `spec` has exactly these labels,
 * its order is kept, so that its head fits. ERR_UNUSABLE if there is only one (`several`: none), or
 * more than SPEC_LABELS_MAX. Names live in the arena. */
enum err_code labels_learn(struct labels *out, const struct dataset *dataset, bool several,
                           const struct spec *spec, struct arena *arena, struct err *err);

/* targets [count] = 1 for each label that `text` names, 0 for the others. *first is the first label
 * named; with `several` a text may name none: then it is count. ERR_UNUSABLE for a name that is
 * unknown or empty. */
enum err_code labels_match(const struct labels *labels, const char *text, float *targets,
                           unsigned *first, struct err *err);

/* How many labels are numbers, if that looks like measured values and not like classes: more than
 * LABELS_NUMBERS, and more than half of all labels; else 0. */
enum { LABELS_NUMBERS = 20 };
unsigned labels_measured(const struct labels *labels);

#endif
