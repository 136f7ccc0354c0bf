/* separation.h - how well an OOD score separates strange (out-of-distribution) inputs from known
 * ones. Strange inputs should score higher. Both functions sort their arrays. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SEPARATION_H
#define ATTND_LEARN_EVAL_MEASURE_SEPARATION_H

#include <stddef.h>

/* Area under the receiver's curve: the probability that a strange input scores above a known one,
 * equal scores counting one half (Mann and Whitney 1947). 0.5: no better than chance; 0.5 also
 * without inputs. */
double separation_auroc(float *known, size_t known_count, float *strange, size_t strange_count);

/* The share of strange inputs that would be accepted as known if at least `accepted` (0.95: FPR95)
 * of the known ones do (Hendrycks and Gimpel 2017). 0 without inputs. */
double separation_fpr(float *known, size_t known_count, float *strange, size_t strange_count,
                      double accepted);

#endif
