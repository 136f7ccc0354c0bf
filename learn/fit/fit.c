#include "learn/fit/fit.h"

#include "engine/base/file.h"
#include "engine/decide/argmax.h"
#include "engine/model/head_parts.h"
#include "engine/prepare/pipeline.h"
#include "learn/eval/fit/example_bank.h"
#include "learn/fit/fit_heads.h"
#include "learn/fit/fit_prior.h"
#include "learn/train/checkpoint/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SEED = 1 }; /* of the bootstrap draws of the intervals */

/* ---- open ---- */

static enum err_code check_head(const struct engine_info *info, struct err *err)
{
    if (info->is_zero_shot)
        return err_set(err, ERR_UNSUPPORTED,
                       "labels of a zero-shot model are texts: change candidate_labels instead");
    if (info->row_size > 0)
        return err_set(
            err, ERR_UNSUPPORTED,
            "it answers parts of a text; a head is fitted for one label of a whole text");
    if (strcmp(info->scores, "softmax") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "its scores are '%s'; a head is fitted for one label of several",
                       info->scores);
    return ERR_OK;
}

/* Reads the examples that the model carries, and its table of n-grams. A new table also learns from
 * the examples, so they must have their n-grams. */
static enum err_code read_head(struct fit *fit, struct err *err)
{
    const char *dir = fit->options.model;
    struct head_parts parts;
    if (fit->old.head_file == NULL)
        return ERR_OK;
    if (head_parts_open(&fit->old, dir, &parts, &fit->arena, err) ||
        example_bank_read(&fit->bank, dir, &fit->old, &fit->arena, err))
        return err->code;
    fit->matrix = parts.matrix;
    fit->table = parts.ngrams;
    if (fit->table.bias != NULL && fit->bank.count > 0 && fit->bank.ngrams == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "it has a table of n-grams, and its examples have none: choose them anew "
                       "with attnd-eval --calibrate --examples");
    return ERR_OK;
}

static enum err_code open_model(struct fit *fit, struct err *err)
{
    const char *dir = fit->options.model;
    const struct engine_options options = {
        .class_prior = "natural",
        .instead = "there is no classifier to fit; attnd-train --task seq2seq trains it"};
    if (engine_open(&fit->model, dir, &options, err) ||
        check_head(engine_describe(fit->model), err) ||
        spec_read(&fit->old, dir, &fit->arena, err) || pipeline_fit(&fit->old, dir, err) ||
        read_head(fit, err))
        return err_prefix(err, "%s: ", dir);
    return ERR_OK;
}

static enum err_code open_data(struct fit *fit, struct err *err)
{
    const size_t known = fit->old.label_count;
    struct dataset_options fields = fit->options.fields;
    fields.kind = engine_describe(fit->model)->kind;
    if (dataset_open(&fit->dataset, fit->options.data, &fields, err))
        return err->code;
    size_t *carried = calloc(known, sizeof *carried);
    if (carried == NULL)
        return err_no_memory(err, known * sizeof *carried);
    for (size_t i = 0; i < fit->bank.count; i++)
        carried[fit->bank.classes[i]]++;
    const struct fit_old_labels old = {fit->old.labels, carried, fit->old.label_count};
    fit_labels_learn(&fit->labels, &fit->dataset, &old, &fit->arena, err);
    free(carried);
    if (err->code != ERR_OK)
        return err_prefix(err, "%s: ", fit->options.data);
    fit->classes = calloc(fit->dataset.count, sizeof *fit->classes);
    if (fit->classes == NULL)
        return err_no_memory(err, fit->dataset.count * sizeof *fit->classes);
    if (dataset_match(&fit->dataset, fit->labels.name, fit->labels.count, fit->classes, err))
        return err->code;
    fit->shifts = arena_alloc_array(&fit->arena, fit->labels.count, sizeof *fit->shifts);
    if (fit->shifts == NULL)
        return err_no_memory(err, fit->labels.count * sizeof *fit->shifts);
    return fit_prior_shifts(fit->options.prior, &fit->labels, fit->shifts, err);
}

enum err_code fit_open(struct fit *out, const struct fit_options *options, struct err *err)
{
    struct stat status;
    *out = (struct fit){.options = *options};
    arena_init(&out->arena);
    arena_init(&out->ngrams.arena);
    if (options->version != NULL && !file_is_part(options->version))
        return err_set(err, ERR_UNUSABLE, "--model-version: " FILE_PART_RULE);
    if (stat(options->out, &status) == 0 || errno != ENOENT)
        return err_set(err, ERR_UNUSABLE,
                       "%s: is there already; a fit writes a directory of its own", options->out);
    return open_model(out, err) != ERR_OK ? err->code : open_data(out, err);
}

static void close_figures(struct fit_figures *figures)
{
    confusion_close(&figures->confusion);
    free(figures->f1);
}

void fit_close(struct fit *fit)
{
    close_figures(&fit->before);
    close_figures(&fit->after);
    evaluation_close(&fit->evaluation);
    engine_close(fit->model);
    ngram_rows_close(&fit->ngrams);
    dataset_close(&fit->dataset);
    free(fit->classes);
    free(fit->learnt);
    fit_rows_close(&fit->rows);
    free(fit->plain);
    free(fit->full);
    arena_deinit(&fit->arena);
    *fit = (struct fit){0};
}

/* ---- features ---- */

