#include "learn/fit/fit_heads.h"

#include "engine/base/thread_pool.h"
#include "learn/fit/folds.h"
#include "learn/ngrams/ngram_fit.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The fit ends when a step promises a smaller gain of the mean log-likelihood (lbfgs.h). */
#define GAIN_MIN 1e-7

/* One fit for each fold that is left out, then one of all rows. */
enum { FITS = FOLDS + 1 };

/* The fitted columns, and their evidence for each row. */
struct columns {
    struct fit *fit;
    unsigned old_labels, new_labels;
    unsigned char *folds; /* [rows.count] */
    float *scores;        /* [rows.count, old_labels] of the old table, unscaled */
    float *weight;        /* [table rows, new_labels] fitted on all rows */
    float *bias;          /* [new_labels] fitted on all rows */
    float *evidence;      /* [rows.count, labels] unscaled; the new labels' is left out */
    atomic_uint next;     /* the next fit to take; partners: the members of the pool */
    struct err err[FITS];
    struct arena arena;
};

static size_t weights_of(const struct columns *columns)
{
    return columns->fit->table.reading.rows * (size_t)columns->new_labels;
}

static enum err_code open_columns(struct columns *columns, struct fit *fit, struct err *err)
{
    const size_t rows = fit->rows.count, labels = fit->labels.count;
    *columns = (struct columns){.fit = fit,
                                .old_labels = fit->labels.old_count,
                                .new_labels = fit->labels.count - fit->labels.old_count};
    const size_t numbers = weights_of(columns);
    struct arena *arena = &columns->arena;
    columns->folds = arena_alloc_array(arena, rows, sizeof *columns->folds);
    columns->scores = arena_alloc_array(arena, rows * columns->old_labels, sizeof(float));
    columns->weight = arena_alloc_array(arena, numbers, sizeof *columns->weight);
    columns->bias = arena_alloc_array(arena, columns->new_labels, sizeof *columns->bias);
    columns->evidence = arena_alloc_array(arena, rows * labels, sizeof *columns->evidence);
    if (arena->failed)
        return err_no_memory(err, (numbers + rows * labels) * sizeof *columns->weight);
    return folds_deal(fit->rows.digests, fit->rows.classes, rows, columns->folds, err);
}

/* ---- new labels ---- */

static size_t learnt_of(const struct columns *columns, unsigned class, unsigned left_out)
{
    size_t count = 0;
    for (size_t i = 0; i < columns->fit->rows.count; i++)
        count += columns->fit->rows.classes[i] == class && columns->folds[i] != left_out;
    return count;
}

/* Fits weight [table rows, new_labels] and bias [new_labels]. */
static enum err_code fit_columns(const struct columns *columns, unsigned left_out, float *weight,
                                 float *bias, struct err *err)
{
    const struct fit_rows *rows = &columns->fit->rows;
    const struct ngram_problem problem = {.lists = rows->ngrams,
                                          .count = rows->count,
                                          .classes = rows->classes,
                                          .folds = columns->folds,
                                          .left_out = left_out,
                                          .labels = rows->labels,
                                          .known = columns->old_labels,
                                          .scores = columns->scores,
                                          .table_rows = columns->fit->table.reading.rows,
                                          .strength = 1 / (NGRAM_FIT_TRUST * (double)rows->count),
                                          .gain_min = GAIN_MIN};
    if (!ngram_fit(&problem, weight, bias, err)) {
        /* Each new label's bias grows by the log of how much rarer it was among the learnt rows
         * than the old labels on average. */
        double old = 0;
        for (unsigned c = 0; c < columns->old_labels; c++)
            old += (double)learnt_of(columns, c, left_out) / columns->old_labels;
        for (unsigned c = 0; c < columns->new_labels; c++) {
            const double own = (double)learnt_of(columns, columns->old_labels + c, left_out);
            bias[c] += (float)log((old + 0.5) / (own + 0.5));
        }
    }
    return err->code;
}

/* Computes evidence for a fold's rows, from columns that have not learnt them. */
static enum err_code leave_out(struct columns *columns, unsigned fold, struct err *err)
{
    const struct fit_rows *rows = &columns->fit->rows;
    const size_t weights = weights_of(columns);
    float *weight = calloc(weights + columns->new_labels, sizeof *weight);
    if (weight == NULL)
        return err_no_memory(err, weights * sizeof *weight);
    const struct ngram_table table = {
        .labels = columns->new_labels, .weight = weight, .bias = weight + weights};
    if (!fit_columns(columns, fold, weight, weight + weights, err))
        for (size_t i = 0; i < rows->count; i++)
            if (columns->folds[i] == fold)
                ngram_table_add_up(&table, &rows->ngrams[i],
                                   columns->evidence + i * rows->labels + columns->old_labels);
    free(weight);
    return err->code;
}

