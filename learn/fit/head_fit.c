/* head_fit.c - see head_fit.h. Products are in single precision, sums over steps in double. */
#include "learn/fit/head_fit.h"

#include "engine/base/arena.h"
#include "engine/base/thread_pool.h"
#include "engine/tensor/gemm/product.h"
#include "learn/eval/fit/lbfgs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CURVATURE_BOUND 0.25 /* largest value of p (1 - p) */

enum { BLOCK = 64 }; /* rows whose residuals are computed together */

/* ---- products ---- */

struct head_products {
    struct panels across; /* the rows transposed, [width, count] */
    struct panels down;   /* the rows, [count, width] */
    struct arena arena;
};

enum err_code head_products_open(struct head_products **out, const float *rows, size_t count,
                                 unsigned width, struct err *err)
{
    const struct gemm *gemm = gemm_best(PRECISION_F32);
    const size_t numbers = gemm_padded(count) * gemm_padded(width);
    struct head_products *products = *out = calloc(1, sizeof *products);
    struct thread_pool *pool;
    if (products == NULL)
        return err_no_memory(err, sizeof *products);
    arena_init(&products->arena);
    if (panels_alloc(&products->across, &products->arena, gemm, numbers, err) ||
        panels_alloc(&products->down, &products->arena, gemm, numbers, err) ||
        thread_pool_open(&pool, 1, err))
        return err->code;
    panels_pack(&products->across, pool, width, count, rows, width, true);
    panels_pack(&products->down, pool, count, width, rows, width, false);
    thread_pool_close(pool);
    return ERR_OK;
}

void head_products_close(struct head_products *products)
{
    if (products == NULL)
        return;
    arena_deinit(&products->arena);
    free(products);
}

/* c [labels, b->n] = a [labels, b->k] b */
static void multiply(const struct panels *b, struct thread_pool *pool, unsigned labels,
                     const float *a, float *c)
{
    const struct rows rows = {.operand = operand_f32(a, b->k)};
    const struct product product = {.a = &rows, .b = b, .m = labels, .c = c, .c_stride = b->n};
    product_run(&product, kernels_best(), pool);
}

void head_products_logits(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *weights, float *logits)
{
    multiply(&products->across, pool, labels, weights, logits);
}

void head_products_slopes(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *residual, float *slopes)
{
    multiply(&products->down, pool, labels, residual, slopes);
}

/* ---- open ---- */

struct head_fit {
    struct head_rows rows;
    const struct head_products *products;
    struct thread_pool *pool; /* a pool of one thread */
    unsigned fitted;          /* number of fitted labels, which follow the known ones */
    size_t numbers;           /* fitted x (width + 1) */
    double *scale;            /* [width + 1]: weight = scale x coordinate */
    float *weights;           /* [fitted, width] for the product */
    float *biases;            /* [labels]; 0 for known labels */
    float *logits;            /* [labels, count] without biases; then overwritten by residuals:
                                 probabilities - onehot(truth), zeros for a left-out row */
    float *slopes;            /* [fitted, width] */
    double *point;            /* [numbers] in scaled coordinates */
    float *answers;           /* [count, labels] */
    struct lbfgs *lbfgs;
    struct arena arena;
};

enum err_code head_fit_open(struct head_fit **out, const struct head_rows *rows,
                            const struct head_products *products, struct err *err)
{
    const unsigned fitted = head_rows_fitted(rows);
    size_t numbers = (size_t)fitted * (rows->width + 1), scores = rows->count * rows->labels;
    struct head_fit *fit = *out = calloc(1, sizeof *fit);
    if (fit == NULL)
        return err_no_memory(err, sizeof *fit);
    *fit = (struct head_fit){
        .rows = *rows, .products = products, .fitted = fitted, .numbers = numbers};
    fit->scale = arena_alloc_array(&fit->arena, rows->width + 1, sizeof *fit->scale);
    fit->point = arena_alloc_array(&fit->arena, numbers, sizeof *fit->point);
    fit->weights = arena_alloc_array(&fit->arena, numbers, sizeof *fit->weights);
    fit->biases = arena_alloc_array(&fit->arena, rows->labels, sizeof *fit->biases);
    fit->slopes = arena_alloc_array(&fit->arena, numbers, sizeof *fit->slopes);
    fit->logits = arena_alloc_array(&fit->arena, scores, sizeof *fit->logits);
    fit->answers = arena_alloc_array(&fit->arena, scores, sizeof *fit->answers);
    if (fit->arena.failed)
        return err_no_memory(err, numbers * sizeof *fit->point + 2 * scores * sizeof *fit->logits);
    if (thread_pool_open(&fit->pool, 1, err))
        return err->code;
    return lbfgs_open(&fit->lbfgs, numbers, err);
}

void head_fit_close(struct head_fit *fit)
{
    if (fit == NULL)
        return;
    lbfgs_close(fit->lbfgs);
    if (fit->pool != NULL)
        thread_pool_close(fit->pool);
    arena_deinit(&fit->arena);
    free(fit);
}

/* ---- the loss ---- */

static void take_weights(struct head_fit *fit, const double *point)
{
    unsigned width = fit->rows.width;
    for (unsigned c = 0; c < fit->fitted; c++) {
        const double *row = point + (size_t)c * (width + 1);
        for (unsigned j = 0; j < width; j++)
            fit->weights[(size_t)c * width + j] = (float)(row[j] * fit->scale[j]);
        fit->biases[fit->rows.known + c] = (float)(row[width] * fit->scale[width]);
    }
}

/* The fitted labels' part [fitted, count] of the logits or residuals. */
static float *fitted_logits(const struct head_fit *fit)
{
    return fit->logits + fit->rows.known * fit->rows.count;
}

