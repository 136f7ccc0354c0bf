/* cgroup.h - the limits that control groups set for this process, version 1, 2 and both at once.
 *
 *     limit = cgroup_smallest("", "memory", limit_of_group);
 *
 * Nothing here can fail: a system without a readable /proc has no limits. `root` is prepended to
 * every path read: "" normally, a fixture in tests. Threads: any number; nothing is cached.
 */
#ifndef ATTND_ENGINE_BASE_CGROUP_H
#define ATTND_ENGINE_BASE_CGROUP_H

#include <stdbool.h>

/* One group, in the hierarchy of one controller. */
struct cgroup {
    const char *root, *dir; /* its files are root + dir + "/" + name */
    bool is_unified;        /* version 2 */
};

/* Returns the smallest limit of the groups from this process's up to the root. 0 means no limit,
 * both here and from limit_of_group. */
unsigned long long cgroup_smallest(const char *root, const char *controller,
                                   unsigned long long (*limit_of_group)(const struct cgroup *));

/* Reads up to two numbers from one of the group's files and returns their number; "max" and all
 * else that is no number ends the reading. */
int cgroup_read(const struct cgroup *cgroup, const char *name, long long out[2]);

/* Returns the smaller limit; 0 means no limit. */
unsigned long long cgroup_smaller(unsigned long long a, unsigned long long b);

#endif
