/* placement.h - chooses where the workers compute: the processor of each thread of a pool, and the
 * memory node of the weights that the pool reads.
 *
 *     struct plan plan = plan_choose(quota, config);
 *     struct placement placement;
 *     placement_choose(&placement, &plan, &topology, quota, config, &err);
 *     placement.pools[i].cpus == NULL                 its threads go where the kernel puts them
 *     placement_free(&placement);
 *
 * Under a CPU quota, with up to PLAN_POOL_MAX cores, with counts that the operator named, or with
 * the option `placement` off, nothing is bound and there is one copy of the weights. Else, `auto`:
 *
 *   - a pool has cores of one last-level cache, so that a batch's activations stay in it, and at
 *     most PLAN_POOL_MAX of them (plan.h says why); all pools are of one size, the largest that
 *     leaves at most a sixteenth of the cores without one;
 *   - one thread a core: the products do 90 % of what a core can multiply, and a second hyper
 *     thread would share that. Second threads, and cores without a pool, are left to connections
 *     and to preparing inputs;
 *   - a copy of the weights for each memory node that has pools: every product streams them.
 *
 * `on` binds as many threads as plan.h says, in the order of the topology, also few and under a
 * quota.
 *
 * Reasoned, and checked on made-up topologies: what it brings was not measured on a machine of many
 * cores. A thread that cannot be bound is left unbound; memory of a node that is full comes from
 * another (affinity.h).
 *
 * Threads: pure.
 */
#ifndef ATTND_SERVER_PLACEMENT_PLACEMENT_H
#define ATTND_SERVER_PLACEMENT_PLACEMENT_H

#include "config/config.h"
#include "engine/base/err.h"
#include "server/placement/plan.h"

#include <stdbool.h>

/* ---- the processors ---- */

/* Processors that this process may use, and what they share: a core with hyper threads, the last
 * level of cache, a memory node. A struct topology is 16 KB.
 *
 * Sources, below `root` ("" normally, a fixture in tests): Cpus_allowed_list of /proc/self/status,
 * which has affinity and cpuset in it, and of /sys/devices/system (the kernel's
 * Documentation/ABI/stable/sysfs-devices-node and .../testing/sysfs-devices-system-cpu)
 *
 *     node/nodeN/cpulist, cpu/cpuN/topology/thread_siblings_list,
 *     cpu/cpuN/cache/index3/shared_cpu_list
 *
 * What cannot be read or understood is not told apart: one node, one cache, each processor a core.
 */

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

/* ---- where to compute ---- */

struct placement_pool {
    const unsigned short *cpus; /* [threads_per_worker], one for each thread; NULL: not bound */
    unsigned copy;              /* copy of the weights that it reads, below `copies` */
};

struct placement {
    struct placement_pool *pools; /* [workers] */
    bool is_bound;
    unsigned copies;                          /* copies of the weights */
    unsigned short nodes[TOPOLOGY_NODES_MAX]; /* [copies] the kernel's number of each one's node */
    unsigned short *cpus;                     /* array that pools[].cpus point into */
};

/* quota: the threads that this process may use, at least 1. The plan's counts are changed to those
 * that are bound, its copies set. Yours to free. ERR_UNUSABLE: `on` for more threads than there are
 * processors; ERR_NO_MEMORY. */
enum err_code placement_choose(struct placement *out, struct plan *plan,
                               const struct topology *topology, unsigned quota,
                               const struct config *config, struct err *err);
/* The plan and the placement of this process, by its quota and the processors that it may use. */
enum err_code placement_make(struct placement *out, struct plan *plan, const struct config *config,
                             struct err *err);
void placement_free(struct placement *placement);

#endif
