#include "learn/eval/calibrate.h"

#include "engine/model/head_parts.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/example_bank.h"
#include "learn/eval/fit/outlier.h"
#include "learn/eval/fit/outlier_threshold.h"
#include "learn/eval/fit/reference_fit.h"
#include "learn/eval/foreign.h"
#include "learn/eval/ood_answers.h"
#include "learn/ngrams/ngram_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURED_SHARE = 100 }; /* one coloured image in so many is taken for a stray */

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

/* Sets the label counts that the scores are fitted for. The class_prior itself is kept. */
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

/* The inputs for a distance's statistics and for the choice of examples. */
static const struct evaluation *known_of(const struct calibrate *how, const unsigned **classes)
{
    *classes = how->known != NULL ? how->known_classes : how->assessment->classes;
    return how->known != NULL ? how->known : &how->assessment->evaluation;
}

/* ---- the OOD score ---- */

/* Energy if there are too few inputs: a covariance from few inputs is unreliable, and few examples
 * do not cover what is known. Energy needs neither. */
static enum ood_method method_for(const struct calibrate *how)
{
    const unsigned *classes;
    const struct evaluation *known = known_of(how, &classes);
    const size_t count = known->count - known->failed;
    const bool is_distance = how->method == OOD_MAHALANOBIS || how->method == OOD_RELATIVE;
    if (how->method == OOD_NEIGHBOURS && count >= CALIBRATE_EXAMPLES_MIN)
        return OOD_NEIGHBOURS;
    return how->method == OOD_NEIGHBOURS || (is_distance && count < CALIBRATE_DISTANCE_MIN)
               ? OOD_ENERGY
               : how->method;
}

static enum err_code choose_from(struct head_bank *out, const struct calibrate *how,
                                 const struct head_parts *kept, const struct ngram_list *ngrams,
                                 struct arena *arena, struct err *err)
{
    const unsigned *classes;
    const struct evaluation *known = known_of(how, &classes);
    struct example_rows rows = {.width = known->feature_size,
                                .labels = known->label_count,
                                .features = known->features,
                                .logits = known->logits,
                                .classes = classes,
                                .digests = known->digests,
                                .ngrams = ngrams};
    size_t *items = ood_answers_items(known, &rows.count, err);
    const struct head_content content = {out, &kept->matrix, &kept->ngrams,
                                         engine_describe(how->assessment->model)->full_layers};
    rows.items = items;
    if (items != NULL && !example_bank_choose(out, &rows, arena, err))
        head_file_write(how->assessment->options.dir, &content, err);
    free(items);
    return err->code;
}

/* Chooses the examples, with their n-grams if the model has a table. */
static enum err_code choose_bank(struct head_bank *out, const struct calibrate *how,
                                 const struct head_parts *kept, struct arena *arena,
                                 struct err *err)
{
    const struct dataset *texts = how->known != NULL ? how->known_data : how->assessment->dataset;
    struct ngram_rows rows;
    if (kept->ngrams.bias == NULL || texts == NULL)
        return choose_from(out, how, kept, how->known_ngrams, arena, err);
    if (!ngram_rows_open(&rows, &kept->ngrams.reading, texts, err))
        choose_from(out, how, kept, rows.lists, arena, err);
    ngram_rows_close(&rows);
    return err->code;
}

/* Takes the examples of the known inputs, if some were given; else those that the directory has;
 * else those of the assessment's inputs. */
static enum err_code take_bank(struct head_bank *out, struct spec *spec,
                               const struct calibrate *how, struct arena *arena, struct err *err)
{
    *out = (struct head_bank){0};
    if (how->known == NULL && spec->head_file != NULL)
        example_bank_read(out, how->assessment->options.dir, spec, arena, err);
    if (err->code != ERR_OK || out->count > 0)
        return err->code;
    struct head_parts kept;
    if (head_parts_open(spec, how->assessment->options.dir, &kept, arena, err))
        return err->code;
    spec->head_file = HEAD_FILE_NAME;
    return choose_bank(out, how, &kept, arena, err);
}

