#include "learn/train/conclude_tags.h"

#include "learn/eval/report/span_report.h"
#include "learn/train/loop/run.h"

#include <stdlib.h>

struct closing {
    const struct conclude_progress *progress;
    struct dataset validation; /* a view of the corpus */
    struct engine_model *model;
    struct span_assessment spans;
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
        span_assessment_take(&closing->spans, closing->model, &closing->validation, path, err))
        return err->code;
    return span_assessment_run(&closing->spans, &how, err);
}

static enum err_code write_report(const struct closing *closing, const struct run *run,
                                  struct err *err)
{
    const struct history *history = &run->history;
    struct span_report_epoch *epochs = calloc(history->count + 1, sizeof *epochs);
    if (epochs == NULL)
        return err_no_memory(err, history->count * sizeof *epochs);
    for (unsigned i = 0; i < history->count; i++)
        epochs[i] =
            (struct span_report_epoch){.train_loss = history->epochs[i].train_loss,
                                       .validation_loss = history->epochs[i].validation_loss,
                                       .span_f1 = history->epochs[i].span_f1,
                                       .rate = history->epochs[i].rate};
    const struct span_report report = {.model_dir = run->options->out,
                                       .assessment = &closing->spans,
                                       .epochs = epochs,
                                       .epoch_count = history->count};
    span_report_write(&report, run->options->out, err);
    free(epochs);
    return err->code;
}

enum err_code conclude_tags(struct run *run, const struct conclude_progress *progress,
                            struct conclusion *out, struct err *err)
{
    struct closing closing = {.progress = progress};
    if (!assess(&closing, run, err) && !write_report(&closing, run, err)) {
        const struct span_assessment *spans = &closing.spans;
        out->judged = true;
        if (spans->tokens > 0)
            out->accuracy = (double)spans->tokens_right / (double)spans->tokens;
        out->span_f1 = spans->counts.micro.rates.f1;
        out->span_macro_f1 = spans->counts.macro.f1;
        out->exact = (double)spans->exact / (double)closing.validation.count;
    }
    span_assessment_close(&closing.spans);
    engine_close(closing.model);
    return err->code;
}
