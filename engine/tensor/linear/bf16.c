#include "engine/tensor/linear/bf16.h"

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/cpu.h"
#include "engine/tensor/tile_state.h"

#include <float.h>
#include <string.h>

/* A slice of a BERT-base layer: 50 million operations, 0.1 to 0.5 ms, weights in the second-level
 * cache. */
enum { ROWS = 128, IN = 768, OUT = 256, RUNS = 9 };

struct candidate {
    struct linear linear;
    struct operand x;
    double best_ms; /* of a run */
};

static enum err_code prepare(struct candidate *out, const struct linear_backend *backend,
                             const float *numbers, struct arena *arena, struct err *err)
{
    *out = (struct candidate){.best_ms = DBL_MAX};
    if (linear_alloc(&out->linear, backend, IN, OUT, err) ||
        operand_alloc(&out->x, arena, backend->precision, ROWS, IN, err))
        return err->code;
    for (size_t r = 0; r < ROWS; r++)
        operand_store(&out->x, kernels_best(), r, numbers + r * IN, IN);
    linear_fill(&out->linear, 0, OUT, numbers);
    return linear_open(&out->linear, err);
}

static void measure(struct candidate *candidate, float *y)
{
    struct linear_io io = {.x = candidate->x, .rows = ROWS, .y = y, .y_stride = OUT};
    struct linear_block all = {0, ROWS, 0, OUT};
    uint64_t start = clock_now_ns();
    candidate->linear.backend->run(&candidate->linear, kernels_best(), &io, &all);
    double ms = clock_ms_between(start, clock_now_ns());
    if (ms < candidate->best_ms)
        candidate->best_ms = ms;
}

static enum err_code measure_both(double *gain, const struct linear_backend *base,
                                  const struct linear_backend *other, struct arena *arena,
                                  struct err *err)
{
    struct candidate candidates[2] = {{.best_ms = 0}};
    float *numbers = arena_alloc_array(arena, (size_t)OUT * IN, sizeof *numbers);
    float *y = arena_alloc_array(arena, (size_t)ROWS * OUT, sizeof *y);
    if (numbers == NULL || y == NULL)
        return err_no_memory(err, (size_t)OUT * (IN + ROWS) * sizeof *y);
    for (size_t i = 0; i < (size_t)OUT * IN; i++)
        numbers[i] = (float)(i * 2654435761u >> 7 & 255) / 128 - 1;
    if (!prepare(&candidates[0], base, numbers, arena, err) &&
        !prepare(&candidates[1], other, numbers, arena, err)) {
        for (int i = 0; i < 2 * RUNS; i++)
            measure(&candidates[i % 2], y);
        *gain = candidates[0].best_ms / candidates[1].best_ms;
    }
    linear_close(&candidates[0].linear);
    linear_close(&candidates[1].linear);
    return err->code;
}

enum err_code bf16_gain(double *gain, const struct linear_backend *base,
                        const struct linear_backend *other, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    measure_both(gain, base, other, &arena, err);
    arena_deinit(&arena);
    return err->code;
}

enum err_code bf16_judge(bool is_native, double gain, struct err *err)
{
    if (!is_native)
        return err_set(err, ERR_UNSUPPORTED,
                       "this CPU does not multiply bf16 natively; use f32 or int8");
    if (!(gain >= BF16_GAIN_MIN))
        return err_set(err, ERR_UNSUPPORTED,
                       "bf16 measured %.2f x the speed of f32 on this CPU, less than %.1f x; use "
                       "f32 or int8",
                       gain, BF16_GAIN_MIN);
    return ERR_OK;
}

enum err_code bf16_choose(const struct linear_backend **out, const char *name, struct err *err)
{
    const struct linear_backend *backend = linear_backend_find(name, PRECISION_BF16);
    if (backend == NULL)
        return err_set(err, ERR_UNSUPPORTED, "the linear backend '%s' cannot multiply in bf16",
                       name);
    *out = backend;
    if (strcmp(backend->name, "reference") == 0)
        return ERR_OK;
    if (!cpu_has_bf16() && !tile_state_permitted())
        return bf16_judge(false, 0, err);
    double gain;
    if (bf16_gain(&gain, linear_backend_find(NULL, PRECISION_F32), backend, err))
        return err->code;
    return bf16_judge(true, gain, err);
}
