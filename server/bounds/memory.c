#include "server/bounds/memory.h"

#include "engine/base/cgroup.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Part of the pool that is kept for small requests: an eighth, but no more than about a hundred of
 * them can use. */
enum { SMALL_SHARE = 8, SMALL_BYTES_MAX = 64 * 1024 * 1024 };

enum { TRIM_BYTES = 8 * 1024 * 1024 };

void memory_init(struct memory *memory, size_t max_bytes, size_t fixed_bytes, size_t model_bytes)
{
    size_t requests = max_bytes > fixed_bytes ? max_bytes - fixed_bytes : 0;
    size_t small = requests / SMALL_SHARE;
    *memory = (struct memory){.max_bytes = max_bytes,
                              .pool_bytes = memory_sum(requests, model_bytes),
                              .small_bytes = small < SMALL_BYTES_MAX ? small : SMALL_BYTES_MAX};
    atomic_init(&memory->taken, model_bytes);
    atomic_init(&memory->held, model_bytes);
}

/* Adds atomically: the sum never exceeds the limit, not even temporarily. */
static bool add_within(struct memory *memory, size_t bytes, size_t limit)
{
    size_t before = atomic_load_explicit(&memory->taken, memory_order_relaxed);
    do {
        if (before > limit || bytes > limit - before)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&memory->taken, &before, before + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

enum err_code memory_take_more(struct memory *memory, size_t held, size_t more, enum memory_use use,
                               struct err *err)
{
    size_t models = atomic_load_explicit(&memory->held, memory_order_relaxed);
    size_t pool = memory->pool_bytes - (use == MEMORY_SMALL ? 0 : memory->small_bytes);
    size_t all = memory_sum(held, more);
    size_t limit = pool > models ? pool - models : 0;
    if (all > limit)
        return err_set(err, ERR_TOO_LARGE,
                       "memory: the request needs %zu bytes; one alone can have %zu (memory_max is "
                       "%zu); send fewer or smaller inputs",
                       all, limit, memory->max_bytes);
    if (add_within(memory, more, pool))
        return ERR_OK;
    return err_set(err, ERR_QUEUE_FULL,
                   "memory: the request needs %zu more bytes, which other requests hold (%zu are "
                   "for all, memory_max is %zu)",
                   more, limit, memory->max_bytes);
}

enum err_code memory_take(struct memory *memory, size_t bytes, enum memory_use use, struct err *err)
{
    return memory_take_more(memory, 0, bytes, use, err);
}

/* Small blocks that a large request has freed (64 explained texts: a reply's tree of 70 MB) lie
 * between those of others, where only a walk through the whole heap finds them. */
void memory_give(struct memory *memory, size_t bytes)
{
    if (bytes >= TRIM_BYTES)
        malloc_trim(0);
    atomic_fetch_sub_explicit(&memory->taken, bytes, memory_order_relaxed);
}

enum err_code memory_hold(struct memory *memory, size_t bytes, struct err *err)
{
    size_t limit =
        memory->pool_bytes > MEMORY_REQUESTS_MIN ? memory->pool_bytes - MEMORY_REQUESTS_MIN : 0;
    if (!add_within(memory, bytes, limit))
        return err_set(
            err, ERR_TOO_LARGE,
            "memory: the model needs %zu bytes beside what is held now, which memory_max "
            "(%zu) has no room for",
            bytes, memory->max_bytes);
    atomic_fetch_add_explicit(&memory->held, bytes, memory_order_relaxed);
    return ERR_OK;
}

void memory_release(struct memory *memory, size_t bytes)
{
    atomic_fetch_sub_explicit(&memory->held, bytes, memory_order_relaxed);
    memory_give(memory, bytes);
}

size_t memory_taken(const struct memory *memory)
{
    size_t held = atomic_load_explicit(&memory->held, memory_order_relaxed);
    size_t taken = atomic_load_explicit(&memory->taken, memory_order_relaxed);
    return taken > held ? taken - held : 0;
}

/* By default glibc takes a freed block's size as the new limit below which it keeps blocks, up to
 * 32 MB, and has eight heaps for each processor, so a burst of large requests stays resident where
 * no later request of another thread can use it. Blocks of a megabyte are worth a system call;
 * smaller ones, the usual image's, are reused as before. */
void memory_tune_heap(void)
{
    mallopt(M_ARENA_MAX, MEMORY_HEAPS);
    mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, MEMORY_HEAP_SPARE_BYTES);
}

/* ---- the memory that this process may use ----
 *
 *     memory.max              cgroup v2: bytes, or "max"
 *     memory.limit_in_bytes   v1: bytes; without a limit the largest multiple of a page in 63 bits
 *     MemTotal of /proc/meminfo
 *
 * RLIMIT_AS counts addresses, and a thread's stack or a reservation of malloc has many that never
 * become memory; the same holds for RLIMIT_DATA. Memory that is mapped but not resident at the time
 * of the call is therefore subtracted. */

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
