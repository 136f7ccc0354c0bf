#include "engine/model/token_mean.h"

#include <math.h>
#include <string.h>

/* The first layer that counts; one past the last is the encoder's end. */
static unsigned first_of(const struct spec *spec)
{
    const unsigned first = spec_first_layer(spec), end = spec->layers;
    if (spec_end_layer(spec) != end)
        return end;
    return end - first > 1 ? first + 1 : first;
}

/* Sequences that are one input: the windows of its grid, in a family with stages. */
static unsigned parts_of(const struct spec *spec)
{
    return spec->stage_count > 0 ? spec_windows(spec) : 1;
}

/* mean += h / |h| * share; nothing of what is zero. */
static void add_direction(float *mean, const float *sum, size_t width, double share)
{
    double squares = 0;
    for (size_t i = 0; i < width; i++)
        squares += (double)sum[i] * (double)sum[i];
    const float scale = squares > 0 ? (float)(share / sqrt(squares)) : 0;
    for (size_t i = 0; i < width; i++)
        mean[i] += sum[i] * scale;
}

struct mean_run {
    const struct spec *spec;
    struct workspace *workspace;
    unsigned layer, inputs;
};

/* The direction of a mean is that of the sum, which is made in y: the block writes that later. */
static void add_input(const struct mean_run *run, unsigned input)
{
    struct workspace *w = run->workspace;
    const unsigned parts = parts_of(run->spec), first_layer = first_of(run->spec);
    const size_t width = run->spec->hidden, stride = w->hidden_stride;
    const size_t first = w->offset[input * parts], end = w->offset[(input + 1) * parts];
    float *mean = w->means + input * width, *sum = w->y + first * stride;
    memcpy(sum, w->x + first * stride, width * sizeof *sum);
    for (size_t t = first + 1; t < end; t++)
        for (size_t i = 0; i < width; i++)
            sum[i] += w->x[t * stride + i];
    if (run->layer == first_layer)
        memset(mean, 0, width * sizeof *mean);
    add_direction(mean, sum, width, 1.0 / (run->spec->layers - first_layer));
}

static void add_inputs(void *context, unsigned index, unsigned count)
{
    const struct mean_run *run = context;
    const unsigned last = run->inputs * (index + 1) / count;
    for (unsigned input = run->inputs * index / count; input < last; input++)
        add_input(run, input);
}

void token_mean_add(const struct spec *spec, struct workspace *workspace, unsigned layer)
{
    struct mean_run run = {spec, workspace, layer, workspace->rows / parts_of(spec)};
    if (!workspace->takes_means || layer < first_of(spec))
        return;
    if (run.inputs > 1)
        thread_pool_run(workspace->pool, add_inputs, &run);
    else
        add_inputs(&run, 0, 1);
}
