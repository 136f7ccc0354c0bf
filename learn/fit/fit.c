#include "learn/fit/fit.h"

#include "learn/fit/feature_basis.h"
#include "learn/fit/fit_prior.h"
#include "learn/fit/head_cross.h"
#include "learn/train/checkpoint/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SEED = 1 }; /* of the draws behind intervals */

/* ---- open ---- */

static enum err_code check_absent(const char *dir, struct err *err)
{
    struct stat status;
    if (stat(dir, &status) != 0 && errno == ENOENT)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s: is there already; a fit writes a directory of its own",
                   dir);
}

static enum err_code check_head(const struct engine_info *info, struct err *err)
{
    if (info->is_zero_shot)
        return err_set(err, ERR_UNSUPPORTED,
                       "labels of a zero-shot model are texts: change candidate_labels instead");
    if (strcmp(info->scores, "softmax") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "its scores are '%s'; a head is fitted for one label of several",
                       info->scores);
    return ERR_OK;
}

static enum err_code open_data(struct fit *fit, struct err *err)
{
    const struct engine_info *info = engine_describe(fit->model);
    struct dataset_options fields = fit->options.fields;
    fields.kind = info->kind;
    if (dataset_open(&fit->dataset, fit->options.data, &fields, err))
        return err->code;
    if (fit_labels_learn(&fit->labels, &fit->dataset, info->labels, info->label_count, &fit->arena,
                         err))
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
    *out = (struct fit){.options = *options};
    arena_init(&out->arena);
    if (check_absent(options->out, err))
        return err->code;
    if (engine_open(&out->model, options->model, &(struct engine_options){0}, err) ||
        check_head(engine_describe(out->model), err))
        return err_prefix(err, "%s: ", options->model);
    return open_data(out, err);
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
    dataset_close(&fit->dataset);
    free(fit->classes);
    free(fit->learnt);
    free(fit->logits);
    free(fit->plain);
    arena_deinit(&fit->arena);
    *fit = (struct fit){0};
}

/* ---- features ---- */

static enum err_code check_read(const struct fit *fit, struct err *err)
{
    for (unsigned c = 0; c < fit->labels.count; c++) {
        const char *problem = NULL;
        size_t read = 0;
        for (size_t i = 0; i < fit->dataset.count; i++)
            if (fit->classes[i] == c && fit->evaluation.problems[i] == NULL)
                read++;
            else if (fit->classes[i] == c)
                problem = fit->evaluation.problems[i];
        if (read < FIT_EXAMPLES_MIN)
            return err_set(err, ERR_UNUSABLE,
                           "of label '%.60s' %zu inputs can be read, and %d are needed: %.200s",
                           fit->labels.name[c], read, FIT_EXAMPLES_MIN, problem);
    }
    return ERR_OK;
}

/* By the record that training left beside the model, if there is one. */
static enum err_code mark_learnt(struct fit *fit, struct err *err)
{
    const struct evaluation *evaluation = &fit->evaluation;
    struct err cause = {0};
    struct record record;
    bool found;
    fit->learnt = calloc(evaluation->count, sizeof *fit->learnt);
    if (fit->learnt == NULL)
        return err_no_memory(err, evaluation->count * sizeof *fit->learnt);
    record_read(fit->options.model, &found, &record, &cause); /* a damaged one tells nothing */
    for (size_t i = 0; i < evaluation->count; i++) {
        fit->learnt[i] = record_knows(&record, evaluation->digests[i]);
        fit->fresh_count += !fit->learnt[i] && evaluation->problems[i] == NULL;
    }
    record_close(&record);
    return err_is_of_system(cause.code) ? err_set(err, cause.code, "%s", cause.text) : ERR_OK;
}

enum err_code fit_features(struct fit *fit, const struct fit_progress *progress, struct err *err)
{
    const struct evaluation_options how = {.threads = fit->options.threads,
                                           .features = true,
                                           .progress = progress->call,
                                           .context = progress->context};
    if (evaluation_run(&fit->evaluation, fit->model, &fit->dataset, &how, err))
        return err_prefix(err, "%s: ", fit->options.data);
    return check_read(fit, err) != ERR_OK ? err->code : mark_learnt(fit, err);
}

/* ---- the head ---- */

/* What can be fitted: rows of the inputs that did not fail. */
struct usable {
    float *features;   /* [count, feature size] */
    float *rows;       /* [count, rank] */
    unsigned *classes; /* [count] */
    uint64_t *digests; /* [count] */
    size_t *items;     /* [count] of the data set */
    size_t count;
};

