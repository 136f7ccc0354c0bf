#include "engine/base/cpu.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TREES "tests/data/cgroup/"

static void check_limit(const char *root, unsigned expected)
{
    unsigned limit = cpu_quota_limit(root);
    ck_assert_msg(limit == expected, "%s: %u, not %u", root, limit, expected);
}

START_TEST(cpu_finds_the_smallest_quota_on_the_way_up_in_cgroup_v2)
{
    check_limit(TREES "v2-container", 2); /* 1.5, rounded up */
    check_limit(TREES "v2-nested", 3);
    check_limit(TREES "v2-fraction", 1);
    check_limit(TREES "v2-unlimited", 0);
    check_limit(TREES "v2-outside", 7);
}
END_TEST

START_TEST(cpu_finds_the_smallest_quota_on_the_way_up_in_cgroup_v1)
{
    check_limit(TREES "v1-docker", 3); /* 2.5, rounded up; mounted at the group itself */
    check_limit(TREES "v1-nested", 4);
    check_limit(TREES "v1-unlimited", 0);
}
END_TEST

START_TEST(cpu_finds_the_quota_of_a_hybrid_system)
{
    check_limit(TREES "hybrid", 6);
}
END_TEST

START_TEST(cpu_looks_at_the_usual_places_without_mountinfo)
{
    check_limit(TREES "no-mountinfo", 5);
}
END_TEST

START_TEST(cpu_takes_malformed_and_missing_files_for_no_quota)
{
    check_limit(TREES "malformed", 0);
    check_limit(TREES "nothing-here", 0);
}
END_TEST

START_TEST(cpu_uses_no_more_threads_than_the_scheduler_allows)
{
    cpu_set_t one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq((int)cpu_quota_threads(TREES "nothing-here"), CPU_COUNT(&one));
    ck_assert_uint_eq(cpu_quota_threads(TREES "v2-fraction"), 1);
    ck_assert_uint_ge(cpu_quota_threads(""), 1);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_eq(cpu_quota_threads(TREES "v2-nested"), 1);
}
END_TEST

/* True if the kernel lists the flag for the first processor. The flag has a blank on both sides. */
static bool kernel_lists(const char *flag)
{
    char line[1 << 14] = "", word[32];
    FILE *file = fopen("/proc/cpuinfo", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL && strncmp(line, "flags", 5) != 0)
        continue;
    fclose(file);
    line[strcspn(line, "\n")] = ' ';
    snprintf(word, sizeof word, " %s ", flag);
    return strstr(line, word) != NULL;
}

START_TEST(cpu_names_the_instruction_set_that_the_kernel_lists)
{
    enum cpu_level expected = CPU_SSE2;
    if (kernel_lists("avx2") && kernel_lists("fma"))
        expected = CPU_AVX2;
    if (kernel_lists("avx512f") && kernel_lists("avx512bw") && kernel_lists("avx512dq") &&
        kernel_lists("avx512vl"))
        expected = kernel_lists("avx512_vnni") ? CPU_AVX512_VNNI : CPU_AVX512;
    ck_assert_int_eq(cpu_level(), expected);
    ck_assert_int_eq(cpu_has_bf16(), kernel_lists("avx512_bf16"));
    ck_assert_int_eq(cpu_has_avx_vnni(), kernel_lists("avx_vnni"));
    ck_assert_int_eq(cpu_has_tiles(), kernel_lists("amx_bf16") && kernel_lists("amx_int8") &&
                                          kernel_lists("amx_tile"));
}
END_TEST

SUITE("cpu", cpu_finds_the_smallest_quota_on_the_way_up_in_cgroup_v2,
      cpu_finds_the_smallest_quota_on_the_way_up_in_cgroup_v1,
      cpu_finds_the_quota_of_a_hybrid_system, cpu_looks_at_the_usual_places_without_mountinfo,
      cpu_takes_malformed_and_missing_files_for_no_quota,
      cpu_uses_no_more_threads_than_the_scheduler_allows,
      cpu_names_the_instruction_set_that_the_kernel_lists)
