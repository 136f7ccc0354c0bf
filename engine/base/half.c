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
 * (IEEE 754-2019, 3.6). A normal number needs its exponent moved by 112 = 127 - 15, an infinity or
 * a NaN by twice that (31 -> 255), and a subnormal is its fraction times 2^-24, which is a normal
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
