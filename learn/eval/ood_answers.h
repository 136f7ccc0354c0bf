/* ood_answers.h - what an assessment's inputs were answered, with the OOD scores that a spec gives
 * them, which need not be those of the model that is open: a calibration asks before it writes.
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
    size_t count, *items; /* [count] rows of the evaluation, rising */
    float *ood_scores;    /* [count] */
    unsigned *labels;     /* [count] that the answers give; of independent ones the best, as
                             policy.h judges */
};

/* Scores that came with the logits are taken, if they are by the spec's method. Of neighbours an
 * input that is an example of the bank counts without itself; NULL: there is none. Close it in any
 * case. */
enum err_code ood_answers_open(struct ood_answers *out, const struct spec *spec,
                               const struct assessment *assessment, const struct head_bank *bank,
                               struct err *err);
void ood_answers_close(struct ood_answers *answers);

/* Leaves those that the spec's thresholds do not call unknown. */
void ood_answers_drop_unknown(struct ood_answers *answers, const struct ood *ood);

/* The rows of an evaluation that have logits, [*count]; the caller's to free. NULL: no memory. */
size_t *ood_answers_items(const struct evaluation *evaluation, size_t *count, struct err *err);

/* An evaluation as the OOD score is fitted on it; items are its usable rows. */
struct outlier_data ood_answers_data(const struct spec *spec, const struct evaluation *evaluation,
                                     const unsigned *classes, const size_t *items, size_t count);

#endif
