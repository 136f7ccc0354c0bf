/* writing_assessment.h - how well a model writes texts: exact matches, edits, chrF and BLEU beside
 * the right texts of a data set.
 *
 *     writing_assessment_take(&texts, model, &dataset, "validation.jsonl", 0.95, &err);
 *     writing_assessment_run(&texts, &options, &err);
 *     ... texts.scores.exact, texts.intervals.chrf ...
 *     writing_assessment_close(&texts);
 *
 * The texts are those that the server gives. Where none obeys the rules of the options, the empty
 * text counts. Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_TEXTS_WRITING_ASSESSMENT_H
#define ATTND_LEARN_EVAL_TEXTS_WRITING_ASSESSMENT_H

#include "learn/eval/measure/evaluation.h"
#include "learn/eval/texts/text_confidence.h"
#include "learn/eval/texts/text_scores.h"

/* A text that is not the right one. */
struct writing_mistake {
    size_t item;
    const char *written; /* [len] */
    size_t len, edits;
};

enum { WRITING_MISTAKES_MAX = 50 };

struct writing_assessment {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    struct evaluation evaluation;
    struct text_counts *counts; /* [counted] of the texts that were written */
    size_t counted;
    struct text_scores scores;
    struct text_intervals intervals;
    struct text_answer *answers; /* [answer_count] of the inputs that have a text */
    size_t answer_count;
    struct text_findings findings;
    size_t truncated;                                      /* inputs that were cut */
    size_t unwritten;                                      /* of which no text obeys the rules */
    struct writing_mistake mistakes[WRITING_MISTAKES_MAX]; /* [mistake_count] the first ones */
    unsigned mistake_count;
    struct arena arena;
};

/* The data set's labels are the right texts. target_precision: of the texts that shall be
 * automatic, above 0 to 1. ERR_NO_MEMORY. Close it in any case. */
enum err_code writing_assessment_take(struct writing_assessment *out,
                                      const struct engine_model *model,
                                      const struct dataset *dataset, const char *data_path,
                                      double target_precision, struct err *err);
/* Runs the model and measures. As evaluation_run. */
enum err_code writing_assessment_run(struct writing_assessment *assessment,
                                     const struct evaluation_options *options, struct err *err);
void writing_assessment_close(struct writing_assessment *assessment);

#endif
