/* head_fit.c - see head_fit.h. Products are in single precision, everything that is summed over
 * steps in double. The step is searched for by halving alone (Armijo): along L-BFGS directions of a
 * convex loss the whole step is nearly always taken. */
#include "learn/fit/head_fit.h"

#include "engine/base/openblas.h"
#include "learn/eval/fit/eigen.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 12, STEPS_MAX = 300, HALVINGS_MAX = 30 };

#define CURVATURE_BOUND 0.25 /* of p (1 - p) */
#define SLOPE_MIN 1e-5       /* of the largest scaled gradient: done */
#define ARMIJO 1e-4

/* A difference of two points and of their gradients. */
struct pair {
    double *point, *gradient; /* [numbers] */
    double inverse;           /* 1 / (point' gradient) */
};

struct head_fit {
    struct head_rows rows;
    size_t numbers;  /* labels (width + 1) */
    double *scale;   /* [width + 1]: weight = scale x coordinate */
    float *weights;  /* [labels, width] for the product */
    float *biases;   /* [labels] */
    float *logits;   /* [count, labels] */
    float *residual; /* [count, labels] probabilities less the truth; zeros of a row left out */
    float *slopes;   /* [labels, width] */
    double *point, *gradient, *next, *next_gradient, *direction; /* [numbers] */
    double alpha[MEMORY];
    struct pair pairs[MEMORY]; /* a ring */
    unsigned pair_count, pair_first;
};

/* ---- open ---- */

static double *doubles(size_t count)
{
    return calloc(count, sizeof(double));
}

static bool alloc_points(struct head_fit *fit)
{
    double **all[] = {&fit->point, &fit->gradient, &fit->next, &fit->next_gradient,
                      &fit->direction};
    bool complete = true;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        complete = (*all[i] = doubles(fit->numbers)) != NULL && complete;
    for (unsigned i = 0; i < MEMORY; i++) {
        fit->pairs[i] = (struct pair){doubles(fit->numbers), doubles(fit->numbers), 0};
        complete = complete && fit->pairs[i].point != NULL && fit->pairs[i].gradient != NULL;
    }
    return complete;
}

enum err_code head_fit_open(struct head_fit **out, const struct head_rows *rows, struct err *err)
{
    size_t numbers = (size_t)rows->labels * (rows->width + 1), scores = rows->count * rows->labels;
    struct head_fit *fit = *out = calloc(1, sizeof *fit);
    if (fit == NULL)
        return err_no_memory(err, sizeof *fit);
    *fit = (struct head_fit){.rows = *rows, .numbers = numbers};
    fit->scale = doubles(rows->width + 1);
    fit->weights = calloc(numbers, sizeof *fit->weights);
    fit->biases = calloc(rows->labels, sizeof *fit->biases);
    fit->slopes = calloc(numbers, sizeof *fit->slopes);
    fit->logits = calloc(scores, sizeof *fit->logits);
    fit->residual = calloc(scores, sizeof *fit->residual);
    if (!alloc_points(fit) || fit->scale == NULL || fit->weights == NULL || fit->biases == NULL ||
        fit->slopes == NULL || fit->logits == NULL || fit->residual == NULL)
        return err_no_memory(err, numbers * sizeof(double) * (2 * MEMORY + 5) +
                                      2 * scores * sizeof *fit->logits);
    return ERR_OK;
}

void head_fit_close(struct head_fit *fit)
{
    if (fit == NULL)
        return;
    for (unsigned i = 0; i < MEMORY; i++) {
        free(fit->pairs[i].point);
        free(fit->pairs[i].gradient);
    }
    free(fit->point);
    free(fit->gradient);
    free(fit->next);
    free(fit->next_gradient);
    free(fit->direction);
    free(fit->scale);
    free(fit->weights);
    free(fit->biases);
    free(fit->slopes);
    free(fit->logits);
    free(fit->residual);
    free(fit);
}

/* ---- the loss ---- */

static void take_weights(struct head_fit *fit, const double *point)
{
    unsigned width = fit->rows.width;
    for (unsigned c = 0; c < fit->rows.labels; c++) {
        const double *row = point + (size_t)c * (width + 1);
        for (unsigned j = 0; j < width; j++)
            fit->weights[(size_t)c * width + j] = (float)(row[j] * fit->scale[j]);
        fit->biases[c] = (float)(row[width] * fit->scale[width]);
    }
}

