/* folds.h - divides inputs into folds for cross-validation.
 *
 * Each class is divided by itself. In a class with at most FOLDS inputs each one is left out alone;
 * in larger classes a tenth is left out at a time. This is leave-one-out for small classes, at the
 * price of ten fits. Equal digests (learn/data/digest.h) are one input that was given twice; they
 * are in the same fold. The folds do not depend on the order of the inputs. Threads: no state.
 */
#ifndef ATTND_LEARN_FIT_FOLDS_H
#define ATTND_LEARN_FIT_FOLDS_H

#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { FOLDS = 10 };

/* Sets folds [count], each below FOLDS. ERR_NO_MEMORY. */
enum err_code folds_deal(const uint64_t *digests, const unsigned *classes, size_t count,
                         unsigned char *folds, struct err *err);

#endif
