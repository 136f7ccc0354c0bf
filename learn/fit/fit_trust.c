#include "learn/fit/fit_trust.h"

#include "engine/decide/argmax.h"
#include "engine/model/head_parts.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/example_bank.h"
#include "learn/eval/fit/outlier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COOLER 1.03
enum { COOLINGS_MAX = 24 };

/* ---- kept decisions ---- */

/* Extends the model's OOD score to the new labels, which get no threshold and no mean of their own.
 */
static enum err_code keep_ood(const struct fit *fit, struct ood *out, struct arena *arena,
                              struct err *err)
{
    const struct ood *old = &fit->old.policy.ood;
    const unsigned labels = fit->labels.count, known = fit->labels.old_count;
    const size_t means = (size_t)old->components * labels;
    *out = *old;
    out->label_count = labels;
    if (old->label_thresholds != NULL)
        out->label_thresholds = arena_alloc_array(arena, labels, sizeof *out->label_thresholds);
    if (old->class_means != NULL)
        out->class_means = arena_alloc_array(arena, means, sizeof *out->class_means);
    if ((old->label_thresholds != NULL && out->label_thresholds == NULL) ||
        (old->class_means != NULL && out->class_means == NULL))
        return err_no_memory(err, (means + labels) * sizeof(float));
    for (unsigned c = 0; old->label_thresholds != NULL && c < labels; c++)
        out->label_thresholds[c] = c < known ? old->label_thresholds[c] : NAN;
    for (size_t i = 0; old->class_means != NULL && i < means; i++)
        out->class_means[i] = i < (size_t)old->components * known ? old->class_means[i] : NAN;
    return ERR_OK;
}

enum err_code fit_trust_keep(const struct fit *fit, const char *dir,
                             const struct calibrate_kept *kept, const double *fitted,
                             struct err *err)
{
    const struct policy *old = &fit->old.policy;
    const size_t labels = fit->labels.count, known = fit->labels.old_count;
    struct drift_reference reference;
    struct spec spec;
    struct arena arena;
    arena_init(&arena);
    if (spec_read(&spec, dir, &arena, err) || keep_ood(fit, &spec.policy.ood, &arena, err))
        goto out;
    spec.reference = NULL;
    if (fit->old.reference != NULL) { /* the share of answers with a new label is 0 */
        reference = *fit->old.reference;
        float *shares = arena_alloc_array(&arena, labels, sizeof *shares);
        if (shares == NULL) {
            err_no_memory(err, labels * sizeof *shares);
            goto out;
        }
        memset(shares, 0, labels * sizeof *shares);
        memcpy(shares, reference.label_shares, known * sizeof *shares);
        reference.label_count = fit->labels.count;
        reference.label_shares = shares;
        spec.reference = &reference;
    }
    if (class_prior_refit(&spec.class_prior, fitted, fit->labels.count, &arena, err))
        goto out;
    spec.temperature = kept->temperature;
    spec.policy.target_precision = old->target_precision;
    spec.policy.thresholds = kept->thresholds;
    attnd_json_write(dir, &spec, err);
out:
    arena_deinit(&arena);
    return err->code;
}

/* ---- held decisions ---- */

/* True if there are enough answers with the label for a threshold, had they all been right. */
static bool was_tried(const struct assessment *assessment, unsigned label)
{
    const struct selective_goal goal = {assessment->options.target_precision, SELECTIVE_Z};
    const struct confusion *confusion = &assessment->confusion;
    const unsigned labels = assessment->evaluation.label_count;
    size_t given = 0;
    for (unsigned c = 0; c < labels; c++)
        given += confusion->matrix[(size_t)c * labels + label];
    return given >= selective_right_min(&goal);
}

/* Keeps the lower of the old and the new OOD threshold for each label. */
static enum err_code hold_ood(const struct fit *fit, struct ood *ood, struct arena *arena,
                              struct err *err)
{
    const struct ood *old = &fit->old.policy.ood;
    const bool same_scale = old->method == ood->method && (old->method != OOD_ENERGY || fit->adds);
    if (!old->has_threshold || !ood->has_threshold || !same_scale)
        return ERR_OK;
    float *held = arena_alloc_array(arena, ood->label_count, sizeof *held);
    if (held == NULL)
        return err_no_memory(err, ood->label_count * sizeof *held);
    for (unsigned c = 0; c < ood->label_count; c++) {
        const float known = c < fit->labels.old_count ? ood_threshold(old, c) : old->threshold;
        held[c] = fminf(ood_threshold(ood, c), known);
    }
    ood->threshold = fminf(ood->threshold, old->threshold);
    for (unsigned c = 0; c < ood->label_count; c++)
        held[c] = held[c] == ood->threshold ? NAN : held[c];
    ood->label_thresholds = held;
    return ERR_OK;
}

