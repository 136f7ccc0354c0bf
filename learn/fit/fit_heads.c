#include "learn/fit/fit_heads.h"

#include "engine/format/checkpoint.h"
#include "learn/fit/feature_basis.h"
#include "learn/fit/head_fit.h"
#include "learn/train/network/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- progress over both heads ---- */

struct counter {
    const struct fit_progress *progress;
    size_t before, done;
};

static void count(void *context, size_t done)
{
    struct counter *counter = context;
    counter->done = counter->before + done;
    if (counter->progress->call != NULL)
        counter->progress->call(counter->progress->context, counter->done);
}

/* ---- the old labels' classifier ---- */

/* Copies model.safetensors' classifier to rows [old labels, width + 1]; weights of further features
 * are 0. */
static enum err_code read_classifier(const struct fit *fit, unsigned width, float *rows,
                                     struct err *err)
{
    const size_t features = spec_features(&fit->old), labels = fit->labels.old_count;
    struct parameters parameters;
    struct parameters_loaded loaded;
    struct checkpoint *checkpoint = NULL;
    if (!parameters_open(&parameters, &fit->old, HEAD_CLASSIFIER, err) &&
        !checkpoint_open(&checkpoint, fit->options.model, err) &&
        !parameters_load(&parameters, checkpoint, &loaded, err)) {
        const struct parameters_map *map = &parameters.map;
        for (size_t c = 0; c < labels; c++) {
            float *row = rows + c * (width + 1);
            memset(row, 0, width * sizeof *row);
            memcpy(row, parameters.values + map->classifier_weight + c * features,
                   features * sizeof *row);
            row[width] = parameters.values[map->classifier_bias + c];
        }
    }
    checkpoint_close(checkpoint);
    parameters_close(&parameters);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", fit->options.model) : ERR_OK;
}

/* given [rows, old labels] = logits of the classifier `old` [old labels, width + 1] on the first
 * `width` features of each row. */
static void give_logits(const struct fit *fit, unsigned width, const float *old, float *given)
{
    const struct fit_rows *rows = &fit->rows;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t c = 0; c < rows->old_labels; c++) {
            const float *row = old + c * (width + 1), *features = rows->features + i * rows->width;
            double sum = (double)row[width];
            for (unsigned j = 0; j < width; j++)
                sum += (double)row[j] * (double)features[j];
            given[i * rows->old_labels + c] = (float)sum;
        }
}

/* ---- one head ---- */

/* A head in the features' own coordinates, and its left-out answers. */
struct fitted {
    unsigned width, known; /* known labels come first and keep their classifier */
    float *weights;        /* [labels, width + 1]; the last number of a row is its bias */
    float *given;          /* [count, known] logits of the known labels' classifier */
    float *logits;         /* [count, labels] */
    double strength, loss;
};

static enum err_code open_fitted(struct fitted *out, const struct fit *fit, unsigned width,
                                 struct err *err)
{
    const size_t numbers = fit->labels.count * ((size_t)width + 1);
    const struct head_matrix *matrix = &fit->matrix;
    *out = (struct fitted){.width = width, .known = fit->adds ? fit->labels.old_count : 0};
    float *weights = out->weights = calloc(numbers, sizeof *weights);
    out->given = calloc(fit->rows.count * out->known + 1, sizeof *out->given);
    if (weights == NULL || out->given == NULL)
        return err_no_memory(err, numbers * sizeof *weights);
    if (out->known == 0)
        return ERR_OK;
    /* The old labels' classifier; for the full head the model's own matrix, if it has one. */
    if (matrix->weight == NULL || width != matrix->width) {
        if (read_classifier(fit, width, weights, err))
            return err->code;
    } else {
        for (size_t c = 0; c < matrix->labels; c++) {
            memcpy(weights + c * (width + 1), matrix->weight + c * width, width * sizeof *weights);
            weights[c * (width + 1) + width] = matrix->bias[c];
        }
    }
    give_logits(fit, width, weights, out->given);
    return ERR_OK;
}

static void close_fitted(struct fitted *fitted)
{
    free(fitted->weights);
    free(fitted->given);
    free(fitted->logits);
}

