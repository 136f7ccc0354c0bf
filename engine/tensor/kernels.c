#include "engine/tensor/kernels.h"

#include "engine/tensor/simd.h"

_Bool kernels_runnable(const struct kernels *kernels)
{
    __builtin_cpu_init();
    if (kernels == &kernels_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (kernels == &kernels_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return 1;
}

const struct kernels *kernels_best(void)
{
    if (kernels_runnable(&kernels_avx512))
        return &kernels_avx512;
    if (kernels_runnable(&kernels_avx2))
        return &kernels_avx2;
    return &kernels_generic;
}

size_t attention_scratch(size_t n, size_t d)
{
    size_t keys = simd_round_up(n);
    size_t width = simd_round_up(d);
    return d * keys + n * width + SIMD_QUERIES_MAX * (keys + width);
}
