/* eval_sets.c - see eval.h: --multi-label, for data whose inputs have several labels or none. */
#include "learn/eval/report/set_report.h"
#include "tools/eval/eval.h"

#include <stdio.h>

/* Refuses options that need one label an input. */
static enum err_code refuse_options(const struct eval *eval, struct err *err)
{
    const struct {
        bool is_given;
        const char *name;
    } rows[] = {{eval->calibrates, "calibrate"}, /* which sets class_prior */
                {eval->how.engine.class_prior != NULL, "class-prior"},
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
            return err_set(err, ERR_UNUSABLE, "--%s does not go with --multi-label", rows[i].name);
    return ERR_OK;
}

enum err_code eval_sets_open(struct eval *eval, struct err *err)
{
    if (refuse_options(eval, err))
        return err->code;
    return set_assessment_take(&eval->sets, eval->assessment.model, &eval->dataset, eval->data,
                               err);
}

static enum err_code put_out(const struct eval *eval, struct err *err)
{
    const struct set_report report = {.model_dir = eval->how.dir, .assessment = &eval->sets};
    if (eval->out != NULL && set_report_write(&report, eval->out, err))
        return err->code;
    if (eval->json)
        return set_report_print_json(&report, stdout, err);
    set_report_print(&report, stdout);
    return ERR_OK;
}

enum err_code eval_sets_run(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    const struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    set_assessment_run(&eval->sets, &how, err);
    screen_clear(&progress.screen);
    if (err->code != ERR_OK || put_out(eval, err))
        return err->code;
    fflush(stdout); /* the warning goes to stderr */
    return eval_warn_learnt(eval, err);
}
