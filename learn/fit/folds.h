/* folds.h - which inputs are left out together while a head is judged.
 *
 * Each class is dealt out by itself, so that of a class with at most FOLDS inputs every one is left
 * out alone, and of larger ones a tenth at a time: leave-one-out where it matters, at the price of
 * ten fits. Equal digests (learn/data/digest.h) are one input that was given twice, and stay
 * together. The same inputs in another order lie in the same folds. Threads: no state.
 */
#ifndef ATTND_LEARN_FIT_FOLDS_H
#define ATTND_LEARN_FIT_FOLDS_H

#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { FOLDS = 10 };

/* folds [count], below FOLDS. */
enum err_code folds_deal(const uint64_t *digests, const unsigned *classes, size_t count,
                         unsigned char *folds, struct err *err);

#endif
