/* out_of_fold.h - judges a model that has learnt all labelled inputs by the answers of models from
 * cross-validation, which were trained the same way but had not learnt the inputs that they answer:
 * one file for each fold, from attnd-eval --logits.
 *
 *     const char *const files[] = {"fold0.jsonl", "fold1.jsonl"};
 *     out_of_fold_take(&assessment, files, 2, &err);          after assessment_run
 *
 * Their logits and OOD scores replace the model's own (Stone 1974, for the choice and the
 * assessment of a predictor), so that report, temperature, thresholds and reference are of inputs
 * that were new. Features are the model's.
 *
 * Threads: as assessment.h.
 */
#ifndef ATTND_LEARN_EVAL_OUT_OF_FOLD_H
#define ATTND_LEARN_EVAL_OUT_OF_FOLD_H

#include "learn/eval/assessment.h"

/* Changes the assessment as if those models had run it. Every input that has logits must be in
 * exactly one of the files, by its digest. OOD scores, if there are any, must be by the model's own
 * method; a model without a method uses none. ERR_IO, ERR_MALFORMED and ERR_UNUSABLE begin with the
 * file. */
enum err_code out_of_fold_take(struct assessment *assessment, const char *const *paths,
                               unsigned count, struct err *err);

#endif
