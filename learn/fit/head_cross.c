#include "engine/base/arena.h"
#include "engine/base/thread_pool.h"
#include "learn/fit/folds.h"
#include "learn/fit/head_fit.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WORSE_MAX = 2 };

/* One fold. A strength's fit starts at the weights of the previous strength. */
struct fold {
    double *weights; /* [fitted labels, width + 1] */
    double loss;     /* sum over its inputs */
    struct err err;
};

struct cross {
    const struct head_rows *rows;
    struct head_products *products;
    unsigned char *folds; /* [count] */
    struct fold fold[FOLDS];
    struct head_fit *fits[FOLDS]; /* one for each thread */
    unsigned threads;
    struct thread_pool *pool;
    atomic_uint next; /* the next fold to take; partners: the members of the pool */
    double strength;
    float *logits; /* [count, labels] left-out logits at this strength */
    size_t numbers;
    struct arena arena;
};

/* ---- one strength ---- */

static double loss_of(const float *logits, unsigned labels, unsigned truth)
{
    double sum = 0;
    for (unsigned c = 0; c < labels; c++)
        sum += exp((double)(logits[c] - logits[truth]));
    return log(sum);
}

/* A fold's fit does not depend on which head_fit makes it. */
static void fit_folds(void *context, unsigned thread, unsigned threads)
{
    struct cross *cross = context;
    const size_t labels = cross->rows->labels;
    (void)threads;
    for (unsigned f;
         (f = atomic_fetch_add_explicit(&cross->next, 1, memory_order_relaxed)) < FOLDS;) {
        struct fold *fold = &cross->fold[f];
        const struct head_problem problem = {.strength = cross->strength,
                                             .folds = cross->folds,
                                             .left_out = f,
                                             .gain_min = HEAD_CROSS_GAIN_MIN};
        if (head_fit_run(cross->fits[thread], &problem, fold->weights, &fold->err))
            continue;
        const float *logits = head_fit_logits(cross->fits[thread]);
        fold->loss = 0;
        for (size_t i = 0; i < cross->rows->count; i++) {
            const float *row = logits + i * labels;
            if (cross->folds[i] != f)
                continue;
            memcpy(cross->logits + i * labels, row, labels * sizeof *row);
            fold->loss += loss_of(row, cross->rows->labels, cross->rows->classes[i]);
        }
    }
}

/* ---- all strengths ---- */

static enum err_code search(struct cross *cross, struct head_cross *out,
                            void (*progress)(void *context, size_t done), void *context,
                            struct err *err)
{
    const struct head_rows *rows = cross->rows;
    size_t fitted = 0, done = 0;
    unsigned worse = 0;
    for (size_t i = 0; i < rows->count; i++)
        fitted += rows->classes[i] >= rows->known; /* the losses of other rows hardly change */
    const double earned = HEAD_CROSS_EARNED * ((double)fitted / (double)rows->count);
    out->loss = INFINITY;
    for (cross->strength = 1; cross->strength > HEAD_CROSS_STRENGTH_MIN && worse < WORSE_MAX;
         cross->strength /= HEAD_CROSS_STEP) {
        double loss = 0; /* the mean left-out loss of all inputs */
        atomic_store_explicit(&cross->next, 0, memory_order_relaxed);
        thread_pool_run(cross->pool, fit_folds, cross);
        for (unsigned f = 0; f < FOLDS; f++) {
            *err = cross->fold[f].err;
            if (err->code != ERR_OK)
                return err->code;
            loss += cross->fold[f].loss;
        }
        loss /= (double)rows->count;
        worse = loss < out->loss - earned ? 0 : worse + 1;
        if (worse == 0) {
            out->loss = loss;
            out->strength = cross->strength;
            memcpy(out->logits, cross->logits, rows->count * rows->labels * sizeof *out->logits);
        }
        if (progress != NULL)
            progress(context, done += FOLDS);
    }
    const struct head_problem all = {.strength = out->strength, .gain_min = HEAD_CROSS_GAIN_MIN};
    return head_fit_run(cross->fits[0], &all, out->weights, err);
}

/* ---- open ---- */

/* Takes memory and divides the rows into folds. A fold may be empty, which is no error. */
static enum err_code open_folds(struct cross *cross, const uint64_t *digests, struct err *err)
{
    const struct head_rows *rows = cross->rows;
    struct arena *arena = &cross->arena;
    cross->folds = arena_alloc_array(arena, rows->count, sizeof *cross->folds);
    cross->logits = arena_alloc_array(arena, rows->count * rows->labels, sizeof *cross->logits);
    for (unsigned f = 0; f < FOLDS; f++)
        cross->fold[f].weights = arena_alloc_array(arena, cross->numbers, sizeof(double));
    if (arena->failed)
        return err_no_memory(err, arena->bytes);
    if (head_products_open(&cross->products, rows->rows, rows->count, rows->width, err))
        return err->code;
    for (unsigned i = 0; i < cross->threads; i++)
        if (head_fit_open(&cross->fits[i], rows, cross->products, err))
            return err->code;
    return folds_deal(digests, rows->classes, rows->count, cross->folds, err);
}

enum err_code head_cross_run(struct head_cross *out, const struct head_rows *rows,
                             const uint64_t *digests, unsigned threads,
                             void (*progress)(void *context, size_t done), void *context,
                             struct err *err)
{
    struct cross cross = {.rows = rows,
                          .threads = threads < FOLDS ? threads : FOLDS,
                          .numbers = (size_t)head_rows_fitted(rows) * (rows->width + 1)};
    *out = (struct head_cross){0};
    out->logits = calloc(rows->count * rows->labels, sizeof *out->logits);
    out->weights = calloc(cross.numbers, sizeof *out->weights);
    if (out->logits == NULL || out->weights == NULL)
        err_no_memory(err, rows->count * rows->labels * sizeof *out->logits);
    else if (!thread_pool_open(&cross.pool, cross.threads, err) &&
             !open_folds(&cross, digests, err))
        search(&cross, out, progress, context, err);
    for (unsigned f = 0; f < FOLDS; f++)
        head_fit_close(cross.fits[f]);
    head_products_close(cross.products);
    arena_deinit(&cross.arena);
    if (cross.pool != NULL)
        thread_pool_close(cross.pool);
    return err->code;
}

void head_cross_close(struct head_cross *cross)
{
    free(cross->logits);
    free(cross->weights);
    *cross = (struct head_cross){0};
}
