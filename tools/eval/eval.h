/* eval.h - the options and the results of attnd-eval, which its files share.
 *
 *     eval_settle(&eval, &err);                        eval_options.c: the table, and options that
 *                                                      exclude others
 *     ... tools/eval.c opens and runs ...
 *     eval_task_run(&eval, &err);                      eval_tasks.c: instead, of a model that does
 *                                                      not choose one label
 *     eval_answer(&eval, &err);                        eval_answer.c: all that was asked beside the
 *                                                      report; eval_calibrate.c: --calibrate
 *
 * Threads: one.
 */
#ifndef ATTND_TOOLS_EVAL_EVAL_H
#define ATTND_TOOLS_EVAL_EVAL_H

#include "engine/cli/cli.h"
#include "engine/cli/screen.h"
#include "learn/eval/assessment.h"
#include "learn/eval/explain/explanations.h"
#include "learn/eval/measure/agreement.h"
#include "learn/eval/measure/number_assessment.h"
#include "learn/eval/measure/rerank.h"
#include "learn/eval/measure/retrieval.h"
#include "learn/eval/measure/set_assessment.h"
#include "learn/eval/measure/span_assessment.h"
#include "learn/eval/measure/strangeness.h"
#include "learn/eval/texts/writing_assessment.h"
#include "learn/ngrams/ngram_branch.h"
#include "tools/answers/writing_options.h"

enum { EVAL_FOLDS_MAX = 64 };

struct eval {
    struct assessment_options how;
    struct dataset_options fields;
    const char *data, *against, *ood_data, *examples, *foreign, *stream, *out, *logits;
    const char *unseen[STRANGENESS_LABELS_MAX]; /* labels of the data that the model lacks */
    unsigned unseen_count;
    const char *out_of_fold[EVAL_FOLDS_MAX]; /* files of logits */
    unsigned out_of_fold_count;
    double agree_min; /* percent; negative: not checked */
    bool multi_label;
    bool json, calibrates, forces, refers, agrees, explains;
    struct explanations_options explain; /* inputs_max 0: not given */
    const char *fill;                    /* --explain-fill; NULL: not given */
    unsigned selftest_cases;             /* to write; 0: none */
    struct ngram_settings ngrams;        /* for --calibrate */
    struct writing_options write;

    struct dataset dataset, unseen_data;
    struct assessment assessment;
    struct strangeness strangeness; /* result for unseen_data */

    /* --against */
    struct engine_model *other_model;
    struct evaluation other;
    struct confusion other_confusion;
    struct agreement agreement;

    struct number_assessment numbers; /* of a regression, else empty */
    struct set_assessment sets;       /* of --multi-label, else empty */
    struct retrieval retrieval;       /* of an embedding, else empty */
    struct rerank rerank;             /* of a model that scores pairs, else empty */
    struct span_assessment spans;     /* of a model of tags, else empty */
    struct writing_assessment texts;  /* of a model that writes, else empty */
};

extern const struct cli eval_cli;

/* After the command line. Options that exclude or need each other are ERR_UNUSABLE. */
enum err_code eval_settle(struct eval *eval, struct err *err);

/* A check between the run and the writing. ERR_UNUSABLE: the model would be calibrated on inputs
 * that it learnt, or its agreement measured on them, without --force. */
enum err_code eval_check_learnt(const struct eval *eval, struct err *err);
/* Warns on stderr if the model learnt many of the inputs. */
enum err_code eval_warn_learnt(const struct eval *eval, struct err *err);

/* Evaluation options with a line of progress; screen_clear(&counter->screen) after the run. */
struct evaluation_options eval_watched(const struct eval *eval, struct screen_counter *counter,
                                       const char *name, size_t total);

/* Inputs that need no labels, with what the model answers them, and features. */
struct eval_inputs {
    struct dataset dataset;
    struct evaluation evaluation;
};

/* `name` is the progress line's. Close it in any case. */
enum err_code eval_inputs_run(struct eval_inputs *out, const struct eval *eval, const char *path,
                              const char *name, struct err *err);
void eval_inputs_close(struct eval_inputs *inputs);

/* Writes the checkpoint's attnd.json and, if examples or n-grams were chosen, its head's file. */
enum err_code eval_calibrate(struct eval *eval, struct err *err);

/* Models that do not choose one label: a regression, --multi-label, an embedding, scored pairs,
 * tags, texts. eval_task_of is NULL for others, for which the functions that open and run are not
 * called. fields: how their data are read. open: after the model and the data, in place of
 * assessment_take; options of other models, and data that the model does not fit, are ERR_UNUSABLE.
 * run: measures, prints, and writes what was asked for. */
const struct eval_task *eval_task_of(const struct eval *eval);
void eval_task_fields(const struct eval *eval, struct dataset_options *fields);
enum err_code eval_task_open(struct eval *eval, struct err *err);
enum err_code eval_task_run(struct eval *eval, struct err *err);
/* The evaluation that was run: the task's, or the assessment's. */
const struct evaluation *eval_evaluation(const struct eval *eval);

/* Everything after the report: out-of-distribution inputs, the estimate of the prior, warnings,
 * logits, explanations, and the changes of the checkpoint. */
enum err_code eval_answer(struct eval *eval, struct err *err);

#endif
