#include "engine/model/positions.h"

#include <math.h>
#include <string.h>

/* The inputs of an output along one axis, and their weights. */
struct window {
    double centre, scale; /* in inputs; scale: inputs for a step of the kernel */
    double a;
    long first, last; /* inclusive; outside of the grid if the border is repeated */
    double total;     /* sum of the weights, by which they are divided */
};

/* Keys's kernel at distance x >= 0. */
static double cubic(double x, double a)
{
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double weight_of(const struct window *window, long at)
{
    double distance = fabs((double)at + 0.5 - window->centre) / window->scale;
    return cubic(distance, window->a) / window->total;
}

static struct window plain_window(size_t i, size_t to, size_t from)
{
    struct window window = {.scale = 1, .a = -0.75, .total = 1};
    window.centre = ((double)i + 0.5) * (double)from / (double)to;
    window.first = (long)floor(window.centre - 0.5) - 1;
    window.last = window.first + 3;
    return window;
}

/* Returns the window of output i; its bounds are cut as in PyTorch's upsample_bicubic2d_aa. */
static struct window antialiased_window(size_t i, size_t to, size_t from)
{
    double ratio = (double)from / (double)to;
    struct window window = {.scale = fmax(ratio, 1), .a = -0.5, .total = 1};
    double reach = 2 * window.scale, total = 0;
    window.centre = ((double)i + 0.5) * ratio;
    window.first = (long)fmax(window.centre - reach + 0.5, 0);
    window.last = (long)fmin(window.centre + reach + 0.5, (double)from) - 1;
    for (long at = window.first; at <= window.last; at++)
        total += weight_of(&window, at);
    window.total = total;
    return window;
}

static struct window window_of(size_t i, size_t to, size_t from, bool antialiased)
{
    return antialiased ? antialiased_window(i, to, from) : plain_window(i, to, from);
}

static size_t inside(long at, size_t from)
{
    return at < 0 ? 0 : (size_t)at < from ? (size_t)at : from - 1;
}

static void add(float *out, double weight, const float *in, size_t width)
{
    for (size_t c = 0; c < width; c++)
        out[c] += (float)weight * in[c];
}

/* Computes one output position: [width]. */
static void sum_up(float *out, const struct window *down, const struct window *across,
                   const float *in, struct extent from, size_t width)
{
    memset(out, 0, width * sizeof *out);
    for (long y = down->first; y <= down->last; y++) {
        const float *row = in + inside(y, from.height) * from.width * width;
        double weight = weight_of(down, y);
        for (long x = across->first; x <= across->last; x++)
            add(out, weight * weight_of(across, x), row + inside(x, from.width) * width, width);
    }
}

void positions_resize(float *out, struct extent to, const float *in, struct extent from,
                      size_t width, bool antialiased)
{
    for (size_t row = 0; row < to.height; row++)
        for (size_t column = 0; column < to.width; column++) {
            struct window down = window_of(row, to.height, from.height, antialiased);
            struct window across = window_of(column, to.width, from.width, antialiased);
            sum_up(out + (row * to.width + column) * width, &down, &across, in, from, width);
        }
}

void positions_sines(float *out, size_t count, size_t width)
{
    const size_t sines = (width + 1) / 2;
    for (size_t p = 0; p < count; p++, out += width)
        for (size_t i = 0; i < width; i++) {
            const size_t pair = i < sines ? i : i - sines;
            const double angle = (double)p / pow(10000, 2 * (double)pair / (double)width);
            out[i] = (float)(i < sines ? sin(angle) : cos(angle));
        }
}

/* Angles are products in fp32, as there: of position 1000 they are wrong by 6e-5. */
void positions_sines_fairseq(float *out, size_t count, size_t width, size_t zero)
{
    const size_t half = width / 2;
    const float step = half > 1 ? (float)-(log(10000) / (double)(half - 1)) : 0;
    for (size_t p = 0; p < count; p++, out += width) {
        memset(out, 0, width * sizeof *out);
        for (size_t i = 0; i < half && p != zero; i++) {
            const float angle = (float)p * expf((float)i * step);
            out[i] = sinf(angle);
            out[half + i] = cosf(angle);
        }
    }
}
