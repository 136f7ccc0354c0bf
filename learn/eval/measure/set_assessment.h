/* set_assessment.h - evaluates a multi-label model on inputs that may have several labels or none
 * (multi_label.h).
 *
 *     set_assessment_take(&assessment, model, &dataset, "validation.jsonl", &err);
 *     set_assessment_run(&assessment, &options, &err);
 *     ... assessment.sets.micro.f1 ...
 *     set_assessment_close(&assessment);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SET_ASSESSMENT_H
#define ATTND_LEARN_EVAL_MEASURE_SET_ASSESSMENT_H

#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/multi_label.h"

struct set_assessment {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    bool *truths;          /* [dataset->count, labels] */
    struct evaluation evaluation;
    struct multi_label sets; /* of the inputs that were answered */
};

/* Matches the labels of the data, which was opened with labels_many, with the model's.
 * ERR_UNUSABLE names the first input with another label, or a model whose labels exclude each
 * other. Close it in any case. */
enum err_code set_assessment_take(struct set_assessment *out, const struct engine_model *model,
                                  const struct dataset *dataset, const char *data_path,
                                  struct err *err);
/* Runs the model and measures. As evaluation_run; ERR_NO_MEMORY. */
enum err_code set_assessment_run(struct set_assessment *assessment,
                                 const struct evaluation_options *options, struct err *err);
void set_assessment_close(struct set_assessment *assessment);

#endif
