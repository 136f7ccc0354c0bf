#include "learn/fit/fit_decide.h"

#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"

#include <math.h>
#include <stdlib.h>

/* ---- answers that were left out ---- */

/* [dataset.count] reasons not to count an input. */
static const char **problems_of(struct fit *fit, bool fresh_only, struct err *err)
{
    const struct evaluation *evaluation = &fit->evaluation;
    const char **problems = arena_alloc_array(&fit->arena, evaluation->count, sizeof *problems);
    if (problems == NULL) {
        err_no_memory(err, evaluation->count * sizeof *problems);
        return NULL;
    }
    for (size_t i = 0; i < evaluation->count; i++)
        problems[i] = fresh_only && fit->learnt[i] ? "learnt before" : evaluation->problems[i];
    return problems;
}

enum err_code fit_assess(struct fit *fit, const char *dir, bool fresh_only, struct assessment *out,
                         struct err *err)
{
    const struct assessment_options how = {.dir = dir,
                                           .target_precision = fit->options.target_precision,
                                           .evaluation = {.threads = fit->options.threads}};
    const char **problems = problems_of(fit, fresh_only, err);
    if (problems == NULL || assessment_open(out, &how, err) ||
        assessment_take(out, &fit->dataset, fit->options.data, err))
        return err->code;
    out->evaluation = fit->evaluation;
    out->evaluation.problems = problems;
    out->evaluation.failed = 0;
    for (size_t i = 0; i < fit->dataset.count; i++)
        out->evaluation.failed += problems[i] != NULL;
    out->evaluation.logits = fit->logits;
    out->evaluation.label_count = fit->labels.count;
    return assessment_measure(out, err);
}

void fit_end_assessment(struct assessment *assessment)
{
    assessment->evaluation = (struct evaluation){0}; /* the fit's */
    assessment_close(assessment);
}

/* ---- decisions that are kept ---- */

/* The best temperature of a head's answers to the inputs of old labels. */
static double temperature_of(const struct fit *fit, const float *logits, unsigned labels,
                             size_t *items)
{
    struct calibration_set set = {
        .logits = logits, .classes = fit->classes, .items = items, .label_count = labels};
    double bound;
    for (size_t i = 0; i < fit->dataset.count; i++)
        if (fit->evaluation.problems[i] == NULL && fit->classes[i] < fit->labels.old_count)
            items[set.count++] = i;
    return calibration_temperature_within(&set, &bound);
}

static enum err_code keep_decisions(struct fit *fit, const struct spec *old,
                                    struct calibrate_kept *out, struct err *err)
{
    size_t *items = calloc(fit->dataset.count, sizeof *items);
    float *thresholds = arena_alloc_array(&fit->arena, fit->labels.count, sizeof *thresholds);
    if (items == NULL || thresholds == NULL) {
        free(items);
        return err_no_memory(err, fit->dataset.count * sizeof *items);
    }
    out->target_precision = old->policy.target_precision;
    out->temperature = old->temperature *
                       temperature_of(fit, fit->logits, fit->labels.count, items) /
                       temperature_of(fit, fit->evaluation.logits, fit->labels.old_count, items);
    if (old->policy.thresholds != NULL) {
        for (unsigned c = 0; c < fit->labels.count; c++)
            thresholds[c] = c < fit->labels.old_count ? old->policy.thresholds[c] : NAN;
        out->thresholds = thresholds;
    }
    free(items);
    return ERR_OK;
}

/* ---- all of it ---- */

enum err_code fit_decide(struct fit *fit, const char *dir, const struct spec *old, struct err *err)
{
    bool is_fresh = fit->fresh_count >= FIT_FRESH_MIN;
    struct calibrate_kept kept = {0};
    struct assessment assessment = {0};
    struct calibrate how = {.assessment = &assessment,
                            .known_classes = fit->classes,
                            .method = old->policy.ood.method != OOD_NONE ? old->policy.ood.method
                                                                         : OOD_MAHALANOBIS};
    if (!fit_assess(fit, dir, is_fresh, &assessment, err)) {
        struct evaluation known = assessment.evaluation; /* of all inputs, with all labels */
        known.problems = fit->evaluation.problems;
        known.failed = fit->evaluation.failed;
        how.known = &known;
        if (!is_fresh)
            how.kept = &kept;
        if (is_fresh || !keep_decisions(fit, old, &kept, err))
            calibrate_write(&how, err);
    }
    fit_end_assessment(&assessment);
    return err->code;
}
