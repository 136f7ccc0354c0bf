/* step.h - a step of training against PyTorch's: the loss of cases and the gradient of every
 * tensor, as tests/reference/encoder_gradients.py writes them to gradients.json. Any failure fails
 * the test. Threads: one at a time.
 */
#ifndef ATTND_TESTS_SUPPORT_STEP_H
#define ATTND_TESTS_SUPPORT_STEP_H

#include "learn/train/network/network.h"

struct json_t;

/* The mean cross-entropy of label (row mod labels), or the mean logit if there is one; and its
 * gradient. */
double step_loss(const float *logits, unsigned rows, unsigned labels, float *dlogits);

/* DIR/gradients.json. Yours to doc_free. */
struct json_t *step_open(const char *dir);

/* Checks the loss and the gradients of one forward and backward pass. */
void step_check(const char *name, struct network *network, const struct parameters *parameters,
                const struct network_batch *batch, const struct json_t *expected);

#endif
