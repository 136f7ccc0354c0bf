#include "learn/ngrams/ngram_fit.h"

#include "learn/eval/fit/lbfgs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CURVATURE_BOUND 0.25 /* of p (1 - p) */

/* Points are [table_rows, labels] weights, then [labels] biases, each over its scale. */
struct task {
    const struct ngram_problem *problem;
    size_t weights; /* table_rows labels */
    double *scale;  /* [table_rows + 1], the last of biases */
    double *values; /* [weights + labels] weights and biases as they are */
    double *scores; /* [labels] */
};

static void take_values(const struct task *task, const double *point)
{
    const unsigned labels = task->problem->labels;
    for (size_t i = 0; i < task->weights + labels; i++)
        task->values[i] = point[i] * task->scale[i / labels];
}

/* scores become the probabilities, less 1 at the truth; returns -log p[truth]. */
static double residual_of(double *scores, unsigned labels, unsigned truth)
{
    double largest = scores[0], sum = 0;
    for (unsigned c = 1; c < labels; c++)
        largest = fmax(largest, scores[c]);
    const double of_truth = scores[truth] - largest;
    for (unsigned c = 0; c < labels; c++)
        sum += scores[c] = exp(scores[c] - largest);
    for (unsigned c = 0; c < labels; c++)
        scores[c] /= sum;
    scores[truth] -= 1;
    return log(sum) - of_truth;
}

/* One text: its loss, and what it adds to the slopes of weights and biases. */
static double take_text(const struct task *task, size_t text, double *gradient)
{
    const unsigned labels = task->problem->labels;
    const struct ngram_list *list = &task->problem->rows->lists[text];
    memcpy(task->scores, task->values + task->weights, labels * sizeof *task->scores);
    for (size_t i = 0; i < list->count; i++) {
        const double *row = task->values + (size_t)list->entries[i].row * labels;
        for (unsigned c = 0; c < labels; c++)
            task->scores[c] += (double)list->entries[i].value * row[c];
    }
    const double loss = residual_of(task->scores, labels, task->problem->classes[text]);
    for (size_t i = 0; i < list->count; i++) {
        double *row = gradient + (size_t)list->entries[i].row * labels;
        for (unsigned c = 0; c < labels; c++)
            row[c] += (double)list->entries[i].value * task->scores[c];
    }
    for (unsigned c = 0; c < labels; c++)
        gradient[task->weights + c] += task->scores[c];
    return loss;
}

static double loss_at(void *context, const double *point, double *gradient)
{
    const struct task *task = context;
    const struct ngram_problem *problem = task->problem;
    const size_t all = task->weights + problem->labels;
    const double count = (double)problem->rows->count;
    double loss = 0, squares = 0;
    take_values(task, point);
    memset(gradient, 0, all * sizeof *gradient);
    for (size_t i = 0; i < problem->rows->count; i++)
        loss += take_text(task, i, gradient) / count;
    for (size_t i = 0; i < all; i++) {
        const double weight = i < task->weights ? task->values[i] : 0;
        squares += weight * weight;
        gradient[i] =
            task->scale[i / problem->labels] * (gradient[i] / count + problem->strength * weight);
    }
    return loss + problem->strength / 2 * squares;
}

static void set_scales(const struct task *task)
{
    const struct ngram_problem *problem = task->problem;
    for (size_t i = 0; i < problem->rows->count; i++)
        for (size_t j = 0; j < problem->rows->lists[i].count; j++) {
            const struct ngram_entry *entry = &problem->rows->lists[i].entries[j];
            task->scale[entry->row] +=
                (double)entry->value * (double)entry->value / (double)problem->rows->count;
        }
    for (size_t i = 0; i < problem->table_rows; i++)
        task->scale[i] = 1 / sqrt(CURVATURE_BOUND * task->scale[i] + problem->strength);
    task->scale[problem->table_rows] = 1 / sqrt(CURVATURE_BOUND);
}

static void run(struct task *task, struct lbfgs *lbfgs, double *point, float *weight, float *bias)
{
    const unsigned labels = task->problem->labels;
    set_scales(task);
    lbfgs_run(lbfgs, loss_at, task, point);
    take_values(task, point);
    for (size_t i = 0; i < task->weights; i++)
        weight[i] = (float)task->values[i];
    for (unsigned c = 0; c < labels; c++)
        bias[c] = (float)task->values[task->weights + c];
}

enum err_code ngram_fit(const struct ngram_problem *problem, float *weight, float *bias,
                        struct err *err)
{
    const size_t weights = (size_t)problem->table_rows * problem->labels;
    const size_t all = weights + problem->labels;
    struct lbfgs *lbfgs = NULL;
    struct task task = {.problem = problem, .weights = weights};
    task.scale = calloc(problem->table_rows + 1u, sizeof *task.scale);
    task.values = calloc(all, sizeof *task.values);
    task.scores = calloc(problem->labels, sizeof *task.scores);
    double *point = calloc(all, sizeof *point);
    if (task.scale == NULL || task.values == NULL || task.scores == NULL || point == NULL)
        err_no_memory(err, all * sizeof *point);
    else if (!lbfgs_open(&lbfgs, all, err))
        run(&task, lbfgs, point, weight, bias);
    lbfgs_close(lbfgs);
    free(task.scale);
    free(task.values);
    free(task.scores);
    free(point);
    return err->code;
}
