/* Files in which the kernel describes this process's groups. An input is, with a byte 0 between,
 * /proc/self/cgroup, /proc/self/mountinfo, the files of one group in both versions for the
 * processor and for the memory, and /proc/meminfo. */
#include "engine/base/cpu.h"
#include "server/bounds/memory.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>

static const char *const names[] = {
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "sys/fs/cgroup/box/cpu.max",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us",
    "sys/fs/cgroup/box/memory.max",
    "sys/fs/cgroup/memory/memory.limit_in_bytes",
    "proc/meminfo",
};
enum { NAME_COUNT = sizeof names / sizeof names[0], PROCESSORS_MAX = 1000 * 1000 };

/* The two calls below begin with the same reading, which is most of the time. */
enum { COMPARED_EVERY = 8 };

static void compare(const struct ram_limit *limit)
{
    size_t group = ram_cgroup_limit(fuzz_dir());
    FUZZ_CLAIM(cpu_quota_limit(fuzz_dir()) <= PROCESSORS_MAX);
    FUZZ_CLAIM(group == 0 || limit->bytes <= group);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        size_t len;
        char *part = fuzz_part(&input, '\0', &len);
        if (len > 0 || i == 0)
            fuzz_file(names[i], part, len);
        else
            fuzz_file_remove(names[i]);
        free(part);
    }
    FUZZ_CLAIM(cpu_quota_threads(fuzz_dir()) >= 1);
    struct ram_limit limit = ram_limit(fuzz_dir());
    FUZZ_CLAIM(limit.source != NULL);
    if (size % COMPARED_EVERY == 0)
        compare(&limit);
    return 0;
}
