#include "engine/model/rotary.h"

#include <math.h>

size_t rotary_floats(size_t tokens_max, size_t d)
{
    return tokens_max * d;
}

void rotary_fill(float *table, size_t tokens_max, size_t d, double base)
{
    size_t half = d / 2;
    for (size_t t = 0; t < tokens_max; t++, table += d)
        for (size_t i = 0; i < half; i++) {
            double angle = (double)t * pow(base, -(double)i / (double)half);
            table[i] = (float)cos(angle);
            table[half + i] = (float)sin(angle);
        }
}

struct run {
    const struct spec *spec;
    const struct workspace *workspace;
    const float *table;
};

/* Query and key lie side by side: 2 H heads. */
static void rotate_token(const struct run *run, size_t token, size_t place)
{
    const struct workspace *w = run->workspace;
    size_t heads = run->spec->heads, d = run->spec->hidden / heads, at = token * w->qkv_stride;
    const float *turn = rotary_at(run->table, place, d);
    if (w->qkv_bf16 != NULL)
        w->kernels->rotate_bf16(w->qkv_bf16 + at, turn, 2 * heads, d);
    else
        w->kernels->rotate(w->qkv + at, turn, 2 * heads, d, 1);
}

static void rotate_share(void *context, unsigned index, unsigned count)
{
    const struct run *run = context;
    const struct workspace *w = run->workspace;
    size_t first = (size_t)w->tokens * index / count,
           last = (size_t)w->tokens * (index + 1) / count;
    unsigned row = 0;
    for (size_t t = first; t < last; t++) {
        while (w->offset[row + 1] <= t)
            row++;
        rotate_token(run, t, t - w->offset[row]);
    }
}

void rotary_run(const struct spec *spec, struct workspace *workspace, const float *table)
{
    thread_pool_run(workspace->pool, rotate_share, &(struct run){spec, workspace, table});
}
