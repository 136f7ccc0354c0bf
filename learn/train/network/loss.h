/* loss.h - what training minimises, and its gradient with respect to the logits.
 *
 * Cross-entropy over softmax, for one label an input, with q the target distribution:
 *     L = w (-sum_k q_k log p_k),  p = softmax(z)          dL/dz = w (p - q)
 *     q = (1 - s) onehot(y) + s / K     (label smoothing s: Szegedy et al. 2016, section 7)
 * or the sum of binary cross-entropies over sigmoids, for several labels an input:
 *     L = w sum_k (-q_k log p_k - (1 - q_k) log(1 - p_k)) / K,  p = 1 / (1 + exp(-z))
 *     dL/dz = w (p - q) / K,  q = (1 - s) y + s / 2
 * or, for a regression, the mean square error of its outputs, t being the right numbers:
 *     L = sum_k (z_k - t_k)^2 / K                          dL/dz = 2 (z - t) / K
 * which has no weights, no smoothing, no adjustment and no teacher.
 *
 * w is the weight of the input's class (of several labels: their mean). With an adjustment b (Menon
 * et al. 2021, "Long-tail learning via logit adjustment", equation 10; softmax only)
 *     p = softmax(z + b),  b = tau log prior               dL/dz = w (p - q)
 * so that z + b learns log p(y | x) of the data as they are drawn. Only z is served, and z has lost
 * the prior: with tau 1 it is log p(x | y) plus a constant. With a teacher whose logits are t
 * (Hinton, Vinyals and Dean 2015, section 2; softmax only), share a, temperature T:
 *     L = w ((1 - a) CE(q, p) + a T^2 CE(softmax(t / T), softmax(z / T)))
 * The distillation term uses z without b: served logits are compared with served logits.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_LOSS_H
#define ATTND_LEARN_TRAIN_NETWORK_LOSS_H

#include "engine/model/spec.h"

#include <stddef.h>

struct loss {
    enum spec_scores scores; /* which L */
    unsigned labels;         /* K */
    float smoothing;         /* s */
    const float *weights;    /* [labels]; NULL: all 1 */
    const float *adjustment; /* [labels] b; NULL: all 0 */
    float teacher_share;     /* a */
    float teacher_temperature;
};

/* Returns L of one input, from logits [labels], target [labels] (0 or 1 for each label; of a
 * regression numbers) and the teacher's logits [labels] or NULL. Writes dlogits [labels] = share x
 * dL/dz; `share` is the input's part of the batch. */
double loss_run(const struct loss *loss, const float *logits, const float *target,
                const float *teacher, float share, float *dlogits);

/* Returns the cross-entropy of one token over `words` words (masked language modelling, texts) with
 * label smoothing s as above, K being `words`. Overwrites z, `logits`, with share x dL/dz. */
double loss_word(float *logits, size_t words, size_t word, float smoothing, float share);

#endif
