#include "engine/tensor/gemm/gemm.h"

#include "engine/base/cpu.h"
#include "engine/tensor/tile_state.h"

const struct gemm *const gemm_variants[] = {
    &gemm_avx512,       &gemm_avx2,        &gemm_generic,   &gemm_avx512_bf16,
    &gemm_generic_bf16, &gemm_avx512_vnni, &gemm_avx2_vnni, &gemm_avx2_int8,
    &gemm_generic_int8, &gemm_amx_int8,    &gemm_amx_bf16,  NULL,
};

bool gemm_runnable(const struct gemm *gemm)
{
    if (gemm == &gemm_amx_int8 || gemm == &gemm_amx_bf16 || gemm == &gemm_amx_f32)
        return tile_state_permitted();
    if (gemm == &gemm_avx512)
        return cpu_level() >= CPU_AVX512;
    if (gemm == &gemm_avx512_bf16)
        return cpu_level() >= CPU_AVX512 && cpu_has_bf16();
    if (gemm == &gemm_avx512_vnni)
        return cpu_level() >= CPU_AVX512_VNNI;
    if (gemm == &gemm_avx2_vnni)
        return cpu_level() >= CPU_AVX2 && cpu_has_avx_vnni();
    if (gemm == &gemm_avx2 || gemm == &gemm_avx2_int8)
        return cpu_level() >= CPU_AVX2;
    return true;
}

const struct gemm *gemm_best(enum precision precision)
{
    for (unsigned i = 0; gemm_variants[i] != NULL; i++)
        if (gemm_variants[i]->precision == precision && gemm_runnable(gemm_variants[i]))
            return gemm_variants[i];
    return NULL;
}
