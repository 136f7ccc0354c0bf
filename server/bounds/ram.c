/* ram.c - see ram.h.
 *
 *     memory.max              cgroup v2: bytes, or "max"
 *     memory.limit_in_bytes   v1: bytes; without a limit the largest multiple of a page in 63 bits
 *     MemTotal of /proc/meminfo
 *
 * RLIMIT_AS counts addresses, and a thread's stack or a reservation of malloc has many that never
 * become memory; the same holds for RLIMIT_DATA. Memory that is mapped but not resident at the time
 * of the call is therefore subtracted. */
#include "server/bounds/ram.h"

#include "engine/base/cgroup.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static unsigned long long limit_of_group(const struct cgroup *cgroup)
{
    long long bytes[2];
    const char *name = cgroup->is_unified ? "memory.max" : "memory.limit_in_bytes";
    return cgroup_read(cgroup, name, bytes) >= 1 && bytes[0] > 0 ? (unsigned long long)bytes[0] : 0;
}

size_t ram_cgroup_limit(const char *root)
{
    const unsigned long long none = INT64_MAX / 65536 * 65536; /* v1, at the largest page size */
    unsigned long long limit = cgroup_smallest(root, "memory", limit_of_group);
    return limit < none ? (size_t)limit : 0;
}

/* 0 if it cannot be read. */
static size_t machine_bytes(const char *root)
{
    char path[512], line[128];
    unsigned long long kib = 0;
    int len = snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "re") : NULL;
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "MemTotal: %llu", &kib) != 1)
        continue;
    fclose(file);
    return kib < SIZE_MAX / 1024 ? (size_t)kib * 1024 : 0;
}

/* Bytes that are mapped but not resident: addresses without memory. */
static size_t mapped_in_vain(void)
{
    unsigned long long mapped = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu %llu", &mapped, &resident) != 2 || mapped < resident)
        mapped = resident = 0;
    fclose(file);
    return (size_t)(mapped - resident) * (size_t)sysconf(_SC_PAGESIZE);
}

static void lower_to(struct ram_limit *limit, size_t bytes, const char *source)
{
    if (bytes != 0 && bytes < limit->bytes)
        *limit = (struct ram_limit){.bytes = bytes, .source = source};
}

static void lower_to_resource(struct ram_limit *limit, int resource, const char *source)
{
    struct rlimit allowed;
    size_t vain = mapped_in_vain();
    if (getrlimit(resource, &allowed) != 0 || allowed.rlim_cur == RLIM_INFINITY)
        return;
    lower_to(limit, allowed.rlim_cur > vain ? (size_t)allowed.rlim_cur - vain : 1, source);
}

struct ram_limit ram_limit(const char *root)
{
    size_t machine = machine_bytes(root);
    struct ram_limit limit = {.bytes = machine != 0 ? machine : SIZE_MAX};
    lower_to(&limit, ram_cgroup_limit(root), "cgroup");
    lower_to_resource(&limit, RLIMIT_AS, "RLIMIT_AS");
    lower_to_resource(&limit, RLIMIT_DATA, "RLIMIT_DATA");
    if (limit.source == NULL)
        limit = (struct ram_limit){.bytes = limit.bytes / 2, .source = "half of MemTotal"};
    return limit;
}