static enum err_code fit(struct spec *spec, const struct calibrate *how, enum ood_method method,
                         struct arena *arena, struct err *err)
{
    const unsigned *classes;
    const struct evaluation *known = known_of(how, &classes);
    size_t count, *items = ood_answers_items(known, &count, err);
    const struct outlier_data data = ood_answers_data(spec, known, classes, items, count);
    if (items != NULL)
        outlier_fit(&spec->policy.ood, method, &data, 0, arena, err);
    free(items);
    return err->code;
}

static enum err_code choose_thresholds(struct spec *spec, const struct calibrate *how,
                                       const struct head_bank *bank, struct arena *arena,
                                       struct err *err)
{
    const double unknown = how->unknown > 0 ? how->unknown : CALIBRATE_UNKNOWN;
    struct ood *ood = &spec->policy.ood;
    struct ood_answers answers;
    if (!ood_answers_open(&answers, spec, how->assessment, bank, err)) {
        const struct outlier_answers known = {answers.ood_scores, answers.labels, answers.count};
        if (!outlier_threshold_fit(ood, &known, 1 - unknown, arena, err))
            outlier_threshold_spare(ood, &known, CALIBRATE_UNKNOWN_LABEL, arena, err);
    }
    ood_answers_close(&answers);
    return err->code;
}

static enum err_code take_outliers(struct spec *spec, const struct calibrate *how,
                                   struct head_bank *bank, struct arena *arena, struct err *err)
{
    const enum ood_method method = method_for(how);
    struct ood *ood = &spec->policy.ood;
    if (method == OOD_NONE)
        return ERR_OK;
    if (method == OOD_NEIGHBOURS && take_bank(bank, spec, how, arena, err))
        return err->code;
    if (fit(spec, how, method, arena, err))
        return err->code;
    if (method == OOD_NEIGHBOURS && head_parts_neighbours(ood, bank, arena, err))
        return err->code;
    return choose_thresholds(spec, how, method == OOD_NEIGHBOURS ? bank : NULL, arena, err);
}

/* Raises thresholds for foreign inputs. Called after the OOD score is set, by which most of them
 * should be unknown. */
static enum err_code take_foreign(struct spec *spec, const struct calibrate *how,
                                  const struct head_bank *bank, struct arena *arena,
                                  struct err *err)
{
    if (how->foreign == NULL || how->kept != NULL)
        return ERR_OK;
    return foreign_take(spec, how->assessment, how->foreign, bank, how->foreign_cost, arena, err);
}

/* ---- the reference for live predictions ---- */

/* Computes winners by the new spec, which differs from the open model's. */
static enum err_code answer_again(const struct spec *spec, const struct assessment *assessment,
                                  const struct ood_answers *answers, struct verdict *verdicts,
                                  struct err *err)
{
    struct evaluation again = assessment->evaluation;
    again.shifted = NULL;
    if (evaluation_shift(&again, spec->class_prior.shifts, spec->temperature, err))
        return err->code;
    const struct calibration_set set = {.logits = evaluation_answers(&again),
                                        .classes = assessment->classes,
                                        .items = answers->items,
                                        .count = answers->count,
                                        .label_count = again.label_count,
                                        .sigmoid = spec->scores == SCORES_SIGMOID};
    calibration_predictions(&set, spec->temperature, verdicts);
    free(again.shifted);
    return ERR_OK;
}

