#include "engine/tensor/rotary.h"

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