static void take_logits(struct head_fit *fit)
{
    const struct head_rows *rows = &fit->rows;
    for (size_t i = 0; i < rows->count; i++)
        memcpy(fit->logits + i * rows->labels, fit->biases, rows->labels * sizeof *fit->logits);
    openblas_functions()->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows->count,
                                (int)rows->labels, (int)rows->width, 1, rows->rows,
                                (int)rows->width, fit->weights, (int)rows->width, 1, fit->logits,
                                (int)rows->labels);
}

/* -log p[truth]; residual [labels] = p, less 1 at the truth. */
static double residual_of(const float *logits, unsigned labels, unsigned truth, float *residual)
{
    float largest = logits[0];
    double sum = 0;
    for (unsigned c = 1; c < labels; c++)
        largest = fmaxf(largest, logits[c]);
    for (unsigned c = 0; c < labels; c++) {
        residual[c] = expf(logits[c] - largest);
        sum += (double)residual[c];
    }
    for (unsigned c = 0; c < labels; c++)
        residual[c] = (float)((double)residual[c] / sum);
    residual[truth] -= 1;
    return log(sum) - (double)(logits[truth] - largest);
}

/* The mean loss of what is learnt, and its residuals. */
static double take_residuals(struct head_fit *fit, const struct head_problem *problem,
                             size_t learnt)
{
    unsigned labels = fit->rows.labels;
    double loss = 0;
    for (size_t i = 0; i < fit->rows.count; i++) {
        float *residual = fit->residual + i * labels;
        if (problem->folds != NULL && problem->folds[i] == problem->left_out)
            memset(residual, 0, labels * sizeof *residual);
        else
            loss += residual_of(fit->logits + i * labels, labels, fit->rows.classes[i], residual);
    }
    return loss / (double)learnt;
}

static void take_bias_slopes(struct head_fit *fit, size_t learnt, double *gradient)
{
    unsigned labels = fit->rows.labels, width = fit->rows.width;
    for (unsigned c = 0; c < labels; c++)
        gradient[(size_t)c * (width + 1) + width] = 0;
    for (size_t i = 0; i < fit->rows.count; i++)
        for (unsigned c = 0; c < labels; c++)
            gradient[(size_t)c * (width + 1) + width] += (double)fit->residual[i * labels + c];
    for (unsigned c = 0; c < labels; c++)
        gradient[(size_t)c * (width + 1) + width] *= fit->scale[width] / (double)learnt;
}

/* The loss at a point of scaled coordinates, and its gradient. */
static double loss_at(struct head_fit *fit, const struct head_problem *problem, size_t learnt,
                      const double *point, double *gradient)
{
    unsigned labels = fit->rows.labels, width = fit->rows.width;
    double squares = 0;
    take_weights(fit, point);
    take_logits(fit);
    double loss = take_residuals(fit, problem, learnt);
    openblas_functions()->sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)labels, (int)width,
                                (int)fit->rows.count, 1 / (float)learnt, fit->residual, (int)labels,
                                fit->rows.rows, (int)width, 0, fit->slopes, (int)width);
    take_bias_slopes(fit, learnt, gradient);
    for (unsigned c = 0; c < labels; c++)
        for (unsigned j = 0; j < width; j++) {
            size_t at = (size_t)c * (width + 1) + j;
            double weight = point[at] * fit->scale[j];
            squares += weight * weight;
            gradient[at] = fit->scale[j] * ((double)fit->slopes[(size_t)c * width + j] +
                                            problem->strength * weight);
        }
    return loss + problem->strength / 2 * squares;
}

/* ---- L-BFGS ---- */

static struct pair *pair_at(struct head_fit *fit, unsigned age)
{
    return &fit->pairs[(fit->pair_first + age) % MEMORY];
}

