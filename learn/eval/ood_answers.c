#include "learn/eval/ood_answers.h"

#include "engine/decide/argmax.h"

#include <stdlib.h>
#include <string.h>

size_t *ood_answers_items(const struct evaluation *evaluation, size_t *count, struct err *err)
{
    size_t *items = calloc(evaluation->count + 1, sizeof *items);
    *count = 0;
    if (items == NULL) {
        err_no_memory(err, evaluation->count * sizeof *items);
        return NULL;
    }
    for (size_t i = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] == NULL)
            items[(*count)++] = i;
    return items;
}

struct outlier_data ood_answers_data(const struct spec *spec, const struct evaluation *evaluation,
                                     const unsigned *classes, const size_t *items, size_t count)
{
    return (struct outlier_data){.features = evaluation->features,
                                 .classes = classes,
                                 .items = items,
                                 .count = count,
                                 .width = evaluation->feature_size,
                                 .hidden = spec_features(spec),
                                 .label_count = evaluation->label_count,
                                 .independent = spec->scores == SCORES_SIGMOID,
                                 .digests = evaluation->digests};
}

enum err_code ood_answers_open(struct ood_answers *out, const struct spec *spec,
                               const struct assessment *assessment, const struct head_bank *bank,
                               struct err *err)
{
    const struct evaluation *evaluation = &assessment->evaluation;
    const unsigned labels = evaluation->label_count;
    const char *fitted = ood_method_name(spec->policy.ood.method);
    *out = (struct ood_answers){0};
    out->items = ood_answers_items(evaluation, &out->count, err);
    out->ood_scores = calloc(evaluation->count + 1, sizeof *out->ood_scores);
    out->labels = calloc(evaluation->count + 1, sizeof *out->labels);
    if (out->items == NULL || out->ood_scores == NULL || out->labels == NULL)
        return err_no_memory(err, evaluation->count * sizeof *out->ood_scores);
    struct outlier_data data =
        ood_answers_data(spec, evaluation, assessment->classes, out->items, out->count);
    data.bank = bank;
    if (evaluation->ood != NULL && fitted != NULL &&
        strcmp(fitted, engine_describe(assessment->model)->ood_method) == 0)
        for (size_t i = 0; i < out->count; i++)
            out->ood_scores[i] = evaluation->ood[out->items[i]];
    else
        outlier_scores(&spec->policy.ood, evaluation->logits, &data, out->ood_scores);
    for (size_t i = 0; i < out->count; i++)
        out->labels[i] = argmax(evaluation->logits + out->items[i] * labels, labels);
    return ERR_OK;
}

void ood_answers_close(struct ood_answers *answers)
{
    free(answers->items);
    free(answers->ood_scores);
    free(answers->labels);
}

void ood_answers_drop_unknown(struct ood_answers *answers, const struct ood *ood)
{
    size_t kept = 0;
    for (size_t i = 0; i < answers->count; i++) {
        if (ood->has_threshold && answers->ood_scores[i] > ood_threshold(ood, answers->labels[i]))
            continue;
        answers->items[kept] = answers->items[i];
        answers->ood_scores[kept] = answers->ood_scores[i];
        answers->labels[kept++] = answers->labels[i];
    }
    answers->count = kept;
}
