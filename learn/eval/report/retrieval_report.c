#include "learn/eval/report/task_report.h"

#include "engine/base/utf8.h"
#include "learn/eval/report/report_json_parts.h"

#include <jansson.h>

static const char *const word_names[LEXICAL_KINDS] = {
    [LEXICAL_BM25] = "bm25", [LEXICAL_TFIDF] = "tfidf"};

/* ---- terminal ---- */

static void print_ranking(const char *name, const struct ranking *ranking, FILE *file)
{
    fprintf(file, "%-10s %8.4f %8.4f", name, ranking->ndcg, ranking->mrr);
    for (unsigned cut = 0; cut < RANKING_CUTS; cut++)
        fprintf(file, " %10.4f", ranking->recall[cut]);
    fprintf(file, " %8.4f\n", ranking->hit[0]);
}

static void print_search(const struct retrieval *retrieval, FILE *file)
{
    const struct ranking *own = &retrieval->vectors;
    fprintf(file, "queries    %zu among %zu documents%s\n", own->queries, retrieval->document_count,
            retrieval->kind == RETRIEVAL_LABELS ? "; relevant: all of the same label" : "");
    if (own->without > 0)
        fprintf(file, "           %zu more have nothing relevant and are not counted\n",
                own->without);
    fputs("\n            nDCG@10      MRR", file);
    for (unsigned cut = 0; cut < RANKING_CUTS; cut++)
        fprintf(file, "%s%s%u", cut == RANKING_CUTS - 1 ? " " : "  ",
                ranking_cuts[cut] < 10 ? " recall@" : "recall@", ranking_cuts[cut]);
    fputs("    hit@1\n", file);
    print_ranking("vectors", own, file);
    print_ranking("BM25", &retrieval->words[LEXICAL_BM25], file);
    print_ranking("TF-IDF", &retrieval->words[LEXICAL_TFIDF], file);
}

static void print(const struct task_report *report, FILE *file)
{
    const struct retrieval *retrieval = report->of;
    const struct evaluation *evaluation = &retrieval->evaluation;
    const struct engine_info *info = engine_describe(retrieval->model);
    fprintf(file, "model      %s, %s, vectors of %u\n", report->model_dir, info->dtype,
            info->vector_size);
    fprintf(file, "texts      %zu, of which %zu failed and %zu are longer than the model reads\n",
            evaluation->count, evaluation->failed, retrieval->truncated);
    task_report_problems(file, evaluation, retrieval->dataset);
    if (retrieval->kind != RETRIEVAL_NUMBERS) {
        print_search(retrieval, file);
        return;
    }
    fputs("Spearman's rho of similarity and number\n", file);
    fprintf(file, "vectors    %8.4f\nBM25       %8.4f\nTF-IDF     %8.4f\n", retrieval->spearman,
            retrieval->words_spearman[LEXICAL_BM25], retrieval->words_spearman[LEXICAL_TFIDF]);
}

/* ---- JSON ---- */

/* {"1": value, "5": value, ...}, by ranking_cuts. */
static json_t *cuts_of(const double *values)
{
    json_t *object = json_object();
    for (unsigned cut = 0; cut < RANKING_CUTS && object != NULL; cut++) {
        char key[16];
        snprintf(key, sizeof key, "%u", ranking_cuts[cut]);
        object = report_json_put(object, key, json_real(values[cut]));
    }
    return object;
}

static json_t *ranking_of(const struct ranking *ranking)
{
    return json_pack("{s:f, s:f, s:o, s:o}", "ndcg_at_10", ranking->ndcg, "mrr", ranking->mrr,
                     "recall_at_k", cuts_of(ranking->recall), "hit_at_k", cuts_of(ranking->hit));
}

/* The figures of one way to search, or to compare. */
static json_t *figures_of(const struct retrieval *retrieval, const struct ranking *ranking,
                          double spearman)
{
    return retrieval->kind == RETRIEVAL_NUMBERS
               ? json_pack("{s:o}", "spearman", report_json_real(spearman))
               : ranking_of(ranking);
}