/* direction = -H gradient, by the two loops (Nocedal and Wright 2006, algorithm 7.4). */
static void take_direction(struct head_fit *fit)
{
    size_t n = fit->numbers;
    for (size_t i = 0; i < n; i++)
        fit->direction[i] = -fit->gradient[i];
    for (unsigned k = fit->pair_count; k-- > 0;) {
        const struct pair *pair = pair_at(fit, k);
        fit->alpha[k] = pair->inverse * eigen_dot(pair->point, fit->direction, n);
        eigen_add(fit->direction, pair->gradient, -fit->alpha[k], n);
    }
    if (fit->pair_count > 0) {
        const struct pair *last = pair_at(fit, fit->pair_count - 1);
        double size = 1 / (last->inverse * eigen_dot(last->gradient, last->gradient, n));
        for (size_t i = 0; i < n; i++)
            fit->direction[i] *= size;
    }
    for (unsigned k = 0; k < fit->pair_count; k++) {
        const struct pair *pair = pair_at(fit, k);
        double beta = pair->inverse * eigen_dot(pair->gradient, fit->direction, n);
        eigen_add(fit->direction, pair->point, fit->alpha[k] - beta, n);
    }
}

/* Remembers the way from here to the next point, unless rounding left it no curvature. */
static void remember(struct head_fit *fit)
{
    struct pair *pair = pair_at(fit, fit->pair_count % MEMORY);
    for (size_t i = 0; i < fit->numbers; i++) {
        pair->point[i] = fit->next[i] - fit->point[i];
        pair->gradient[i] = fit->next_gradient[i] - fit->gradient[i];
    }
    double product = eigen_dot(pair->point, pair->gradient, fit->numbers);
    if (product <= 1e-10 * eigen_dot(pair->point, pair->point, fit->numbers))
        return;
    pair->inverse = 1 / product;
    if (fit->pair_count < MEMORY)
        fit->pair_count++;
    else
        fit->pair_first = (fit->pair_first + 1) % MEMORY;
}

/* The next point along the direction, with its gradient. False if none is lower, which at the
 * optimum is rounding's doing. */
static bool step(struct head_fit *fit, const struct head_problem *problem, size_t learnt,
                 double *loss)
{
    double slope = eigen_dot(fit->gradient, fit->direction, fit->numbers), size = 1;
    for (unsigned i = 0; i < HALVINGS_MAX && slope < 0; i++, size /= 2) {
        memcpy(fit->next, fit->point, fit->numbers * sizeof *fit->next);
        eigen_add(fit->next, fit->direction, size, fit->numbers);
        double next = loss_at(fit, problem, learnt, fit->next, fit->next_gradient);
        if (next <= *loss + ARMIJO * size * slope) {
            *loss = next;
            return true;
        }
    }
    return false;
}

static bool is_flat(const struct head_fit *fit)
{
    for (size_t i = 0; i < fit->numbers; i++)
        if (fabs(fit->gradient[i]) > SLOPE_MIN)
            return false;
    return true;
}

static void swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

static size_t learnt_of(const struct head_fit *fit, const struct head_problem *problem)
{
    size_t count = 0;
    for (size_t i = 0; i < fit->rows.count; i++)
        count += problem->folds == NULL || problem->folds[i] != problem->left_out;
    return count;
}

static void set_scales(struct head_fit *fit, double strength)
{
    for (unsigned j = 0; j < fit->rows.width; j++)
        fit->scale[j] = 1 / sqrt(CURVATURE_BOUND * fit->rows.variances[j] + strength);
    fit->scale[fit->rows.width] = 1 / sqrt(CURVATURE_BOUND);
}

enum err_code head_fit_run(struct head_fit *fit, const struct head_problem *problem,
                           double *weights, struct err *err)
{
    size_t learnt = learnt_of(fit, problem), row = fit->rows.width + 1u;
    if (learnt == 0)
        return err_set(err, ERR_UNUSABLE, "every input is left out: nothing to learn");
    set_scales(fit, problem->strength);
    fit->pair_count = fit->pair_first = 0;
    for (size_t i = 0; i < fit->numbers; i++)
        fit->point[i] = weights[i] / fit->scale[i % row];
    double loss = loss_at(fit, problem, learnt, fit->point, fit->gradient);
    for (unsigned i = 0; i < STEPS_MAX && !is_flat(fit); i++) {
        take_direction(fit);
        if (!step(fit, problem, learnt, &loss))
            break;
        remember(fit);
        swap(&fit->point, &fit->next);
        swap(&fit->gradient, &fit->next_gradient);
    }
    take_weights(fit, fit->point); /* a search that failed has left other logits */
    take_logits(fit);
    for (size_t i = 0; i < fit->numbers; i++)
        weights[i] = fit->point[i] * fit->scale[i % row];
    return ERR_OK;
}

const float *head_fit_logits(const struct head_fit *fit)
{
    return fit->logits;
}
