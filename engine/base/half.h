/* half.h - 16-bit floating-point numbers as fp32, exactly.
 *
 * Every IEEE binary16 and every bfloat16 number is also an fp32 number, so these conversions never
 * round; infinities and NaN payloads are kept. Threads: any number.
 */
#ifndef ATTND_ENGINE_BASE_HALF_H
#define ATTND_ENGINE_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

/* out[count] = in[count]; the arrays must not overlap. */
void half_f16_to_f32(float *restrict out, const uint16_t *restrict in, size_t count);
void half_bf16_to_f32(float *restrict out, const uint16_t *restrict in, size_t count);

#endif
