#include "learn/train/network/ranking_loss.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

size_t ranking_loss_scratch(const struct ranking_pairs *pairs)
{
    return 4 * pairs->count * pairs->width + 2 * pairs->count + pairs->count;
}

static double product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(double *y, double scale, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

/* units [2 count, width] and lengths [2 count] of the vectors. */
static void take_units(const struct ranking_pairs *pairs, double *units, double *lengths)
{
    const size_t width = pairs->width;
    for (size_t r = 0; r < 2 * pairs->count; r++) {
        const float *x = pairs->vectors + r * width;
        double squares = 0;
        for (size_t c = 0; c < width; c++)
            squares += (double)x[c] * (double)x[c];
        lengths[r] = sqrt(squares);
        for (size_t c = 0; c < width; c++)
            units[r * width + c] = lengths[r] > 0 ? (double)x[c] / lengths[r] : 0;
    }
}

/* row [count] <- s_ij, minus infinity where pair j is no negative of pair i; then p_ij. Returns
 * -log p_ii. */
static double take_row(const struct ranking_pairs *pairs, const double *units, size_t i,
                       double *row, size_t *hits)
{
    const size_t width = pairs->width;
    double top = -INFINITY, sum = 0;
    for (size_t j = 0; j < pairs->count; j++) {
        const bool counts = j == i || pairs->groups[j] != pairs->groups[i];
        row[j] = counts ? pairs->scale *
                              product(units + 2 * i * width, units + (2 * j + 1) * width, width)
                        : -INFINITY;
        top = fmax(top, row[j]);
    }
    if (hits != NULL)
        *hits += row[i] == top;
    for (size_t j = 0; j < pairs->count; j++)
        sum += exp(row[j] - top);
    const double own = row[i] - top - log(sum);
    for (size_t j = 0; j < pairs->count; j++)
        row[j] = exp(row[j] - top) / sum;
    return -own;
}

/* dvectors <- the gradient through the division by the length. */
static void turn_back(const struct ranking_pairs *pairs, const double *units, const double *lengths,
                      const double *dunits, float *dvectors)
{
    const size_t width = pairs->width;
    for (size_t r = 0; r < 2 * pairs->count; r++) {
        const double *u = units + r * width, *du = dunits + r * width;
        const double along = product(u, du, width);
        for (size_t c = 0; c < width; c++)
            dvectors[r * width + c] =
                lengths[r] > 0 ? (float)((du[c] - u[c] * along) / lengths[r]) : 0;
    }
}

double ranking_loss(const struct ranking_pairs *pairs, float *dvectors, double *scratch,
                    size_t *hits)
{
    const size_t width = pairs->width, count = pairs->count;
    double *units = scratch, *dunits = units + 2 * count * width;
    double *lengths = dunits + 2 * count * width, *row = lengths + 2 * count, loss = 0;
    take_units(pairs, units, lengths);
    memset(dunits, 0, 2 * count * width * sizeof *dunits);
    for (size_t i = 0; i < count; i++) {
        double *du = dunits + 2 * i * width;
        loss += take_row(pairs, units, i, row, hits) / (double)count;
        for (size_t j = 0; j < count && dvectors != NULL; j++) {
            const double ds = pairs->scale * (row[j] - (i == j)) / (double)count;
            add(du, ds, units + (2 * j + 1) * width, width);
            add(dunits + (2 * j + 1) * width, ds, units + 2 * i * width, width);
        }
    }
    if (dvectors != NULL)
        turn_back(pairs, units, lengths, dunits, dvectors);
    return loss;
}
