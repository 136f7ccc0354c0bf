/* eval_numbers.c - see eval.h: a regression, whose data have numbers for labels. */
#include "learn/eval/number_reference.h"
#include "learn/eval/report/number_report.h"
#include "tools/eval/eval.h"

#include <stdio.h>

bool eval_is_of_numbers(const struct eval *eval)
{
    return number_assessment_is_for(eval->assessment.model);
}

static enum err_code refuse_options(const struct eval *eval, struct err *err)
{
    const struct {
        bool is_given;
        const char *name;
    } rows[] = {/* --calibrate sets class_prior */
                {eval->how.engine.class_prior != NULL && !eval->calibrates, "class-prior"},
                {eval->multi_label, "multi-label"},
                {eval->examples != NULL, "examples"},
                {eval->foreign != NULL, "foreign"},
                {eval->against != NULL, "against"},
                {eval->stream != NULL, "estimate-prior"},
                {eval->unseen_count > 0, "unseen"},
                {eval->logits != NULL, "logits"},
                {eval->out_of_fold_count > 0, "out-of-fold"},
                {eval->selftest_cases > 0, "write-selftest"},
                {eval->ood_data != NULL, "ood-data"},
                {eval->explains, "explain"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].is_given)
            return err_set(err, ERR_UNUSABLE,
                           "--%s is for models that answer labels; %s answers a number",
                           rows[i].name, eval->how.dir);
    return ERR_OK;
}

enum err_code eval_numbers_open(struct eval *eval, struct err *err)
{
    const unsigned outputs = engine_describe(eval->assessment.model)->label_count;
    if (refuse_options(eval, err))
        return err->code;
    if ((eval->calibrates || eval->refers) && outputs > 1)
        return err_set(err, ERR_UNUSABLE,
                       "%s: the model answers %u numbers. A reference can be written for one only",
                       eval->how.dir, outputs);
    return number_assessment_take(&eval->numbers, eval->assessment.model, &eval->dataset,
                                  eval->data, err);
}

static enum err_code put_out(const struct eval *eval, struct err *err)
{
    const struct number_report report = {.model_dir = eval->how.dir, .assessment = &eval->numbers};
    if (eval->out != NULL && number_report_write(&report, eval->out, err))
        return err->code;
    if (eval->json)
        return number_report_print_json(&report, stdout, err);
    number_report_print(&report, stdout);
    return ERR_OK;
}

enum err_code eval_numbers_run(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    const struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    number_assessment_run(&eval->numbers, &how, err);
    screen_clear(&progress.screen);
    if (err->code != ERR_OK || eval_check_learnt(eval, err) || put_out(eval, err))
        return err->code;
    fflush(stdout); /* the next lines go to stderr */
    if (eval_warn_learnt(eval, err) || !(eval->calibrates || eval->refers))
        return err->code;
    return number_reference_write(eval->how.dir, NULL, &eval->numbers, err);
}
