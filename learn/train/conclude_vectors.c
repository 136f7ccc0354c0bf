#include "learn/train/conclude_vectors.h"

#include "learn/eval/report/retrieval_report.h"
#include "learn/train/loop/run.h"

#include <stdlib.h>

struct closing {
    const struct conclude_progress *progress;
    struct dataset validation; /* its own items, which borrow the corpus's texts */
    struct engine_model *model;
    struct retrieval retrieval;
};

static void pass_on(void *context, size_t done)
{
    const struct closing *closing = context;
    closing->progress->call(closing->progress->context, done, closing->retrieval.dataset->count);
}

/* Lists the validation part as attnd-eval would read it: of pairs both texts in one item. */
static enum err_code list_validation(struct closing *closing, struct run *run, struct err *err)
{
    const struct corpus_items *from = &run->corpus.validation;
    const size_t step = run->corpus.groups.are_pairs ? 2 : 1;
    const struct dataset_item *all = from->part->dataset.items;
    struct dataset *out = &closing->validation;
    *out = (struct dataset){.kind = from->part->dataset.kind};
    arena_init(&out->arena);
    out->items = calloc(from->count + 1, sizeof *out->items);
    if (out->items == NULL)
        return err_no_memory(err, from->count * sizeof *out->items);
    for (size_t i = 0; i + step <= from->count; i += step) {
        struct dataset_item *item = &out->items[out->count++];
        *item = all[from->item[i]];
        if (step == 2) {
            item->pair = all[from->item[i + 1]].input;
            item->pair_len = all[from->item[i + 1]].input_len;
        }
    }
    return ERR_OK;
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
    if (list_validation(closing, run, err) ||
        retrieval_take(&closing->retrieval, closing->model, &closing->validation, path, err))
        return err->code;
    return retrieval_run(&closing->retrieval, &how, err);
}

static enum err_code write_report(const struct closing *closing, const struct run *run,
                                  struct err *err)
{
    const struct history *history = &run->history;
    struct retrieval_report_epoch *epochs = calloc(history->count + 1, sizeof *epochs);
    if (epochs == NULL)
        return err_no_memory(err, history->count * sizeof *epochs);
    for (unsigned i = 0; i < history->count; i++)
        epochs[i] =
            (struct retrieval_report_epoch){.train_loss = history->epochs[i].train_loss,
                                            .validation_loss = history->epochs[i].validation_loss,
                                            .ndcg = history->epochs[i].ndcg,
                                            .rate = history->epochs[i].rate};
    const struct retrieval_report report = {.model_dir = run->options->out,
                                            .retrieval = &closing->retrieval,
                                            .epochs = epochs,
                                            .epoch_count = history->count};
    retrieval_report_write(&report, run->options->out, err);
    free(epochs);
    return err->code;
}

enum err_code conclude_vectors(struct run *run, const struct conclude_progress *progress,
                               struct conclusion *out, struct err *err)
{
    struct closing closing = {.progress = progress};
    if (!assess(&closing, run, err) && !write_report(&closing, run, err)) {
        out->judged = true;
        out->ndcg = closing.retrieval.vectors.ndcg;
        out->ndcg_words = closing.retrieval.words[LEXICAL_BM25].ndcg;
    }
    retrieval_close(&closing.retrieval);
    engine_close(closing.model);
    dataset_close(&closing.validation);
    return err->code;
}
