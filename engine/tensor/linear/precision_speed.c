#include "engine/tensor/linear/precision_speed.h"

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/cpu.h"
#include "engine/tensor/tile_state.h"

#include <assert.h>
#include <float.h>
#include <string.h>

enum { ROUNDS_MIN = 3, ROUNDS_MAX = 9, TRIAL_ROWS = 16 };

static const double budget_ms = 300;

/* ---- one shape ---- */

struct candidate {
    struct linear linear;
    struct operand x;
    double best_ms; /* time of the fastest run */
};

/* The candidates, and the numbers that all of them multiply. */
struct race {
    struct product_shape shape;
    struct candidate candidates[PRECISION_COUNT];
    unsigned count;
    float *numbers; /* [max(rows, out), in]: X and W */
    float *y;       /* [rows, out] */
    struct thread_pool *pool;
    struct arena arena;
};

static enum err_code prepare(struct race *race, struct candidate *candidate,
                             const struct linear_backend *backend, struct err *err)
{
    const struct product_shape *shape = &race->shape;
    candidate->best_ms = DBL_MAX;
    if (linear_alloc(&candidate->linear, backend, shape->in, shape->out, err) ||
        linear_operand(&candidate->x, &race->arena, backend, shape->rows, shape->in, err))
        return err->code;
    linear_fill(&candidate->linear, 0, shape->out, race->numbers);
    return err->code;
}

static enum err_code open_race(struct race *race, const struct linear_backend *const *backends,
                               struct err *err)
{
    const struct product_shape *shape = &race->shape;
    const size_t height = shape->rows > shape->out ? shape->rows : shape->out;
    race->numbers = arena_alloc_array(&race->arena, height * shape->in, sizeof *race->numbers);
    race->y = arena_alloc_array(&race->arena, shape->rows * shape->out, sizeof *race->y);
    if (race->numbers == NULL || race->y == NULL)
        return err_no_memory(err, height * shape->in * sizeof *race->numbers);
    for (size_t i = 0; i < height * shape->in; i++)
        race->numbers[i] = (float)(i * 2654435761u >> 7 & 255) / 128 - 1;
    for (unsigned i = 0; i < race->count; i++)
        if (prepare(race, &race->candidates[i], backends[i], err))
            return err->code;
    return thread_pool_open(&race->pool, 1, err);
}

static void close_race(struct race *race)
{
    for (unsigned i = 0; i < race->count; i++)
        linear_close(&race->candidates[i].linear);
    thread_pool_close(race->pool);
    arena_deinit(&race->arena);
}

/* Returns the processor time of a product: other threads may use the processor meanwhile, if a
 * server measures while it answers. If the thread's clock ticks too slowly, the elapsed time
 * counts. */
static double ms_since(uint64_t start_ns, uint64_t thread_start_ns)
{
    const double ms = clock_ms_between(thread_start_ns, clock_thread_ns());
    return ms > 0 ? ms : clock_ms_between(start_ns, clock_now_ns());
}

/* Milliseconds of one run of each candidate. */
static double run_each(struct race *race, size_t rows)
{
    const struct kernels *kernels = kernels_best();
    const size_t in = race->shape.in;
    double sum = 0;
    for (unsigned i = 0; i < race->count; i++) {
        struct candidate *candidate = &race->candidates[i];
        const struct linear_io io = {
            .x = candidate->x, .rows = rows, .y = race->y, .y_stride = race->shape.out};
        const uint64_t start = clock_now_ns(), thread_start = clock_thread_ns();
        for (size_t r = 0; r < rows; r++)
            operand_store(&candidate->x, kernels, r, race->numbers + r * in, in);
        linear_run(&candidate->linear, kernels, race->pool, &io);
        const double ms = ms_since(start, thread_start);
        candidate->best_ms = ms < candidate->best_ms ? ms : candidate->best_ms;
        sum += ms;
    }
    return sum;
}