static enum err_code take_reference(struct spec *spec, const struct assessment *assessment,
                                    const struct head_bank *bank, struct drift_reference *reference,
                                    struct arena *arena, struct err *err)
{
    struct ood_answers answers = {0};
    struct verdict *verdicts = calloc(assessment->evaluation.count + 1, sizeof *verdicts);
    if (verdicts == NULL) {
        err_no_memory(err, assessment->evaluation.count * sizeof *verdicts);
    } else if (!ood_answers_open(&answers, spec, assessment, bank, err) &&
               !answer_again(spec, assessment, &answers, verdicts, err)) {
        const struct reference_answers given = {
            .verdicts = verdicts, .ood_scores = answers.ood_scores, .count = answers.count};
        if (!reference_fit(reference, &given, spec->labels, spec->label_count, arena, err))
            spec->reference = reference;
    }
    ood_answers_close(&answers);
    free(verdicts);
    return err->code;
}

enum err_code calibrate_write_reference(const struct assessment *assessment, struct err *err)
{
    const char *dir = assessment->options.dir;
    struct spec spec;
    struct drift_reference reference;
    struct head_bank bank = {0};
    struct arena arena;
    arena_init(&arena);
    if (!spec_read(&spec, dir, &arena, err) && !head_parts_open(&spec, dir, NULL, &arena, err) &&
        (spec.head_file == NULL || !example_bank_read(&bank, dir, &spec, &arena, err)) &&
        !take_reference(&spec, assessment, spec.head_file != NULL ? &bank : NULL, &reference,
                        &arena, err))
        attnd_json_write(dir, &spec, err);
    arena_deinit(&arena);
    return err->code;
}

enum err_code calibrate_write_agreement(const struct assessment *assessment, struct err *err)
{
    const struct agreement *measured = assessment->report.agreement;
    struct precision_agreement agreement = {.inputs = (unsigned)measured->compared,
                                            .same_winner = (unsigned)measured->equal,
                                            .f1_points =
                                                report_macro_f1_points(&assessment->report)};
    enum precision precision = PRECISION_F32;
    struct spec spec;
    struct arena arena;
    if (measured->compared == 0)
        return err_set(err, ERR_UNUSABLE, "no input was answered");
    precision_find(engine_describe(assessment->model)->dtype, &precision);
    arena_init(&arena);
    if (!engine_digest(assessment->model, NULL, agreement.digest, err) &&
        !spec_read(&spec, assessment->options.dir, &arena, err)) {
        spec.precisions.agreement[precision] = agreement;
        attnd_json_write(assessment->options.dir, &spec, err);
    }
    arena_deinit(&arena);
    return err->code;
}

/* Sets learnt_grey by the images of the assessment, which are like those that the model learnt. */
static void take_colours(struct spec *spec, const struct calibrate *how)
{
    const struct evaluation *evaluation = &how->assessment->evaluation;
    size_t coloured = 0;
    if (spec->family->kind != ENGINE_IMAGE || evaluation->coloured == NULL)
        return;
    for (size_t i = 0; i < evaluation->count; i++)
        coloured += evaluation->coloured[i];
    spec->policy.learnt_grey = coloured * COLOURED_SHARE < evaluation->count;
}

enum err_code calibrate_write(const struct calibrate *how, struct err *err)
{
    const char *dir = how->assessment->options.dir;
    struct spec spec;
    struct drift_reference reference;
    struct head_bank bank = {0};
    struct arena arena;
    arena_init(&arena);
    const char *pruning = how->assessment->options.engine.token_pruning;
    if (!spec_read(&spec, dir, &arena, err) &&
        (pruning == NULL || !spec_choose_token_pruning(&spec, pruning, err)) &&
        !take_decisions(&spec, how, &arena, err) && !take_prior(&spec, how, &arena, err) &&
        !take_outliers(&spec, how, &bank, &arena, err)) {
        const struct head_bank *examples = bank.count > 0 ? &bank : NULL;
        if (how->version != NULL)
            spec.version = how->version;
        take_colours(&spec, how);
        if (!take_foreign(&spec, how, examples, &arena, err) &&
            !take_reference(&spec, how->assessment, examples, &reference, &arena, err))
            attnd_json_write(dir, &spec, err);
    }
    arena_deinit(&arena);
    return err->code;
}
