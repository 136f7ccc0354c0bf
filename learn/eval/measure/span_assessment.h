/* span_assessment.h - how well a model of tags finds labelled spans: shared by attnd-eval and
 * attnd-train.
 *
 *     span_assessment_take(&spans, model, &dataset, "validation.jsonl", &err);
 *     span_assessment_run(&spans, &options, &err);
 *     ... spans.counts.micro.rates.f1, spans.set.name[k], spans.counts.each[k] ...
 *     span_assessment_close(&spans);
 *
 * The answered spans are those that the server gives, with its default aggregation and the model's
 * own way of reading long texts. Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SPAN_ASSESSMENT_H
#define ATTND_LEARN_EVAL_MEASURE_SPAN_ASSESSMENT_H

#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/selective.h"
#include "learn/eval/measure/span_counts.h"

/* A text whose answered spans are not all the wanted ones, and no others. */
struct span_mistake {
    size_t item;
    struct span_key *answered; /* [answered_count] */
    size_t answered_count;
    size_t wrong,
        missed; /* answered spans that are not wanted, wanted ones that are not answered */
};

enum { SPAN_MISTAKES_MAX = 50 };

struct span_assessment {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    struct tag_set set;    /* of the model's labels */
    struct evaluation evaluation;
    struct span_counts counts;
    size_t tokens, tokens_right; /* text's tokens; those with the right tag */
    size_t exact;                /* texts whose answered spans are the wanted ones */
    size_t truncated;            /* texts that are longer than the model reads */
    size_t misfits;              /* wanted spans that do not begin and end where tokens do */
    size_t first_misfit;         /* the first item with one */
    struct span_mistake mistakes[SPAN_MISTAKES_MAX]; /* [mistake_count] the first ones */
    unsigned mistake_count;
    struct verdict *verdicts; /* [verdict_count] all answered spans, by the labels of `set` */
    size_t verdict_count, verdict_room;
    struct span_key *wanted, *answered; /* room for a text's */
    bool *right;
    size_t room;
    int32_t *tags; /* likewise, of its tokens */
    size_t tags_room;
    struct arena arena;
};

/* ERR_UNUSABLE names the first item with a span whose label the model lacks. Close it in any case.
 */
enum err_code span_assessment_take(struct span_assessment *out, const struct engine_model *model,
                                   const struct dataset *dataset, const char *data_path,
                                   struct err *err);
/* Runs the model and measures. As evaluation_run. */
enum err_code span_assessment_run(struct span_assessment *assessment,
                                  const struct evaluation_options *options, struct err *err);
void span_assessment_close(struct span_assessment *assessment);

#endif
