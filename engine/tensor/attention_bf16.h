/* attention_bf16.h - scaled dot-product attention on bf16 activations, for encoders whose linear
 * layers are bf16 or int8 on a CPU that multiplies bf16 natively; elsewhere these use the fp32
 * kernel of kernels.h. Softmax and sums are fp32. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_TENSOR_ATTENTION_BF16_H
#define ATTND_ENGINE_TENSOR_ATTENTION_BF16_H

#include "engine/tensor/attention_io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if this CPU can run it for heads of width d. */
bool attention_bf16_runnable(size_t d);

/* Same as kernels.attention, but q, k and v are bf16. */
void attention_bf16(const struct attention_io *io);

/* Floats of 64-byte aligned scratch. */
size_t attention_bf16_scratch(size_t d);

/* Same as kernels.attention_mean, with the same difference. */
void attention_bf16_mean(const struct attention_io *io);
size_t attention_bf16_mean_scratch(size_t n, size_t d);

/* Same as attention_bf16 and its scratch, by tile registers (AMX). Requires tile_state_permitted
 * and attention_bf16_runnable. The softmax's relative error is 7.5e-5 before it is rounded to
 * bf16. */
void attention_amx(const struct attention_io *io);
size_t attention_amx_scratch(size_t d);

#endif
