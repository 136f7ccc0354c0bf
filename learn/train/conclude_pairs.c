#include "learn/train/conclude_pairs.h"

#include "learn/eval/report/rerank_report.h"
#include "learn/train/loop/run.h"

struct closing {
    const struct conclude_progress *progress;
    struct dataset validation; /* a view of the corpus */
    struct engine_model *model;
    struct rerank rerank;
};

static void pass_on(void *context, size_t done)
{
    const struct closing *closing = context;
    closing->progress->call(closing->progress->context, done, closing->validation.count);
}

static enum err_code assess(struct closing *closing, struct run *run, struct err *err)
{
    const struct train_options *options = run->options;
    const char *path = options->validation != NULL ? options->validation : options->data;
    const struct evaluation_options how = {.threads = run->threads,
                                           .progress =
                                               closing->progress->call != NULL ? pass_on : NULL,
                                           .context = closing};
    if (engine_open(&closing->model, options->out, &(struct engine_options){0}, err))
        return err_prefix(err, "%s: ", options->out);
    if (corpus_view(&run->corpus, &run->corpus.validation, &closing->validation, err) ||
        rerank_take(&closing->rerank, closing->model, &closing->validation, path, err) ||
        rerank_run(&closing->rerank, &how, err))
        return err->code;
    const struct rerank_report report = {.model_dir = options->out, .rerank = &closing->rerank};
    return rerank_report_write(&report, options->out, err);
}

enum err_code conclude_pairs(struct run *run, const struct conclude_progress *progress,
                             struct conclusion *out, struct err *err)
{
    struct closing closing = {.progress = progress};
    if (!assess(&closing, run, err)) {
        out->judged = true;
        out->accuracy = closing.rerank.accuracy;
        out->ndcg = closing.rerank.scores.ndcg;
        out->ndcg_words = closing.rerank.words[LEXICAL_BM25].ndcg;
    }
    rerank_close(&closing.rerank);
    engine_close(closing.model);
    return err->code;
}
