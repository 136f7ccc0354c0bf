#include "learn/ngrams/ngram_fit.h"

#include "learn/eval/fit/lbfgs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CURVATURE_BOUND 0.25 /* of p (1 - p) */

/* Points are [table_rows, free] weights, then [free] biases, each over its scale. */
struct task {
    const struct ngram_problem *problem;
    unsigned free;  /* labels that get weights */
    size_t weights; /* table_rows free */
    size_t learnt;  /* texts */
    double *scale;  /* [table_rows + 1], the last of biases */
    double *values; /* [weights + free] weights and biases as they are */
    double *scores; /* [labels] */
};

static bool is_learnt(const struct ngram_problem *problem, size_t text)
{
    return problem->folds == NULL || problem->folds[text] != problem->left_out;
}

static void take_values(const struct task *task, const double *point)
{
    for (size_t i = 0; i < task->weights + task->free; i++)
        task->values[i] = point[i] * task->scale[i / task->free];
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
    const struct ngram_problem *problem = task->problem;
    const struct ngram_list *list = &problem->lists[text];
    const unsigned known = problem->known;
    double *scores = task->scores + known;
    for (unsigned c = 0; c < known; c++)
        task->scores[c] = (double)problem->scores[text * known + c];
    memcpy(scores, task->values + task->weights, task->free * sizeof *scores);
    for (size_t i = 0; i < list->count; i++) {
        const double *row = task->values + (size_t)list->entries[i].row * task->free;
        for (unsigned c = 0; c < task->free; c++)
            scores[c] += (double)list->entries[i].value * row[c];
    }
    const double loss = residual_of(task->scores, problem->labels, problem->classes[text]);
    for (size_t i = 0; i < list->count; i++) {
        double *row = gradient + (size_t)list->entries[i].row * task->free;
        for (unsigned c = 0; c < task->free; c++)
            row[c] += (double)list->entries[i].value * scores[c];
    }
    for (unsigned c = 0; c < task->free; c++)
        gradient[task->weights + c] += scores[c];
    return loss;
}

static double loss_at(void *context, const double *point, double *gradient)
{
    const struct task *task = context;
    const struct ngram_problem *problem = task->problem;
    const size_t all = task->weights + task->free;
    const double count = (double)task->learnt;
    double loss = 0, squares = 0;
    take_values(task, point);
    memset(gradient, 0, all * sizeof *gradient);
    for (size_t i = 0; i < problem->count; i++)
        if (is_learnt(problem, i))
            loss += take_text(task, i, gradient) / count;
    for (size_t i = 0; i < all; i++) {
        const double weight = i < task->weights ? task->values[i] : 0;
        squares += weight * weight;
        gradient[i] =
            task->scale[i / task->free] * (gradient[i] / count + problem->strength * weight);
    }
    return loss + problem->strength / 2 * squares;
}

static void set_scales(const struct task *task)
{
    const struct ngram_problem *problem = task->problem;
    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; j < problem->lists[i].count; j++) {
            const struct ngram_entry *entry = &problem->lists[i].entries[j];
            task->scale[entry->row] +=
                (double)entry->value * (double)entry->value / (double)problem->count;
        }
    for (size_t i = 0; i < problem->table_rows; i++)
        task->scale[i] = 1 / sqrt(CURVATURE_BOUND * task->scale[i] + problem->strength);
    task->scale[problem->table_rows] = 1 / sqrt(CURVATURE_BOUND);
}

static void run(struct task *task, struct lbfgs *lbfgs, double *point, float *weight, float *bias)
{
    set_scales(task);
    lbfgs_run(lbfgs, loss_at, task, point);
    take_values(task, point);
    for (size_t i = 0; i < task->weights; i++)
        weight[i] = (float)task->values[i];
    for (unsigned c = 0; c < task->free; c++)
        bias[c] = (float)task->values[task->weights + c];
}

enum err_code ngram_fit(const struct ngram_problem *problem, float *weight, float *bias,
                        struct err *err)
{
    const unsigned labels = problem->labels - problem->known;
    const size_t weights = (size_t)problem->table_rows * labels, all = weights + labels;
    struct lbfgs *lbfgs = NULL;
    struct task task = {.problem = problem, .free = labels, .weights = weights};
    for (size_t i = 0; i < problem->count; i++)
        task.learnt += is_learnt(problem, i);
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
