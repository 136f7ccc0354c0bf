/* mcnemar.h - whether one of two models that judged the same inputs is right more often.
 *
 *     double p = mcnemar_p(3, 15);       0.0075: 3 inputs only the first had right, 15 the second
 *
 * Q. McNemar, "Note on the sampling error of the difference between correlated proportions",
 * Psychometrika 12 (1947) 153-157; the exact form, which needs no minimum count. Inputs that both
 * or neither had right say nothing about it. Threads: no state.
 */
#ifndef ATTND_ENGINE_STATISTICS_MCNEMAR_H
#define ATTND_ENGINE_STATISTICS_MCNEMAR_H

#include <stdint.h>

/* How likely two equally good models differ at least so much, in either direction: two-sided, of
 * the binomial distribution with a half. 1 of none. */
double mcnemar_p(uint64_t first_only, uint64_t second_only);

#endif