enum err_code fit_trust_hold(const struct fit *fit, const char *dir,
                             const struct assessment *assessment, struct err *err)
{
    const struct policy *old = &fit->old.policy;
    struct spec spec;
    struct arena arena;
    arena_init(&arena);
    if (spec_read(&spec, dir, &arena, err) || hold_ood(fit, &spec.policy.ood, &arena, err))
        goto out;
    float *thresholds = arena_alloc_array(&arena, spec.label_count, sizeof *thresholds);
    if (thresholds == NULL) {
        err_no_memory(err, spec.label_count * sizeof *thresholds);
        goto out;
    }
    /* Keeps the stricter threshold of each label. A label without an old threshold gets one only
     * from its own answers: the threshold that rare labels share (selective_thresholds) would trust
     * it because others were right. */
    for (unsigned c = 0; spec.policy.thresholds != NULL && c < fit->labels.count; c++) {
        const bool is_known = old->thresholds != NULL && c < fit->labels.old_count;
        const float was = is_known ? old->thresholds[c] : NAN, is = spec.policy.thresholds[c];
        const bool keeps = isnan(was) || isnan(is) ? !was_tried(assessment, c) : was > is;
        thresholds[c] = keeps ? was : is;
    }
    if (spec.policy.thresholds != NULL)
        spec.policy.thresholds = thresholds;
    attnd_json_write(dir, &spec, err);
out:
    arena_deinit(&arena);
    return err->code;
}

/* ---- counting ---- */

/* Computes the rows' OOD scores [rows.count], with the checkpoint's examples as neighbours. */
static enum err_code score_rows(const struct fit *fit, const char *dir, const float *logits,
                                float *scores, struct arena *arena, struct err *err)
{
    const struct fit_rows *rows = &fit->rows;
    struct head_bank bank = {0};
    struct spec spec;
    if (spec_read(&spec, dir, arena, err) || head_parts_open(&spec, dir, NULL, arena, err) ||
        (spec.head_file != NULL && example_bank_read(&bank, dir, &spec, arena, err)))
        return err->code;
    const struct outlier_data data = {.features = rows->features,
                                      .count = rows->count,
                                      .width = rows->width,
                                      .hidden = spec_features(&spec),
                                      .label_count = spec.label_count,
                                      .digests = rows->digests,
                                      .bank = bank.count > 0 ? &bank : NULL};
    if (spec.policy.ood.method != OOD_NONE)
        outlier_scores(&spec.policy.ood, logits, &data, scores);
    return ERR_OK;
}

static void judge_row(const struct fit *fit, const struct engine_model *model, size_t row,
                      const float *logits, float ood, float *scores, struct fit_figures *out)
{
    const float *thresholds = fit->old.policy.thresholds;
    const struct fit_rows *rows = &fit->rows;
    const enum input_doubt doubt =
        row < rows->of_data ? evaluation_doubt(&fit->evaluation, rows->items[row]) : DOUBT_NONE;
    struct engine_result result = {.scores = scores};
    engine_conclude(model, logits, &ood, doubt, &result);
    const enum decision decision = result.judgement.decision;
    const bool is_auto = decision == DECISION_AUTO;
    out->decisions.count++;
    out->decisions.automatic += is_auto;
    out->decisions.right += is_auto && result.label == rows->classes[row];
    out->decisions.review += decision == DECISION_REVIEW;
    out->decisions.unknown += decision == DECISION_UNKNOWN;
    out->trusted += row >= rows->of_data && is_auto && thresholds != NULL &&
                    result.label < fit->labels.old_count && !isnan(thresholds[result.label]);
}

enum err_code fit_trust_count(const struct fit *fit, const char *dir, const float *logits,
                              struct fit_figures *out, struct err *err)
{
    const struct engine_options natural = {.class_prior = "natural"};
    struct engine_model *model = NULL;
    struct arena arena;
    arena_init(&arena);
    out->decisions = (struct selective_decisions){0};
    out->trusted = 0;
    float *ood = arena_alloc_array(&arena, fit->rows.count, sizeof *ood);
    float *scores = arena_alloc_array(&arena, fit->labels.count, sizeof *scores);
    if (ood == NULL || scores == NULL) {
        err_no_memory(err, fit->rows.count * sizeof *ood);
    } else if (!engine_open(&model, dir, &natural, err) &&
               !score_rows(fit, dir, logits, ood, &arena, err)) {
        const size_t labels = engine_describe(model)->label_count;
        for (size_t i = 0; i < fit->rows.count; i++)
            judge_row(fit, model, i, logits + i * labels, ood[i], scores, out);
    }
    engine_close(model);
    arena_deinit(&arena);
    return err->code;
}

/* ---- raising the temperature ---- */

enum err_code fit_trust_cool(struct fit *fit, const char *dir, struct err *err)
{
    for (unsigned i = 0; fit->after.trusted > fit->before.trusted && i < COOLINGS_MAX; i++) {
        struct spec spec;
        struct arena arena;
        arena_init(&arena);
        if (!spec_read(&spec, dir, &arena, err)) {
            spec.temperature *= COOLER;
            attnd_json_write(dir, &spec, err);
        }
        arena_deinit(&arena);
        if (err->code != ERR_OK || fit_trust_count(fit, dir, fit->rows.after, &fit->after, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code fit_trust_accept(const struct fit *fit, struct err *err)
{
    const size_t examples = fit->rows.count - fit->rows.of_data;
    const double was = report_percent(fit->before.trusted, examples);
    const double is = report_percent(fit->after.trusted, examples);
    if (fit->old.policy.thresholds == NULL || is - was <= fit->options.automatic_max)
        return ERR_OK;
    return err_set(
        err, ERR_UNUSABLE,
        "%.1f %% of the answers to the model's own examples would be automatic, with labels "
        "that it had before; until now %.1f %% are. The rise is more than %g points: "
        "calibrate the model with attnd-eval --calibrate, or raise --automatic-max",
        is, was, fit->options.automatic_max);
}
