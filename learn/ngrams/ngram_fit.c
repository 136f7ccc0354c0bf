/* ngram_fit.c - see ngram_fit.h. Texts of one fit share few of a table's rows: the problem is
 * solved over those that a learnt text has, in their order, and spread over the table at the end.
 * The others would have no slope but the penalty's, and end at the zero that they begin with. */
#include "learn/ngrams/ngram_fit.h"

#include "learn/eval/fit/lbfgs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CURVATURE_BOUND 0.25 /* of p (1 - p) */

/* An n-gram of a text, by the place of its row among those that are used. */
struct place {
    uint32_t used;
    float value;
};

/* Points are [used_count, free] weights, then [free] biases, each over its scale. */
struct task {
    const struct ngram_problem *problem;
    unsigned free;  /* labels that get weights */
    size_t learnt;  /* texts */
    size_t weights; /* used_count free */
    uint32_t used_count;
    uint32_t *used;       /* [used_count] rows of the table, rising */
    struct place *places; /* of all learnt texts, one after the other */
    double *scale;        /* [used_count + 1], the last of biases */
    double *values;       /* [weights + free] weights and biases as they are */
    double *scores;       /* [labels] */
};

static bool is_learnt(const struct ngram_problem *problem, size_t text)
{
    return problem->folds == NULL || problem->folds[text] != problem->left_out;
}

/* ---- the loss ---- */

static void take_values(const struct task *task, const double *point)
{
    double *value = task->values;
    for (size_t r = 0; r <= task->used_count; r++)
        for (unsigned c = 0; c < task->free; c++)
            *value++ = *point++ * task->scale[r];
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
static double take_text(const struct task *task, size_t text, const struct place *places,
                        double *gradient)
{
    const struct ngram_problem *problem = task->problem;
    const size_t count = problem->lists[text].count;
    const unsigned known = problem->known;
    double *scores = task->scores + known;
    for (unsigned c = 0; c < known; c++)
        task->scores[c] = (double)problem->scores[text * known + c];
    memcpy(scores, task->values + task->weights, task->free * sizeof *scores);
    for (size_t i = 0; i < count; i++) {
        const double *row = task->values + (size_t)places[i].used * task->free;
        for (unsigned c = 0; c < task->free; c++)
            scores[c] += (double)places[i].value * row[c];
    }
    const double loss = residual_of(task->scores, problem->labels, problem->classes[text]);
    for (size_t i = 0; i < count; i++) {
        double *row = gradient + (size_t)places[i].used * task->free;
        for (unsigned c = 0; c < task->free; c++)
            row[c] += (double)places[i].value * scores[c];
    }
    for (unsigned c = 0; c < task->free; c++)
        gradient[task->weights + c] += scores[c];
    return loss;
}

static double loss_at(void *context, const double *point, double *gradient)
{
    const struct task *task = context;
    const struct ngram_problem *problem = task->problem;
    const struct place *places = task->places;
    const double count = (double)task->learnt;
    double loss = 0, squares = 0;
    take_values(task, point);
    memset(gradient, 0, (task->weights + task->free) * sizeof *gradient);
    for (size_t i = 0; i < problem->count; i++) {
        if (!is_learnt(problem, i))
            continue;
        loss += take_text(task, i, places, gradient) / count;
        places += problem->lists[i].count;
    }
    const double *value = task->values;
    for (size_t r = 0; r <= task->used_count; r++)
        for (unsigned c = 0; c < task->free; c++, gradient++, value++) {
            const double weight = r < task->used_count ? *value : 0;
            squares += weight * weight;
            *gradient = task->scale[r] * (*gradient / count + problem->strength * weight);
        }
    return loss + problem->strength / 2 * squares;
}

/* ---- the rows that are used ---- */

/* What passes until the rows that are used are known. */
struct survey {
    uint32_t *place; /* [table_rows] among those that are used */
    double *squares; /* [table_rows] mean over all texts */
};

static void take_squares(const struct ngram_problem *problem, double *squares)
{
    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; j < problem->lists[i].count; j++) {
            const struct ngram_entry *entry = &problem->lists[i].entries[j];
            squares[entry->row] +=
                (double)entry->value * (double)entry->value / (double)problem->count;
        }
}