/* Checks that enough readable inputs are left of each label. */
static enum err_code check_read(const struct fit *fit, struct err *err)
{
    for (unsigned c = 0; c < fit->labels.count; c++) {
        const char *problem = "examples of it were given other labels";
        size_t read = 0;
        for (size_t i = 0; i < fit->rows.count; i++)
            read += fit->rows.classes[i] == c;
        for (size_t i = 0; i < fit->dataset.count; i++)
            if (fit->classes[i] == c && fit->evaluation.problems[i] != NULL)
                problem = fit->evaluation.problems[i];
        if (read < FIT_EXAMPLES_MIN)
            return err_set(err, ERR_UNUSABLE,
                           "of label '%.60s' %zu inputs are left, and %d are needed: %.200s",
                           fit->labels.name[c], read, FIT_EXAMPLES_MIN, problem);
    }
    return ERR_OK;
}

/* Marks the inputs that the model has learnt: those of the record that training left beside the
 * model, and those of the examples that it carries. Counts the other, fresh ones. */
static enum err_code mark_learnt(struct fit *fit, struct err *err)
{
    const struct evaluation *evaluation = &fit->evaluation;
    struct err cause = {0};
    struct record record;
    bool found;
    fit->learnt = calloc(evaluation->count, sizeof *fit->learnt);
    if (fit->learnt == NULL)
        return err_no_memory(err, evaluation->count * sizeof *fit->learnt);
    record_read(fit->options.model, &found, &record, &cause); /* a damaged one counts as none */
    for (size_t i = 0; i < evaluation->count; i++) {
        fit->learnt[i] = record_knows(&record, evaluation->digests[i]) ||
                         example_bank_find(&fit->bank, evaluation->digests[i]) != SIZE_MAX;
        const bool is_fresh = !fit->learnt[i] && evaluation->problems[i] == NULL;
        fit->fresh_count += is_fresh;
        fit->fresh_known += is_fresh && fit->classes[i] < fit->labels.old_count;
    }
    record_close(&record);
    return err_is_of_system(cause.code) ? err_set(err, cause.code, "%s", cause.text) : ERR_OK;
}

enum err_code fit_features(struct fit *fit, const struct fit_progress *progress, struct err *err)
{
    const struct evaluation_options how = {.threads = fit->options.threads,
                                           .usable_min = fit->options.usable_min,
                                           .features = true,
                                           .progress = progress->call,
                                           .context = progress->context};
    const bool has_table = fit->table.bias != NULL;
    if (evaluation_run(&fit->evaluation, fit->model, &fit->dataset, &how, err))
        return err->code;
    if (has_table && ngram_rows_open(&fit->ngrams, &fit->table.reading, &fit->dataset, err))
        return err_prefix(err, "%s: ", fit->options.data);
    const struct fit_data data = {&fit->evaluation, fit->classes,
                                  has_table ? fit->ngrams.lists : NULL};
    if (fit_rows_open(&fit->rows, &data, &fit->bank, fit->labels.count, err) ||
        check_read(fit, err))
        return err->code;
    /* If the data only add labels, the classifier of the old labels can stay: no input has an old
     * label, no input corrects an example, and the prior is the natural one. A model that answers
     * by two classifiers is fitted anew. */
    const struct fit_rows *rows = &fit->rows;
    fit->adds = fit->labels.count > fit->labels.old_count && spec_head_tokens(&fit->old) == 1 &&
                strcmp(fit->options.prior, "natural") == 0;
    for (size_t i = 0; i < rows->of_data && fit->adds; i++)
        fit->adds = rows->classes[i] >= fit->labels.old_count &&
                    example_bank_find(&fit->bank, rows->digests[i]) == SIZE_MAX;
    return mark_learnt(fit, err);
}

/* ---- before and after ---- */

/* Computes figures of the winners among the first `labels` labels. */
static enum err_code take_figures(struct fit_figures *out, const struct fit *fit,
                                  const float *logits, unsigned labels, struct err *err)
{
    if (confusion_open(&out->confusion, fit->labels.count, err))
        return err->code;
    for (size_t i = 0; i < fit->rows.count; i++)
        confusion_add(&out->confusion, fit->rows.classes[i], argmax(logits + i * labels, labels));
    confusion_finish(&out->confusion);
    out->accuracy = wilson_interval(out->confusion.hits, out->confusion.count);
    out->f1 = calloc(fit->labels.count, sizeof *out->f1);
    if (out->f1 == NULL)
        return err_no_memory(err, fit->labels.count * sizeof *out->f1);
    return interval_bootstrap_f1(&out->macro_f1, out->f1, &out->confusion, SEED, err);
}

enum err_code fit_head(struct fit *fit, const struct fit_progress *progress, struct err *err)
{
    if (fit_heads(fit, progress, err) || fit_ngrams(fit, err) || fit_bias(fit, err) ||
        take_figures(&fit->before, fit, fit->rows.before, fit->labels.old_count, err))
        return err->code;
    return take_figures(&fit->after, fit, fit->rows.after, fit->labels.count, err);
}

enum err_code fit_accept(struct fit *fit, struct err *err)
{
    double worst = 0;
    unsigned label = 0;
    for (unsigned c = 0; c < fit->labels.old_count; c++) {
        double loss = fit->before.confusion.classes[c].f1 - fit->after.confusion.classes[c].f1;
        if (loss > worst) {
            worst = loss;
            label = c;
        }
    }
    if (100 * worst <= fit->options.loss_max)
        return ERR_OK;
    fit->is_refused = true;
    return err_set(err, ERR_UNUSABLE,
                   "label '%.60s' would fall from F1 %.4f to %.4f, by more than %g points; give "
                   "more inputs of it, or raise --loss-max",
                   fit->labels.name[label], fit->before.confusion.classes[label].f1,
                   fit->after.confusion.classes[label].f1, fit->options.loss_max);
}
