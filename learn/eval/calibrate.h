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
#include "learn/data/dataset.h"
#include "learn/eval/assessment.h"
#include "learn/eval/foreign.h"
#include "learn/eval/measure/evaluation.h"

/* Share of validation inputs that may be called unknown. Measured with a wafer-vit that never saw
 * Donut, on maps as frequent as in a fab:
 *
 *     share     Donuts automatic     known maps automatic (without: 92.5 %)
 *     0.01      29 %                 91.8 %
 *     0.02      17 %                 91.1 %
 *     0.03       6 %                 90.4 % */
#define CALIBRATE_UNKNOWN 0.02

/* Share of one label's answers that may be called unknown. If more are, the label gets a higher
 * threshold (fit/outlier_threshold.h). A small share lets new patterns pass as rare labels.
 * Measured with wafer-vit, and with one that never saw Donut:
 *
 *     share                                one threshold   0.2     0.15    0.1     0.02
 *     known Donuts that are unknown             54 %       25 %    19 %    13 %     4 %
 *     Donuts never seen that pass                0 %        7 %    13 %    20 %    44 % */
#define CALIBRATE_UNKNOWN_LABEL 0.2

enum { /* least number of inputs; with fewer the OOD score is the energy */
       CALIBRATE_DISTANCE_MIN = 200,
       CALIBRATE_EXAMPLES_MIN = 50
};

/* Decisions that are kept instead of fitted. */
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
    struct foreign_cost *foreign_cost; /* set to what `foreign` costs */
    /* [label_count] counts that the head was fitted for; NULL: those of the assessment's inputs */
    const double *fitted_prior;
    const char *version; /* NULL: unchanged */
};

/* Replaces the directory's attnd.json, and writes its attnd_head.safetensors if examples were
 * chosen. A class_prior is kept, but temperature and thresholds are fitted without it, so the
 * assessment's model must have been opened with the natural prior. The model that the assessment
 * has open does not change. */
enum err_code calibrate_write(const struct calibrate *how, struct err *err);

/* Replaces only the reference in attnd.json, by that of the current answers. */
enum err_code calibrate_write_reference(const struct assessment *assessment, struct err *err);

/* Replaces only the agreement in attnd.json: how the assessment's precision agrees with fp32, which
 * its report compares it with, for the directory's current weights. ERR_UNUSABLE if no input was
 * answered. */
enum err_code calibrate_write_agreement(const struct assessment *assessment, struct err *err);

/* Runs labelled inputs that a model has learnt through it. The OOD score compares
 * with them, and the examples that the model carries are chosen from them (calibrate.h).
 *
 *     known_inputs_open(&known, model, "train.jsonl", &fields, &err);
 *     known_inputs_run(&known, model, &how, &err);
 *     struct calibrate how = {.known = &known.evaluation, .known_classes = known.classes, ...};
 *     known_inputs_close(&known);
 *
 * Threads: as evaluation.h.
 */

struct known_inputs {
    struct dataset dataset;
    unsigned *classes;            /* [dataset.count] */
    struct evaluation evaluation; /* with features */
};

/* Errors begin with the path. ERR_UNUSABLE for a label that the model lacks. Close it in any case.
 */
enum err_code known_inputs_open(struct known_inputs *out, const struct engine_model *model,
                                const char *path, const struct dataset_options *fields,
                                struct err *err);
enum err_code known_inputs_run(struct known_inputs *known, const struct engine_model *model,
                               const struct evaluation_options *how, struct err *err);
void known_inputs_close(struct known_inputs *known);

#endif
