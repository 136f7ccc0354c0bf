#include "learn/eval/fit/foreign_threshold.h"

#include <math.h>
#include <stdlib.h>

/* Keeps the stricter of both thresholds: with the foreign inputs other labels may be judged
 * together. */
static void make_stricter(float *threshold, const struct selective_threshold *chosen)
{
    const float score = chosen->reachable ? chosen->score : NAN;
    if (!isnan(*threshold) && !(score <= *threshold))
        *threshold = score;
}

enum err_code foreign_raise(float *thresholds, const struct calibration_set *validation,
                            const struct calibration_set *foreign, double temperature,
                            const struct selective_goal *goal, struct err *err)
{
    const unsigned labels = validation->label_count;
    const size_t room = (validation->count + foreign->count) * calibration_verdicts_each(foreign);
    struct selective_threshold *chosen = calloc(labels, sizeof *chosen);
    struct verdict *verdicts = calloc(room + 1, sizeof *verdicts);
    if (chosen == NULL || verdicts == NULL) {
        err_no_memory(err, room * sizeof *verdicts);
    } else {
        size_t count = calibration_verdicts(validation, temperature, verdicts);
        count += calibration_verdicts(foreign, temperature, verdicts + count);
        selective_thresholds(chosen, labels, verdicts, count, goal);
        for (unsigned c = 0; c < labels; c++)
            make_stricter(&thresholds[c], &chosen[c]);
    }
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
