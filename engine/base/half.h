/* half.h - 16-bit floating-point numbers to fp32 and back.
 *
 * Every IEEE binary16 and every bfloat16 number is also an fp32 number, so widening never rounds;
 * infinities and NaN payloads are kept. Narrowing rounds to the nearest, a tie to the even one, as
 * numpy and PyTorch do. Threads: any number.
 */
#ifndef ATTND_ENGINE_BASE_HALF_H
#define ATTND_ENGINE_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

/* out[count] = in[count]; the arrays must not overlap. */
void half_f16_to_f32(float *restrict out, const uint16_t *restrict in, size_t count);
void half_bf16_to_f32(float *restrict out, const uint16_t *restrict in, size_t count);

/* The largest finite binary16 number. From 65520 on, halfway to the next power of two, a number
 * becomes an infinity; a NaN stays one. */
#define HALF_F16_MAX 65504.0f
void half_f32_to_f16(uint16_t *restrict out, const float *restrict in, size_t count);

#endif
