/* OpenBLAS as it is found at run time: with kernels for this processor, on one thread, or not at
 * all. Each test that opens it is a process of its own. */
#include "engine/base/openblas.h"

#include "engine/base/cpu.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static bool is_set(const char *name, const char *value)
{
    const char *set = getenv(name);
    return set != NULL && strcmp(set, value) == 0;
}

START_TEST(openblas_environment_chooses_by_features_and_one_thread)
{
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    setenv("OMP_NUM_THREADS", "7", 1);
    openblas_set_environment();
    ck_assert(is_set("OPENBLAS_CORETYPE", "auto") && is_set("OPENBLAS_NUM_THREADS", "1"));
    ck_assert(is_set("OMP_NUM_THREADS", "1") && is_set("OMP_WAIT_POLICY", "passive"));
    ck_assert(is_set("GOMP_SPINCOUNT", "0"));
}
END_TEST

START_TEST(openblas_keeps_what_an_operator_has_chosen)
{
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    setenv("OMP_WAIT_POLICY", "active", 1);
    openblas_set_environment();
    ck_assert(is_set("OPENBLAS_CORETYPE", "Haswell") && is_set("OMP_WAIT_POLICY", "active"));
}
END_TEST

START_TEST(openblas_multiplies_with_the_kernels_of_this_processor)
{
    static const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    float c[4];
    struct err err = {0};
    unsetenv("OPENBLAS_CORETYPE");
    openblas_set_environment();
    ck_assert_str_eq(openblas_core(), "none");
    ck_assert_msg(!openblas_open(&err), "%s", err.text);
    openblas_functions()->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2,
                                0, c, 2);
    ck_assert(c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50);
    ck_assert_str_ne(openblas_core(), "none");
    ck_assert(cpu_level() < CPU_AVX2 || strcmp(openblas_core(), "Prescott") != 0);
    ck_assert(cpu_level() < CPU_AVX512 || strcmp(openblas_core(), "Haswell") != 0);
}
END_TEST

START_TEST(openblas_uses_the_kernels_that_an_operator_names)
{
    struct err err = {0};
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    openblas_set_environment();
    ck_assert(!openblas_open(&err));
    ck_assert_str_eq(openblas_core(), "Prescott");
}
END_TEST

SUITE("openblas", openblas_environment_chooses_by_features_and_one_thread,
      openblas_keeps_what_an_operator_has_chosen,
      openblas_multiplies_with_the_kernels_of_this_processor,
      openblas_uses_the_kernels_that_an_operator_names)
