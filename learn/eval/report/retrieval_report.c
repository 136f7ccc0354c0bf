#include "learn/eval/report/retrieval_report.h"

#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "learn/eval/report/report_json_parts.h"
#include "wire/answer.h"

#include <jansson.h>

enum { PROBLEMS_SHOWN = 8 };

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

void retrieval_report_print(const struct retrieval_report *report, FILE *file)
{
    const struct retrieval *retrieval = report->retrieval;
    const struct evaluation *evaluation = &retrieval->evaluation;
    const struct engine_info *info = engine_describe(retrieval->model);
    fprintf(file, "model      %s, %s, vectors of %u\n", report->model_dir, info->dtype,
            info->vector_size);
    fprintf(file, "texts      %zu, of which %zu failed and %zu are longer than the model reads\n",
            evaluation->count, evaluation->failed, retrieval->truncated);
    for (size_t i = 0, shown = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] != NULL && shown++ < PROBLEMS_SHOWN)
            fprintf(file, "  %s: %s\n", retrieval->dataset->items[i].name, evaluation->problems[i]);
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
        if (json_object_set_new(object, key, json_real(values[cut])) == 0)
            continue;
        json_decref(object);
        object = NULL;
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
        if (json_object_set_new(object, word_names[kind], figures) == 0)
            continue;
        json_decref(object);
        object = NULL;
    }
    return object;
}

static json_t *report_of(const struct retrieval_report *report)
{
    static const char *const relevance[] = {
        [RETRIEVAL_LABELS] = "label", [RETRIEVAL_PAIRS] = "pair", [RETRIEVAL_NUMBERS] = "number"};
    const struct retrieval *retrieval = report->retrieval;
    const struct evaluation *evaluation = &retrieval->evaluation;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "task", "embed", "model",
        UTF8_SHOWN(report->model_dir), "data", UTF8_SHOWN(retrieval->data_path), "relevant_by",
        relevance[retrieval->kind], "texts", (json_int_t)evaluation->count, "failed",
        (json_int_t)evaluation->failed, "truncated", (json_int_t)retrieval->truncated, "queries",
        (json_int_t)retrieval->vectors.queries, "documents", (json_int_t)retrieval->document_count,
        "rivals", rivals_of(retrieval));
    if (report_json_add(object, figures_of(retrieval, &retrieval->vectors, retrieval->spearman)) &&
        (report->epoch_count == 0 ||
         json_object_set_new(
             object, "epochs",
             report_epochs_json(report->epochs, report->epoch_count, "ndcg_at_10")) == 0))
        return object;
    json_decref(object);
    return NULL;
}

enum err_code retrieval_report_print_json(const struct retrieval_report *report, FILE *file,
                                          struct err *err)
{
    json_t *object = report_of(report);
    if (object == NULL)
        return err_no_memory(err, sizeof *report);
    bool printed = answer_print(object, file);
    json_decref(object);
    return printed ? ERR_OK : err_set(err, ERR_IO, "the report cannot be printed");
}

enum err_code retrieval_report_write(const struct retrieval_report *report, const char *folder,
                                     struct err *err)
{
    char path[PATH_MAX];
    struct memory_file text;
    if (file_path(path, folder, "report.json", err) || memory_file_open(&text, err))
        return err->code;
    retrieval_report_print_json(report, text.stream, err);
    return memory_file_save(&text, path, err);
}
