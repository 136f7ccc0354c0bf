/* eval_spans.c - see eval.h: a model of tags, on texts with spans. */
#include "learn/eval/report/span_report.h"
#include "learn/eval/span_thresholds.h"
#include "tools/eval/eval.h"

#include <stdio.h>

bool eval_is_of_spans(const struct eval *eval)
{
    return engine_describe(eval->assessment.model)->task == ENGINE_TAG;
}

static enum err_code refuse_options(const struct eval *eval, struct err *err)
{
    const struct {
        bool is_given;
        const char *name;
    } rows[] = {/* --calibrate sets class_prior */
                {eval->how.engine.class_prior != NULL && !eval->calibrates, "class-prior"},
                {eval->examples != NULL, "examples"},
                {eval->foreign != NULL, "foreign"},
                {eval->agrees, "write-agreement"},
                {eval->multi_label, "multi-label"},
                {eval->against != NULL, "against"},
                {eval->stream != NULL, "estimate-prior"},
                {eval->unseen_count > 0, "unseen"},
                {eval->logits != NULL, "logits"},
                {eval->out_of_fold_count > 0, "out-of-fold"},
                {eval->refers, "reference"},
                {eval->selftest_cases > 0, "write-selftest"},
                {eval->ood_data != NULL, "ood-data"},
                {eval->explains, "explain"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].is_given)
            return err_set(err, ERR_UNUSABLE,
                           "--%s is for models that answer a label of each input; %s answers spans",
                           rows[i].name, eval->how.dir);
    return ERR_OK;
}

enum err_code eval_spans_open(struct eval *eval, struct err *err)
{
    if (refuse_options(eval, err))
        return err->code;
    return span_assessment_take(&eval->spans, eval->assessment.model, &eval->dataset, eval->data,
                                err);
}

enum err_code eval_spans_run(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    const struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    span_assessment_run(&eval->spans, &how, err);
    screen_clear(&progress.screen);
    const struct span_report report = {.model_dir = eval->how.dir, .assessment = &eval->spans};
    if (err->code != ERR_OK || eval_check_learnt(eval, err) ||
        (eval->out != NULL && span_report_write(&report, eval->out, err)) ||
        (eval->json && span_report_print_json(&report, stdout, err)))
        return err->code;
    if (!eval->json)
        span_report_print(&report, stdout);
    fflush(stdout); /* the next lines go to stderr */
    if (eval_warn_learnt(eval, err) || !eval->calibrates)
        return err->code;
    struct span_decided decided;
    if (span_thresholds_write(eval->how.dir, NULL, &eval->spans, eval->how.target_precision,
                              &decided, err))
        return err_prefix(err, "--calibrate: ");
    fprintf(stderr,
            "attnd-eval: %s/attnd.json: thresholds for %u of %u labels; with them %zu of %zu spans "
            "here are automatic, of which %zu are right\n",
            eval->how.dir, decided.labels, eval->spans.set.count, decided.automatic,
            eval->spans.verdict_count, decided.right);
    return ERR_OK;
}
