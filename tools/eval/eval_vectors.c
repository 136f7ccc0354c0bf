/* eval_vectors.c - see eval.h: an embedding. Its data have labels, pairs, or pairs with numbers. */
#include "learn/eval/report/retrieval_report.h"
#include "tools/eval/eval.h"

#include <stdio.h>

bool eval_is_of_vectors(const struct eval *eval)
{
    return engine_describe(eval->assessment.model)->task == ENGINE_EMBED;
}

static enum err_code refuse_options(const struct eval *eval, struct err *err)
{
    const struct {
        bool is_given;
        const char *name;
    } rows[] = {{eval->calibrates, "calibrate"}, /* which sets class_prior */
                {eval->how.engine.class_prior != NULL, "class-prior"},
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
                           "--%s is for models that answer labels; %s answers vectors",
                           rows[i].name, eval->how.dir);
    return ERR_OK;
}

enum err_code eval_vectors_open(struct eval *eval, struct err *err)
{
    if (refuse_options(eval, err))
        return err->code;
    return retrieval_take(&eval->retrieval, eval->assessment.model, &eval->dataset, eval->data,
                          err);
}

static enum err_code put_out(const struct eval *eval, struct err *err)
{
    const struct retrieval_report report = {.model_dir = eval->how.dir,
                                            .retrieval = &eval->retrieval};
    if (eval->out != NULL && retrieval_report_write(&report, eval->out, err))
        return err->code;
    if (eval->json)
        return retrieval_report_print_json(&report, stdout, err);
    retrieval_report_print(&report, stdout);
    return ERR_OK;
}

enum err_code eval_vectors_run(struct eval *eval, struct err *err)
{
    struct screen_counter progress;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    const struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    retrieval_run(&eval->retrieval, &how, err);
    screen_clear(&progress.screen);
    if (err->code != ERR_OK || put_out(eval, err))
        return err->code;
    fflush(stdout); /* the warning goes to stderr */
    return eval_warn_learnt(eval, err);
}
