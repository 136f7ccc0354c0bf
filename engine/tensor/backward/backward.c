#include "engine/tensor/backward/backward.h"

const struct backward *backward_best(void)
{
    if (kernels_runnable(&kernels_avx512))
        return &backward_avx512;
    if (kernels_runnable(&kernels_avx2))
        return &backward_avx2;
    return &backward_generic;
}
