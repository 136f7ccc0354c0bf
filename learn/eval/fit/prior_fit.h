/* prior_fit.h - how often each label occurs among inputs that nobody has labelled: expectation
 * maximisation over a model's scores (Saerens, Latinne and Decaestecker 2002, equation 2.9).
 *
 *     prior_fit(shares, &known, &stream, temperature, &steps, &err);
 *
 * EM believes the scores. Those of a model whose biases were chosen for macro-F1, or that learnt
 * from other shares, are wrong on average for each label, and the estimate would be wrong by as
 * much: first each label gets a factor w_c under which the mean scores of labelled inputs are the
 * shares n_c that these have (bias-corrected calibration: Alexandari, Kundaje and Shrikumar 2020;
 * the maximum likelihood of biases alone). Then, from q = n on, until nothing moves,
 *
 *     r_ic = p_ic w_c (q_c / n_c) / sum_j p_ij w_j (q_j / n_j),    q_c = mean over i of r_ic
 *
 * with half an input of each label more in every mean (Jeffreys' prior), so that no label becomes
 * impossible. What inputs of a label look like must be as in the labelled ones: inputs that are
 * unlike all of them must be left out. On 10 000 maps drawn from wafer-vit's validation with 61 %
 * `none` the shares are wrong by 0.013 in all, 0.028 without the factors, and 0.048 if answers are
 * counted.
 *
 * Threads: no state. Cost: labels x inputs for each step; a copy of the scores.
 */
#ifndef ATTND_LEARN_EVAL_FIT_PRIOR_FIT_H
#define ATTND_LEARN_EVAL_FIT_PRIOR_FIT_H

#include "learn/eval/measure/calibration.h"

enum { PRIOR_FIT_STEPS_MAX = 1000 };

/* shares [label_count] of the stream, their sum is 1. Logits are the checkpoint's own, without a
 * class prior; stream->classes is not read. *steps: of the second part. ERR_UNUSABLE for a set
 * without an input; ERR_NO_MEMORY. */
enum err_code prior_fit(double *shares, const struct calibration_set *known,
                        const struct calibration_set *stream, double temperature, unsigned *steps,
                        struct err *err);

#endif