static enum err_code take_usable(struct usable *out, const struct fit *fit, struct err *err)
{
    const struct evaluation *evaluation = &fit->evaluation;
    size_t room = evaluation->count - evaluation->failed, width = evaluation->hidden_size;
    out->features = calloc(room * width, sizeof *out->features);
    out->rows = calloc(room * width, sizeof *out->rows);
    out->classes = calloc(room, sizeof *out->classes);
    out->digests = calloc(room, sizeof *out->digests);
    out->items = calloc(room, sizeof *out->items);
    if (out->features == NULL || out->rows == NULL || out->classes == NULL ||
        out->digests == NULL || out->items == NULL)
        return err_no_memory(err, 2 * room * width * sizeof *out->features);
    for (size_t i = 0; i < evaluation->count; i++) {
        if (evaluation->problems[i] != NULL)
            continue;
        size_t at = out->count++;
        memcpy(out->features + at * width, evaluation_features(evaluation, i),
               width * sizeof *out->features);
        out->classes[at] = fit->classes[i];
        out->digests[at] = evaluation->digests[i];
        out->items[at] = i;
    }
    return ERR_OK;
}

static void free_usable(struct usable *usable)
{
    free(usable->features);
    free(usable->rows);
    free(usable->classes);
    free(usable->digests);
    free(usable->items);
}

static enum err_code keep_head(struct fit *fit, const struct usable *usable,
                               const struct feature_basis *basis, const struct head_cross *cross,
                               struct err *err)
{
    size_t labels = fit->labels.count;
    fit->strength = cross->strength;
    fit->plain = calloc(labels * (basis->width + 1), sizeof *fit->plain);
    fit->logits = calloc(fit->dataset.count * labels, sizeof *fit->logits);
    if (fit->plain == NULL || fit->logits == NULL)
        return err_no_memory(err, fit->dataset.count * labels * sizeof *fit->logits);
    feature_basis_restore(basis, cross->weights, fit->labels.count, fit->plain);
    for (size_t c = 0; c < labels; c++)
        fit->plain[c * (basis->width + 1) + basis->width] += fit->shifts[c];
    for (size_t i = 0; i < usable->count; i++)
        for (size_t c = 0; c < labels; c++)
            fit->logits[usable->items[i] * labels + c] =
                cross->logits[i * labels + c] + fit->shifts[c];
    return ERR_OK;
}

static enum err_code fit_usable(struct fit *fit, struct usable *usable,
                                const struct fit_progress *progress, struct err *err)
{
    const struct feature_table table = {
        .features = usable->features, .count = usable->count, .width = fit->evaluation.hidden_size};
    struct feature_basis basis;
    struct head_cross cross = {0};
    if (feature_basis_fit(&basis, &table, &fit->arena, err) ||
        feature_basis_project(&basis, &table, usable->rows, err))
        return err->code;
    const struct head_rows rows = {.rows = usable->rows,
                                   .classes = usable->classes,
                                   .count = usable->count,
                                   .width = basis.rank,
                                   .labels = fit->labels.count,
                                   .variances = basis.variances};
    if (!head_cross_run(&cross, &rows, usable->digests, fit->options.threads, progress->call,
                        progress->context, err))
        keep_head(fit, usable, &basis, &cross, err);
    head_cross_close(&cross);
    return err->code;
}

/* ---- before and after ---- */

static unsigned winner_of(const float *logits, unsigned labels)
{
    unsigned best = 0;
    for (unsigned c = 1; c < labels; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

/* Of winners among the first `labels` labels. */
static enum err_code take_figures(struct fit_figures *out, const struct fit *fit,
                                  const float *logits, unsigned labels, struct err *err)
{
    if (confusion_open(&out->confusion, fit->labels.count, err))
        return err->code;
    for (size_t i = 0; i < fit->dataset.count; i++)
        if (fit->evaluation.problems[i] == NULL)
            confusion_add(&out->confusion, fit->classes[i], winner_of(logits + i * labels, labels));
    confusion_finish(&out->confusion);
    out->accuracy = wilson_interval(out->confusion.hits, out->confusion.count);
    out->f1 = calloc(fit->labels.count, sizeof *out->f1);
    if (out->f1 == NULL)
        return err_no_memory(err, fit->labels.count * sizeof *out->f1);
    return interval_bootstrap_f1(&out->macro_f1, out->f1, &out->confusion, SEED, err);
}

enum err_code fit_head(struct fit *fit, const struct fit_progress *progress, struct err *err)
{
    struct usable usable = {0};
    if (!take_usable(&usable, fit, err))
        fit_usable(fit, &usable, progress, err);
    free_usable(&usable);
    if (err->code != ERR_OK ||
        take_figures(&fit->before, fit, fit->evaluation.logits, fit->labels.old_count, err))
        return err->code;
    return take_figures(&fit->after, fit, fit->logits, fit->labels.count, err);
}

enum err_code fit_accept(const struct fit *fit, struct err *err)
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
    return err_set(err, ERR_UNUSABLE,
                   "label '%.60s' would fall from F1 %.4f to %.4f, by more than %g points; give "
                   "more inputs of it, or raise --loss-max",
                   fit->labels.name[label], fit->before.confusion.classes[label].f1,
                   fit->after.confusion.classes[label].f1, fit->options.loss_max);
}
