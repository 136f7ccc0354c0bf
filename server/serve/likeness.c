#include "server/serve/likeness.h"

#include <math.h>

enum { LIKENESS_TOP = 127 };

void likeness_take(int8_t *out, const float *features, unsigned size)
{
    float top = 0;
    for (unsigned i = 0; i < size; i++)
        top = fmaxf(top, fabsf(features[i]));
    const float scale = top > 0 && isfinite(top) ? (float)LIKENESS_TOP / top : 0;
    for (unsigned i = 0; i < size; i++)
        out[i] = isfinite(features[i]) ? (int8_t)lrintf(scale * features[i]) : 0;
}

int32_t likeness_dot(const int8_t *a, const int8_t *b, unsigned size)
{
    int32_t sum = 0;
    for (unsigned i = 0; i < size; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

float likeness_length(const int8_t *likeness, unsigned size)
{
    return sqrtf((float)likeness_dot(likeness, likeness, size));
}

float likeness_cosine(const int8_t *a, const int8_t *b, unsigned size)
{
    const float lengths = likeness_length(a, size) * likeness_length(b, size);
    return lengths > 0 ? (float)likeness_dot(a, b, size) / lengths : 0;
}
