/* cpu.c - see cpu.h.
 *
 * The quota of a group of processes: cpu.max in version 2, "quota period" or "max period";
 * cpu.cfs_quota_us and cpu.cfs_period_us in version 1, where a quota of -1 means none. */
#include "engine/base/cpu.h"

#include "engine/base/cgroup.h"

#include <sched.h>
#include <stdbool.h>

enum { CPUS_MAX = 8192, PROCESSORS_MAX = 1000 * 1000 };

enum cpu_level cpu_level(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return CPU_SSE2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return CPU_AVX2;
    return __builtin_cpu_supports("avx512vnni") ? CPU_AVX512_VNNI : CPU_AVX512;
}

bool cpu_has_bf16(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bf16");
}

/* clang 14 has no names for these two. It builds for fuzzing only, where they may be absent. */
#ifdef __clang__
bool cpu_has_tiles(void)
{
    return false;
}

bool cpu_has_avx_vnni(void)
{
    return false;
}
#else
bool cpu_has_tiles(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
           __builtin_cpu_supports("amx-bf16");
}

bool cpu_has_avx_vnni(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avxvnni");
}
#endif

static unsigned long long processors(long long quota, long long period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    long long count = quota / period + (quota % period != 0);
    return count < PROCESSORS_MAX ? (unsigned)count : PROCESSORS_MAX;
}

static unsigned long long quota_of_group(const struct cgroup *cgroup)
{
    long long max[2], quota[2], period[2];
    if (cgroup->is_unified)
        return cgroup_read(cgroup, "cpu.max", max) == 2 ? processors(max[0], max[1]) : 0;
    if (cgroup_read(cgroup, "cpu.cfs_quota_us", quota) < 1 ||
        cgroup_read(cgroup, "cpu.cfs_period_us", period) < 1)
        return 0;
    return processors(quota[0], period[0]);
}

unsigned cpu_quota_limit(const char *root)
{
    return (unsigned)cgroup_smallest(root, "cpu", quota_of_group);
}

unsigned cpu_quota_threads(const char *root)
{
    /* Processors in the scheduler's mask; a mask of 8192 covers every kernel that Debian builds. */
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    int count = 0;
    if (set != NULL && sched_getaffinity(0, size, set) == 0)
        count = CPU_COUNT_S(size, set);
    if (set != NULL)
        CPU_FREE(set);
    return (unsigned)cgroup_smaller(count > 0 ? (unsigned)count : 1, cpu_quota_limit(root));
}
