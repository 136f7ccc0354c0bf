/* rerank.h - how well a model of one label scores pairs of texts (a cross-encoder): shared by
 * attnd-eval and attnd-train.
 *
 *     rerank_take(&rerank, model, &dataset, "validation.jsonl", &err);
 *     rerank_run(&rerank, &options, &err);
 *     ... rerank.accuracy, rerank.scores.ndcg, rerank.words[LEXICAL_BM25].ndcg ...
 *     rerank_close(&rerank);
 *
 * A pair has a number from 0 to 1, its value or label: how well the second text fits the first. One
 * of at least RERANK_RELEVANT is relevant. Pairs with the same first text are one query, whose
 * second texts are put in order by their scores; search by words (lexical.h), over all second
 * texts, puts the same ones in order. A query without a relevant text, or with one text alone, says
 * nothing of an order and is not counted. Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_RERANK_H
#define ATTND_LEARN_EVAL_MEASURE_RERANK_H

#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/lexical.h"
#include "learn/eval/measure/ranking.h"

#define RERANK_RELEVANT 0.5

struct rerank {
    const struct engine_model *model; /* as the data set borrowed */
    const struct dataset *dataset;
    const char *data_path; /* name of the data in errors and reports */
    double *right;         /* [dataset->count] numbers of the pairs */
    struct evaluation evaluation;
    double accuracy; /* share of pairs that score at least 1/2 as their number is */
    double log_loss; /* mean binary cross-entropy of score and number */
    struct ranking scores, words[LEXICAL_KINDS];
    struct arena arena;
};

/* True for a model that gives a pair of texts one score. */
bool rerank_is_for(const struct engine_model *model);

/* Reads the numbers. ERR_UNUSABLE names the first item without a second text, or whose label is no
 * number from 0 to 1. Close it in any case. */
enum err_code rerank_take(struct rerank *out, const struct engine_model *model,
                          const struct dataset *dataset, const char *data_path, struct err *err);
/* Runs the model and measures. As evaluation_run. */
enum err_code rerank_run(struct rerank *rerank, const struct evaluation_options *options,
                         struct err *err);
void rerank_close(struct rerank *rerank);

#endif
