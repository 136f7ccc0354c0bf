#include "learn/train/conclude_once.h"

#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/base/utf8.h"
#include "learn/eval/number_reference.h"
#include "learn/eval/report/task_report.h"
#include "learn/eval/span_thresholds.h"
#include "learn/train/loop/judge.h"
#include "learn/train/loop/run.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct report_epoch *conclude_epochs(const struct history *history, size_t offset, struct err *err)
{
    struct report_epoch *epochs = calloc(history->count + 1, sizeof *epochs);
    if (epochs == NULL)
        err_no_memory(err, history->count * sizeof *epochs);
    for (unsigned i = 0; epochs != NULL && i < history->count; i++) {
        const struct history_epoch *from = &history->epochs[i];
        epochs[i] = (struct report_epoch){.train_loss = from->train_loss,
                                          .validation_loss = from->validation_loss,
                                          .rate = from->rate};
        memcpy(&epochs[i].measure, (const char *)from + offset, sizeof epochs[i].measure);
    }
    return epochs;
}

struct closing {
    const struct conclude_progress *progress;
    const char *data_path;     /* how a report names the validation part */
    struct dataset validation; /* items of its own, which borrow the corpus's texts */
    struct engine_model *model;
    struct evaluation_options how;
    size_t total; /* inputs that are evaluated */
};

static void pass_on(void *context, size_t done)
{
    const struct closing *closing = context;
    closing->progress->call(closing->progress->context, done, closing->total);
}

/* Lists the validation part as attnd-eval would read it: of an embedding's pairs both texts in one
 * item. */
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

/* The caller closes model and validation in any case. */
static enum err_code closing_open(struct closing *out, struct run *run,
                                  const struct conclude_progress *progress, struct err *err)
{
    const struct train_options *options = run->options;
    *out = (struct closing){
        .progress = progress,
        .data_path = options->validation != NULL ? options->validation : options->data,
        .how = {.threads = run->threads, .progress = progress->call != NULL ? pass_on : NULL}};
    out->how.context = out;
    if (engine_open(&out->model, options->out, &(struct engine_options){0}, err))
        return err_prefix(err, "%s: ", options->out);
    if (list_validation(out, run, err) == ERR_OK)
        out->total = out->validation.count;
    return err->code;
}

/* Writes the report of an assessment. offset: of the epochs' measure in a struct history_epoch. */
static enum err_code write_report(const struct task_report_kind *kind, const void *of,
                                  size_t offset, const struct run *run, struct err *err)
{
    struct report_epoch *epochs = conclude_epochs(&run->history, offset, err);
    const struct task_report report = {kind, run->options->out, of, epochs, run->history.count};
    if (epochs != NULL)
        task_report_write(&report, run->options->out, err);
    free(epochs);
    return err->code;
}

/* ---- a regression ---- */

/* Live numbers are compared with a reference; of several outputs there is none. */
static enum err_code conclude_numbers(struct run *run, struct closing *closing,
                                      struct conclusion *out, struct err *err)
{
    struct number_assessment assessment;
    const struct train_options *options = run->options;
    if (number_assessment_take(&assessment, closing->model, &closing->validation,
                               closing->data_path, err) ||
        number_assessment_run(&assessment, &closing->how, err))
        goto out;
    if (assessment.outputs == 1 &&
        number_reference_write(options->out, options->version, &assessment, err))
        goto out;
    if (write_report(&task_report_numbers, &assessment, offsetof(struct history_epoch, rmse), run,
                     err))
        goto out;
    out->judged = true;
    out->errors = assessment.errors[0];
out:
    number_assessment_close(&assessment);
    return err->code;
}

/* ---- an embedding ---- */

static enum err_code conclude_vectors(struct run *run, struct closing *closing,
                                      struct conclusion *out, struct err *err)
{
    struct retrieval retrieval;
    if (retrieval_take(&retrieval, closing->model, &closing->validation, closing->data_path, err))
        goto out;
    closing->total = retrieval.dataset->count; /* of a pair both texts */
    if (retrieval_run(&retrieval, &closing->how, err) ||
        write_report(&task_report_vectors, &retrieval, offsetof(struct history_epoch, ndcg), run,
                     err))
        goto out;
    out->judged = true;
    out->ndcg = retrieval.vectors.ndcg;
    out->ndcg_words = retrieval.words[LEXICAL_BM25].ndcg;
out:
    retrieval_close(&retrieval);
    return err->code;
}

