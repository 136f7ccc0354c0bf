/* eval_pairs.c - see eval.h: a model of one label on pairs of texts, a cross-encoder. */
#include "learn/eval/report/rerank_report.h"
#include "tools/eval/eval.h"

#include <stdio.h>

bool eval_is_of_pairs(const struct eval *eval)
{
    return !eval->multi_label && rerank_is_for(eval->assessment.model);
}

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
            return err_set(err, ERR_UNUSABLE,
                           "--%s is for models that choose among labels; %s scores pairs",
                           rows[i].name, eval->how.dir);
    return ERR_OK;
}

enum err_code eval_pairs_open(struct eval *eval, struct err *err)
{
    if (refuse_options(eval, err))
        return err->code;
    return rerank_take(&eval->rerank, eval->assessment.model, &eval->dataset, eval->data, err);
}

enum err_code eval_pairs_run(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    const struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    rerank_run(&eval->rerank, &how, err);
    screen_clear(&progress.screen);
    const struct rerank_report report = {.model_dir = eval->how.dir, .rerank = &eval->rerank};
    if (err->code != ERR_OK ||
        (eval->out != NULL && rerank_report_write(&report, eval->out, err)) ||
        (eval->json && rerank_report_print_json(&report, stdout, err)))
        return err->code;
    if (!eval->json)
        rerank_report_print(&report, stdout);
    fflush(stdout); /* the warning goes to stderr */
    return eval_warn_learnt(eval, err);
}
