#include "learn/eval/report/rerank_report.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "learn/eval/report/report_json_parts.h"
#include "wire/answer.h"

#include <jansson.h>

enum { PROBLEMS_SHOWN = 8 };

void rerank_report_print(const struct rerank_report *report, FILE *file)
{
    const struct rerank *rerank = report->rerank;
    const struct evaluation *evaluation = &rerank->evaluation;
    fprintf(file, "model      %s, %s\n", report->model_dir, engine_describe(rerank->model)->dtype);
    fprintf(file, "pairs      %zu, of which %zu failed\n", evaluation->count, evaluation->failed);
    for (size_t i = 0, shown = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] != NULL && shown++ < PROBLEMS_SHOWN)
            fprintf(file, "  %s: %s\n", rerank->dataset->items[i].name, evaluation->problems[i]);
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

static json_t *ranking_of(const struct ranking *ranking)
{
    return json_pack("{s:f, s:f, s:f}", "ndcg_at_10", ranking->ndcg, "mrr", ranking->mrr,
                     "hit_at_1", ranking->hit[0]);
}

enum err_code rerank_report_print_json(const struct rerank_report *report, FILE *file,
                                       struct err *err)
{
    const struct rerank *rerank = report->rerank;
    const struct evaluation *evaluation = &rerank->evaluation;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:I, s:{s:o, s:o}}", "task", "pair", "model",
                  UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(rerank->data_path), "pairs",
                  (json_int_t)evaluation->count, "failed", (json_int_t)evaluation->failed,
                  "accuracy", rerank->accuracy, "log_loss", rerank->log_loss, "queries",
                  (json_int_t)rerank->scores.queries, "rivals", "bm25",
                  ranking_of(&rerank->words[LEXICAL_BM25]), "tfidf",
                  ranking_of(&rerank->words[LEXICAL_TFIDF]));
    if (!report_json_add(object, ranking_of(&rerank->scores))) {
        json_decref(object);
        return err_no_memory(err, sizeof *report);
    }
    bool printed = answer_print(object, file);
    json_decref(object);
    return printed ? ERR_OK : err_set(err, ERR_IO, "the report cannot be printed");
}

enum err_code rerank_report_write(const struct rerank_report *report, const char *folder,
                                  struct err *err)
{
    char path[PATH_MAX];
    struct memory_file text;
    if (file_path(path, folder, "report.json", err) || memory_file_open(&text, err))
        return err->code;
    rerank_report_print_json(report, text.stream, err);
    return memory_file_save(&text, path, err);
}
