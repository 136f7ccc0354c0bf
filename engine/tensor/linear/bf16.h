/* bf16.h - whether bf16 is faster than fp32 on this CPU, measured when a model is opened: a feature
 * flag says that the instruction is there, not that it is fast. Emerald Rapids without its tiles
 * (AMX) multiplies bf16 at half the speed of fp32, Zen 4 and 5 at twice.
 *
 *     if (bf16_choose(&backend, "auto", &err)) the model is refused with the reason
 *
 * Threads: any number; nothing is kept.
 */
#ifndef ATTND_ENGINE_TENSOR_LINEAR_BF16_H
#define ATTND_ENGINE_TENSOR_LINEAR_BF16_H

#include "engine/base/err.h"
#include "engine/tensor/linear/linear.h"

#include <stdbool.h>

/* How many times faster than fp32 it must be. Below that its rounding is not worth it. */
#define BF16_GAIN_MIN 1.1

/* The backend of that name ("auto", NULL: the fastest) for bf16. ERR_UNSUPPORTED with the reason if
 * there is none, if this CPU does not multiply bf16 or not faster than fp32; "reference" is always
 * allowed. Takes a few milliseconds on one thread. */
enum err_code bf16_choose(const struct linear_backend **out, const char *name, struct err *err);

/* Time of a product by `base` over that of the same product by `other`, the minima of alternating
 * runs on this thread: how many times faster `other` is. */
enum err_code bf16_gain(double *gain, const struct linear_backend *base,
                        const struct linear_backend *other, struct err *err);

/* The decision alone. is_native: the CPU has instructions for it. */
enum err_code bf16_judge(bool is_native, double gain, struct err *err);

#endif
