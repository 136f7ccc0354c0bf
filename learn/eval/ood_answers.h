/* ood_answers.h - the answers to an assessment's inputs, with the OOD scores of a given spec. The
 * spec need not be that of the open model: a calibration uses it before it writes the spec.
 *
 *     ood_answers_open(&answers, &spec, &assessment, &bank, &err);
 *     ... answers.ood_scores[i] is of row answers.items[i] ...
 *     ood_answers_close(&answers);
 *
 * Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_OOD_ANSWERS_H
#define ATTND_LEARN_EVAL_OOD_ANSWERS_H

#include "engine/model/head_parts.h"
#include "learn/eval/assessment.h"
#include "learn/eval/fit/outlier.h"

/* The inputs that have logits. */
struct ood_answers {
    size_t count, *items; /* [count] rows of the evaluation, ascending */
    float *ood_scores;    /* [count] */
    unsigned *labels;     /* [count] label of each answer; the best of independent labels, as
                             policy.h judges */
};

/* Scores that came with the logits are used if they are by the spec's method. With neighbours, an
 * example of the bank is not its own neighbour; bank NULL: there is none. Close it in any case. */
enum err_code ood_answers_open(struct ood_answers *out, const struct spec *spec,
                               const struct assessment *assessment, const struct head_bank *bank,
                               struct err *err);
void ood_answers_close(struct ood_answers *answers);

/* Removes the inputs that the thresholds of `ood` call unknown. */
void ood_answers_drop_unknown(struct ood_answers *answers, const struct ood *ood);

/* Returns the rows of an evaluation that have logits, [*count]; the caller frees them. NULL: no
 * memory. */
size_t *ood_answers_items(const struct evaluation *evaluation, size_t *count, struct err *err);

/* Describes an evaluation for fitting the OOD score; items are its usable rows. */
struct outlier_data ood_answers_data(const struct spec *spec, const struct evaluation *evaluation,
                                     const unsigned *classes, const size_t *items, size_t count);

#endif
