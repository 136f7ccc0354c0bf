/* lbfgs.h - minimises a smooth convex function of many numbers (Liu and Nocedal 1989). The step
 * length is searched by halving alone (Armijo), since along these directions the whole step is
 * nearly always taken. The caller should scale coordinates so that curvatures are near 1; about
 * twenty steps are then enough.
 *
 *     lbfgs_open(&lbfgs, numbers, &err);
 *     lbfgs_run(lbfgs, loss_at, context, 0, point);   point: in the start, out the optimum
 *     lbfgs_close(lbfgs);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_FIT_LBFGS_H
#define ATTND_LEARN_EVAL_FIT_LBFGS_H

#include "engine/base/err.h"

#include <stddef.h>

struct lbfgs;

/* The caller closes *out, also after a failure. ERR_NO_MEMORY. */
enum err_code lbfgs_open(struct lbfgs **out, size_t numbers, struct err *err);
void lbfgs_close(struct lbfgs *lbfgs); /* NULL is allowed */

/* Returns the function at a point and sets its gradient there. */
typedef double lbfgs_loss(void *context, const double *point, double *gradient);

/* Ends when no entry of the gradient is above 1e-5, after 300 steps, or when the next step promises
 * a gain below gain_min (half of Newton's decrement, by the curvature so far): gains below the
 * rounding of a loss in single precision are not worth the time. gain_min 0: no such limit. */
void lbfgs_run(struct lbfgs *lbfgs, lbfgs_loss *loss, void *context, double gain_min,
               double *point);

#endif
