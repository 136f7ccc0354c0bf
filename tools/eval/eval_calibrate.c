/* eval_calibrate.c - attnd-eval --calibrate: the examples that the model shall carry, a table of
 * n-grams, inputs that are none of its labels, and what is written of them. */
#include "engine/selftest.h"
#include "learn/eval/calibrate.h"
#include "tools/eval/eval.h"

#include <stdio.h>

static enum err_code run_examples(struct eval *eval, struct known_inputs *known, struct err *err)
{
    struct screen_counter progress;
    const struct evaluation_options how =
        eval_watched(eval, &progress, "examples", known->dataset.count);
    known_inputs_run(known, eval->assessment.model, &how, err);
    screen_clear(&progress.screen);
    return err->code;
}

/* The model as it is now, on the same data. */
static enum err_code assess_again(struct eval *eval, struct err *err)
{
    struct assessment *assessment = &eval->assessment;
    struct screen_counter progress;
    assessment_close(assessment);
    if (assessment_open(assessment, &eval->how, err) ||
        assessment_take(assessment, &eval->dataset, eval->data, err))
        return err->code;
    assessment->options.evaluation =
        eval_watched(eval, &progress, "with n-grams", eval->dataset.count);
    assessment_run(assessment, err);
    screen_clear(&progress.screen);
    return err->code;
}

static enum err_code add_ngrams(struct eval *eval, const struct known_inputs *known,
                                struct err *err)
{
    const struct ngram_data data = {.learnt = &known->dataset,
                                    .learnt_classes = known->classes,
                                    .validation = &eval->dataset,
                                    .classes = eval->assessment.classes,
                                    .evaluation = &eval->assessment.evaluation,
                                    .threads = eval->how.evaluation.threads};
    struct ngram_result result;
    if (eval->ngrams.characters == 0)
        return ERR_OK;
    if (engine_describe(eval->assessment.model)->ngram_rows > 0)
        return err_set(err, ERR_UNUSABLE,
                       "--ngrams: %s has a table of n-grams already: take the model as it was "
                       "before that",
                       eval->how.dir);
    if (ngram_branch_add(eval->how.dir, &data, &eval->ngrams, &result, err))
        return err_prefix(err, "--ngrams: ");
    if (result.weight == 0)
        fprintf(stderr, "attnd-eval: n-grams would not help on the data: none are written\n");
    else
        fprintf(stderr,
                "attnd-eval: n-grams weigh %.3g: the loss of the data falls from %.4f to %.4f\n",
                result.weight, result.before, result.after);
    return result.weight > 0 ? assess_again(eval, err) : ERR_OK;
}

/* Calibrates and writes. --foreign inputs are answered by the model as it is at this point. */
static enum err_code write_all(const struct eval *eval, struct calibrate *how, struct err *err)
{
    struct eval_inputs foreign;
    if (eval->foreign == NULL)
        return calibrate_write(how, err);
    how->foreign = &foreign.evaluation;
    if (eval_inputs_run(&foreign, eval, eval->foreign, "foreign", err))
        err_prefix(err, "--foreign: ");
    else if (!calibrate_write(how, err))
        foreign_tell(how->foreign_cost, eval->json ? stderr : stdout);
    eval_inputs_close(&foreign);
    return err->code;
}

static enum err_code calibrate_with_examples(struct eval *eval, struct calibrate *how,
                                             struct err *err)
{
    struct known_inputs known;
    if (!known_inputs_open(&known, eval->assessment.model, eval->examples, &eval->fields, err) &&
        !add_ngrams(eval, &known, err) && !run_examples(eval, &known, err)) {
        how->known = &known.evaluation;
        how->known_classes = known.classes;
        how->known_data = &known.dataset;
        write_all(eval, how, err);
    }
    known_inputs_close(&known);
    return err->code;
}

/* The model's decisions on the inputs, before it is calibrated. */
struct before {
    double temperature;
    bool decided; /* it had thresholds */
    struct selective_decisions decisions;
};

static struct before look_before(const struct assessment *assessment)
{
    return (struct before){.temperature = assessment->findings.served.temperature,
                           .decided = assessment->report.decisions != NULL,
                           .decisions = assessment->decisions};
}

static double percent(size_t part, size_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* Thresholds of the printed table are not those of the file if they were raised for foreign inputs,
 * or chosen again with n-grams. */
static void tell_written(const struct eval *eval, const struct before *before,
                         const struct foreign_cost *cost, bool has_ngrams)
{
    const struct findings_figures *fitted = &eval->assessment.findings.fitted;
    const struct selective_decisions *now = &fitted->by_class;
    fprintf(stderr, "attnd-eval: wrote %s/attnd.json: temperature %.3f (before: %.3f), ",
            eval->how.dir, fitted->temperature, before->temperature);
    fputs(has_ngrams   ? "thresholds chosen with the n-grams, which the report above is without"
          : eval->json ? "the thresholds of the report"
                       : "the thresholds of the class table above",
          stderr);
    fprintf(stderr, "%s.\nattnd-eval: %.1f %% of the inputs reach their threshold",
            eval->foreign != NULL ? ", raised for --foreign" : "",
            percent(eval->foreign != NULL ? cost->automatic : now->automatic, now->count));
    if (before->decided)
        fprintf(stderr, "; before, %.1f %% were automatic",
                percent(before->decisions.automatic, before->decisions.count));
    fputs(". An input that the OOD score calls unknown is not automatic\n", stderr);
}

/* A model that is served no longer because its scores were calibrated would surprise. */
enum err_code eval_calibrate(struct eval *eval, struct err *err)
{
    const struct before before = look_before(&eval->assessment);
    struct foreign_cost cost = {0};
    struct calibrate how = {
        .assessment = &eval->assessment, .method = OOD_NEIGHBOURS, .foreign_cost = &cost};
    struct selftest *selftest;
    const size_t inputs = eval->assessment.evaluation.count - eval->assessment.evaluation.failed;
    if (eval->examples != NULL ? calibrate_with_examples(eval, &how, err)
                               : write_all(eval, &how, err))
        return err->code;
    if (eval->examples == NULL && inputs < CALIBRATE_EXAMPLES_MIN)
        fprintf(stderr,
                "attnd-eval: note: ood_score is now the energy of the logits, which finds fewer "
                "unknown inputs: %zu inputs are too few to be examples (%d); give more, or "
                "--examples\n",
                inputs, CALIBRATE_EXAMPLES_MIN);
    if (selftest_open(&selftest, eval->how.dir, &(struct err){0}) != ERR_OK || selftest != NULL)
        fprintf(stderr,
                "attnd-eval: warning: the scores may have changed: write %s again, with "
                "--write-selftest\n",
                SELFTEST_FILE);
    selftest_close(selftest);
    tell_written(eval, &before, &cost,
                 eval->ngrams.characters > 0 &&
                     engine_describe(eval->assessment.model)->ngram_rows > 0);
    return ERR_OK;
}
