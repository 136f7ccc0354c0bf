#include "learn/eval/measure/ood_scores.h"

#include <stdlib.h>

float *ood_scores_compute(const struct engine_model *model, const struct evaluation *evaluation,
                          size_t *count, struct err *err)
{
    float *out = calloc(evaluation->count + 1, sizeof *out);
    float *scores = calloc(evaluation->label_count + 1, sizeof *scores);
    *count = 0;
    if (out == NULL || scores == NULL) {
        err_no_memory(err, evaluation->count * sizeof *out);
        free(out);
        out = NULL;
    }
    for (size_t i = 0; out != NULL && i < evaluation->count; i++) {
        struct judgement judgement;
        if (evaluation->problems[i] != NULL)
            continue;
        evaluation_judge(evaluation, model, i, scores, &judgement);
        out[(*count)++] = judgement.ood_score;
    }
    free(scores);
    return out;
}
