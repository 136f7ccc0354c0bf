#include "learn/eval/measure/set_assessment.h"

#include <stdlib.h>
#include <string.h>

static enum err_code match(const struct engine_info *info, const char *label, bool *truths,
                           struct err *err)
{
    if (*label == '\0')
        return ERR_OK;
    for (;; label++) {
        const size_t len = strcspn(label, "|");
        unsigned found = 0;
        while (found < info->label_count &&
               (strncmp(info->labels[found], label, len) != 0 || info->labels[found][len] != '\0'))
            found++;
        if (found == info->label_count)
            return err_set(err, ERR_UNUSABLE, "the model has no label '%.*s'",
                           len < 80 ? (int)len : 80, label);
        truths[found] = true;
        label += len;
        if (*label == '\0')
            return ERR_OK;
    }
}

enum err_code set_assessment_take(struct set_assessment *out, const struct engine_model *model,
                                  const struct dataset *dataset, const char *data_path,
                                  struct err *err)
{
    const struct engine_info *info = engine_describe(model);
    *out = (struct set_assessment){.model = model, .dataset = dataset, .data_path = data_path};
    if (strcmp(info->scores, "sigmoid") != 0)
        return err_set(err, ERR_UNUSABLE,
                       "the model's labels exclude each other: it is no multi-label model");
    out->truths = calloc(dataset->count * info->label_count + 1, sizeof *out->truths);
    if (out->truths == NULL)
        return err_no_memory(err, dataset->count * info->label_count);
    for (size_t i = 0; i < dataset->count; i++)
        if (match(info, dataset->items[i].label, out->truths + i * info->label_count, err))
            return err_prefix(err, "%s: %.80s: ", data_path, dataset->items[i].name);
    return ERR_OK;
}

/* scores [answered, labels]; moves the answered inputs' truths to the front. */
static enum err_code collect(struct set_assessment *assessment, float *scores, size_t *answered,
                             struct err *err)
{
    const struct evaluation *evaluation = &assessment->evaluation;
    const size_t labels = evaluation->label_count;
    size_t at = 0;
    for (size_t i = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        if (!engine_scores(assessment->model, evaluation_logits(evaluation, i),
                           scores + at * labels))
            return err_set(err, ERR_UNUSABLE, "%s: %.80s: a score is not finite",
                           assessment->data_path, assessment->dataset->items[i].name);
        memmove(assessment->truths + at * labels, assessment->truths + i * labels,
                labels * sizeof *assessment->truths);
        at++;
    }
    *answered = at;
    return ERR_OK;
}

enum err_code set_assessment_run(struct set_assessment *assessment,
                                 const struct evaluation_options *options, struct err *err)
{
    struct evaluation *evaluation = &assessment->evaluation;
    size_t answered = 0;
    if (evaluation_run(evaluation, assessment->model, assessment->dataset, options, err))
        return err->code;
    const size_t numbers = evaluation->count * evaluation->label_count;
    float *scores = calloc(numbers + 1, sizeof *scores);
    if (scores == NULL)
        return err_no_memory(err, numbers * sizeof *scores);
    if (!collect(assessment, scores, &answered, err))
        multi_label_measure(&assessment->sets, scores, assessment->truths, answered,
                            evaluation->label_count, err);
    free(scores);
    return err->code;
}

void set_assessment_close(struct set_assessment *assessment)
{
    evaluation_close(&assessment->evaluation);
    multi_label_close(&assessment->sets);
    free(assessment->truths);
    *assessment = (struct set_assessment){0};
}
