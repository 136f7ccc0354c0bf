#include "learn/eval/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rule ---- */

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
        goto out;
    }
    size_t count = calibration_verdicts(validation, temperature, verdicts);
    count += calibration_verdicts(foreign, temperature, verdicts + count);
    selective_thresholds(chosen, labels, verdicts, count, goal);
    /* The stricter of both thresholds: with the foreign inputs other labels may be judged together.
     */
    for (unsigned c = 0; c < labels; c++) {
        const float score = chosen[c].reachable ? chosen[c].score : NAN;
        if (!isnan(thresholds[c]) && !(score <= thresholds[c]))
            thresholds[c] = score;
    }
out:
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

/* ---- an assessment ---- */

/* The inputs of an assessment that are not unknown. */
struct side {
    struct ood_answers answers;
    struct calibration_set set; /* of the answers */
};

static enum err_code open_side(struct side *out, const struct spec *spec,
                               const struct assessment *assessment, const struct head_bank *bank,
                               struct err *err)
{
    if (ood_answers_open(&out->answers, spec, assessment, bank, err))
        return err->code;
    ood_answers_drop_unknown(&out->answers, &spec->policy.ood);
    out->set = (struct calibration_set){.logits = assessment->evaluation.logits,
                                        .classes = assessment->classes,
                                        .items = out->answers.items,
                                        .count = out->answers.count,
                                        .label_count = assessment->evaluation.label_count,
                                        .sigmoid = spec->scores == SCORES_SIGMOID};
    return ERR_OK;
}

static enum err_code count(struct foreign_cost *cost, const struct spec *spec,
                           const float *thresholds, const struct calibration_set *known,
                           const struct calibration_set *foreign, struct err *err)
{
    const double temperature = spec->temperature;
    const float *before = spec->policy.thresholds;
    cost->known = known->count;
    if (foreign_automatic(&cost->passed_before, foreign, temperature, before, err) ||
        foreign_automatic(&cost->passed, foreign, temperature, thresholds, err) ||
        foreign_automatic(&cost->automatic_before, known, temperature, before, err))
        return err->code;
    return foreign_automatic(&cost->automatic, known, temperature, thresholds, err);
}

enum err_code foreign_take(struct spec *spec, const struct assessment *assessment,
                           const struct evaluation *foreign, const struct head_bank *bank,
                           struct foreign_cost *cost, struct arena *arena, struct err *err)
{
    const unsigned labels = spec->label_count;
    struct side known = {0}, others = {0};
    struct assessment of_others = {.model = assessment->model, .evaluation = *foreign};
    of_others.classes = calloc(foreign->count + 1, sizeof *of_others.classes);
    if (of_others.classes == NULL) {
        err_no_memory(err, foreign->count * sizeof *of_others.classes);
        goto out;
    }
    for (size_t i = 0; i < foreign->count; i++)
        of_others.classes[i] = labels; /* a class that no answer has */
    if (open_side(&known, spec, assessment, bank, err) ||
        open_side(&others, spec, &of_others, bank, err))
        goto out;
    *cost = (struct foreign_cost){.foreign = foreign->count - foreign->failed};
    cost->unknown = cost->foreign - others.set.count;
    float *thresholds = arena_alloc_array(arena, labels, sizeof *thresholds);
    if (thresholds == NULL) {
        err_no_memory(err, labels * sizeof *thresholds);
        goto out;
    }
    memcpy(thresholds, spec->policy.thresholds, labels * sizeof *thresholds);
    /* Unknown validation inputs count too, as in findings.h. */
    const struct selective_goal goal = {.target_precision = spec->policy.target_precision,
                                        .z = SELECTIVE_Z};
    const struct evaluation *evaluation = &assessment->evaluation;
    struct calibration_set validation = others.set;
    size_t *items = ood_answers_items(evaluation, &validation.count, err);
    validation.logits = evaluation->logits;
    validation.classes = assessment->classes;
    validation.items = items;
    if (items != NULL)
        foreign_raise(thresholds, &validation, &others.set, spec->temperature, &goal, err);
    free(items);
    if (err->code == ERR_OK && !count(cost, spec, thresholds, &known.set, &others.set, err))
        spec->policy.thresholds = thresholds;
out:
    ood_answers_close(&known.answers);
    ood_answers_close(&others.answers);
    free(of_others.classes);
    return err->code;
}

static double percent(size_t part, size_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

void foreign_tell(const struct foreign_cost *cost, FILE *file)
{
    fprintf(file, "foreign inputs  %zu: %.1f %% unknown, %.1f %% automatic, before %.1f %%\n",
            cost->foreign, percent(cost->unknown, cost->foreign),
            percent(cost->passed, cost->foreign), percent(cost->passed_before, cost->foreign));
    fprintf(file,
            "for that, of %zu inputs of the data that are not unknown %.1f %% are automatic, "
            "before %.1f %%\n",
            cost->known, percent(cost->automatic, cost->known),
            percent(cost->automatic_before, cost->known));
}
