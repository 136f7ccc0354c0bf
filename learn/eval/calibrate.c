#include "learn/eval/calibrate.h"

#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/outlier.h"
#include "learn/eval/fit/reference_fit.h"

#include <math.h>
#include <stdlib.h>

/* A threshold that is NaN is never reached (policy.h). */
static enum err_code take_thresholds(struct spec *spec, const struct findings *findings,
                                     struct arena *arena, struct err *err)
{
    float *thresholds = arena_alloc_array(arena, spec->label_count, sizeof *thresholds);
    if (thresholds == NULL)
        return err_no_memory(err, spec->label_count * sizeof *thresholds);
    for (unsigned c = 0; c < spec->label_count; c++) {
        const struct selective_threshold *threshold = &findings->classes[c].threshold;
        thresholds[c] = threshold->reachable ? threshold->score : NAN;
    }
    spec->policy.thresholds = thresholds;
    spec->policy.target_precision = findings->target_precision;
    spec->temperature = findings->fitted.temperature;
    return ERR_OK;
}

static enum err_code take_decisions(struct spec *spec, const struct calibrate *how,
                                    struct arena *arena, struct err *err)
{
    if (how->kept == NULL)
        return take_thresholds(spec, &how->assessment->findings, arena, err);
    spec->temperature = how->kept->temperature;
    spec->policy.target_precision = how->kept->target_precision;
    spec->policy.thresholds = how->kept->thresholds;
    return ERR_OK;
}

/* What the scores are fitted for. A class_prior stays as it is, over other counts. */
static enum err_code take_prior(struct spec *spec, const struct calibrate *how, struct arena *arena,
                                struct err *err)
{
    const struct evaluation *evaluation = &how->assessment->evaluation;
    const unsigned labels = spec->label_count;
    if (spec->scores != SCORES_SOFTMAX || spec->family->is_zero_shot)
        return ERR_OK;
    double *counts = arena_alloc_array(arena, labels, sizeof *counts);
    if (counts == NULL)
        return err_no_memory(err, labels * sizeof *counts);
    for (unsigned c = 0; c < labels; c++)
        counts[c] = how->fitted_prior != NULL ? how->fitted_prior[c] : 0;
    for (size_t i = 0; i < evaluation->count && how->fitted_prior == NULL; i++)
        if (evaluation->problems[i] == NULL)
            counts[how->assessment->classes[i]]++;
    return class_prior_refit(&spec->class_prior, counts, labels, arena, err);
}

/* The rows of an evaluation that have features. */
static size_t *usable_items(const struct evaluation *evaluation, size_t *count, struct err *err)
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

static enum err_code fit(struct ood *ood, const struct calibrate *how, bool independent,
                         struct arena *arena, struct err *err)
{
    const struct assessment *assessment = how->assessment;
    bool has_known = how->known != NULL;
    const struct evaluation *known = has_known ? how->known : &assessment->evaluation;
    struct outlier_data data = {.features = known->features,
                                .classes = has_known ? how->known_classes : assessment->classes,
                                .hidden = known->hidden_size,
                                .label_count = known->label_count,
                                .independent = independent};
    size_t *items = usable_items(known, &data.count, err);
    data.items = items;
    if (items != NULL)
        outlier_fit(ood, how->method, &data, 0, arena, err);
    free(items);
    return err->code;
}

static enum err_code choose_threshold(struct ood *ood, const struct assessment *assessment,
                                      struct arena *arena, struct err *err)
{
    const struct evaluation *evaluation = &assessment->evaluation;
    struct outlier_data data = {.features = evaluation->features,
                                .classes = assessment->classes,
                                .hidden = evaluation->hidden_size,
                                .label_count = evaluation->label_count};
    size_t *items = usable_items(evaluation, &data.count, err);
    float *scores = calloc(evaluation->count + 1, sizeof *scores);
    data.items = items;
    if (items != NULL && scores == NULL)
        err_no_memory(err, evaluation->count * sizeof *scores);
    if (err->code == ERR_OK) {
        outlier_scores(ood, evaluation->logits, &data, scores);
        outlier_calibrate(ood, scores, data.count, 1 - CALIBRATE_UNKNOWN, arena, err);
    }
    free(scores);
    free(items);
    return err->code;
}

