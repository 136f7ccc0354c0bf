#include "engine/decide/ood.h"

#include "engine/tensor/dot.h"

#include <math.h>

static double length_of(const float *row, unsigned width)
{
    double squares = 0;
    for (unsigned i = 0; i < width; i++)
        squares += (double)row[i] * (double)row[i];
    return sqrt(squares);
}

void neighbours_scale(float *row, unsigned width)
{
    const double length = length_of(row, width);
    for (unsigned i = 0; i < width && length > 0; i++)
        row[i] = (float)((double)row[i] / length);
}

/* largest [*count], falling, of at most `room` numbers, which another one may join. */
static void keep(float *largest, unsigned *count, unsigned room, float value)
{
    unsigned at;
    if (*count == room && value <= largest[room - 1])
        return;
    if (*count < room)
        (*count)++;
    for (at = *count - 1; at > 0 && largest[at - 1] < value; at--)
        largest[at] = largest[at - 1];
    largest[at] = value;
}

double neighbours_score(const struct neighbours *neighbours, const float *x, size_t left_out)
{
    const unsigned width = neighbours->width;
    const double length = length_of(x, width);
    float largest[NEIGHBOURS_MAX];
    unsigned count = 0;
    double sum = 0;
    if (!(length > 0) || neighbours->count == 0)
        return 1;
    for (size_t i = 0; i < neighbours->count; i++)
        if (i != left_out)
            keep(largest, &count, neighbours->nearest, dot(neighbours->rows + i * width, x, width));
    for (unsigned i = 0; i < count; i++)
        sum += (double)largest[i];
    return count > 0 ? 1 - sum / length / count : 1;
}
