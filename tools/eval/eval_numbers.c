/* eval_numbers.c - see eval.h: a regression, whose data have numbers for labels. */
#include "learn/eval/measure/number_errors.h"
#include "tools/eval/eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS_SHOWN = 8 };

bool eval_is_of_numbers(const struct eval *eval)
{
    return strcmp(engine_describe(eval->assessment.model)->scores, "none") == 0;
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
                {eval->out != NULL, "out"},
                {eval->logits != NULL, "logits"},
                {eval->out_of_fold_count > 0, "out-of-fold"},
                {eval->refers, "reference"},
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
    const struct engine_info *info = engine_describe(eval->assessment.model);
    const size_t count = eval->dataset.count;
    if (info->label_count != 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: answers %u numbers; attnd-eval judges models with one", eval->how.dir,
                       info->label_count);
    if (refuse_options(eval, err))
        return err->code;
    eval->numbers = calloc(count, sizeof *eval->numbers);
    if (eval->numbers == NULL)
        return err_no_memory(err, count * sizeof *eval->numbers);
    for (size_t i = 0; i < count; i++) {
        const struct dataset_item *item = &eval->dataset.items[i];
        char *end;
        eval->numbers[i] = strtod(item->label, &end);
        if (end == item->label || *end != '\0' || !isfinite(eval->numbers[i]))
            return err_set(err, ERR_UNUSABLE,
                           "%s: %s: the label '%.60s' is no number, and the model answers numbers",
                           eval->data, item->name, item->label);
    }
    return ERR_OK;
}

static void put_number(const char *name, double number)
{
    if (isnan(number))
        printf("\"%s\": null", name);
    else
        printf("\"%s\": %.9g", name, number);
}

static void print_json(const struct number_errors *errors, size_t failed)
{
    printf("{\"task\": \"regression\", \"inputs\": %zu, \"failed\": %zu, "
           "\"mean_absolute_error\": %.9g, \"root_mean_square_error\": %.9g, \"bias\": %.9g, "
           "\"largest_error\": %.9g, \"standard_deviation\": %.9g, ",
           errors->count + failed, failed, errors->mean_absolute, errors->root_mean_square,
           errors->bias, errors->largest, errors->standard_deviation);
    put_number("r_squared", errors->r_squared);
    printf(", ");
    put_number("spearman", errors->spearman);
    printf("}\n");
}

static void print_figures(const struct eval *eval, const struct number_errors *errors)
{
    const struct evaluation *evaluation = &eval->assessment.evaluation;
    const struct engine_info *info = engine_describe(eval->assessment.model);
    printf("model                   %s, %s\n", eval->how.dir, info->dtype);
    printf("inputs                  %zu, of which %zu failed\n", evaluation->count,
           evaluation->failed);
    for (size_t i = 0, shown = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] != NULL && shown++ < PROBLEMS_SHOWN)
            printf("  %s: %s\n", eval->dataset.items[i].name, evaluation->problems[i]);
    printf("mean absolute error     %.4g\n", errors->mean_absolute);
    printf("root mean square error  %.4g (always the data's mean: %.4g)\n",
           errors->root_mean_square, errors->standard_deviation);
    printf("bias                    %+.4g\n", errors->bias);
    printf("largest error           %.4g\n", errors->largest);
    if (!isnan(errors->r_squared))
        printf("R squared               %.4f\n", errors->r_squared);
    if (!isnan(errors->spearman))
        printf("Spearman's rho          %.4f\n", errors->spearman);
}

enum err_code eval_numbers_run(struct eval *eval, struct err *err)
{
    struct evaluation *evaluation = &eval->assessment.evaluation;
    struct screen_counter progress;
    struct number_errors errors;
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    const struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    evaluation_run(evaluation, eval->assessment.model, &eval->dataset, &how, err);
    screen_clear(&progress.screen);
    double *answered = err->code == ERR_OK ? calloc(evaluation->count, sizeof *answered) : NULL;
    if (answered == NULL)
        return err_no_memory(err, evaluation->count * sizeof *answered);
    size_t count = 0;
    for (size_t i = 0; i < evaluation->count; i++)
        if (evaluation->problems[i] == NULL) {
            answered[count] = (double)*evaluation_logits(evaluation, i);
            eval->numbers[count++] = eval->numbers[i];
        }
    if (number_errors_measure(&errors, answered, eval->numbers, count, err) == ERR_OK) {
        if (eval->json)
            print_json(&errors, evaluation->failed);
        else
            print_figures(eval, &errors);
    }
    free(answered);
    return err->code;
}
