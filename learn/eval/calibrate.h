/* calibrate.h - calibrates a checkpoint on validation data and writes its attnd.json: a
 * temperature, a threshold for each class, the statistics of the OOD score, and the reference that
 * live predictions are compared with (decide/drift_reference.h).
 *
 *     calibrate_write(&(struct calibrate){.assessment = &validation, .known = &train, ...}, &err);
 *
 * Threads: one at a time in a directory.
 */
#ifndef ATTND_LEARN_EVAL_CALIBRATE_H
#define ATTND_LEARN_EVAL_CALIBRATE_H

#include "engine/decide/ood.h"
#include "learn/eval/assessment.h"
#include "learn/eval/foreign.h"

/* The share of validation inputs that may be called unknown. Of a wafer-vit that never saw Donut,
 * on maps as often as a fab has them: at 0.01 29 % of the Donuts are automatic, at 0.02 17 %, at
 * 0.03 6 %, while known maps fall from 92.5 % automatic to 91.8, 91.1 and 90.4 %. */
#define CALIBRATE_UNKNOWN 0.02

/* The share of the answers of one label that may be; where more are, the label gets a higher
 * threshold (fit/outlier_threshold.h). Of the Donuts that wafer-vit knows 54 % are unknown by the
 * threshold for all, 25, 19, 13 and 4 % with at most 0.2, 0.15, 0.1 and 0.02 of each label's
 * answers; of the Donuts that one never saw pass 0 %, and 7, 13, 20 and 44 %: new things are taken
 * for what is rare. */
#define CALIBRATE_UNKNOWN_LABEL 0.2

enum { /* inputs; with fewer, the OOD score is the energy */
       CALIBRATE_DISTANCE_MIN = 200,
       CALIBRATE_EXAMPLES_MIN = 50
};

/* Decisions that are known from elsewhere. */
struct calibrate_kept {
    double temperature, target_precision;
    const float *thresholds; /* [label_count] as policy.h has them; NULL: none */
};

struct calibrate {
    const struct assessment *assessment; /* run, on inputs that the model was not trained on */
    /* Training inputs, with features, and their classes: for the distances' statistics, and for the
     * examples that OOD_NEIGHBOURS compares with. NULL: the examples that the directory has, else
     * the assessment's inputs. */
    const struct evaluation *known;
    const unsigned *known_classes;
    /* For a model with a table of n-grams: the data set that `known` was run on, or the n-grams of
     * its inputs. */
    const struct dataset *known_data;
    const struct ngram_list *known_ngrams; /* [known->count] */
    enum ood_method
        method; /* OOD_NONE: nothing is unknown; too few inputs for a distance: energy */
    const struct calibrate_kept *kept; /* in place of fitting them; NULL: they are fitted */
    double unknown;                    /* share of the assessment's inputs; 0: CALIBRATE_UNKNOWN */
    /* Inputs that have none of the labels, with features: thresholds are chosen with them among the
     * assessment's inputs (foreign.h), not if some are kept. NULL: none. */
    const struct evaluation *foreign;
    struct foreign_cost *foreign_cost; /* what that costs is told here */
    /* [label_count] counts that the head was fitted for; NULL: those of the assessment's inputs */
    const double *fitted_prior;
    const char *version; /* NULL: as it is */
};

/* Replaces the directory's attnd.json, and writes its attnd_head.safetensors if examples were
 * chosen: a class_prior stays, and neither temperature nor thresholds are fitted by it, so the
 * assessment is of a model that was opened as it was fitted (natural). The model that the
 * assessment has open does not change. */
enum err_code calibrate_write(const struct calibrate *how, struct err *err);

/* The reference alone, of the answers as they are given now: the rest of attnd.json stays. */
enum err_code calibrate_write_reference(const struct assessment *assessment, struct err *err);

/* How the assessment's precision agrees with fp32, which its report compares it with, alone: for
 * the weights that the directory has now. The rest of attnd.json stays. ERR_UNUSABLE if no input
 * was answered. */
enum err_code calibrate_write_agreement(const struct assessment *assessment, struct err *err);

#endif
