#include "learn/eval/assessment.h"

#include "engine/decide/class_prior.h"
#include "learn/data/logit_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct taking {
    struct assessment *assessment;
    const char *const *paths;
    unsigned *file;  /* [count] number of the file with the input's answer, from 1; 0: none yet */
    size_t scored;   /* inputs with an OOD score */
    bool has_others; /* OOD scores by another method than the model's */
};

static const struct engine_info *info_of(const struct taking *taking)
{
    return engine_describe(taking->assessment->model);
}

static bool is_of_model(const struct taking *taking, const char *method)
{
    const char *own = info_of(taking)->ood_method;
    return own != NULL && strcmp(own, method) == 0;
}

static enum err_code take_file(struct taking *taking, unsigned file, struct err *err)
{
    struct evaluation *evaluation = &taking->assessment->evaluation;
    const struct engine_info *info = info_of(taking);
    const unsigned labels = evaluation->label_count;
    struct logit_list list;
    if (logit_list_open_digests(&list, taking->paths[file], evaluation->digests, evaluation->count,
                                info->labels, info->label_count, err))
        goto out;
    for (size_t i = 0; i < evaluation->count; i++) {
        const float *row = logit_list_row(&list, i);
        if (row == NULL || evaluation->problems[i] != NULL)
            continue;
        if (taking->file[i] > 0) {
            err_set(err, ERR_UNUSABLE, "line %zu: the input has an answer in %s, too",
                    list.entries[i].line, taking->paths[taking->file[i] - 1]);
            goto out;
        }
        taking->file[i] = file + 1;
        memcpy(evaluation->logits + i * labels, row, labels * sizeof *row);
        if (is_of_model(taking, list.ood_method) && !isnan(list.ood[i])) {
            evaluation->ood[i] = list.ood[i];
            taking->scored++;
        }
    }
    if (list.ood_method[0] != '\0' && info->ood_method != NULL)
        taking->has_others = taking->has_others || !is_of_model(taking, list.ood_method);
out:
    logit_list_close(&list);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", taking->paths[file]) : ERR_OK;
}

enum err_code out_of_fold_take(struct assessment *assessment, const char *const *paths,
                               unsigned count, struct err *err)
{
    struct evaluation *evaluation = &assessment->evaluation;
    const size_t usable = evaluation->count - evaluation->failed;
    struct taking taking = {.assessment = assessment, .paths = paths};
    const struct engine_info *info = info_of(&taking);
    taking.file = calloc(evaluation->count + 1, sizeof *taking.file);
    evaluation->ood =
        arena_alloc_array(&evaluation->arena, evaluation->count, sizeof *evaluation->ood);
    if (taking.file == NULL || evaluation->ood == NULL)
        err_no_memory(err, evaluation->count * sizeof *evaluation->ood);
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
        take_file(&taking, i, err);
    /* Every input must have an answer, and all inputs or none an OOD score. */
    for (size_t i = 0; i < evaluation->count && err->code == ERR_OK; i++)
        if (evaluation->problems[i] == NULL && taking.file[i] == 0)
            err_set(err, ERR_UNUSABLE, "'%.80s' has no answer there, by its digest",
                    assessment->dataset->items[i].name);
    free(taking.file);
    if (err->code != ERR_OK)
        return err->code;
    if (taking.scored != usable && (taking.scored > 0 || taking.has_others))
        return err_set(err, ERR_UNUSABLE,
                       "%zu of %zu inputs have an OOD score by '%s', as this model's is",
                       taking.scored, usable, info->ood_method);
    if (taking.scored != usable)
        evaluation->ood = NULL;
    if (evaluation_shift(evaluation, info->class_prior->shifts, info->temperature, err))
        return err->code;
    assessment->options.folds = count;
    return assessment_measure(assessment, err);
}
