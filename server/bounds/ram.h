/* ram.h - the memory that this process may use, in bytes, and the limit that sets it.
 *
 *     struct ram_limit limit = ram_limit("");
 *     printf("%zu bytes, by %s\n", limit.bytes, limit.source);
 *
 * Threads: any number; nothing is cached.
 */
#ifndef ATTND_SERVER_BOUNDS_RAM_H
#define ATTND_SERVER_BOUNDS_RAM_H

#include <stddef.h>

struct ram_limit {
    size_t bytes;
    const char *source; /* "cgroup", "RLIMIT_AS", "RLIMIT_DATA" or "half of MemTotal"; static */
};

/* The smallest of the cgroup's limit (version 1 and 2, every group up to the root) and the
 * process's own on address space and data. A limit above the machine's memory is ignored; without
 * any it is half of the machine's memory, since other processes need some too. `root` is prepended
 * to every path read: "" normally, a fixture in tests. */
struct ram_limit ram_limit(const char *root);

/* The cgroup's limit alone; 0: none. What cannot be read or understood is none. */
size_t ram_cgroup_limit(const char *root);

#endif
