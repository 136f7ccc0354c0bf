#include "engine/base/half.h"

#include <string.h>

static inline uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static inline float number_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* binary16 is 1 sign, 5 exponent (bias 15) and 10 fraction bits; binary32 is 1, 8 (bias 127) and 23
 * (IEEE 754-2019, 3.6). The exponent of a normal number is raised by 112 = 127 - 15, that of an
 * infinity or a NaN by twice that (31 -> 255). A subnormal is its fraction times 2^-24, a normal
 * fp32 number: no step depends on the processor's treatment of subnormals. */
static inline uint32_t widen_f16(uint32_t half)
{
    uint32_t magnitude = (half & 0x7FFFu) << 13;
    uint32_t normal = magnitude + (112u << 23);
    uint32_t special = magnitude + (224u << 23);
    uint32_t subnormal = bits_of((float)(int32_t)(half & 0x03FFu) * 0x1p-24f);
    uint32_t is_subnormal = 0u - (uint32_t)(magnitude < (1u << 23));
    uint32_t is_special = 0u - (uint32_t)(magnitude >= (31u << 23));
    uint32_t widened = (normal & ~(is_subnormal | is_special)) | (subnormal & is_subnormal) |
                       (special & is_special);
    return widened | (half & 0x8000u) << 16;
}

/* Masks instead of branches, so that the compiler turns each loop into vector code. */
void half_f16_to_f32(float *restrict out, const uint16_t *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = number_of(widen_f16(in[i]));
}

/* bfloat16 is the upper half of binary32. */
void half_bf16_to_f32(float *restrict out, const uint16_t *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = number_of((uint32_t)in[i] << 16);
}

/* Below 2^-14 binary16 is fixed point in steps of 2^-24, and so are the fractions of fp32 numbers
 * in [0.5, 1): adding 0.5 rounds to such a step, ties to even, and leaves the step's number in the
 * low bits. Above, the 13 dropped bits are rounded by adding just less than half their range, plus
 * one if the lowest kept bit is odd; a carry into the exponent is correct rounding up. */
static inline uint32_t narrow_f16(float number)
{
    const uint32_t infinity = 0x7F800000u, rounds_to_infinity = 0x477FF000u; /* 65520 */
    uint32_t bits = bits_of(number), magnitude = bits & 0x7FFFFFFFu;
    uint32_t sign = (bits ^ magnitude) >> 16;
    if (magnitude > infinity)
        return sign | 0x7E00u;
    if (magnitude >= rounds_to_infinity)
        return sign | 0x7C00u;
    if (magnitude < (113u << 23))
        return sign | (bits_of(number_of(magnitude) + 0.5f) - bits_of(0.5f));
    return sign | (magnitude - (112u << 23) + 0x0FFFu + (magnitude >> 13 & 1u)) >> 13;
}

void half_f32_to_f16(uint16_t *restrict out, const float *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)narrow_f16(in[i]);
}
