/* fit_labels.h - the labels of a head that is to be fitted: first the model's, in its order, so
 * that answers can be compared, then the new ones of the data.
 *
 *     fit_labels_learn(&labels, &dataset, &old, &arena, &err);
 *     dataset_match(&dataset, labels.name, labels.count, classes, &err);
 *
 * Threads: plain data.
 */
#ifndef ATTND_LEARN_FIT_FIT_LABELS_H
#define ATTND_LEARN_FIT_FIT_LABELS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "learn/data/dataset.h"

enum { FIT_EXAMPLES_MIN = 5 };

/* A new label with too few inputs to be learnt. */
struct fit_rare {
    const char *name;
    size_t count;
};

struct fit_labels {
    const char **name; /* [count]: old_count of the model, then new ones sorted by bytes */
    size_t *examples;  /* [count] */
    unsigned count, old_count;
    const struct fit_rare *rare; /* [rare_count]; their inputs were removed from the data set */
    unsigned rare_count;
};

/* The model's labels, and how many examples of each it carries. */
struct fit_old_labels {
    const char *const *name; /* [count] */
    const size_t *carried;   /* [count] */
    unsigned count;
};

/* Names belong to the data set and the model, lists to the arena. ERR_UNUSABLE for a label of the
 * model with fewer than FIT_EXAMPLES_MIN inputs, carried examples included: the new head would
 * forget it. */
enum err_code fit_labels_learn(struct fit_labels *out, struct dataset *dataset,
                               const struct fit_old_labels *old, struct arena *arena,
                               struct err *err);

#endif
