#include "learn/eval/assessment.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/decide/class_prior.h"
#include "learn/eval/report/report_remarks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 }; /* of folds and draws: the same data give the same report */

/* ---- open ---- */

enum err_code assessment_open(struct assessment *out, const struct assessment_options *options,
                              struct err *err)
{
    *out = (struct assessment){.options = *options};
    if (engine_open(&out->model, options->dir, &options->engine, err))
        return err_prefix(err, "%s: ", options->dir);
    const struct engine_info *info = engine_describe(out->model);
    if (info->row_size > 0 && info->task != ENGINE_TAG)
        return err_set(
            err, ERR_UNSUPPORTED,
            "%s: the model answers questions, or words of its vocabulary: labels, spans, "
            "scores, numbers and vectors are measured",
            options->dir);
    if (info->needs_labels)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: a zero-shot model without labels of its own: name those of the data in "
                       "attnd.json, as candidate_labels",
                       options->dir);
    return ERR_OK;
}

enum err_code assessment_take(struct assessment *assessment, const struct dataset *dataset,
                              const char *data_path, struct err *err)
{
    const struct engine_info *info = engine_describe(assessment->model);
    if (info->task == ENGINE_TAG)
        return err_set(err, ERR_UNSUPPORTED, "%s: the model answers spans, no label of a text",
                       assessment->options.dir);
    if (info->task == ENGINE_EMBED)
        return err_set(err, ERR_UNSUPPORTED, "%s: the model answers vectors and has no labels",
                       assessment->options.dir);
    if (strcmp(info->scores, "none") == 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: a regression has no classes to evaluate",
                       assessment->options.dir);
    assessment->dataset = dataset;
    assessment->data_path = data_path;
    assessment->classes = calloc(dataset->count, sizeof *assessment->classes);
    assessment->scratch = calloc(info->label_count, sizeof *assessment->scratch);
    if (assessment->classes == NULL || assessment->scratch == NULL)
        return err_no_memory(err, dataset->count * sizeof *assessment->classes);
    if (dataset_match(dataset, info->labels, info->label_count, assessment->classes, err))
        err_prefix(err, "%s: ", data_path);
    return err->code;
}

void assessment_close(struct assessment *assessment)
{
    findings_close(&assessment->findings);
    expectation_close(&assessment->expectation);
    size_groups_close(&assessment->sizes);
    confusion_close(&assessment->confusion);
    evaluation_close(&assessment->evaluation);
    engine_close(assessment->model);
    free(assessment->classes);
    free(assessment->scratch);
    *assessment = (struct assessment){0};
}

/* ---- run ---- */

/* Counts the checkpoint's own decisions on the inputs. */
static void decide(struct assessment *assessment)
{
    const struct evaluation *evaluation = &assessment->evaluation;
    struct selective_decisions *sum = &assessment->decisions;
    *sum = (struct selective_decisions){0};
    for (size_t i = 0; i < evaluation->count; i++) {
        struct judgement judgement;
        if (evaluation->problems[i] != NULL)
            continue;
        evaluation_judge(evaluation, assessment->model, i, assessment->scratch, &judgement);
        sum->count++;
        sum->review += judgement.decision == DECISION_REVIEW;
        sum->unknown += judgement.decision == DECISION_UNKNOWN;
        if (judgement.decision == DECISION_AUTO) {
            sum->automatic++;
            sum->right += evaluation_argmax(evaluation, i) == assessment->classes[i];
        }
    }
}

static void fill_report(struct assessment *assessment)
{
    const struct engine_info *info = engine_describe(assessment->model);
    bool decides = info->target_precision > 0 || info->ood_threshold != NULL;
    assessment->report = (struct report){
        .model_dir = assessment->options.dir,
        .data_path = assessment->data_path,
        .model = assessment->model,
        .dataset = assessment->dataset,
        .classes = assessment->classes,
        .threads = assessment->options.evaluation.threads,
        .folds = assessment->options.folds,
        .run = {.dtype = info->dtype,
                .linear_backend = info->linear_backend,
                .evaluation = &assessment->evaluation,
                .confusion = &assessment->confusion},
        .findings = &assessment->findings,
        .sizes = &assessment->sizes,
        .decisions = decides ? &assessment->decisions : NULL,
        .served = assessment->options.chooses_thresholds ? NULL : info->thresholds,
        .expectation = assessment->expectation.class_count > 0 ? &assessment->expectation : NULL,
        .scratch = assessment->scratch};
}

enum err_code assessment_measure(struct assessment *assessment, struct err *err)
{
    const struct engine_info *info = engine_describe(assessment->model);
    const struct class_prior *prior = info->class_prior;
    struct findings_options find = {.target_precision = assessment->options.target_precision,
                                    .temperature = info->temperature,
                                    .sigmoid = strcmp(info->scores, "sigmoid") == 0,
                                    .seed = SEED};
    findings_close(&assessment->findings);
    confusion_close(&assessment->confusion);
    size_groups_close(&assessment->sizes);
    if (evaluation_measure(&assessment->evaluation, assessment->classes, &assessment->confusion,
                           err) ||
        findings_open(&assessment->findings, &assessment->evaluation, assessment->classes,
                      &assessment->confusion, &find, err) ||
        size_groups_open(&assessment->sizes, &assessment->evaluation, assessment->classes, err))
        return err->code;
    expectation_close(&assessment->expectation);
    if (prior->expected != NULL && (prior->shifts != NULL || assessment->options.tells_expected) &&
        expectation_measure(&assessment->expectation, &assessment->confusion, prior->expected, SEED,
                            err))
        return err->code;
    decide(assessment);
    fill_report(assessment);
    return ERR_OK;
}

enum err_code assessment_run(struct assessment *assessment, struct err *err)
{
    struct evaluation_options how = assessment->options.evaluation;
    how.features = true;
    if (evaluation_run(&assessment->evaluation, assessment->model, assessment->dataset, &how, err))
        return err->code;
    return assessment_measure(assessment, err);
}

/* ---- write ---- */

void assessment_print_remarks(const struct assessment *assessment, FILE *file)
{
    report_remarks_print(&assessment->report, file);
}

typedef enum err_code (*printer)(const struct report *report, FILE *file, struct err *err);

static enum err_code write_file(const struct report *report, const char *folder, const char *name,
                                printer print, struct err *err)
{
    char path[PATH_MAX];
    struct memory_file file;
    if (file_path(path, folder, name, err) || memory_file_open(&file, err))
        return err->code;
    print(report, file.stream, err);
    return memory_file_save(&file, path, err);
}

enum err_code assessment_write(const struct assessment *assessment, const char *folder,
                               struct err *err)
{
    if (write_file(&assessment->report, folder, "report.json", report_print_json, err))
        return err->code;
    return write_file(&assessment->report, folder, "report.html", report_print_html, err);
}
