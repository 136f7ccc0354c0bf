#include "learn/eval/measure/number_assessment.h"

#include "learn/data/number_label.h"

#include <stdlib.h>
#include <string.h>

bool number_assessment_is_for(const struct engine_model *model)
{
    return strcmp(engine_describe(model)->scores, "none") == 0;
}

enum err_code number_assessment_take(struct number_assessment *out,
                                     const struct engine_model *model,
                                     const struct dataset *dataset, const char *data_path,
                                     struct err *err)
{
    *out = (struct number_assessment){.model = model,
                                      .dataset = dataset,
                                      .data_path = data_path,
                                      .outputs = engine_describe(model)->label_count};
    out->numbers = calloc(dataset->count * out->outputs + 1, sizeof *out->numbers);
    if (out->numbers == NULL)
        return err_no_memory(err, dataset->count * out->outputs * sizeof *out->numbers);
    for (size_t i = 0; i < dataset->count; i++)
        if (number_label_read(dataset->items[i].label, out->numbers + i * out->outputs,
                              out->outputs, err))
            return err_prefix(err, "%s: %.80s: ", data_path, dataset->items[i].name);
    return ERR_OK;
}

enum err_code number_assessment_run(struct number_assessment *assessment,
                                    const struct evaluation_options *options, struct err *err)
{
    struct evaluation *evaluation = &assessment->evaluation;
    if (evaluation_run(evaluation, assessment->model, assessment->dataset, options, err))
        return err->code;
    const size_t count = evaluation->count - evaluation->failed, outputs = assessment->outputs;
    assessment->count = count;
    assessment->answered = calloc(2 * count * outputs + 1, sizeof *assessment->answered);
    assessment->errors = calloc(outputs + 1, sizeof *assessment->errors);
    if (assessment->answered == NULL || assessment->errors == NULL)
        return err_no_memory(err, 2 * count * outputs * sizeof *assessment->answered);
    assessment->right = assessment->answered + count * outputs;
    /* by output, without the inputs that failed */
    for (size_t i = 0, at = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        for (size_t k = 0; k < outputs; k++) {
            assessment->answered[k * count + at] = (double)evaluation_logits(evaluation, i)[k];
            assessment->right[k * count + at] = assessment->numbers[i * outputs + k];
        }
        at++;
    }
    for (size_t k = 0; k < outputs; k++)
        if (number_errors_measure(&assessment->errors[k], assessment->answered + k * count,
                                  assessment->right + k * count, count, err))
            return err->code;
    return ERR_OK;
}

void number_assessment_close(struct number_assessment *assessment)
{
    evaluation_close(&assessment->evaluation);
    free(assessment->numbers);
    free(assessment->answered);
    free(assessment->errors);
    *assessment = (struct number_assessment){0};
}
