/* outlier.h - fits the parameters of decide/ood.h: statistics of the features of labelled inputs.
 * outlier_threshold.h decides which score is too high.
 *
 *     struct outlier_data data = {.features = evaluation.features, .classes = classes, ...};
 *     struct ood ood;
 *     outlier_fit(&ood, OOD_MAHALANOBIS, &data, 0, &arena, &err);          training part
 *     outlier_scores(&ood, logits, &validation, scores);                   validation part
 *
 * For OOD_NEIGHBOURS the caller sets `neighbours`; only thresholds are fitted.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_OUTLIER_H
#define ATTND_LEARN_EVAL_FIT_OUTLIER_H

#include "engine/decide/ood.h"
#include "engine/format/head_file.h"

#include <stddef.h>

enum { OUTLIER_CLASSES_MAX = 1024 };

/* Features with their classes. */
struct outlier_data {
    const float *features;   /* [.., width]; distances read the first `hidden` */
    const unsigned *classes; /* [..], below label_count; outlier_scores does not read them */
    const size_t *items;     /* [count] rows to use; NULL: 0 .. count - 1 */
    size_t count;
    unsigned width, hidden, label_count;
    bool independent; /* each label has a sigmoid of its own */
    /* For inputs that may be examples themselves: an example is not its own neighbour. */
    const uint64_t *digests;      /* [..] */
    const struct head_bank *bank; /* the neighbours; NULL: no input is one of them */
};

/* Fits everything but threshold and quantiles; the arena owns the numbers. Classes with at least
 * 100 inputs have equal weights, others have weights by their inputs. Covariances are shrunk
 * towards a multiple of the identity (oracle approximating shrinkage, Chen et al. 2010). The
 * Mahalanobis distance keeps the components_max directions in which the features vary most (0: 64,
 * or as many as keep attnd.json below about 200 kB), the relative one those in which the classes
 * differ most. ERR_UNUSABLE: too few inputs or classes, or features that do not vary. */
enum err_code outlier_fit(struct ood *out, enum ood_method method, const struct outlier_data *data,
                          unsigned components_max, struct arena *arena, struct err *err);

/* Computes scores [count]. logits [.., label_count] have the same rows as the features. */
void outlier_scores(const struct ood *ood, const float *logits, const struct outlier_data *data,
                    float *scores);

#endif
