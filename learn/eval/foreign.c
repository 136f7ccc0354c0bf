#include "learn/eval/foreign.h"

#include "learn/eval/fit/foreign_threshold.h"

#include <stdlib.h>
#include <string.h>

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

/* Raises thresholds. Unknown validation inputs count too, as in findings.h. */
static enum err_code raise_thresholds(float *thresholds, const struct spec *spec,
                                      const struct assessment *assessment,
                                      const struct calibration_set *foreign, struct err *err)
{
    const struct selective_goal goal = {.target_precision = spec->policy.target_precision,
                                        .z = SELECTIVE_Z};
    const struct evaluation *evaluation = &assessment->evaluation;
    struct calibration_set validation = *foreign;
    size_t *items = ood_answers_items(evaluation, &validation.count, err);
    validation.logits = evaluation->logits;
    validation.classes = assessment->classes;
    validation.items = items;
    if (items != NULL)
        foreign_raise(thresholds, &validation, foreign, spec->temperature, &goal, err);
    free(items);
    return err->code;
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

static enum err_code take(struct spec *spec, const struct assessment *assessment,
                          const struct side *known, const struct side *foreign,
                          struct foreign_cost *cost, struct arena *arena, struct err *err)
{
    float *thresholds = arena_alloc_array(arena, spec->label_count, sizeof *thresholds);
    if (thresholds == NULL)
        return err_no_memory(err, spec->label_count * sizeof *thresholds);
    memcpy(thresholds, spec->policy.thresholds, spec->label_count * sizeof *thresholds);
    if (raise_thresholds(thresholds, spec, assessment, &foreign->set, err) ||
        count(cost, spec, thresholds, &known->set, &foreign->set, err))
        return err->code;
    spec->policy.thresholds = thresholds;
    return ERR_OK;
}

/* Gives all inputs a class that no answer has. */
static unsigned *no_classes(size_t count, unsigned label_count, struct err *err)
{
    unsigned *classes = calloc(count + 1, sizeof *classes);
    if (classes == NULL)
        err_no_memory(err, count * sizeof *classes);
    for (size_t i = 0; i < count && classes != NULL; i++)
        classes[i] = label_count;
    return classes;
}

enum err_code foreign_take(struct spec *spec, const struct assessment *assessment,
                           const struct evaluation *foreign, const struct head_bank *bank,
                           struct foreign_cost *cost, struct arena *arena, struct err *err)
{
    struct side known = {0}, others = {0};
    struct assessment of_others = {.model = assessment->model, .evaluation = *foreign};
    of_others.classes = no_classes(foreign->count, spec->label_count, err);
    if (of_others.classes != NULL && !open_side(&known, spec, assessment, bank, err) &&
        !open_side(&others, spec, &of_others, bank, err)) {
        *cost = (struct foreign_cost){.foreign = foreign->count - foreign->failed};
        cost->unknown = cost->foreign - others.set.count;
        take(spec, assessment, &known, &others, cost, arena, err);
    }
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
    fprintf(file, "for that, of %zu inputs of the data that are not unknown %.1f %% are automatic, "
                  "before %.1f %%\n",
            cost->known, percent(cost->automatic, cost->known),
            percent(cost->automatic_before, cost->known));
}
