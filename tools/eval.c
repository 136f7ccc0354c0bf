/* attnd-eval - a labelled data set through a checkpoint, offline and with all cores: how good the
 * model is, and whether a lower precision gives the same answers as fp32. The parts are
 * learn/eval's, so that a trainer prints the same report; this file has the sequence of steps;
 * tools/eval/ has the options, and what is answered beside the report.
 *
 * Errors in options, models and data are found before anything is computed; the exit status is then
 * 2. With --against the second precision runs first. */
#include "tools/eval/eval.h"
#include "engine/base/replace.h"
#include "engine/cli/cli_main.h"
#include "learn/eval/assessment.h"
#include "learn/eval/unlike.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- open ---- */

static enum err_code open_data(struct eval *eval, struct err *err)
{
    if (dataset_open(&eval->dataset, eval->data, &eval->fields, err) || eval->unseen_count == 0)
        return err->code;
    /* A label that the model has learnt is not unseen, whatever the data's inputs are. */
    const struct engine_info *info = engine_describe(eval->assessment.model);
    for (unsigned u = 0; u < eval->unseen_count; u++)
        for (unsigned i = 0; i < info->label_count; i++)
            if (strcmp(info->labels[i], eval->unseen[u]) == 0)
                return err_set(err, ERR_UNUSABLE,
                               "--unseen: the model has the label '%.60s': take one that was "
                               "trained without it",
                               eval->unseen[u]);
    if (dataset_set_aside(&eval->dataset, eval->unseen, eval->unseen_count, &eval->unseen_data,
                          err))
        return err_prefix(err, "--unseen: %s: ", eval->data);
    return ERR_OK;
}

static enum err_code open_all(void *target, struct err *err)
{
    struct eval *eval = target;
    if (eval_settle(eval, err))
        return err->code;
    if (eval->logits != NULL && replace_check(eval->logits, eval->data, err))
        return err_prefix(err, "--logits ");
    struct engine_options other = {.dtype = eval->against,
                                   .class_prior = eval->how.engine.class_prior,
                                   .token_pruning = "none"};
    eval->how.engine.writes_texts = true;
    if (assessment_open(&eval->assessment, &eval->how, err))
        return err->code;
    if (eval->write.is_given && engine_describe(eval->assessment.model)->task != ENGINE_GENERATE)
        return err_set(err, ERR_UNUSABLE,
                       "options of writing: %s writes no text (its task is another)",
                       eval->how.dir);
    if (eval->against != NULL && engine_open(&eval->other_model, eval->how.dir, &other, err))
        return err_prefix(err, "%s: ", eval->how.dir);
    eval->fields.kind = engine_describe(eval->assessment.model)->kind;
    eval_task_fields(eval, &eval->fields);
    if (eval->fill != NULL && eval->fields.kind == ENGINE_TEXT)
        return err_set(err, ERR_UNUSABLE,
                       "--explain-fill is of images; removed words leave a text");
    const struct engine_info *info = engine_describe(eval->assessment.model);
    if (open_data(eval, err) ||
        (eval_task_of(eval) != NULL
             ? eval_task_open(eval, err)
             : assessment_take(&eval->assessment, &eval->dataset, eval->data, err))) {
        if (!eval->multi_label && info->label_count > 1 && strcmp(info->scores, "sigmoid") == 0)
            fprintf(stderr, "attnd-eval: the model gives several labels an input, or none: "
                            "--multi-label measures them\n");
        return err->code;
    }
    char left_out[DATASET_SENTENCE_BYTES];
    dataset_describe_left_out(&eval->dataset, left_out);
    if (left_out[0] != '\0')
        fprintf(stderr, "attnd-eval: %s: %s\n", eval->data, left_out);
    if (info->dtype_reason != NULL)
        fprintf(stderr, "attnd-eval: dtype %s\n", info->dtype_reason);
    /* The folder is made before anything is computed: a run may take an hour. */
    if (eval->out == NULL || (mkdir(eval->out, 0777) == 0 || errno == EEXIST))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s: cannot be made: %s", eval->out, strerror(errno));
}

