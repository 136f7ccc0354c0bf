/* report.h - the report of an evaluation: for a terminal, as a page, or as one JSON object.
 *
 * All three forms have the same contents: accuracy and macro-F1 with intervals, each class, the
 * confusion matrix, recall by the size of the input, calibration, risk and coverage, remarks
 * (report_remarks.h), the mistakes with the highest scores, the throughput, and the inputs that
 * failed. With a second precision they show where the two differ; a trainer adds its epochs. The
 * page shows the mistakes themselves and needs no other file and no script. Lists of inputs end
 * after REPORT_INPUTS_MAX. Threads: one at a time (the scratch).
 */
#ifndef ATTND_LEARN_EVAL_REPORT_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_REPORT_H

#include "learn/eval/measure/agreement.h"
#include "learn/eval/measure/confusion.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/expectation.h"
#include "learn/eval/measure/findings.h"
#include "learn/eval/measure/size_groups.h"
#include "learn/eval/measure/strangeness.h"

#include <stdio.h>

enum { REPORT_INPUTS_MAX = 20 };

/* One pass over the data set. */
struct report_run {
    const char *dtype, *linear_backend;
    const struct evaluation *evaluation;
    const struct confusion *confusion; /* finished */
};

/* Figures of one of two models on the same inputs. */
struct report_figures {
    const char *model_dir;
    const struct confusion *confusion; /* over this model's labels; the other may lack some */
    struct interval accuracy, macro_f1;
    const struct interval *f1;                   /* [labels] */
    const struct selective_decisions *decisions; /* on these inputs; NULL: not known */
};

/* The model that this one was made from, and this one: before and after. */
struct report_change {
    struct report_figures before, after;
};

struct report {
    const char *model_dir, *data_path;
    const struct engine_model *model; /* of `run`; gives labels and scores */
    const struct dataset *dataset;
    const unsigned *classes; /* of the data set, as dataset_match gives them */
    unsigned threads;
    unsigned folds; /* number of files with the answers (out_of_fold_take); 0: the model's own */
    struct report_run run;
    const struct findings *findings; /* of run */
    /* Decisions by the checkpoint's own thresholds; NULL: it has none. */
    const struct selective_decisions *decisions;
    /* [label_count] thresholds that will be served, NaN: never automatic; NULL: the findings'. */
    const float *served;
    const struct expectation *expectation; /* of run, by the class prior; NULL: none */
    const struct strangeness *unseen;      /* inputs of labels that the model lacks; NULL: none */
    const struct size_groups *sizes;       /* of run; NULL: not measured */
    const struct report_epoch *epochs;     /* [epoch_count]; 0: no training */
    unsigned epoch_count;
    const struct report_change *change; /* NULL: it was not made from another model */
    struct report_run against;          /* a second precision; evaluation NULL: there is none */
    const struct agreement *agreement;  /* of run and against */
    float *scratch;                     /* [label_count], for scores */
};

void report_print(const struct report *report, FILE *file);
/* ERR_IO or ERR_NO_MEMORY. */
enum err_code report_print_json(const struct report *report, FILE *file, struct err *err);
enum err_code report_print_html(const struct report *report, FILE *file, struct err *err);

/* True if the label is ever automatic when the model is served; *score is its threshold. */
bool report_threshold(const struct report *report, unsigned label, float *score);
/* The winner's score of an item in one of the runs. */
float report_score(const struct report *report, const struct report_run *run, size_t item);
/* Macro-F1 of `run` minus that of `against`, in percentage points. */
double report_macro_f1_points(const struct report *report);
double report_inputs_per_second(const struct report_run *run);
/* Last component of the model's path. */
const char *report_model_name(const struct report *report);
/* 100 x part / whole; 0 if whole is 0. */
double report_percent(size_t part, size_t whole);

#endif
