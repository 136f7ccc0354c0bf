#include "engine/model/token_mean.h"

#include <math.h>
#include <string.h>

/* Returns the first layer that counts; one past the last is the encoder's end. */
static unsigned first_of(const struct spec *spec)
{
    const unsigned first = spec_first_layer(spec), end = spec->layers;
    if (spec_end_layer(spec) != end)
        return end;
    return end - first > 1 ? first + 1 : first;
}

/* Returns one past the last layer that counts; in a model that leaves out tokens, the last layer
 * that computes all. */
static unsigned end_of(const struct spec *spec)
{
    const unsigned full_layers = spec->token_pruning.full_layers;
    return full_layers > 0 ? full_layers + 1 : spec->layers;
}

/* Returns the sequences of one input: in a family with stages, the windows of its grid. */
static unsigned sequences_of(const struct spec *spec)
{
    return spec->stages != NULL ? spec_grid(spec).windows : 1;
}

/* Outer ends of rings: squares of their radii over half the image's side, 0.3, 0.6 and 0.85, in
 * parts of RING_UNIT. Corners are in the last ring. In an image that is no square they are
 * ellipses. */
enum { RING_UNIT = 400 };
static const long ring_ends[SPEC_RINGS - 1] = {36, 144, 289};

static unsigned ring_of(unsigned patch, struct extent grid)
{
    const long long height = grid.height, width = grid.width;
    const long long x = (2 * (long long)(patch % grid.width) + 1 - width) * height;
    const long long y = (2 * (long long)(patch / grid.width) + 1 - height) * width;
    const long long squares = (x * x + y * y) * RING_UNIT, whole = height * height * width * width;
    unsigned ring = 0;
    while (ring < SPEC_RINGS - 1 && squares >= ring_ends[ring] * whole)
        ring++;
    return ring;
}

/* Returns the part of a token of an input; SPEC_RINGS: none, for tokens before an image's
 * patches. */
static unsigned part_of(const struct spec *spec, unsigned token)
{
    const unsigned specials = spec_image_specials(spec);
    if (spec_mean_parts(spec) == 1)
        return 0;
    return token >= specials ? ring_of(token - specials, spec_grid(spec).image) : SPEC_RINGS;
}

/* mean += h / |h| * share; adds nothing if h is zero. */
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

/* Adds an input. The direction of a mean is that of the sum. The parts' sums are computed in the
 * input's first rows of y, which the block writes later: an input has at least as many tokens as
 * parts. */
static void add_input(const struct mean_run *run, unsigned input)
{
    struct workspace *w = run->workspace;
    const struct spec *spec = run->spec;
    const unsigned sequences = sequences_of(spec), first_layer = first_of(spec);
    const unsigned parts = spec_mean_parts(spec);
    const size_t width = spec->hidden, stride = w->hidden_stride;
    const size_t first = w->offset[input * sequences], end = w->offset[(input + 1) * sequences];
    float *mean = w->means + (size_t)input * spec_means(spec), *sums = w->y + first * stride;
    memset(sums, 0, parts * stride * sizeof *sums);
    for (size_t t = first; t < end; t++) {
        const unsigned part = part_of(spec, (unsigned)(t - first));
        if (part < parts) {
            for (size_t i = 0; i < width; i++)
                sums[part * stride + i] += w->x[t * stride + i];
        }
    }
    if (run->layer == first_layer)
        memset(mean, 0, parts * width * sizeof *mean);
    for (unsigned part = 0; part < parts; part++)
        add_direction(mean + part * width, sums + part * stride, width,
                      1.0 / (end_of(spec) - first_layer));
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
    struct mean_run run = {spec, workspace, layer, workspace->rows / sequences_of(spec)};
    if (!workspace->takes_means || layer < first_of(spec) || layer >= end_of(spec))
        return;
    if (run.inputs > 1)
        thread_pool_run(workspace->pool, add_inputs, &run);
    else
        add_inputs(&run, 0, 1);
}
