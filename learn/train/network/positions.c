#include "learn/train/network/positions.h"

#include <math.h>

enum { TAPS = 4 };

/* The four neighbours of output `i` along one axis, and what each weighs. */
struct taps {
    size_t at[TAPS];
    double weight[TAPS];
};

/* Keys's kernel at distance x >= 0. */
static double cubic(double x)
{
    const double a = -0.75;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static struct taps taps_of(size_t i, size_t to, size_t from)
{
    struct taps taps;
    double centre = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    double first = floor(centre) - 1;
    for (int t = 0; t < TAPS; t++) {
        double at = first + t;
        taps.weight[t] = cubic(fabs(centre - at));
        taps.at[t] = (size_t)fmin(fmax(at, 0), (double)(from - 1));
    }
    return taps;
}

void positions_resize(float *out, size_t to, const float *in, size_t from, size_t width)
{
    for (size_t row = 0; row < to; row++)
        for (size_t column = 0; column < to; column++) {
            struct taps down = taps_of(row, to, from), across = taps_of(column, to, from);
            float *place = out + (row * to + column) * width;
            for (size_t c = 0; c < width; c++) {
                double sum = 0;
                for (int t = 0; t < TAPS * TAPS; t++)
                    sum += down.weight[t / TAPS] * across.weight[t % TAPS] *
                           in[(down.at[t / TAPS] * from + across.at[t % TAPS]) * width + c];
                place[c] = (float)sum;
            }
        }
}