/* Returns the rows that the time allows, by a trial of few rows, which also warms the caches. */
static size_t affordable_rows(struct race *race, double ms_max)
{
    const size_t most = race->shape.rows, trial = most < TRIAL_ROWS ? most : TRIAL_ROWS;
    const double ms_row = run_each(race, trial) / (double)trial;
    for (unsigned i = 0; i < race->count; i++)
        race->candidates[i].best_ms = DBL_MAX;
    if (ms_row * (double)most * ROUNDS_MIN <= ms_max)
        return most;
    const double rows = ms_max / ROUNDS_MIN / ms_row;
    return rows > (double)trial ? (size_t)rows : trial;
}

/* Adds the time of one product of the shape for each backend. */
static enum err_code add_shape(double total_ms[PRECISION_COUNT],
                               const struct linear_backend *const *backends, unsigned count,
                               const struct product_shape *shape, double ms_max, struct err *err)
{
    struct race race = {.shape = *shape, .count = count};
    arena_init(&race.arena);
    if (!open_race(&race, backends, err)) {
        const size_t rows = affordable_rows(&race, ms_max);
        double spent_ms = 0;
        for (unsigned i = 0; i < ROUNDS_MAX && (i < ROUNDS_MIN || spent_ms < ms_max); i++)
            spent_ms += run_each(&race, rows);
        for (unsigned i = 0; i < count; i++)
            total_ms[i] += race.candidates[i].best_ms * (double)shape->rows / (double)rows;
    }
    close_race(&race);
    return err->code;
}

/* ---- all of them ---- */

enum err_code precision_speed_gains(double *gains, const struct linear_backend *const *backends,
                                    unsigned count, const struct product_shape *shapes,
                                    unsigned shape_count, struct err *err)
{
    double total_ms[PRECISION_COUNT] = {0};
    assert(count <= PRECISION_COUNT);
    for (unsigned i = 0; i < shape_count; i++)
        if (add_shape(total_ms, backends, count, &shapes[i], budget_ms / shape_count, err))
            return err->code;
    for (unsigned i = 0; i < count; i++)
        gains[i] = total_ms[0] / total_ms[i];
    return ERR_OK;
}

bool precision_speed_bf16_is_native(void)
{
    return cpu_has_bf16() || tile_state_permitted();
}

enum err_code precision_speed_judge_bf16(bool is_native, double gain, struct err *err)
{
    if (!is_native)
        return err_set(err, ERR_UNSUPPORTED,
                       "this CPU does not multiply bf16 natively; use f32 or int8");
    if (!(gain >= PRECISION_GAIN_MIN))
        return err_set(err, ERR_UNSUPPORTED,
                       "bf16 measured %.2f x the speed of f32 on this CPU, less than %.1f x; use "
                       "f32 or int8",
                       gain, PRECISION_GAIN_MIN);
    return ERR_OK;
}

enum err_code precision_speed_choose_bf16(const struct linear_backend **out, const char *name,
                                          struct err *err)
{
    /* A slice of a BERT-base layer: 50 million operations, 0.1 to 0.5 ms, weights in the
     * second-level cache. */
    static const struct product_shape slice = {.rows = 128, .in = 768, .out = 256};
    const struct linear_backend *backend = linear_backend_find(name, PRECISION_BF16);
    if (backend == NULL)
        return err_set(err, ERR_UNSUPPORTED, "the linear backend '%s' cannot multiply in bf16",
                       name);
    *out = backend;
    if (strcmp(backend->name, "reference") == 0)
        return ERR_OK;
    if (!precision_speed_bf16_is_native())
        return precision_speed_judge_bf16(false, 0, err);
    const struct linear_backend *const both[] = {linear_backend_find(NULL, PRECISION_F32), backend};
    double gains[2] = {0};
    if (precision_speed_gains(gains, both, 2, &slice, 1, err))
        return err->code;
    return precision_speed_judge_bf16(true, gains[1], err);
}