/* Each fit writes only the evidence of its own fold's rows. */
static void run_fits(void *context, unsigned thread, unsigned threads)
{
    struct columns *columns = context;
    (void)thread;
    (void)threads;
    for (unsigned i;
         (i = atomic_fetch_add_explicit(&columns->next, 1, memory_order_relaxed)) < FITS;)
        if (i < FOLDS)
            leave_out(columns, i, &columns->err[i]);
        else
            fit_columns(columns, i, columns->weight, columns->bias, &columns->err[i]);
}

/* ---- the weight ---- */

/* Spread of the old labels' logits: their variance within a row, summed over rows. `less`, if not
 * NULL, is the old table's unscaled evidence [rows.count, old_labels], which is subtracted first.
 */
static double spread(const struct columns *columns, const float *logits, size_t stride,
                     const float *less)
{
    const unsigned old = columns->old_labels;
    double sum = 0;
    for (size_t i = 0; i < columns->fit->rows.count; i++) {
        double mean = 0, squares = 0;
        for (unsigned c = 0; c < old; c++) {
            double value = (double)logits[i * stride + c];
            if (less != NULL)
                value -= columns->fit->table.scale * (double)less[i * old + c];
            mean += value / old;
            squares += value * value / old;
        }
        sum += fmax(squares - mean * mean, 0);
    }
    return sum;
}

/* ---- the table ---- */

static enum err_code make_table(const struct columns *columns, double scale, struct err *err)
{
    struct fit *fit = columns->fit;
    const struct ngram_table *old = &fit->table;
    const unsigned labels = fit->labels.count, known = columns->old_labels;
    const float by = (float)scale, again = (float)(scale / old->scale);
    float *weight = arena_alloc_array(&fit->arena, old->reading.rows, labels * sizeof *weight);
    float *bias = arena_alloc_array(&fit->arena, labels, sizeof *bias);
    if (weight == NULL || bias == NULL)
        return err_no_memory(err, old->reading.rows * (size_t)labels * sizeof *weight);
    for (size_t r = 0; r < old->reading.rows; r++) {
        float *row = weight + r * labels;
        ngram_table_read(old, r * known, known, row);
        for (unsigned c = 0; c < labels; c++)
            row[c] = c < known ? again * row[c]
                               : by * columns->weight[r * columns->new_labels + c - known];
    }
    for (unsigned c = 0; c < labels; c++)
        bias[c] = c < known ? again * old->bias[c] : by * columns->bias[c - known];
    fit->new_table = (struct ngram_table){
        .reading = old->reading, .labels = labels, .weight = weight, .bias = bias, .scale = scale};
    return ERR_OK;
}

enum err_code fit_ngrams(struct fit *fit, struct err *err)
{
    const struct fit_rows *rows = &fit->rows;
    const unsigned threads = fit->options.threads, old = fit->labels.old_count;
    double scale = fit->table.scale;
    struct thread_pool *pool;
    struct columns columns;
    if (fit->table.bias == NULL)
        return ERR_OK;
    if (open_columns(&columns, fit, err))
        goto out;
    for (size_t i = 0; i < rows->count; i++) {
        float *scores = columns.scores + i * old; /* the old labels' evidence */
        ngram_table_add_up(&fit->table, &rows->ngrams[i], scores);
        for (unsigned c = 0; c < old; c++) {
            scores[c] = (float)((double)scores[c] / fit->table.scale);
            columns.evidence[i * rows->labels + c] = scores[c];
        }
    }
    if (columns.new_labels > 0) {
        if (thread_pool_open(&pool, threads < FITS ? threads : FITS, err))
            goto out;
        thread_pool_run(pool, run_fits, &columns);
        thread_pool_close(pool);
        for (unsigned i = 0; i < FITS && err->code == ERR_OK; i++)
            *err = columns.err[i];
        if (err->code != ERR_OK)
            goto out;
    }
    if (!fit->adds) {
        const double now = spread(&columns, rows->after, rows->labels, NULL);
        const double was = spread(&columns, rows->before, old, columns.scores);
        scale *= now > 0 && was > 0 ? sqrt(now / was) : 1;
    }
    for (size_t i = 0; i < rows->count * rows->labels; i++)
        rows->after[i] += (float)(scale * (double)columns.evidence[i]);
    make_table(&columns, scale, err);
out:
    arena_deinit(&columns.arena);
    return err->code;
}