/* place [table_rows], zeros. Returns the n-grams of all learnt texts. */
static size_t find_used(struct task *task, uint32_t *place)
{
    const struct ngram_problem *problem = task->problem;
    size_t ngrams = 0;
    for (size_t i = 0; i < problem->count; i++) {
        if (!is_learnt(problem, i))
            continue;
        task->learnt++;
        ngrams += problem->lists[i].count;
        for (size_t j = 0; j < problem->lists[i].count; j++)
            place[problem->lists[i].entries[j].row] = 1;
    }
    for (uint32_t row = 0; row < problem->table_rows; row++)
        if (place[row] > 0) {
            place[row] = task->used_count;
            task->used[task->used_count++] = row;
        }
    task->weights = (size_t)task->used_count * task->free;
    return ngrams;
}

static void take_places(struct task *task, const uint32_t *place)
{
    const struct ngram_problem *problem = task->problem;
    struct place *out = task->places;
    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; is_learnt(problem, i) && j < problem->lists[i].count; j++) {
            const struct ngram_entry *entry = &problem->lists[i].entries[j];
            *out++ = (struct place){.used = place[entry->row], .value = entry->value};
        }
}

static void set_scales(struct task *task, const double *squares)
{
    for (size_t r = 0; r < task->used_count; r++)
        task->scale[r] =
            1 / sqrt(CURVATURE_BOUND * squares[task->used[r]] + task->problem->strength);
    task->scale[task->used_count] = 1 / sqrt(CURVATURE_BOUND);
}

static enum err_code open_task(struct task *task, struct arena *arena, struct err *err)
{
    const struct ngram_problem *problem = task->problem;
    const size_t rows = problem->table_rows;
    uint32_t *place = arena_alloc_array(arena, rows, sizeof *place);
    double *squares = arena_alloc_array(arena, rows, sizeof *squares);
    task->used = arena_alloc_array(arena, rows, sizeof *task->used);
    if (place == NULL || squares == NULL || task->used == NULL)
        return err_no_memory(err, rows * sizeof *squares);
    const size_t ngrams = find_used(task, place);
    const size_t numbers = task->weights + task->free;
    task->places = arena_alloc_array(arena, ngrams + 1, sizeof *task->places);
    task->scale = arena_alloc_array(arena, task->used_count + 1u, sizeof *task->scale);
    task->values = arena_alloc_array(arena, numbers, sizeof *task->values);
    task->scores = arena_alloc_array(arena, problem->labels, sizeof *task->scores);
    if (task->places == NULL || task->scale == NULL || task->values == NULL || task->scores == NULL)
        return err_no_memory(err, ngrams * sizeof *task->places + numbers * sizeof *task->values);
    take_places(task, place);
    take_squares(problem, squares);
    set_scales(task, squares);
    return ERR_OK;
}

/* ---- the fit ---- */

static void take_table(const struct task *task, float *weight, float *bias)
{
    const unsigned labels = task->free;
    memset(weight, 0, (size_t)task->problem->table_rows * labels * sizeof *weight);
    for (size_t r = 0; r < task->used_count; r++)
        for (unsigned c = 0; c < labels; c++)
            weight[(size_t)task->used[r] * labels + c] = (float)task->values[r * labels + c];
    for (unsigned c = 0; c < labels; c++)
        bias[c] = (float)task->values[task->weights + c];
}

static enum err_code run(struct task *task, struct arena *arena, struct err *err)
{
    const size_t numbers = task->weights + task->free;
    struct lbfgs *lbfgs = NULL;
    double *point = arena_alloc_array(arena, numbers, sizeof *point);
    if (point == NULL)
        return err_no_memory(err, numbers * sizeof *point);
    if (!lbfgs_open(&lbfgs, numbers, err)) {
        lbfgs_run(lbfgs, loss_at, task, task->problem->gain_min, point);
        take_values(task, point);
    }
    lbfgs_close(lbfgs);
    return err->code;
}

enum err_code ngram_fit(const struct ngram_problem *problem, float *weight, float *bias,
                        struct err *err)
{
    struct task task = {.problem = problem, .free = problem->labels - problem->known};
    struct arena arena;
    arena_init(&arena);
    if (!open_task(&task, &arena, err) && !run(&task, &arena, err))
        take_table(&task, weight, bias);
    arena_deinit(&arena);
    return err->code;
}
