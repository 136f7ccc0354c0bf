/* separation.h - measures how well an OOD score separates strange (out-of-distribution) inputs from
 * known ones. Strange inputs should score higher. All functions sort their arrays. Threads: no
 * state.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SEPARATION_H
#define ATTND_LEARN_EVAL_MEASURE_SEPARATION_H

#include "engine/statistics/statistics.h"

#include <stddef.h>

/* Area under the ROC curve: the probability that a strange input scores above a known one; equal
 * scores count one half (Mann and Whitney 1947). 0.5 is chance, and the result without inputs. */
double separation_auroc(float *known, size_t known_count, float *strange, size_t strange_count);

/* Share of strange inputs that are accepted as known by the threshold that accepts at least
 * `accepted` (0.95: FPR95) of the known ones (Hendrycks and Gimpel 2017). 0 without inputs. */
double separation_fpr(float *known, size_t known_count, float *strange, size_t strange_count,
                      double accepted);

/* The 95 % interval of an AUROC: R. G. Newcombe, "Confidence intervals for an effect size measure
 * based on the Mann-Whitney statistic. Part 2", Statistics in Medicine 25 (2006) 559-573, method 5.
 * It has a width also if all strange inputs score above all known ones. */
struct interval separation_interval(double auroc, size_t known_count, size_t strange_count);

struct separation {
    size_t known, strange; /* inputs; if there are none of either, 0.5 and an interval 0 to 1 */
    double auroc, fpr95;
    struct interval auroc_interval;
    struct interval fpr95_interval; /* Wilson's, at this threshold */
};

void separation_measure(struct separation *out, float *known, size_t known_count, float *strange,
                        size_t strange_count);

#endif