/* ---- a cross-encoder ---- */

static enum err_code conclude_pairs(struct run *run, struct closing *closing,
                                    struct conclusion *out, struct err *err)
{
    struct rerank rerank;
    const struct task_report report = {&task_report_pairs, run->options->out, &rerank, NULL, 0};
    if (!rerank_take(&rerank, closing->model, &closing->validation, closing->data_path, err) &&
        !rerank_run(&rerank, &closing->how, err) &&
        !task_report_write(&report, run->options->out, err)) {
        out->judged = true;
        out->accuracy = rerank.accuracy;
        out->ndcg = rerank.scores.ndcg;
        out->ndcg_words = rerank.words[LEXICAL_BM25].ndcg;
    }
    rerank_close(&rerank);
    return err->code;
}

/* ---- a model of tags ---- */

static enum err_code conclude_tags(struct run *run, struct closing *closing, struct conclusion *out,
                                   struct err *err)
{
    struct span_assessment spans;
    struct span_decided decided;
    const struct train_options *options = run->options;
    if (!span_assessment_take(&spans, closing->model, &closing->validation, closing->data_path,
                              err) &&
        !span_assessment_run(&spans, &closing->how, err) &&
        !write_report(&task_report_spans, &spans, offsetof(struct history_epoch, span_f1), run,
                      err) &&
        !span_thresholds_write(options->out, options->version, &spans, options->target_precision,
                               &decided, err)) {
        out->judged = true;
        if (spans.tokens > 0)
            out->accuracy = (double)spans.tokens_right / (double)spans.tokens;
        out->span_f1 = spans.counts.micro.rates.f1;
        out->span_macro_f1 = spans.counts.macro.f1;
        out->exact = (double)spans.exact / (double)closing->validation.count;
        if (decided.automatic > 0) {
            out->automatic = (double)decided.automatic / (double)spans.verdict_count;
            out->right = (double)decided.right / (double)decided.automatic;
        }
    }
    span_assessment_close(&spans);
    return err->code;
}

/* ---- a model that writes ---- */

enum { MISTAKES_SHOWN = 20 };

/* The texts that are written otherwise, the first ones. */
struct text_mistakes {
    struct closing closing; /* the first member: pass_on's context is this, too */
    struct {
        const char *name, *target, *written;
    } shown[MISTAKES_SHOWN];
    unsigned count;
    struct arena arena;
    struct err err;
};

/* A name that is not UTF-8 cannot stand in a report. */
static void note_mistake(void *context, const struct dataset_item *item, const char *text)
{
    struct text_mistakes *mistakes = context;
    if (strcmp(text, item->label) == 0 || mistakes->count == MISTAKES_SHOWN ||
        !utf8_is_valid(item->name, strlen(item->name)))
        return;
    const char *written = arena_copy(&mistakes->arena, text, strlen(text));
    if (written == NULL)
        err_no_memory(&mistakes->err, strlen(text));
    else {
        mistakes->shown[mistakes->count].name = item->name;
        mistakes->shown[mistakes->count].target = item->label;
        mistakes->shown[mistakes->count++].written = written;
    }
}

