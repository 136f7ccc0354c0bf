/* findings.h - all figures of a report on a model beyond the confusion matrix.
 *
 *     struct findings_options options = {.target_precision = 0.95, .temperature = 1};
 *     if (findings_open(&findings, &evaluation, classes, &confusion, &options, &err)) ...
 *     report.findings = &findings;
 *     findings_close(&findings);
 *
 * Scores are measured three times. `served`: with the checkpoint's temperature. `fitted`: with a
 * temperature and thresholds that are fitted on the same inputs; these are the values for
 * attnd.json, and their figures are optimistic. `crossed`: each fifth of the inputs with
 * temperature and thresholds from the other four, an estimate for new inputs. Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_FINDINGS_H
#define ATTND_LEARN_EVAL_MEASURE_FINDINGS_H

#include "learn/eval/measure/calibration.h"
#include "learn/eval/measure/confusion.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/interval.h"
#include "learn/eval/measure/selective.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    FINDINGS_FOLDS = 5,
    FINDINGS_CROSSED_MIN = 4 * FINDINGS_FOLDS, /* inputs for cross-validation */
    FINDINGS_MISTAKES_MAX = 24
};

struct findings_options {
    double target_precision; /* above 0, at most 1 */
    double temperature;      /* the checkpoint's */
    bool sigmoid;
    uint64_t seed; /* of folds and draws */
};

struct findings_figures {
    double temperature; /* `crossed`: the folds' geometric mean */
    double ece, ece_by_mass, nll, brier;
    struct calibration_bin bins[CALIBRATION_BINS]; /* of equal width */
    struct selective_decisions by_score;           /* one threshold for all */
    struct selective_decisions by_class;           /* thresholds for each class */
};

struct findings_class {
    struct interval precision, recall, f1;
    struct selective_threshold threshold; /* of `fitted` */
};

struct findings {
    double target_precision;
    struct interval accuracy, macro_f1;
    struct findings_class *classes; /* [class_count] */
    struct findings_figures served, fitted, crossed;
    double temperature_bound;     /* that a fit ended at: the checkpoint's is used; else 0 */
    bool has_crossed;             /* enough inputs for folds */
    struct selective_curve curve; /* of `served` */
    struct verdict mistakes[FINDINGS_MISTAKES_MAX]; /* of `served`, by descending score */
    unsigned mistake_count;
};

/* `confusion` must be finished and of the same evaluation. Close it in any case. */
enum err_code findings_open(struct findings *out, const struct evaluation *evaluation,
                            const unsigned *classes, const struct confusion *confusion,
                            const struct findings_options *options, struct err *err);
void findings_close(struct findings *findings);

#endif
