/* topology.h - the processors that this process may use, and what they share: a core with hyper
 * threads, the last level of cache, a memory node.
 *
 *     struct topology topology;
 *     topology_read(&topology, "");
 *
 * Sources, below `root` ("" normally, a fixture in tests): Cpus_allowed_list of /proc/self/status,
 * which has affinity and cpuset in it, and of /sys/devices/system (the kernel's
 * Documentation/ABI/stable/sysfs-devices-node and .../testing/sysfs-devices-system-cpu)
 *
 *     node/nodeN/cpulist, cpu/cpuN/topology/thread_siblings_list,
 *     cpu/cpuN/cache/index3/shared_cpu_list
 *
 * What cannot be read or understood is not told apart: one node, one cache, each processor a core.
 *
 * Threads: no state. A struct topology is 16 KB.
 */
#ifndef ATTND_SERVER_PLACEMENT_TOPOLOGY_H
#define ATTND_SERVER_PLACEMENT_TOPOLOGY_H

enum { TOPOLOGY_CPUS_MAX = 2048, TOPOLOGY_NODES_MAX = 64 };

/* A processor by the kernel's number. Cores and caches are called by their first processor. */
struct topology_cpu {
    unsigned short cpu, core, cache, node;
};

struct topology {
    /* [count] by node, then cache, then first siblings before second ones: those of one cache and
     * of one round of siblings side by side. */
    struct topology_cpu cpus[TOPOLOGY_CPUS_MAX];
    unsigned count; /* 0: the list of the allowed could not be read */
};

void topology_read(struct topology *out, const char *root);

/* Processors that are the first of their core: as many as there are cores. */
unsigned topology_cores(const struct topology *topology);

#endif
