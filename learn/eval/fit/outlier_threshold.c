#include "learn/eval/fit/outlier_threshold.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

/* Sorted scores of the answers that give `label` (label_count: of all answers). The caller frees
 * them. */
static float *sorted_scores(const struct outlier_answers *answers, unsigned label,
                            unsigned label_count, size_t *count, struct err *err)
{
    float *scores = calloc(answers->count + 1, sizeof *scores);
    *count = 0;
    if (scores == NULL) {
        err_no_memory(err, answers->count * sizeof *scores);
        return NULL;
    }
    for (size_t i = 0; i < answers->count; i++)
        if (label == label_count || answers->labels[i] == label)
            scores[(*count)++] = answers->scores[i];
    qsort(scores, *count, sizeof *scores, compare);
    return scores;
}

/* The lowest of the sorted scores that at least `share` of them do not exceed. */
static float covering(const float *sorted, size_t count, double share)
{
    double below = ceil(share * (double)count - 1e-9) - 1;
    return sorted[(size_t)fmin(fmax(below, 0), (double)(count - 1))];
}

enum err_code outlier_threshold_fit(struct ood *ood, const struct outlier_answers *answers,
                                    double share, struct arena *arena, struct err *err)
{
    if (answers->count == 0)
        return err_set(err, ERR_UNUSABLE, "no inputs to choose a threshold from");
    ood->quantiles = arena_alloc_array(arena, OUTLIER_QUANTILES, sizeof *ood->quantiles);
    if (ood->quantiles == NULL)
        return err_no_memory(err, OUTLIER_QUANTILES * sizeof *ood->quantiles);
    size_t count;
    float *sorted = sorted_scores(answers, ood->label_count, ood->label_count, &count, err);
    if (sorted == NULL)
        return err->code;
    ood->threshold = covering(sorted, count, share);
    ood->has_threshold = true;
    ood->label_thresholds = NULL;
    ood->quantile_count = OUTLIER_QUANTILES;
    for (unsigned i = 0; i < OUTLIER_QUANTILES; i++) {
        double at = (double)(count - 1) * i / (OUTLIER_QUANTILES - 1);
        size_t low = (size_t)at, high = low + (low + 1 < count);
        double below = (double)sorted[low], above = (double)sorted[high];
        ood->quantiles[i] = (float)(below + (at - floor(at)) * (above - below));
    }
    free(sorted);
    return ERR_OK;
}

enum err_code outlier_threshold_spare(struct ood *ood, const struct outlier_answers *answers,
                                      double share_max, struct arena *arena, struct err *err)
{
    float *own = arena_alloc_array(arena, ood->label_count, sizeof *own);
    bool any = false;
    if (own == NULL)
        return err_no_memory(err, ood->label_count * sizeof *own);
    for (unsigned label = 0; label < ood->label_count; label++) {
        size_t count;
        float *sorted = sorted_scores(answers, label, ood->label_count, &count, err);
        if (sorted == NULL)
            return err->code;
        own[label] = count >= OUTLIER_ANSWERS_MIN ? covering(sorted, count, 1 - share_max) : NAN;
        if (!(own[label] > ood->threshold))
            own[label] = NAN; /* the threshold for all */
        any = any || !isnan(own[label]);
        free(sorted);
    }
    ood->label_thresholds = any ? own : NULL;
    return ERR_OK;
}
