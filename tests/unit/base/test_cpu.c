#include "engine/base/cpu.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <string.h>

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
    unsigned before = cpu_quota_threads(TREES "nothing-here");
    ck_assert_uint_ge(before, 1);
    ck_assert_uint_eq(cpu_quota_threads(TREES "v2-fraction"), 1);
    ck_assert_uint_ge(cpu_quota_threads(""), 1);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_eq(cpu_quota_threads(TREES "v2-nested"), 1);
}
END_TEST

START_TEST(cpu_names_a_known_instruction_set)
{
    ck_assert_ptr_nonnull(strstr("sse2 avx2 avx512 avx512-vnni", cpu_isa()));
    ck_assert_uint_eq(cpu_cache_bytes(0), 0);
    ck_assert_uint_eq(cpu_cache_bytes(4), 0);
    ck_assert_uint_lt(cpu_cache_bytes(1), 1u << 24);
}
END_TEST

SUITE("cpu", cpu_finds_the_smallest_quota_on_the_way_up_in_cgroup_v2,
      cpu_finds_the_smallest_quota_on_the_way_up_in_cgroup_v1,
      cpu_finds_the_quota_of_a_hybrid_system, cpu_looks_at_the_usual_places_without_mountinfo,
      cpu_takes_malformed_and_missing_files_for_no_quota,
      cpu_uses_no_more_threads_than_the_scheduler_allows, cpu_names_a_known_instruction_set)
