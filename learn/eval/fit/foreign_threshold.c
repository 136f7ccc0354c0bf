#include "learn/eval/fit/foreign_threshold.h"

#include <math.h>
#include <stdlib.h>

/* As findings.c judges: winners or, with independent labels, all labels. */
static size_t judge(const struct calibration_set *set, double temperature, struct verdict *out)
{
    (set->sigmoid ? calibration_labels : calibration_predictions)(set, temperature, out);
    return set->count * (set->sigmoid ? set->label_count : 1);
}

/* NaN: never. */
static float lowest(const struct selective_threshold *threshold)
{
    return threshold->reachable ? threshold->score : NAN;
}

/* Of the validation inputs alone, then with the foreign ones; the stricter of both, since labels
 * that are judged together may be other ones the second time. */
static void choose(float *thresholds, struct selective_threshold *chosen, struct verdict *verdicts,
                   const struct calibration_set *validation, const struct calibration_set *foreign,
                   double temperature, const struct selective_goal *goal)
{
    const unsigned labels = validation->label_count;
    size_t known = judge(validation, temperature, verdicts);
    selective_thresholds(chosen, labels, verdicts, known, goal);
    for (unsigned c = 0; c < labels; c++)
        thresholds[c] = lowest(&chosen[c]);
    known += judge(foreign, temperature, verdicts + known);
    selective_thresholds(chosen, labels, verdicts, known, goal);
    for (unsigned c = 0; c < labels; c++)
        if (!(lowest(&chosen[c]) <= thresholds[c]))
            thresholds[c] = isnan(thresholds[c]) ? NAN : lowest(&chosen[c]);
}

enum err_code foreign_thresholds(float *thresholds, const struct calibration_set *validation,
                                 const struct calibration_set *foreign, double temperature,
                                 const struct selective_goal *goal, struct err *err)
{
    const size_t each = validation->sigmoid ? validation->label_count : 1;
    const size_t count = (validation->count + foreign->count) * each;
    struct selective_threshold *chosen = calloc(validation->label_count, sizeof *chosen);
    struct verdict *verdicts = calloc(count + 1, sizeof *verdicts);
    if (chosen == NULL || verdicts == NULL)
        err_no_memory(err, count * sizeof *verdicts);
    else
        choose(thresholds, chosen, verdicts, validation, foreign, temperature, goal);
    free(verdicts);
    free(chosen);
    return err->code;
}

enum err_code foreign_automatic(size_t *out, const struct calibration_set *set, double temperature,
                                const float *thresholds, struct err *err)
{
    struct verdict *verdicts = calloc(set->count + 1, sizeof *verdicts);
    *out = 0;
    if (verdicts == NULL)
        return err_no_memory(err, set->count * sizeof *verdicts);
    calibration_predictions(set, temperature, verdicts);
    for (size_t i = 0; i < set->count; i++)
        *out += verdicts[i].score >= thresholds[verdicts[i].label]; /* NaN: never */
    free(verdicts);
    return ERR_OK;
}
