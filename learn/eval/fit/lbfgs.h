/* lbfgs.h - the least of a smooth convex function of many numbers (Liu and Nocedal 1989). The step
 * is searched for by halving alone (Armijo): along these directions the whole step is nearly always
 * taken. Coordinates should be scaled by who calls, so that curvatures are near 1: some twenty
 * steps are then enough.
 *
 *     lbfgs_open(&lbfgs, numbers, &err);
 *     lbfgs_run(lbfgs, loss_at, context, 0, point);   point: where to begin, then the optimum
 *     lbfgs_close(lbfgs);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_FIT_LBFGS_H
#define ATTND_LEARN_EVAL_FIT_LBFGS_H

#include "engine/base/err.h"

#include <stddef.h>

struct lbfgs;

/* Yours to close, also after a failure. ERR_NO_MEMORY. */
enum err_code lbfgs_open(struct lbfgs **out, size_t numbers, struct err *err);
void lbfgs_close(struct lbfgs *lbfgs); /* NULL is allowed */

/* The function at a point, and its gradient there. */
typedef double lbfgs_loss(void *context, const double *point, double *gradient);

/* Ends when no slope is above 1e-5, after 300 steps, or when the curvature seen so far promises
 * less than gain_min of the next step (half of Newton's decrement): what is below the rounding of a
 * loss in single precision, or below notice, is not worth the way there. 0: whatever it promises.
 */
void lbfgs_run(struct lbfgs *lbfgs, lbfgs_loss *loss, void *context, double gain_min,
               double *point);

#endif
