#include "engine/tensor/linear.h"

#include "engine/base/pages.h"
#include "engine/tensor/simd.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct linear_backend *const backends[] = {&linear_openblas, &linear_reference};

const struct linear_backend *linear_backend_find(const char *name)
{
    if (name == NULL || strcmp(name, "auto") == 0)
        return backends[0];
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}

const char *linear_backend_names(void)
{
    return "auto, openblas, reference";
}

/* Uninitialised; NULL on overflow or without memory. */
static float *alloc_floats(size_t rows, size_t columns)
{
    if (columns != 0 && rows > SIZE_MAX / 2 / sizeof(float) / columns)
        return NULL;
    return pages_alloc(rows * columns * sizeof(float));
}

enum err_code linear_alloc(struct linear *linear, const struct linear_backend *backend, size_t in,
                           size_t out, struct err *err)
{
    *linear = (struct linear){.backend = backend,
                              .in = in,
                              .out = out,
                              .weight = alloc_floats(out, in),
                              .bias = alloc_floats(1, out)};
    if (linear->weight == NULL || linear->bias == NULL)
        return err_set(err, ERR_NO_MEMORY, "out of memory for a %zu x %zu matrix", out, in);
    memset(linear->bias, 0, out * sizeof(float));
    return ERR_OK;
}

void linear_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    assert(first % LINEAR_FILL_ROWS == 0 && first <= linear->out && rows <= linear->out - first);
    assert(rows % LINEAR_FILL_ROWS == 0 || rows == linear->out - first);
    memcpy(linear->weight + first * linear->in, weight, rows * linear->in * sizeof *weight);
}

enum err_code linear_open(struct linear *linear, struct err *err)
{
    return linear->backend->open(linear, err);
}

void linear_close(struct linear *linear)
{
    if (linear->backend != NULL)
        linear->backend->close(linear);
    free(linear->weight);
    free(linear->bias);
    *linear = (struct linear){0};
}

struct run {
    const struct linear *linear;
    const struct kernels *kernels;
    float *y;
    const float *x, *residual;
    size_t rows;
    enum activation act;
};

/* The first column of a member's slice: whole vectors, so that slices do not share a register. */
static size_t slice_start(size_t columns, unsigned index, unsigned count)
{
    size_t start = simd_round_up(columns * index / count);
    return start < columns ? start : columns;
}

static void run_slice(void *context, unsigned index, unsigned count)
{
    const struct run *run = context;
    const struct linear *linear = run->linear;
    size_t first = slice_start(linear->out, index, count);
    size_t last = slice_start(linear->out, index + 1, count);
    if (first == last)
        return;
    linear->backend->product(linear, run->y, run->x, run->rows, first, last);
    run->kernels->epilogue(run->y + first, linear->bias + first,
                           run->residual != NULL ? run->residual + first : NULL, run->rows,
                           last - first, linear->out, run->act);
}

void linear_run(const struct linear *linear, const struct kernels *kernels, struct team *team,
                float *y, const float *x, size_t rows, const float *residual, enum activation act)
{
    struct run run = {linear, kernels, y, x, residual, rows, act};
    team_run(team, run_slice, &run);
}

/* ---- self-test ---- */

enum { TEST_ROWS_MAX = 40, TEST_COLUMNS = 8 };

/* Inputs that are exact in fp32 and differ from row to row and column to column. */
static void fill_test_input(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((i * 2654435761u >> 7) % 256) / 128.0f - 1.0f;
}

static bool column_agrees(const struct linear *linear, const float *y, const float *x, size_t rows,
                          size_t column)
{
    const float *weight = linear->weight + column * linear->in;
    for (size_t r = 0; r < rows; r++) {
        double sum = 0, size = 0;
        for (size_t k = 0; k < linear->in; k++) {
            double term = (double)x[r * linear->in + k] * weight[k];
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(y[r * linear->out + column] - sum) <= 1e-5 * size + 1e-30))
            return false;
    }
    return true;
}

static bool products_agree(const struct linear *linear, float *y, const float *x)
{
    static const size_t rows[] = {1, 5, 16, TEST_ROWS_MAX};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        linear->backend->product(linear, y, x, rows[i], 0, linear->out);
        for (size_t c = 0; c < TEST_COLUMNS; c++)
            if (!column_agrees(linear, y, x, rows[i], (linear->out - 1) * c / (TEST_COLUMNS - 1)))
                return false;
    }
    return true;
}

enum err_code linear_self_test(const struct linear *linear, struct err *err)
{
    if (linear->weight == NULL)
        return ERR_OK;
    float *x = alloc_floats(TEST_ROWS_MAX, linear->in);
    float *y = alloc_floats(TEST_ROWS_MAX, linear->out);
    if (x == NULL || y == NULL)
        err_no_memory(err, TEST_ROWS_MAX * linear->in * sizeof *x);
    if (err->code == ERR_OK) {
        fill_test_input(x, TEST_ROWS_MAX * linear->in);
        if (!products_agree(linear, y, x))
            err_set(err, ERR_INTERNAL,
                    "the linear backend '%s' computes a wrong %zu x %zu product on this CPU; "
                    "choose another one",
                    linear->backend->name, linear->out, linear->in);
    }
    free(x);
    free(y);
    return err->code;
}
