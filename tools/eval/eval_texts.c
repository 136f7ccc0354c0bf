/* eval_texts.c - see eval.h: a model that writes texts, on inputs with the texts to write. */
#include "learn/eval/texts/writing_report.h"
#include "tools/eval/eval.h"

#include <stdio.h>

bool eval_is_of_texts(const struct eval *eval)
{
    return engine_describe(eval->assessment.model)->task == ENGINE_GENERATE;
}

static enum err_code refuse_options(const struct eval *eval, struct err *err)
{
    const struct {
        bool is_given;
        const char *name;
    } rows[] = {/* --calibrate and --class-prior are refused as the model is opened */
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
                           "--%s is for models that answer a label of each input; %s writes texts",
                           rows[i].name, eval->how.dir);
    return ERR_OK;
}

enum err_code eval_texts_open(struct eval *eval, struct err *err)
{
    if (refuse_options(eval, err))
        return err->code;
    return writing_assessment_take(&eval->texts, eval->assessment.model, &eval->dataset, eval->data,
                                   err);
}

enum err_code eval_texts_run(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    how.writing = eval->writing;
    writing_assessment_run(&eval->texts, &how, err);
    screen_clear(&progress.screen);
    const struct writing_report report = {.model_dir = eval->how.dir, .assessment = &eval->texts};
    if (err->code != ERR_OK || eval_check_learnt(eval, err) ||
        (eval->out != NULL && writing_report_write(&report, eval->out, err)) ||
        (eval->json && writing_report_print_json(&report, stdout, err)))
        return err->code;
    if (!eval->json)
        writing_report_print(&report, stdout);
    fflush(stdout); /* the next lines go to stderr */
    return eval_warn_learnt(eval, err);
}
