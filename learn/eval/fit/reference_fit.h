/* reference_fit.h - computes the reference of a model (decide/drift_reference.h) from its answers
 * to validation inputs: the shares of its labels, and the deciles of its scores and OOD scores.
 *
 *     struct reference_answers answers = {.verdicts = verdicts, .ood_scores = scores, .count = n};
 *     struct drift_reference reference;
 *     reference_fit(&reference, &answers, labels, label_count, &arena, &err);
 *     spec.reference = &reference;
 *     attnd_json_write(dir, &spec, &err);
 *
 * A bin has at least about DRIFT_BIN_INPUTS inputs, so few inputs give fewer than ten bins. Edges
 * of scores are multiples of REFERENCE_SCORE_STEP: most answers of a good model score above 0.999,
 * and their order depends on the precision in which it is served, which is no drift.
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_FIT_REFERENCE_FIT_H
#define ATTND_LEARN_EVAL_FIT_REFERENCE_FIT_H

#include "engine/decide/drift_reference.h"
#include "learn/eval/measure/calibration.h"

enum { REFERENCE_QUANTILES = 10 };
#define REFERENCE_SCORE_STEP 0.001

struct reference_answers {
    const struct verdict *verdicts; /* [count] the winner of each input */
    const float *ood_scores;        /* [count] */
    size_t count;
};

/* Fills the members that attnd_json_write writes; the reader sets label_bins and the digest. The
 * arena owns the numbers. ERR_UNUSABLE if there is no answer, or more than DRIFT_COUNT_MAX. */
enum err_code reference_fit(struct drift_reference *out, const struct reference_answers *answers,
                            const char *const *labels, unsigned label_count, struct arena *arena,
                            struct err *err);

/* The same of a regression's answers: numbers [count], sorted by the call, and their deciles. */
enum err_code reference_fit_numbers(struct drift_reference *out, float *numbers, size_t count,
                                    struct arena *arena, struct err *err);

#endif
