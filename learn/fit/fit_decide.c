/* fit_decide.c - see fit_decide.h. An assessment borrows the evaluation, which is made of the fit's
 * own arrays, and must not free it. */
#include "learn/fit/fit_decide.h"

#include "engine/decide/argmax.h"
#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/fit/fit_prior.h"
#include "learn/fit/fit_trust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- left-out answers as an evaluation ---- */

/* Makes an evaluation of all rows, in their order. */
static enum err_code view_rows(struct fit *fit, struct evaluation *out, struct err *err)
{
    const struct fit_rows *rows = &fit->rows;
    *out = (struct evaluation){.count = rows->count,
                               .label_count = rows->labels,
                               .logits = rows->after,
                               .feature_size = rows->width,
                               .features = rows->features,
                               .digests = rows->digests};
    out->truncated = arena_alloc_array(&fit->arena, rows->count, sizeof *out->truncated);
    out->problems = arena_alloc_array(&fit->arena, rows->count, sizeof *out->problems);
    if (out->truncated == NULL || out->problems == NULL)
        return err_no_memory(err, rows->count * sizeof *out->problems);
    memset(out->truncated, 0, rows->count * sizeof *out->truncated);
    memset(out->problems, 0, rows->count * sizeof *out->problems);
    for (size_t i = 0; i < rows->of_data; i++)
        out->truncated[i] = fit->evaluation.truncated[rows->items[i]];
    return ERR_OK;
}

/* Makes an evaluation of the data set's inputs. Inputs that do not count have a problem. */
static enum err_code view_data(struct fit *fit, bool fresh_only, struct evaluation *out,
                               struct err *err)
{
    const struct fit_rows *rows = &fit->rows;
    size_t count = fit->dataset.count, labels = rows->labels;
    *out = fit->evaluation;
    out->label_count = rows->labels;
    out->failed = 0;
    out->logits = arena_alloc_array(&fit->arena, count * labels, sizeof *out->logits);
    out->problems = arena_alloc_array(&fit->arena, count, sizeof *out->problems);
    if (out->logits == NULL || out->problems == NULL)
        return err_no_memory(err, count * labels * sizeof *out->logits);
    memset(out->logits, 0, count * labels * sizeof *out->logits);
    for (size_t i = 0; i < rows->of_data; i++)
        memcpy(out->logits + rows->items[i] * labels, rows->after + i * labels,
               labels * sizeof *out->logits);
    for (size_t i = 0; i < count; i++) {
        out->problems[i] =
            fresh_only && fit->learnt[i] ? "learnt before" : fit->evaluation.problems[i];
        out->failed += out->problems[i] != NULL;
    }
    return ERR_OK;
}

static enum err_code open_assessment(struct fit *fit, const char *dir, struct assessment *out,
                                     struct err *err)
{
    const struct assessment_options how = {.dir = dir,
                                           .target_precision = fit->options.target_precision,
                                           .evaluation = {.threads = fit->options.threads}};
    if (assessment_open(out, &how, err))
        return err->code;
    return assessment_take(out, &fit->dataset, fit->options.data, err);
}

enum err_code fit_assess(struct fit *fit, const char *dir, struct assessment *out, struct err *err)
{
    if (open_assessment(fit, dir, out, err) || view_data(fit, false, &out->evaluation, err))
        return err->code;
    return assessment_measure(out, err);
}

void fit_end_assessment(struct assessment *assessment)
{
    assessment->evaluation = (struct evaluation){0}; /* the fit's */
    assessment_close(assessment);
}

/* Assesses the inputs that were not learnt, or all rows. */
static enum err_code assess_for_decisions(struct fit *fit, const char *dir, bool is_fresh,
                                          struct assessment *out, struct err *err)
{
    size_t bytes = fit->rows.count * sizeof *out->classes;
    if (open_assessment(fit, dir, out, err))
        return err->code;
    if (is_fresh)
        return view_data(fit, true, &out->evaluation, err) ? err->code
                                                           : assessment_measure(out, err);
    unsigned *classes = realloc(out->classes, bytes);
    if (classes == NULL)
        return err_no_memory(err, bytes);
    out->classes = memcpy(classes, fit->rows.classes, bytes);
    return view_rows(fit, &out->evaluation, err) ? err->code : assessment_measure(out, err);
}

/* ---- kept decisions ---- */