static enum err_code put_mistakes(struct json_t *root, const struct text_mistakes *mistakes,
                                  struct err *err)
{
    static const char one_more[] = ",{}";
    char list[sizeof one_more * MISTAKES_SHOWN + 2];
    size_t len = (size_t)snprintf(list, sizeof list, "[");
    for (unsigned i = 0; i < mistakes->count; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s", one_more + (i == 0));
    snprintf(list + len, sizeof list - len, "]");
    doc_edit_json(root, "mistakes", list, err);
    for (unsigned i = 0; i < mistakes->count && err->code == ERR_OK; i++) {
        struct json_t *one = doc_edit_item(root, "mistakes", i);
        doc_edit_text(one, "name", mistakes->shown[i].name, err);
        doc_edit_text(one, "target", mistakes->shown[i].target, err);
        doc_edit_text(one, "written", mistakes->shown[i].written, err);
    }
    return err->code;
}

static enum err_code put_epochs(struct json_t *root, const struct history *history, struct err *err)
{
    struct memory_file text;
    if (memory_file_open(&text, err))
        return err->code;
    for (unsigned i = 0; i < history->count; i++) {
        const struct history_epoch *epoch = &history->epochs[i];
        fprintf(text.stream,
                "%s{\"train_loss\":%.17g,\"validation_loss\":%.17g,\"exact\":%.17g,"
                "\"token_accuracy\":%.17g,\"rate\":%.17g}",
                i > 0 ? "," : "[", epoch->train_loss, epoch->validation_loss, epoch->exact,
                epoch->accuracy, epoch->rate);
    }
    fputc(']', text.stream);
    if (!memory_file_close(&text, err))
        doc_edit_json(root, "epochs", text.bytes, err);
    free(text.bytes);
    return err->code;
}

static enum err_code report_texts(const struct text_mistakes *mistakes, const struct run *run,
                                  const struct conclusion *out, struct err *err)
{
    const struct train_options *options = run->options;
    const char *data = options->validation != NULL ? options->validation : options->data;
    struct json_t *root = NULL;
    char path[PATH_MAX];
    if (file_path(path, options->out, "report.json", err) || doc_edit_new(&root, err))
        return err->code;
    doc_edit_text(root, "task", "seq2seq", err);
    doc_edit_text(root, "model", UTF8_SHOWN(options->out), err);
    doc_edit_text(root, "data", UTF8_SHOWN(data), err);
    doc_edit_integer(root, "texts", (long long)run->corpus.validation.count, err);
    doc_edit_number(root, "exact", out->exact, err);
    doc_edit_number(root, "token_accuracy", out->accuracy, err);
    if (err->code == ERR_OK && !put_mistakes(root, mistakes, err) &&
        !put_epochs(root, &run->history, err))
        doc_edit_save(root, path, err);
    doc_free(root);
    return err->code;
}

static enum err_code conclude_texts(struct run *run, const struct conclude_progress *progress,
                                    struct conclusion *out, struct err *err)
{
    const struct corpus_items *items = &run->corpus.validation;
    struct text_mistakes mistakes = {.closing = {.progress = progress, .total = items->count}};
    const struct judge_writer writer = {.dir = run->options->out,
                                        .source_language = run->texts.source_language,
                                        .target_language = run->texts.target_language,
                                        .threads = run->threads,
                                        .tokens = samples_target_tokens(items->part->samples),
                                        .written = note_mistake,
                                        .progress = progress->call != NULL ? pass_on : NULL,
                                        .context = &mistakes};
    arena_init(&mistakes.arena);
    out->accuracy = run->history.epochs[run->at.best_epoch - 1].accuracy;
    if (!judge_writer_run(&writer, items, &out->exact, err))
        *err = mistakes.err;
    if (err->code == ERR_OK && !report_texts(&mistakes, run, out, err))
        out->judged = true;
    arena_deinit(&mistakes.arena);
    return err->code;
}

/* ---- each task ---- */

enum err_code conclude_once(struct run *run, const struct conclude_progress *progress,
                            struct conclusion *out, struct err *err)
{
    struct closing closing;
    if (run->task == TRAIN_WRITE)
        return conclude_texts(run, progress, out, err);
    if (run->task != TRAIN_REGRESS && run->task != TRAIN_EMBED && run->task != TRAIN_PAIR &&
        run->task != TRAIN_TAG)
        return ERR_OK;
    if (closing_open(&closing, run, progress, err) == ERR_OK) {
        if (run->task == TRAIN_REGRESS)
            conclude_numbers(run, &closing, out, err);
        else if (run->task == TRAIN_EMBED)
            conclude_vectors(run, &closing, out, err);
        else if (run->task == TRAIN_PAIR)
            conclude_pairs(run, &closing, out, err);
        else
            conclude_tags(run, &closing, out, err);
    }
    engine_close(closing.model);
    dataset_close(&closing.validation);
    return err->code;
}
