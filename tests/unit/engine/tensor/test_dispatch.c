/* The variant of kernels and tiles that each processor gets. The functions below stand in for
 * engine/base/cpu.c: this processor is the one that a test wants. */
#include "engine/base/cpu.h"
#include "engine/tensor/backward/backward.h"
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/linear/precision_speed.h"
#include "tests/support/suite.h"

#include <string.h>

static struct {
    enum cpu_level level;
    bool bf16, avx_vnni;
} cpu;

enum cpu_level cpu_level(void)
{
    return cpu.level;
}

bool cpu_has_bf16(void)
{
    return cpu.bf16;
}

bool cpu_has_tiles(void)
{
    return false;
}

bool cpu_has_avx_vnni(void)
{
    return cpu.avx_vnni;
}

unsigned cpu_quota_threads(const char *root)
{
    (void)root;
    return 1;
}

unsigned cpu_quota_limit(const char *root)
{
    (void)root;
    return 1;
}

START_TEST(kernels_are_the_widest_that_the_processor_runs)
{
    static const struct {
        enum cpu_level level;
        const struct kernels *kernels;
        const struct backward *backward;
    } cases[] = {{CPU_SSE2, &kernels_generic, &backward_generic},
                 {CPU_AVX2, &kernels_avx2, &backward_avx2},
                 {CPU_AVX512, &kernels_avx512, &backward_avx512},
                 {CPU_AVX512_VNNI, &kernels_avx512, &backward_avx512}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cpu.level = cases[i].level;
        ck_assert_ptr_eq(kernels_best(), cases[i].kernels);
        ck_assert_ptr_eq(backward_best(), cases[i].backward);
        ck_assert(kernels_runnable(&kernels_generic));
        ck_assert(kernels_runnable(&kernels_reference));
        ck_assert_int_eq(kernels_runnable(&kernels_avx2), cases[i].level >= CPU_AVX2);
        ck_assert_int_eq(kernels_runnable(&kernels_avx512), cases[i].level >= CPU_AVX512);
    }
}
END_TEST

START_TEST(tiles_are_the_fastest_that_the_processor_runs)
{
    static const struct {
        enum cpu_level level;
        bool bf16, avx_vnni;
        const char *names[PRECISION_COUNT];
    } cases[] = {{CPU_SSE2, false, false, {"generic", "generic", "generic"}},
                 {CPU_SSE2, true, true, {"generic", "generic", "generic"}},
                 {CPU_AVX2, false, false, {"avx2", "generic", "avx2"}},
                 {CPU_AVX2, true, true, {"avx2", "generic", "avx2-vnni"}},
                 {CPU_AVX512, false, false, {"avx512", "generic", "avx2"}},
                 {CPU_AVX512, true, false, {"avx512", "avx512-bf16", "avx2"}},
                 {CPU_AVX512, false, true, {"avx512", "generic", "avx2-vnni"}},
                 {CPU_AVX512_VNNI, false, false, {"avx512", "generic", "avx512-vnni"}},
                 {CPU_AVX512_VNNI, true, true, {"avx512", "avx512-bf16", "avx512-vnni"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cpu.level = cases[i].level;
        cpu.bf16 = cases[i].bf16;
        cpu.avx_vnni = cases[i].avx_vnni;
        for (int p = 0; p < PRECISION_COUNT; p++) {
            const struct gemm *best = gemm_best((enum precision)p);
            ck_assert_int_eq(best->precision, p);
            ck_assert_msg(strcmp(best->name, cases[i].names[p]) == 0, "case %zu: %s in %s", i,
                          best->name, precision_name((enum precision)p));
            ck_assert(gemm_runnable(best));
        }
    }
}
END_TEST

START_TEST(bf16_is_not_measured_where_the_processor_has_it_not)
{
    const struct linear_backend *backend = NULL;
    struct err err = {0};
    cpu.level = CPU_AVX512;
    cpu.bf16 = false;
    ck_assert_int_eq(precision_speed_choose_bf16(&backend, "auto", &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "this CPU does not multiply bf16 natively; use f32 or int8");
    ck_assert_ptr_eq(backend, &linear_native[PRECISION_BF16]);
}
END_TEST

START_TEST(scratch_holds_what_a_block_of_queries_needs)
{
    ck_assert_uint_eq(attention_scratch(64), (64 + ATTENTION_KEYS) * ATTENTION_QUERIES);
    ck_assert_uint_eq(attention_mean_scratch(197, 64), (64 + 2 * 197) * ATTENTION_QUERIES);
}
END_TEST

SUITE("dispatch", kernels_are_the_widest_that_the_processor_runs,
      tiles_are_the_fastest_that_the_processor_runs,
      bf16_is_not_measured_where_the_processor_has_it_not,
      scratch_holds_what_a_block_of_queries_needs)