/* Fits a head on the table's features, in the coordinates of feature_basis.h. */
static enum err_code fit_table(struct fit *fit, const struct feature_table *table,
                               struct counter *counter, struct fitted *out, struct err *err)
{
    struct head_cross cross = {0};
    struct feature_basis basis;
    if (open_fitted(out, fit, table->width, err) ||
        feature_basis_fit(&basis, table, &fit->arena, err))
        return err->code;
    float *rows = calloc(table->count * basis.rank, sizeof *rows);
    const struct head_rows projected = {.rows = rows,
                                        .classes = fit->rows.classes,
                                        .count = fit->rows.count,
                                        .width = basis.rank,
                                        .labels = fit->labels.count,
                                        .variances = basis.variances,
                                        .known = out->known,
                                        .given = out->given};
    if (rows == NULL) {
        err_no_memory(err, table->count * basis.rank * sizeof *rows);
        goto out;
    }
    counter->before = counter->done;
    if (feature_basis_project(&basis, table, rows, err) ||
        head_cross_run(&cross, &projected, fit->rows.digests, fit->options.threads, count, counter,
                       err))
        goto out;
    feature_basis_restore(&basis, cross.weights, head_rows_fitted(&projected),
                          out->weights + out->known * ((size_t)out->width + 1));
    out->logits = cross.logits;
    cross.logits = NULL; /* `out` owns them now */
    out->strength = cross.strength;
    out->loss = cross.loss;
out:
    head_cross_close(&cross);
    free(rows);
    return err->code;
}

/* ---- features and mean ---- */

/* The sum of the variances of columns [first, last). */
static double variance_of(const struct fit_rows *rows, unsigned first, unsigned last)
{
    double sum = 0;
    for (unsigned j = first; j < last; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < rows->count; i++) {
            const double x = (double)rows->features[i * rows->width + j];
            mean += x / (double)rows->count;
            square += x * x / (double)rows->count;
        }
        sum += fmax(square - mean * mean, 0);
    }
    return sum;
}

static enum err_code fit_full(struct fit *fit, struct counter *counter, struct fitted *out,
                              struct err *err)
{
    const unsigned features = spec_features(&fit->old), width = fit->rows.width;
    const size_t numbers = fit->rows.count * width;
    /* Factor by which the mean's features are multiplied so that they vary as much as the others.
     */
    const double of_mean = variance_of(&fit->rows, features, width);
    const double of_features = variance_of(&fit->rows, 0, features);
    const float balance = of_mean > 0 && of_features > 0 ? (float)sqrt(of_features / of_mean) : 1;
    float *balanced = malloc(numbers * sizeof *balanced);
    if (balanced == NULL)
        return err_no_memory(err, numbers * sizeof *balanced);
    for (size_t i = 0; i < numbers; i++)
        balanced[i] = fit->rows.features[i] * (i % width < features ? 1 : balance);
    const struct feature_table table = {
        .features = balanced, .count = fit->rows.count, .stride = width, .width = width};
    if (!fit_table(fit, &table, counter, out, err))
        for (size_t c = out->known; c < fit->labels.count; c++)
            for (unsigned j = features; j < width; j++)
                out->weights[c * (width + 1) + j] *= balance;
    free(balanced);
    return err->code;
}

/* ---- both heads ---- */

/* Moves the weights out of `fitted` and adds the shifts of the prior. */
static float *take_weights(const struct fit *fit, struct fitted *fitted)
{
    const size_t width = fitted->width;
    float *weights = fitted->weights;
    for (size_t c = 0; c < fit->labels.count; c++)
        weights[c * (width + 1) + width] += fit->shifts[c];
    fitted->weights = NULL;
    return weights;
}

enum err_code fit_heads(struct fit *fit, const struct fit_progress *progress, struct err *err)
{
    const struct feature_table features = {.features = fit->rows.features,
                                           .count = fit->rows.count,
                                           .stride = fit->rows.width,
                                           .width = spec_features(&fit->old)};
    struct counter counter = {.progress = progress};
    struct fitted plain = {0}, full = {0};
    const bool is_one = spec_head_tokens(&fit->old) == 1; /* else two classifiers answer */
    if (!fit_table(fit, &features, &counter, &plain, err) &&
        (!is_one || !fit_full(fit, &counter, &full, err))) {
        const bool stays_full = fit->adds && fit->matrix.weight != NULL;
        const bool is_full = stays_full || (is_one && full.loss < plain.loss);
        const struct fitted *served = is_full ? &full : &plain;
        const size_t labels = fit->labels.count;
        fit->strength = served->strength;
        for (size_t i = 0; i < fit->rows.count * labels; i++)
            fit->rows.after[i] = served->logits[i] + fit->shifts[i % labels];
        fit->plain = take_weights(fit, &plain);
        fit->full = is_full ? take_weights(fit, &full) : NULL;
    }
    close_fitted(&plain);
    close_fitted(&full);
    return err->code;
}
