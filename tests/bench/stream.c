#include "tests/bench/stream.h"

#include <stdint.h>

/* One pair of loops for vectors of `width` bytes: eight accumulators for reads, so that additions
 * never wait for each other; the asm keeps sums that nobody reads. */
#define STREAM(suffix, width, attribute)                                                           \
    typedef float vector_##suffix __attribute__((vector_size(width)));                             \
    attribute static void read_##suffix(float *data, size_t bytes)                                 \
    {                                                                                              \
        const vector_##suffix *x = (const vector_##suffix *)(const void *)data;                    \
        vector_##suffix s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;   \
        for (size_t i = 0; i < bytes / (width); i += 8) {                                          \
            s0 += x[i], s1 += x[i + 1], s2 += x[i + 2], s3 += x[i + 3];                            \
            s4 += x[i + 4], s5 += x[i + 5], s6 += x[i + 6], s7 += x[i + 7];                        \
        }                                                                                          \
        s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7;                                                    \
        __asm__ volatile("" ::"v"(s0));                                                            \
    }                                                                                              \
    attribute static void update_##suffix(float *data, size_t bytes)                               \
    {                                                                                              \
        vector_##suffix *x = (vector_##suffix *)(void *)data;                                      \
        for (size_t i = 0; i < bytes / (width); i += 8)                                            \
            for (size_t j = 0; j < 8; j++)                                                         \
                x[i + j] *= 0.5f;                                                                  \
    }

STREAM(zmm, 64, __attribute__((target("avx512f"), noinline)))
STREAM(ymm, 32, __attribute__((target("avx2"), noinline)))
STREAM(xmm, 16, __attribute__((noinline)))

static const struct stream_loops zmm = {"zmm", read_zmm, update_zmm};
static const struct stream_loops ymm = {"ymm", read_ymm, update_ymm};
static const struct stream_loops xmm = {"xmm", read_xmm, update_xmm};

const struct stream_loops *stream_best(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return &zmm;
    return __builtin_cpu_supports("avx2") ? &ymm : &xmm;
}
