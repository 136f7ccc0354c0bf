#include "engine/tensor/kernels.h"

#include "engine/base/cpu.h"

bool kernels_runnable(const struct kernels *kernels)
{
    if (kernels == &kernels_avx512)
        return cpu_level() >= CPU_AVX512;
    if (kernels == &kernels_avx2)
        return cpu_level() >= CPU_AVX2;
    return true;
}

const struct kernels *kernels_best(void)
{
    if (kernels_runnable(&kernels_avx512))
        return &kernels_avx512;
    if (kernels_runnable(&kernels_avx2))
        return &kernels_avx2;
    return &kernels_generic;
}

size_t attention_scratch(size_t d)
{
    return (d + ATTENTION_KEYS) * ATTENTION_QUERIES;
}

size_t attention_mean_scratch(size_t n, size_t d)
{
    return (d + 2 * n) * ATTENTION_QUERIES;
}
