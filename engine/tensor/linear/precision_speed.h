/* precision_speed.h - measures how fast this CPU multiplies in each precision, when a model is
 * opened: a feature flag shows that an instruction exists, not that it is fast. Emerald Rapids
 * without its tiles (AMX) multiplies bf16 at half the speed of fp32, Zen 4 and 5 at twice.
 *
 *     precision_speed_gains(gains, backends, 3, shapes, 4, &err);
 *     if (precision_speed_choose_bf16(&backend, "auto", &err)) the model is refused with the reason
 *
 * Threads: any number; nothing is kept. It measures the speed of the calling thread.
 */
#ifndef ATTND_ENGINE_TENSOR_LINEAR_PRECISION_SPEED_H
#define ATTND_ENGINE_TENSOR_LINEAR_PRECISION_SPEED_H

#include "engine/base/err.h"
#include "engine/tensor/linear/linear.h"

#include <stdbool.h>

/* Smallest speed-up over fp32 for which another precision is worth its rounding. */
#define PRECISION_GAIN_MIN 1.1

/* X [rows, in] W [out, in]^T. */
struct product_shape {
    size_t rows, in, out;
};

/* gains[i]: speed-up of backends[i] over backends[0], for one product of each shape, rounding or
 * quantising X included. Runs of all backends alternate. The fastest of 3 to 9 runs counts, as many
 * as 0.3 s of processor time allow, divided among the shapes. If 3 runs would take longer, they
 * have fewer rows, but at least 16, which may take a second on the slowest CPU. At most
 * PRECISION_COUNT backends. The errors of their alloc; ERR_NO_MEMORY; `gains` is then unchanged. */
enum err_code precision_speed_gains(double *gains, const struct linear_backend *const *backends,
                                    unsigned count, const struct product_shape *shapes,
                                    unsigned shape_count, struct err *err);

/* True if this CPU has instructions for bf16, in registers or in tiles. */
bool precision_speed_bf16_is_native(void);

/* Finds the backend of that name ("auto", NULL: the fastest) for bf16. ERR_UNSUPPORTED with the
 * reason if there is none, or if this CPU does not multiply bf16, or not faster than fp32;
 * "reference" is always allowed. Takes a few milliseconds on one thread. */
enum err_code precision_speed_choose_bf16(const struct linear_backend **out, const char *name,
                                          struct err *err);

/* Makes the decision alone, without measuring. */
enum err_code precision_speed_judge_bf16(bool is_native, double gain, struct err *err);

#endif