static json_t *rivals_of(const struct retrieval *retrieval)
{
    json_t *object = json_object();
    for (unsigned kind = 0; kind < LEXICAL_KINDS && object != NULL; kind++) {
        json_t *figures =
            figures_of(retrieval, &retrieval->words[kind], retrieval->words_spearman[kind]);
        object = report_json_put(object, word_names[kind], figures);
    }
    return object;
}

static json_t *report_of(const struct task_report *report)
{
    static const char *const relevance[] = {
        [RETRIEVAL_LABELS] = "label", [RETRIEVAL_PAIRS] = "pair", [RETRIEVAL_NUMBERS] = "number"};
    const struct retrieval *retrieval = report->of;
    const struct evaluation *evaluation = &retrieval->evaluation;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "task", "embed", "model",
        UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(retrieval->data_path), "relevant_by",
        relevance[retrieval->kind], "texts", (json_int_t)evaluation->count, "failed",
        (json_int_t)evaluation->failed, "truncated", (json_int_t)retrieval->truncated, "queries",
        (json_int_t)retrieval->vectors.queries, "documents", (json_int_t)retrieval->document_count,
        "rivals", rivals_of(retrieval));
    return task_report_json(object, figures_of(retrieval, &retrieval->vectors, retrieval->spearman),
                            report, "ndcg_at_10");
}

const struct task_report_kind task_report_vectors = {.print = print, .json = report_of};

/* ---- scored pairs ---- */

static void print_pairs(const struct task_report *report, FILE *file)
{
    const struct rerank *rerank = report->of;
    const struct evaluation *evaluation = &rerank->evaluation;
    fprintf(file, "model      %s, %s\n", report->model_dir, engine_describe(rerank->model)->dtype);
    fprintf(file, "pairs      %zu, of which %zu failed\n", evaluation->count, evaluation->failed);
    task_report_problems(file, evaluation, rerank->dataset);
    fprintf(file, "accuracy   %.4f\nlog loss   %.4f\n", rerank->accuracy, rerank->log_loss);
    if (rerank->scores.queries == 0) {
        fputs("no first text has several second ones and a relevant one among them: no order is "
              "measured\n",
              file);
        return;
    }
    fprintf(file, "queries    %zu with several texts, %zu more without a relevant one\n",
            rerank->scores.queries, rerank->scores.without);
    fputs("\n            nDCG@10      MRR    hit@1\n", file);
    const struct {
        const char *name;
        const struct ranking *ranking;
    } rows[] = {{"scores", &rerank->scores},
                {"BM25", &rerank->words[LEXICAL_BM25]},
                {"TF-IDF", &rerank->words[LEXICAL_TFIDF]}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(file, "%-10s %8.4f %8.4f %8.4f\n", rows[i].name, rows[i].ranking->ndcg,
                rows[i].ranking->mrr, rows[i].ranking->hit[0]);
}

static json_t *pair_ranking_of(const struct ranking *ranking)
{
    return json_pack("{s:f, s:f, s:f}", "ndcg_at_10", ranking->ndcg, "mrr", ranking->mrr,
                     "hit_at_1", ranking->hit[0]);
}

static json_t *pairs_of(const struct task_report *report)
{
    const struct rerank *rerank = report->of;
    const struct evaluation *evaluation = &rerank->evaluation;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:I, s:{s:o, s:o}}", "task", "pair", "model",
                  UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(rerank->data_path), "pairs",
                  (json_int_t)evaluation->count, "failed", (json_int_t)evaluation->failed,
                  "accuracy", rerank->accuracy, "log_loss", rerank->log_loss, "queries",
                  (json_int_t)rerank->scores.queries, "rivals", "bm25",
                  pair_ranking_of(&rerank->words[LEXICAL_BM25]), "tfidf",
                  pair_ranking_of(&rerank->words[LEXICAL_TFIDF]));
    return task_report_json(object, pair_ranking_of(&rerank->scores), report, "");
}

const struct task_report_kind task_report_pairs = {.print = print_pairs, .json = pairs_of};
