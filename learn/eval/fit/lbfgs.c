#include "learn/eval/fit/lbfgs.h"

#include "engine/base/arena.h"
#include "learn/eval/fit/eigen.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 12, STEPS_MAX = 300, HALVINGS_MAX = 30 };

#define SLOPE_MIN 1e-5 /* the search ends if no entry of the gradient is larger */
#define ARMIJO 1e-4

/* A difference of two points and of their gradients. */
struct pair {
    double *point, *gradient; /* [numbers] */
    double inverse;           /* 1 / (point' gradient) */
};

struct lbfgs {
    size_t numbers;
    double *point, *gradient, *next, *next_gradient, *direction; /* [numbers] */
    double alpha[MEMORY];
    struct pair pairs[MEMORY]; /* a ring */
    unsigned pair_count, pair_first;
    lbfgs_loss *loss;
    void *context;
    struct arena arena;
};

/* ---- open ---- */

enum err_code lbfgs_open(struct lbfgs **out, size_t numbers, struct err *err)
{
    struct lbfgs *lbfgs = *out = calloc(1, sizeof *lbfgs);
    if (lbfgs == NULL)
        return err_no_memory(err, sizeof *lbfgs);
    struct arena *arena = &lbfgs->arena;
    lbfgs->numbers = numbers;
    lbfgs->point = arena_alloc_array(arena, numbers, sizeof(double));
    lbfgs->gradient = arena_alloc_array(arena, numbers, sizeof(double));
    lbfgs->next = arena_alloc_array(arena, numbers, sizeof(double));
    lbfgs->next_gradient = arena_alloc_array(arena, numbers, sizeof(double));
    lbfgs->direction = arena_alloc_array(arena, numbers, sizeof(double));
    for (unsigned i = 0; i < MEMORY; i++) {
        lbfgs->pairs[i].point = arena_alloc_array(arena, numbers, sizeof(double));
        lbfgs->pairs[i].gradient = arena_alloc_array(arena, numbers, sizeof(double));
    }
    return arena->failed ? err_no_memory(err, numbers * sizeof(double) * (2 * MEMORY + 5)) : ERR_OK;
}

void lbfgs_close(struct lbfgs *lbfgs)
{
    if (lbfgs == NULL)
        return;
    arena_deinit(&lbfgs->arena);
    free(lbfgs);
}

/* ---- steps ---- */

static struct pair *pair_at(struct lbfgs *lbfgs, unsigned age)
{
    return &lbfgs->pairs[(lbfgs->pair_first + age) % MEMORY];
}

/* direction = -H gradient, by the two loops (Nocedal and Wright 2006, algorithm 7.4). */
static void take_direction(struct lbfgs *lbfgs)
{
    size_t n = lbfgs->numbers;
    for (size_t i = 0; i < n; i++)
        lbfgs->direction[i] = -lbfgs->gradient[i];
    for (unsigned k = lbfgs->pair_count; k-- > 0;) {
        const struct pair *pair = pair_at(lbfgs, k);
        lbfgs->alpha[k] = pair->inverse * eigen_dot(pair->point, lbfgs->direction, n);
        eigen_add(lbfgs->direction, pair->gradient, -lbfgs->alpha[k], n);
    }
    if (lbfgs->pair_count > 0) {
        const struct pair *last = pair_at(lbfgs, lbfgs->pair_count - 1);
        double size = 1 / (last->inverse * eigen_dot(last->gradient, last->gradient, n));
        for (size_t i = 0; i < n; i++)
            lbfgs->direction[i] *= size;
    }
    for (unsigned k = 0; k < lbfgs->pair_count; k++) {
        const struct pair *pair = pair_at(lbfgs, k);
        double beta = pair->inverse * eigen_dot(pair->gradient, lbfgs->direction, n);
        eigen_add(lbfgs->direction, pair->point, lbfgs->alpha[k] - beta, n);
    }
}

/* Stores the step from the current to the next point, unless rounding left it no curvature. If
 * there is no room it replaces the oldest one. */
static void remember(struct lbfgs *lbfgs)
{
    if (lbfgs->pair_count == MEMORY) {
        lbfgs->pair_first = (lbfgs->pair_first + 1) % MEMORY;
        lbfgs->pair_count--;
    }
    struct pair *pair = pair_at(lbfgs, lbfgs->pair_count);
    for (size_t i = 0; i < lbfgs->numbers; i++) {
        pair->point[i] = lbfgs->next[i] - lbfgs->point[i];
        pair->gradient[i] = lbfgs->next_gradient[i] - lbfgs->gradient[i];
    }
    double product = eigen_dot(pair->point, pair->gradient, lbfgs->numbers);
    if (product <= 1e-10 * eigen_dot(pair->point, pair->point, lbfgs->numbers))
        return;
    pair->inverse = 1 / product;
    lbfgs->pair_count++;
}

/* Computes the next point along the direction, with its gradient. False if the step promises less
 * than gain_min (unknown for the first step, which has no curvature), or if no point is lower,
 * which rounding causes at the optimum. */
static bool step(struct lbfgs *lbfgs, double gain_min, double *loss)
{
    double slope = eigen_dot(lbfgs->gradient, lbfgs->direction, lbfgs->numbers), size = 1;
    if (lbfgs->pair_count > 0 && -slope / 2 < gain_min)
        return false;
    for (unsigned i = 0; i < HALVINGS_MAX && slope < 0; i++, size /= 2) {
        memcpy(lbfgs->next, lbfgs->point, lbfgs->numbers * sizeof *lbfgs->next);
        eigen_add(lbfgs->next, lbfgs->direction, size, lbfgs->numbers);
        double next = lbfgs->loss(lbfgs->context, lbfgs->next, lbfgs->next_gradient);
        if (next <= *loss + ARMIJO * size * slope) {
            *loss = next;
            return true;
        }
    }
    return false;
}

static bool is_flat(const struct lbfgs *lbfgs)
{
    for (size_t i = 0; i < lbfgs->numbers; i++)
        if (fabs(lbfgs->gradient[i]) > SLOPE_MIN)
            return false;
    return true;
}

static void swap(double **a, double **b)
{
    double *c = *a;
    *a = *b;
    *b = c;
}

void lbfgs_run(struct lbfgs *lbfgs, lbfgs_loss *loss, void *context, double gain_min, double *point)
{
    lbfgs->loss = loss;
    lbfgs->context = context;
    lbfgs->pair_count = lbfgs->pair_first = 0;
    memcpy(lbfgs->point, point, lbfgs->numbers * sizeof *point);
    double now = loss(context, lbfgs->point, lbfgs->gradient);
    for (unsigned i = 0; i < STEPS_MAX && !is_flat(lbfgs); i++) {
        take_direction(lbfgs);
        if (!step(lbfgs, gain_min, &now))
            break;
        remember(lbfgs);
        swap(&lbfgs->point, &lbfgs->next);
        swap(&lbfgs->gradient, &lbfgs->next_gradient);
    }
    memcpy(point, lbfgs->point, lbfgs->numbers * sizeof *point);
}