static void close_all(void *target)
{
    struct eval *eval = target;
    assessment_close(&eval->assessment);
    evaluation_close(&eval->other);
    confusion_close(&eval->other_confusion);
    engine_close(eval->other_model);
    strangeness_close(&eval->strangeness);
    dataset_close(&eval->unseen_data);
    dataset_close(&eval->dataset);
    number_assessment_close(&eval->numbers);
    set_assessment_close(&eval->sets);
    retrieval_close(&eval->retrieval);
    rerank_close(&eval->rerank);
    span_assessment_close(&eval->spans);
    writing_assessment_close(&eval->texts);
    writing_options_close(&eval->write);
}

/* ---- runs ---- */

static enum err_code run_other(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    struct evaluation_options how =
        eval_watched(eval, &progress, eval->against, eval->dataset.count);
    evaluation_run(&eval->other, eval->other_model, &eval->dataset, &how, err);
    screen_clear(&progress.screen);
    if (err->code != ERR_OK)
        return err->code;
    return evaluation_measure(&eval->other, eval->assessment.classes, &eval->other_confusion, err);
}

static enum err_code run_unseen(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    if (eval->unseen_count == 0)
        return ERR_OK;
    struct evaluation_options how =
        eval_watched(eval, &progress, "unseen", eval->unseen_data.count);
    unlike_measure(&eval->strangeness, &eval->assessment, &eval->unseen_data, &how, err);
    screen_clear(&progress.screen);
    eval->assessment.report.unseen = &eval->strangeness;
    return err->code;
}

static enum err_code run_all(struct eval *eval, struct err *err)
{
    struct report *report = &eval->assessment.report;
    if (eval->against != NULL && run_other(eval, err))
        return err->code;
    struct assessment *assessment = &eval->assessment;
    struct screen_counter progress;
    const char *dtype = engine_describe(assessment->model)->dtype;
    assessment->options.evaluation = eval_watched(eval, &progress, dtype, eval->dataset.count);
    assessment_run(assessment, err);
    screen_clear(&progress.screen);
    if (err->code == ERR_OK && eval->out_of_fold_count > 0 &&
        out_of_fold_take(assessment, eval->out_of_fold, eval->out_of_fold_count, err))
        return err_prefix(err, "--out-of-fold: ");
    if (err->code)
        return err->code;
    if (eval_check_learnt(eval, err) || run_unseen(eval, err))
        return err->code;
    if (eval->against == NULL)
        return ERR_OK;
    agreement_measure(&eval->agreement, &eval->assessment.evaluation, &eval->other);
    report->agreement = &eval->agreement;
    report->against =
        (struct report_run){.dtype = eval->against,
                            .linear_backend = engine_describe(eval->other_model)->linear_backend,
                            .evaluation = &eval->other,
                            .confusion = &eval->other_confusion};
    return ERR_OK;
}

/* ---- main ---- */

static enum err_code run(struct cli_run *run, struct err *err)
{
    struct eval *eval = run->target;
    if (eval_task_of(eval) != NULL)
        return eval_task_run(eval, err);
    if (run_all(eval, err))
        return err->code;
    const struct report *report = &eval->assessment.report;
    if (eval->out != NULL && assessment_write(&eval->assessment, eval->out, err))
        return err->code;
    if (eval->json && report_print_json(report, stdout, err))
        return err->code;
    if (!eval->json)
        report_print(report, stdout);
    fflush(stdout); /* the next lines go to stderr */
    if (eval_answer(eval, err))
        return err->code;
    if (eval->agree_min < 0 || agreement_reaches(&eval->agreement, eval->agree_min))
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the winners agree on %.3f %%, which is below --agree-min %g",
                   100 * eval->agreement.share, eval->agree_min);
}

static const struct cli_program programs[] = {
    {.cli = &eval_cli, .prepare = open_all, .run = run, .close = close_all}};

int main(int argc, char **argv)
{
    struct eval eval = {.agree_min = -1, .ngrams.weight = -1};
    return cli_main(programs, 1, argc, argv, &eval);
}
