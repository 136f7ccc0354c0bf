/* out_of_fold.h - a model that has learnt all its labelled inputs, judged by the answers of models
 * of the same recipe that had not learnt them: those of cross-validation, each fold's from
 * attnd-eval --logits.
 *
 *     const char *const files[] = {"fold0.jsonl", "fold1.jsonl"};
 *     out_of_fold_take(&assessment, files, 2, &err);          after assessment_run
 *
 * Logits and OOD scores (Stone 1974, for the choice and the assessment of a predictor) take the
 * place of the model's own, so that the report, the temperature, the thresholds and the reference
 * are of inputs that were new; features stay the model's.
 *
 * Threads: as assessment.h.
 */
#ifndef ATTND_LEARN_EVAL_OUT_OF_FOLD_H
#define ATTND_LEARN_EVAL_OUT_OF_FOLD_H

#include "learn/eval/assessment.h"

/* The assessment as if it had been run by those models: every input that has logits must be in one
 * of the files, by its digest, and in one only. OOD scores, if there are any, must be by the
 * model's own method; a model without one takes none. ERR_IO, ERR_MALFORMED and ERR_UNUSABLE begin
 * with the file. */
enum err_code out_of_fold_take(struct assessment *assessment, const char *const *paths,
                               unsigned count, struct err *err);

#endif
