#include "learn/fit/fit_heads.h"

#include "learn/fit/feature_basis.h"
#include "learn/fit/head_cross.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- progress over both ---- */

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

/* ---- one head ---- */

/* A head in the features' own coordinates, and its answers that were left out. */
struct fitted {
    float *weights; /* [labels, width + 1], the last of a row its bias */
    float *logits;  /* [count, labels] */
    double strength, loss;
};

static void close_fitted(struct fitted *fitted)
{
    free(fitted->weights);
    free(fitted->logits);
}

static enum err_code keep(struct fitted *out, const struct feature_basis *basis,
                          struct head_cross *cross, unsigned labels, struct err *err)
{
    const size_t numbers = labels * ((size_t)basis->width + 1);
    out->weights = calloc(numbers, sizeof *out->weights);
    if (out->weights == NULL)
        return err_no_memory(err, numbers * sizeof *out->weights);
    feature_basis_restore(basis, cross->weights, labels, out->weights);
    out->logits = cross->logits;
    cross->logits = NULL; /* ours now */
    out->strength = cross->strength;
    out->loss = cross->loss;
    return ERR_OK;
}

/* rows: [count, basis->rank] */
static enum err_code fit_projected(const struct fit *fit, const struct feature_basis *basis,
                                   const float *rows, struct counter *counter, struct fitted *out,
                                   struct err *err)
{
    struct head_cross cross = {0};
    const struct head_rows table = {.rows = rows,
                                    .classes = fit->rows.classes,
                                    .count = fit->rows.count,
                                    .width = basis->rank,
                                    .labels = fit->labels.count,
                                    .variances = basis->variances};
    counter->before = counter->done;
    if (!head_cross_run(&cross, &table, fit->rows.digests, fit->options.threads, count, counter,
                        err))
        keep(out, basis, &cross, fit->labels.count, err);
    head_cross_close(&cross);
    return err->code;
}

static enum err_code fit_table(struct fit *fit, const struct feature_table *table,
                               struct counter *counter, struct fitted *out, struct err *err)
{
    struct feature_basis basis;
    *out = (struct fitted){0};
    if (feature_basis_fit(&basis, table, &fit->arena, err))
        return err->code;
    float *rows = calloc(table->count * basis.rank, sizeof *rows);
    if (rows == NULL)
        err_no_memory(err, table->count * basis.rank * sizeof *rows);
    else if (!feature_basis_project(&basis, table, rows, err))
        fit_projected(fit, &basis, rows, counter, out, err);
    free(rows);
    return err->code;
}

static enum err_code fit_plain(struct fit *fit, struct counter *counter, struct fitted *out,
                               struct err *err)
{
    const struct feature_table table = {.features = fit->rows.features,
                                        .count = fit->rows.count,
                                        .stride = fit->rows.width,
                                        .width = spec_features(&fit->old)};
    return fit_table(fit, &table, counter, out, err);
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

/* What a mean is multiplied by to vary as much as the features do. */
static float balance_of(const struct fit *fit)
{
    const unsigned features = spec_features(&fit->old);
    const double of_mean = variance_of(&fit->rows, features, fit->rows.width);
    const double of_features = variance_of(&fit->rows, 0, features);
    return of_mean > 0 && of_features > 0 ? (float)sqrt(of_features / of_mean) : 1;
}

static enum err_code fit_full(struct fit *fit, struct counter *counter, struct fitted *out,
                              struct err *err)
{
    const unsigned features = spec_features(&fit->old), width = fit->rows.width;
    const size_t numbers = fit->rows.count * width;
    const float balance = balance_of(fit);
    float *balanced = malloc(numbers * sizeof *balanced);
    if (balanced == NULL)
        return err_no_memory(err, numbers * sizeof *balanced);
    for (size_t i = 0; i < numbers; i++)
        balanced[i] = fit->rows.features[i] * (i % width < features ? 1 : balance);
    const struct feature_table table = {
        .features = balanced, .count = fit->rows.count, .stride = width, .width = width};
    if (!fit_table(fit, &table, counter, out, err))
        for (size_t i = 0; i < fit->labels.count * ((size_t)width + 1); i++)
            if (i % (width + 1) >= features && i % (width + 1) < width)
                out->weights[i] *= balance;
    free(balanced);
    return err->code;
}

/* ---- both ---- */

/* The weights with the shifts of the prior; out of `fitted`. */
static float *take_weights(const struct fit *fit, struct fitted *fitted, unsigned width)
{
    float *weights = fitted->weights;
    for (size_t c = 0; c < fit->labels.count; c++)
        weights[c * (width + 1) + width] += fit->shifts[c];
    fitted->weights = NULL;
    return weights;
}

static void take_answers(struct fit *fit, const struct fitted *served)
{
    const size_t labels = fit->labels.count;
    fit->strength = served->strength;
    for (size_t i = 0; i < fit->rows.count * labels; i++)
        fit->rows.after[i] = served->logits[i] + fit->shifts[i % labels];
}

enum err_code fit_heads(struct fit *fit, const struct fit_progress *progress, struct err *err)
{
    struct counter counter = {.progress = progress};
    struct fitted plain = {0}, full = {0};
    const bool is_one = spec_head_tokens(&fit->old) == 1; /* else two classifiers answer */
    if (!fit_plain(fit, &counter, &plain, err) &&
        (!is_one || !fit_full(fit, &counter, &full, err))) {
        const bool is_full = is_one && full.loss < plain.loss;
        take_answers(fit, is_full ? &full : &plain);
        fit->plain = take_weights(fit, &plain, spec_features(&fit->old));
        fit->full = is_full ? take_weights(fit, &full, fit->rows.width) : NULL;
    }
    close_fitted(&plain);
    close_fitted(&full);
    return err->code;
}