static void take_logits(struct head_fit *fit)
{
    const size_t count = fit->rows.count, known = fit->rows.known;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < known; c++)
            fit->logits[c * count + i] = fit->rows.given[i * known + c];
    head_products_logits(fit->products, fit->pool, fit->fitted, fit->weights, fitted_logits(fit));
}

/* For rows [first, first + count), count <= BLOCK: overwrites logits with probabilities and sets
 * losses [count] to -log p of the truth. */
static void take_probabilities(struct head_fit *fit, size_t first, size_t count, double *losses)
{
    const size_t stride = fit->rows.count;
    float *logits = fit->logits + first, largest[BLOCK];
    double sums[BLOCK] = {0};
    for (size_t i = 0; i < count; i++)
        largest[i] = -INFINITY;
    for (unsigned c = 0; c < fit->rows.labels; c++)
        for (size_t i = 0; i < count; i++) {
            const float logit = logits[c * stride + i] += fit->biases[c];
            largest[i] = logit > largest[i] ? logit : largest[i];
        }
    for (size_t i = 0; i < count; i++)
        losses[i] = (double)largest[i] - (double)logits[fit->rows.classes[first + i] * stride + i];
    for (unsigned c = 0; c < fit->rows.labels; c++)
        for (size_t i = 0; i < count; i++) {
            logits[c * stride + i] = expf(logits[c * stride + i] - largest[i]);
            sums[i] += (double)logits[c * stride + i];
        }
    for (unsigned c = 0; c < fit->rows.labels; c++)
        for (size_t i = 0; i < count; i++)
            logits[c * stride + i] = (float)((double)logits[c * stride + i] / sums[i]);
    for (size_t i = 0; i < count; i++)
        losses[i] += log(sums[i]);
}

/* Returns the mean loss of the learnt rows; overwrites logits with residuals. */
static double take_residuals(struct head_fit *fit, const struct head_problem *problem,
                             size_t learnt)
{
    const size_t stride = fit->rows.count;
    double loss = 0, losses[BLOCK];
    for (size_t first = 0; first < stride; first += BLOCK) {
        const size_t count = stride - first < BLOCK ? stride - first : BLOCK;
        take_probabilities(fit, first, count, losses);
        for (size_t i = first; i < first + count; i++) {
            const bool is_learnt = problem->folds == NULL || problem->folds[i] != problem->left_out;
            loss += is_learnt ? losses[i - first] : 0;
            fit->logits[fit->rows.classes[i] * stride + i] -= 1;
            for (unsigned c = 0; c < fit->rows.labels && !is_learnt; c++)
                fit->logits[c * stride + i] = 0;
        }
    }
    return loss / (double)learnt;
}

/* Context of the optimiser's loss function. */
struct task {
    struct head_fit *fit;
    const struct head_problem *problem;
    size_t learnt;
};

/* The loss at a point of scaled coordinates, and its gradient. */
static double loss_at(void *context, const double *point, double *gradient)
{
    const struct task *task = context;
    const struct head_problem *problem = task->problem;
    struct head_fit *fit = task->fit;
    const size_t count = fit->rows.count, learnt = task->learnt, width = fit->rows.width;
    const float *residuals = fitted_logits(fit);
    double squares = 0;
    take_weights(fit, point);
    take_logits(fit);
    double loss = take_residuals(fit, problem, learnt);
    head_products_slopes(fit->products, fit->pool, fit->fitted, residuals, fit->slopes);
    for (unsigned c = 0; c < fit->fitted; c++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (double)residuals[c * count + i];
        gradient[c * (width + 1) + width] = sum * fit->scale[width] / (double)learnt;
        for (unsigned j = 0; j < width; j++) {
            size_t at = c * (width + 1) + j;
            double weight = point[at] * fit->scale[j];
            squares += weight * weight;
            gradient[at] = fit->scale[j] * ((double)fit->slopes[c * width + j] / (double)learnt +
                                            problem->strength * weight);
        }
    }
    return loss + problem->strength / 2 * squares;
}

/* ---- the fit ---- */

enum err_code head_fit_run(struct head_fit *fit, const struct head_problem *problem,
                           double *weights, struct err *err)
{
    const size_t count = fit->rows.count, labels = fit->rows.labels, width = fit->rows.width;
    size_t learnt = 0;
    for (size_t i = 0; i < count; i++)
        learnt += problem->folds == NULL || problem->folds[i] != problem->left_out;
    if (learnt == 0)
        return err_set(err, ERR_UNUSABLE, "every input is left out: nothing to learn");
    for (unsigned j = 0; j < width; j++)
        fit->scale[j] = 1 / sqrt(CURVATURE_BOUND * fit->rows.variances[j] + problem->strength);
    fit->scale[width] = 1 / sqrt(CURVATURE_BOUND);
    for (size_t i = 0; i < fit->numbers; i++)
        fit->point[i] = weights[i] / fit->scale[i % (width + 1)];
    lbfgs_run(fit->lbfgs, loss_at, &(struct task){fit, problem, learnt}, problem->gain_min,
              fit->point);
    take_weights(fit, fit->point); /* the last loss may have been at another point */
    take_logits(fit);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < labels; c++)
            fit->answers[i * labels + c] = fit->logits[c * count + i] + fit->biases[c];
    for (size_t i = 0; i < fit->numbers; i++)
        weights[i] = fit->point[i] * fit->scale[i % (width + 1)];
    return ERR_OK;
}

const float *head_fit_logits(const struct head_fit *fit)
{
    return fit->answers;
}