/* A covariance from few inputs is unreliable; energy needs none. */
static enum ood_method method_for(const struct calibrate *how)
{
    const struct evaluation *known = how->known != NULL ? how->known : &how->assessment->evaluation;
    bool is_distance = how->method == OOD_MAHALANOBIS || how->method == OOD_RELATIVE;
    return is_distance && known->count - known->failed < CALIBRATE_DISTANCE_MIN ? OOD_ENERGY
                                                                                : how->method;
}

static enum err_code take_outliers(struct spec *spec, const struct calibrate *how,
                                   struct arena *arena, struct err *err)
{
    struct calibrate chosen = *how;
    chosen.method = method_for(how);
    if (chosen.method == OOD_NONE)
        return ERR_OK;
    if (fit(&spec->policy.ood, &chosen, spec->scores == SCORES_SIGMOID, arena, err))
        return err->code;
    return choose_threshold(&spec->policy.ood, how->assessment, arena, err);
}

/* ---- what live predictions are compared with ---- */

/* Winners and OOD scores by the spec, which is not the open model's. ood_scores [usable items]. */
static enum err_code answer_again(const struct spec *spec, const struct assessment *assessment,
                                  const size_t *items, size_t count, struct verdict *verdicts,
                                  float *ood_scores, struct err *err)
{
    const struct evaluation *evaluation = &assessment->evaluation;
    struct evaluation again = *evaluation;
    again.shifted = NULL;
    if (evaluation_shift(&again, spec->class_prior.shifts, spec->temperature, err))
        return err->code;
    const struct calibration_set set = {.logits = evaluation_answers(&again),
                                        .classes = assessment->classes,
                                        .items = items,
                                        .count = count,
                                        .label_count = evaluation->label_count,
                                        .sigmoid = spec->scores == SCORES_SIGMOID};
    const struct outlier_data data = {.features = evaluation->features,
                                      .items = items,
                                      .count = count,
                                      .hidden = evaluation->hidden_size,
                                      .label_count = evaluation->label_count};
    calibration_predictions(&set, spec->temperature, verdicts);
    outlier_scores(&spec->policy.ood, evaluation->logits, &data, ood_scores);
    free(again.shifted);
    return ERR_OK;
}

static enum err_code take_reference(struct spec *spec, const struct assessment *assessment,
                                    struct drift_reference *reference, struct arena *arena,
                                    struct err *err)
{
    struct reference_answers answers = {0};
    size_t *items = usable_items(&assessment->evaluation, &answers.count, err);
    struct verdict *verdicts = calloc(answers.count + 1, sizeof *verdicts);
    float *ood_scores = calloc(answers.count + 1, sizeof *ood_scores);
    answers.verdicts = verdicts;
    answers.ood_scores = ood_scores;
    if (items != NULL && (verdicts == NULL || ood_scores == NULL))
        err_no_memory(err, answers.count * sizeof *verdicts);
    if (err->code == ERR_OK &&
        !answer_again(spec, assessment, items, answers.count, verdicts, ood_scores, err) &&
        !reference_fit(reference, &answers, spec->labels, spec->label_count, arena, err))
        spec->reference = reference;
    free(ood_scores);
    free(verdicts);
    free(items);
    return err->code;
}

enum err_code calibrate_write_reference(const struct assessment *assessment, struct err *err)
{
    const char *dir = assessment->options.dir;
    struct spec spec;
    struct drift_reference reference;
    struct arena arena;
    arena_init(&arena);
    if (!spec_read(&spec, dir, &arena, err) &&
        !take_reference(&spec, assessment, &reference, &arena, err))
        attnd_json_write(dir, &spec, err);
    arena_deinit(&arena);
    return err->code;
}

enum err_code calibrate_write(const struct calibrate *how, struct err *err)
{
    const char *dir = how->assessment->options.dir;
    struct spec spec;
    struct drift_reference reference;
    struct arena arena;
    arena_init(&arena);
    if (!spec_read(&spec, dir, &arena, err) && !take_decisions(&spec, how, &arena, err) &&
        !take_prior(&spec, how, &arena, err) && !take_outliers(&spec, how, &arena, err) &&
        !take_reference(&spec, how->assessment, &reference, &arena, err)) {
        if (how->version != NULL)
            spec.version = how->version;
        attnd_json_write(dir, &spec, err);
    }
    arena_deinit(&arena);
    return err->code;
}
