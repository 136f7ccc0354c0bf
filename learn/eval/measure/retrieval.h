/* retrieval.h - how well the vectors of an embedding find what belongs together, beside search by
 * words in the same run (lexical.h): shared by attnd-eval and attnd-train.
 *
 *     retrieval_take(&retrieval, model, &dataset, "validation.jsonl", &err);
 *     retrieval_run(&retrieval, &options, &err);
 *     ... retrieval.vectors.ndcg, retrieval.words[LEXICAL_BM25].ndcg ...
 *     retrieval_close(&retrieval);
 *
 * What the data are decides what is measured:
 *
 *     labels              each text searches among all others; those of its label are relevant
 *     pairs               the first texts search among the second ones; a text is listed once,
 *                         and all that it is paired with is relevant
 *     pairs with numbers  Spearman's rho of the similarity of the two texts and the number (a label
 *                         or a value)
 *
 * Similarity is the model's own (engine_info.similarity). Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_RETRIEVAL_H
#define ATTND_LEARN_EVAL_MEASURE_RETRIEVAL_H

#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/lexical.h"
#include "learn/eval/measure/ranking.h"

enum retrieval_kind { RETRIEVAL_LABELS, RETRIEVAL_PAIRS, RETRIEVAL_NUMBERS };

struct retrieval {
    const struct engine_model *model; /* as the data set borrowed */
    struct dataset *dataset;          /* of pairs each text is an item, pair by pair */
    const char *data_path;            /* name of the data in errors and reports */
    enum retrieval_kind kind;
    double *numbers;  /* [pairs] of RETRIEVAL_NUMBERS */
    unsigned *groups; /* [dataset->count] of RETRIEVAL_LABELS; of pairs a number for each text */
    size_t *queries, *documents; /* [..._count] items that search, and that are searched */
    size_t query_count, document_count;
    struct evaluation evaluation;
    struct ranking vectors, words[LEXICAL_KINDS];
    double spearman, words_spearman[LEXICAL_KINDS];
    size_t truncated; /* texts of which not all was read */
    struct arena arena;
};

/* Looks what the data are; the second texts of pairs become items. ERR_UNUSABLE: an item with
 * neither label nor second text, only some items with a second text or a number, no two texts of a
 * label; a model that answers no vectors. ERR_NO_MEMORY. Close it in any case. */
enum err_code retrieval_take(struct retrieval *out, const struct engine_model *model,
                             struct dataset *dataset, const char *data_path, struct err *err);
/* Runs the model and measures. As evaluation_run. */
enum err_code retrieval_run(struct retrieval *retrieval, const struct evaluation_options *options,
                            struct err *err);
void retrieval_close(struct retrieval *retrieval);

#endif
