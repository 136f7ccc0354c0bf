/* ngram_fit.c - see ngram_fit.h. The texts of a fit use few of a table's rows. The problem is
 * solved over the rows that a learnt text uses, in ascending order, and copied into the table at
 * the end. The other rows have only the penalty's gradient and would stay at zero, where they
 * start. Texts are summed in blocks, and blocks in order, so the sum does not depend on the number
 * of threads. */
#include "learn/ngrams/ngram_fit.h"

#include "engine/base/thread_pool.h"
#include "learn/eval/fit/lbfgs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CURVATURE_BOUND 0.25 /* largest value of p (1 - p) */

/* A block has at least BLOCK_TEXTS texts. Each block has a gradient of its own. */
enum { BLOCK_TEXTS = 8192, BLOCKS_MAX = 16 };

/* An n-gram of a text: the index of its row among the used rows, and its value. */
struct place {
    uint32_t used;
    float value;
};

/* Texts that one thread sums. */
struct block {
    size_t first, end;          /* texts */
    const struct place *places; /* n-grams of its learnt texts */
    double loss;
    double *gradient; /* [weights + free], with respect to unscaled values */
    double *scores;   /* [labels] of the current text */
};

/* A point is [used_count, free] weights, then [free] biases, each divided by its scale. */
struct task {
    const struct ngram_problem *problem;
    unsigned free;  /* number of labels that get weights */
    size_t learnt;  /* number of learnt texts */
    size_t weights; /* used_count x free */
    uint32_t used_count;
    uint32_t *used;       /* [used_count] rows of the table, ascending */
    struct place *places; /* n-grams of all learnt texts, one text after another */
    double *scale;        /* [used_count + 1]; the last one is the biases' */
    double *values;       /* [weights + free] unscaled weights and biases */
    struct block blocks[BLOCKS_MAX];
    unsigned block_count;
    struct thread_pool *pool;
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

/* Overwrites scores with softmax(scores) - onehot(truth); returns -log p[truth]. */
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

/* Returns one text's loss and adds to the block's gradient. */
static double take_text(const struct task *task, size_t text, const struct place *places,
                        struct block *block)
{
    const struct ngram_problem *problem = task->problem;
    const size_t count = problem->lists[text].count;
    const unsigned known = problem->known;
    double *scores = block->scores + known;
    for (unsigned c = 0; c < known; c++)
        block->scores[c] = (double)problem->scores[text * known + c];
    memcpy(scores, task->values + task->weights, task->free * sizeof *scores);
    for (size_t i = 0; i < count; i++) {
        const double *row = task->values + (size_t)places[i].used * task->free;
        for (unsigned c = 0; c < task->free; c++)
            scores[c] += (double)places[i].value * row[c];
    }
    const double loss = residual_of(block->scores, problem->labels, problem->classes[text]);
    for (size_t i = 0; i < count; i++) {
        double *row = block->gradient + (size_t)places[i].used * task->free;
        for (unsigned c = 0; c < task->free; c++)
            row[c] += (double)places[i].value * scores[c];
    }
    for (unsigned c = 0; c < task->free; c++)
        block->gradient[task->weights + c] += scores[c];
    return loss;
}

static void take_blocks(void *context, unsigned index, unsigned count)
{
    struct task *task = context;
    const struct ngram_problem *problem = task->problem;
    for (unsigned k = index; k < task->block_count; k += count) {
        struct block *block = &task->blocks[k];
        const struct place *places = block->places;
        block->loss = 0;
        memset(block->gradient, 0, (task->weights + task->free) * sizeof *block->gradient);
        for (size_t i = block->first; i < block->end; i++) {
            if (!is_learnt(problem, i))
                continue;
            block->loss += take_text(task, i, places, block) / (double)task->learnt;
            places += problem->lists[i].count;
        }
    }
}

static double loss_at(void *context, const double *point, double *gradient)
{
    struct task *task = context;
    const double strength = task->problem->strength, count = (double)task->learnt;
    double loss = 0, squares = 0;
    take_values(task, point);
    thread_pool_run(task->pool, take_blocks, task);
    for (unsigned i = 0; i < task->block_count; i++)
        loss += task->blocks[i].loss;
    for (size_t r = 0, at = 0; r <= task->used_count; r++)
        for (unsigned c = 0; c < task->free; c++, at++) {
            const double weight = r < task->used_count ? task->values[at] : 0;
            double slope = task->blocks[0].gradient[at];
            for (unsigned i = 1; i < task->block_count; i++)
                slope += task->blocks[i].gradient[at];
            squares += weight * weight;
            gradient[at] = task->scale[r] * (slope / count + strength * weight);
        }
    return loss + strength / 2 * squares;
}

/* ---- the used rows ---- */

/* Lists the used rows; place [table_rows], zeros at first, gets their index among them. Returns the
 * number of n-grams of all learnt texts. */
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

/* Lists the n-grams of all learnt texts and sets where those of each block start. */
static void take_places(struct task *task, const uint32_t *place)
{
    const struct ngram_problem *problem = task->problem;
    struct place *out = task->places;
    for (unsigned k = 0; k < task->block_count; k++) {
        task->blocks[k].places = out;
        for (size_t i = task->blocks[k].first; i < task->blocks[k].end; i++)
            for (size_t j = 0; is_learnt(problem, i) && j < problem->lists[i].count; j++) {
                const struct ngram_entry *entry = &problem->lists[i].entries[j];
                *out++ = (struct place){.used = place[entry->row], .value = entry->value};
            }
    }
}

static enum err_code open_blocks(struct task *task, struct arena *arena, struct err *err)
{
    const struct ngram_problem *problem = task->problem;
    const size_t numbers = task->weights + task->free;
    size_t texts = (problem->count + BLOCKS_MAX - 1) / BLOCKS_MAX;
    if (texts < BLOCK_TEXTS)
        texts = BLOCK_TEXTS;
    for (size_t first = 0; first < problem->count; first += texts) {
        struct block *block = &task->blocks[task->block_count++];
        const size_t end = first + texts;
        *block = (struct block){.first = first, .end = end < problem->count ? end : problem->count};
        block->gradient = arena_alloc_array(arena, numbers, sizeof *block->gradient);
        block->scores = arena_alloc_array(arena, problem->labels, sizeof *block->scores);
        if (block->gradient == NULL || block->scores == NULL)
            return err_no_memory(err, numbers * sizeof *block->gradient);
    }
    return ERR_OK;
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
    if (task->places == NULL || task->scale == NULL || task->values == NULL)
        return err_no_memory(err, ngrams * sizeof *task->places + numbers * sizeof *task->values);
    if (open_blocks(task, arena, err))
        return err->code;
    take_places(task, place);
    for (size_t i = 0; i < problem->count; i++)
        for (size_t j = 0; j < problem->lists[i].count; j++) {
            const struct ngram_entry *entry = &problem->lists[i].entries[j];
            squares[entry->row] +=
                (double)entry->value * (double)entry->value / (double)problem->count;
        }
    for (size_t r = 0; r < task->used_count; r++)
        task->scale[r] = 1 / sqrt(CURVATURE_BOUND * squares[task->used[r]] + problem->strength);
    task->scale[task->used_count] = 1 / sqrt(CURVATURE_BOUND);
    return ERR_OK;
}

/* ---- the fit ---- */

enum err_code ngram_fit(const struct ngram_problem *problem, float *weight, float *bias,
                        struct err *err)
{
    const unsigned threads = problem->threads > 0 ? problem->threads : 1;
    const unsigned labels = problem->labels - problem->known;
    struct task task = {.problem = problem, .free = labels};
    struct lbfgs *lbfgs = NULL;
    struct arena arena;
    arena_init(&arena);
    if (open_task(&task, &arena, err))
        goto out;
    const size_t numbers = task.weights + labels;
    double *point = arena_alloc_array(&arena, numbers, sizeof *point);
    if (point == NULL) {
        err_no_memory(err, numbers * sizeof *point);
        goto out;
    }
    if (lbfgs_open(&lbfgs, numbers, err) || thread_pool_open(&task.pool, threads, err))
        goto out;
    lbfgs_run(lbfgs, loss_at, &task, problem->gain_min, point);
    take_values(&task, point);
    thread_pool_close(task.pool);
    memset(weight, 0, (size_t)problem->table_rows * labels * sizeof *weight);
    for (size_t r = 0; r < task.used_count; r++)
        for (unsigned c = 0; c < labels; c++)
            weight[(size_t)task.used[r] * labels + c] = (float)task.values[r * labels + c];
    for (unsigned c = 0; c < labels; c++)
        bias[c] = (float)task.values[task.weights + c];
out:
    lbfgs_close(lbfgs);
    arena_deinit(&arena);
    return err->code;
}
