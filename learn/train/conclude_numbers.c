#include "learn/train/conclude_numbers.h"

#include "learn/eval/number_reference.h"
#include "learn/eval/report/number_report.h"
#include "learn/train/loop/run.h"

#include <stdlib.h>

struct closing {
    const struct conclude_progress *progress;
    struct dataset validation; /* a view of the corpus */
    struct engine_model *model;
    struct number_assessment assessment;
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
        number_assessment_take(&closing->assessment, closing->model, &closing->validation, path,
                               err))
        return err->code;
    return number_assessment_run(&closing->assessment, &how, err);
}

static enum err_code write_report(const struct closing *closing, const struct run *run,
                                  struct err *err)
{
    const struct history *history = &run->history;
    struct number_report_epoch *epochs = calloc(history->count + 1, sizeof *epochs);
    if (epochs == NULL)
        return err_no_memory(err, history->count * sizeof *epochs);
    for (unsigned i = 0; i < history->count; i++)
        epochs[i] =
            (struct number_report_epoch){.train_loss = history->epochs[i].train_loss,
                                         .validation_loss = history->epochs[i].validation_loss,
                                         .rmse = history->epochs[i].rmse,
                                         .rate = history->epochs[i].rate};
    const struct number_report report = {.model_dir = run->options->out,
                                         .assessment = &closing->assessment,
                                         .epochs = epochs,
                                         .epoch_count = history->count};
    number_report_write(&report, run->options->out, err);
    free(epochs);
    return err->code;
}

/* Writes what live numbers are compared with; of several outputs there is no reference. */
static enum err_code write_reference(const struct closing *closing, const struct run *run,
                                     struct err *err)
{
    if (closing->assessment.outputs > 1)
        return ERR_OK;
    return number_reference_write(run->options->out, run->options->version, &closing->assessment,
                                  err);
}

enum err_code conclude_numbers(struct run *run, const struct conclude_progress *progress,
                               struct conclusion *out, struct err *err)
{
    struct closing closing = {.progress = progress};
    if (!assess(&closing, run, err) && !write_reference(&closing, run, err) &&
        !write_report(&closing, run, err)) {
        out->judged = true;
        out->errors = closing.assessment.errors[0];
    }
    number_assessment_close(&closing.assessment);
    engine_close(closing.model);
    return err->code;
}
