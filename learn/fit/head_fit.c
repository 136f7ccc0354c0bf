/* head_fit.c - see head_fit.h. Products are in single precision, everything that is summed over
 * steps in double. */
#include "learn/fit/head_fit.h"

#include "engine/base/openblas.h"
#include "learn/eval/fit/lbfgs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CURVATURE_BOUND 0.25 /* of p (1 - p) */

struct head_fit {
    struct head_rows rows;
    size_t numbers;  /* labels (width + 1) */
    double *scale;   /* [width + 1]: weight = scale x coordinate */
    float *weights;  /* [labels, width] for the product */
    float *biases;   /* [labels] */
    float *logits;   /* [count, labels] */
    float *residual; /* [count, labels] probabilities less the truth; zeros of a row left out */
    float *slopes;   /* [labels, width] */
    double *point;   /* [numbers] in scaled coordinates */
    struct lbfgs *lbfgs;
};

/* ---- open ---- */

enum err_code head_fit_open(struct head_fit **out, const struct head_rows *rows, struct err *err)
{
    size_t numbers = (size_t)rows->labels * (rows->width + 1), scores = rows->count * rows->labels;
    struct head_fit *fit = *out = calloc(1, sizeof *fit);
    if (fit == NULL)
        return err_no_memory(err, sizeof *fit);
    *fit = (struct head_fit){.rows = *rows, .numbers = numbers};
    fit->scale = calloc(rows->width + 1, sizeof *fit->scale);
    fit->point = calloc(numbers, sizeof *fit->point);
    fit->weights = calloc(numbers, sizeof *fit->weights);
    fit->biases = calloc(rows->labels, sizeof *fit->biases);
    fit->slopes = calloc(numbers, sizeof *fit->slopes);
    fit->logits = calloc(scores, sizeof *fit->logits);
    fit->residual = calloc(scores, sizeof *fit->residual);
    if (fit->point == NULL || fit->scale == NULL || fit->weights == NULL || fit->biases == NULL ||
        fit->slopes == NULL || fit->logits == NULL || fit->residual == NULL)
        return err_no_memory(err, numbers * sizeof *fit->point + 2 * scores * sizeof *fit->logits);
    return lbfgs_open(&fit->lbfgs, numbers, err);
}

void head_fit_close(struct head_fit *fit)
{
    if (fit == NULL)
        return;
    lbfgs_close(fit->lbfgs);
    free(fit->point);
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

/* What the optimiser is given. */
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
    const size_t learnt = task->learnt;
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

/* ---- the fit ---- */

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
    for (size_t i = 0; i < fit->numbers; i++)
        fit->point[i] = weights[i] / fit->scale[i % row];
    lbfgs_run(fit->lbfgs, loss_at, &(struct task){fit, problem, learnt}, problem->gain_min,
              fit->point);
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
