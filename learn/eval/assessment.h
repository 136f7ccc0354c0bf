/* assessment.h - evaluates a checkpoint on labelled inputs, from its directory to the report:
 * shared by attnd-eval and attnd-train.
 *
 *     struct assessment_options options = {
 *         .dir = dir, .target_precision = 0.95, .evaluation = {2}};
 *     assessment_open(&assessment, &options, &err);
 *     assessment_take(&assessment, &dataset, "validation.jsonl", &err);
 *     assessment_run(&assessment, &err);
 *     report_print(&assessment.report, stdout);
 *     assessment_write(&assessment, "reports", &err);
 *     assessment_close(&assessment);
 *
 * Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_ASSESSMENT_H
#define ATTND_LEARN_EVAL_ASSESSMENT_H

#include "engine/engine.h"
#include "learn/eval/measure/confusion.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/findings.h"
#include "learn/eval/measure/selective.h"
#include "learn/eval/report/report.h"

#include <stdbool.h>

struct assessment_options {
    const char *dir; /* of the checkpoint */
    struct engine_options engine;
    double target_precision;
    struct evaluation_options evaluation;
    unsigned folds;          /* report.h's */
    bool chooses_thresholds; /* attnd.json will get the thresholds that the findings choose */
    bool tells_expected;     /* also reports the expectation of a class prior that shifts nothing */
};

struct assessment {
    struct assessment_options options;
    struct engine_model *model;
    const struct dataset *dataset;
    const char *data_path; /* name of the data in the report */
    unsigned *classes;     /* [dataset->count] */
    float *scratch;        /* [labels] */
    struct evaluation evaluation;
    struct confusion confusion;
    struct findings findings;
    struct expectation expectation;       /* by the model's class prior, if it has one */
    struct size_groups sizes;             /* of the evaluation */
    struct selective_decisions decisions; /* by the checkpoint's own attnd.json */
    struct report report; /* of the above; the caller may set epochs and a second run */
};

/* Opens the model; the error begins with the directory. Close it in any case. */
enum err_code assessment_open(struct assessment *out, const struct assessment_options *options,
                              struct err *err);
/* Matches the labels of the data, which are borrowed. ERR_UNSUPPORTED for a regression. */
enum err_code assessment_take(struct assessment *assessment, const struct dataset *dataset,
                              const char *data_path, struct err *err);
void assessment_close(struct assessment *assessment);

enum err_code assessment_run(struct assessment *assessment, struct err *err);
/* The second half of assessment_run: everything computed from the evaluation, whose logits may have
 * been changed. */
enum err_code assessment_measure(struct assessment *assessment, struct err *err);

/* Prints remarks that a person should read, one a line. */
void assessment_print_remarks(const struct assessment *assessment, FILE *file);

/* Writes FOLDER/report.json and FOLDER/report.html, each whole or absent. */
enum err_code assessment_write(const struct assessment *assessment, const char *folder,
                               struct err *err);

/* Judges a model that has learnt all labelled inputs by the answers of models from
 * cross-validation, which were trained the same way but had not learnt the inputs that they answer:
 * one file for each fold, from attnd-eval --logits.
 *
 *     const char *const files[] = {"fold0.jsonl", "fold1.jsonl"};
 *     out_of_fold_take(&assessment, files, 2, &err);          after assessment_run
 *
 * Their logits and OOD scores replace the model's own (Stone 1974, for the choice and the
 * assessment of a predictor), so that report, temperature, thresholds and reference are of inputs
 * that were new. Features are the model's.
 *
 * Threads: as assessment.h.
 */

/* Changes the assessment as if those models had run it. Every input that has logits must be in
 * exactly one of the files, by its digest. OOD scores, if there are any, must be by the model's own
 * method; a model without a method uses none. ERR_IO, ERR_MALFORMED and ERR_UNUSABLE begin with the
 * file. */
enum err_code out_of_fold_take(struct assessment *assessment, const char *const *paths,
                               unsigned count, struct err *err);

#endif