/* The best temperature for a head's answers to rows of old labels. */
static double temperature_of(const struct fit *fit, const float *logits, unsigned labels,
                             size_t *items)
{
    struct calibration_set set = {
        .logits = logits, .classes = fit->rows.classes, .items = items, .label_count = labels};
    double bound;
    for (size_t i = 0; i < fit->rows.count; i++)
        if (fit->rows.classes[i] < fit->labels.old_count)
            items[set.count++] = i;
    return calibration_temperature_within(&set, 1, &bound);
}

static enum err_code keep_decisions(struct fit *fit, struct calibrate_kept *out, struct err *err)
{
    const struct policy *old = &fit->old.policy;
    const unsigned known = fit->labels.old_count;
    double sharper = 1; /* factor by which the temperature must rise: new answers are sharper */
    size_t *items = calloc(fit->rows.count, sizeof *items);
    float *thresholds = arena_alloc_array(&fit->arena, fit->labels.count, sizeof *thresholds);
    if (items == NULL || thresholds == NULL) {
        free(items);
        return err_no_memory(err, fit->rows.count * sizeof *items);
    }
    /* With a table of n-grams the rows cannot tell, since the table is sure of what it learnt. But
     * its scale grew by the same factor as the head's logits (fit_ngrams). */
    if (!fit->adds && fit->table.bias != NULL)
        sharper = fit->new_table.scale / fit->table.scale;
    else if (!fit->adds)
        sharper = temperature_of(fit, fit->rows.after, fit->labels.count, items) /
                  temperature_of(fit, fit->rows.before, known, items);
    out->target_precision = old->target_precision;
    out->temperature = fit->old.temperature * sharper;
    if (old->thresholds != NULL) {
        for (unsigned c = 0; c < fit->labels.count; c++)
            thresholds[c] = c < known ? old->thresholds[c] : NAN;
        out->thresholds = thresholds;
    }
    free(items);
    return ERR_OK;
}

/* ---- all of it ---- */

/* Share of rows to call unknown. The energy of a new head is on another scale, so its threshold is
 * set so that as many rows are unknown as before. */
static double unknown_share(const struct fit *fit)
{
    const struct ood *ood = &fit->old.policy.ood;
    const unsigned labels = fit->labels.old_count;
    size_t unknown = 0;
    if (ood->method != OOD_ENERGY || !ood->has_threshold)
        return 0;
    for (size_t i = 0; i < fit->rows.count; i++) {
        const float *logits = fit->rows.before + i * labels;
        unknown += ood_score(ood, logits, NULL) > ood_threshold(ood, argmax(logits, labels));
    }
    return fmax(CALIBRATE_UNKNOWN, (double)unknown / (double)fit->rows.count);
}

enum err_code fit_decide(struct fit *fit, const char *dir, struct err *err)
{
    const struct ood *ood = &fit->old.policy.ood;
    const double *old = fit->old.class_prior.fitted;
    const bool is_fresh = fit_decides_anew(fit);
    const bool keeps_ood = ood->has_threshold && (ood->method != OOD_ENERGY || fit->adds);
    struct calibrate_kept kept = {0};
    double *fitted = arena_alloc_array(&fit->arena, fit->labels.count, sizeof *fitted);
    if (fitted == NULL)
        return err_no_memory(err, fit->labels.count * sizeof *fitted);
    if (fit_prior_counts(fit->options.prior, &fit->labels, fitted, err))
        return err->code;
    if (fit->adds && old != NULL) /* the old labels keep the counts they are calibrated for */
        memcpy(fitted, old, fit->labels.old_count * sizeof *fitted);
    if (!is_fresh && keep_decisions(fit, &kept, err))
        return err->code;
    if (!is_fresh && keeps_ood)
        return fit_trust_keep(fit, dir, &kept, fitted, err);
    /* On fresh inputs all decisions are fitted; on all rows only those that the model lacks. */
    enum ood_method method = fit->old.policy.ood.method;
    struct assessment assessment = {0};
    struct evaluation known;
    const struct calibrate how = {.assessment = &assessment,
                                  .known = &known,
                                  .known_classes = fit->rows.classes,
                                  .known_ngrams = fit->rows.ngrams,
                                  .method = method != OOD_NONE ? method : OOD_MAHALANOBIS,
                                  .kept = is_fresh ? NULL : &kept,
                                  .unknown = is_fresh ? 0 : unknown_share(fit),
                                  .fitted_prior = fitted};
    if (!view_rows(fit, &known, err) &&
        !assess_for_decisions(fit, dir, is_fresh, &assessment, err) &&
        !calibrate_write(&how, err) && is_fresh)
        fit_trust_hold(fit, dir, &assessment, err);
    fit_end_assessment(&assessment);
    return err->code;
}
