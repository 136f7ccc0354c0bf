#include "server/placement/placement.h"

#include "engine/base/cpu.h"

#include <stdlib.h>
#include <string.h>

static bool is_first(const struct topology_cpu *cpu)
{
    return cpu->cpu == cpu->core;
}

static bool is_wanted(const struct topology *topology, unsigned quota, const struct config *config)
{
    if (topology->count == 0 || strcmp(config->placement, "off") == 0)
        return false;
    if (strcmp(config->placement, "on") == 0)
        return true;
    return config->workers == 0 && config->threads_per_worker == 0 && quota >= topology->count &&
           topology_cores(topology) > PLAN_POOL_MAX;
}

static enum err_code take_pools(struct placement *out, const struct plan *plan, struct err *err)
{
    const size_t threads = (size_t)plan->workers * plan->threads_per_worker;
    *out = (struct placement){.copies = 1};
    out->pools = calloc(plan->workers, sizeof *out->pools);
    out->cpus = calloc(threads, sizeof *out->cpus);
    if (out->pools != NULL && out->cpus != NULL)
        return ERR_OK;
    placement_free(out);
    return err_no_memory(err, threads * sizeof *out->cpus);
}

/* ---- pools in caches ---- */

/* Cores of the cache that cpus[first] has, first siblings; *next is the first behind the cache. */
static unsigned cores_of_cache(const struct topology *topology, unsigned first, unsigned *next)
{
    const struct topology_cpu *cpus = topology->cpus;
    unsigned cores = 0, at = first;
    for (; at < topology->count && cpus[at].node == cpus[first].node &&
           cpus[at].cache == cpus[first].cache;
         at++)
        cores += is_first(&cpus[at]);
    *next = at;
    return cores;
}

static unsigned pools_of(const struct topology *topology, unsigned size)
{
    unsigned pools = 0;
    for (unsigned at = 0; at < topology->count;)
        pools += cores_of_cache(topology, at, &at) / size;
    return pools;
}

static unsigned choose_size(const struct topology *topology)
{
    enum { PARTS = 16 };
    const unsigned cores = topology_cores(topology);
    unsigned size = PLAN_POOL_MAX;
    while (size > 1 && pools_of(topology, size) * size * PARTS < cores * (PARTS - 1))
        size--;
    return size;
}

/* The processors in which pools are filled: of each cache as many cores as its pools take. */
static void order_by_cache(const struct topology *topology, unsigned size, struct placement *out)
{
    unsigned taken = 0;
    for (unsigned at = 0, next; at < topology->count; at = next) {
        const unsigned cores = cores_of_cache(topology, at, &next);
        for (unsigned i = 0; i < cores / size * size; i++)
            out->cpus[taken++] = topology->cpus[at + i].cpu;
    }
}

/* ---- pools of named sizes ---- */

/* First siblings of all cores, then the others. */
static void order_all(const struct topology *topology, unsigned count, struct placement *out)
{
    unsigned taken = 0;
    for (int second = 0; second < 2; second++)
        for (unsigned i = 0; i < topology->count && taken < count; i++)
            if (is_first(&topology->cpus[i]) == (second == 0))
                out->cpus[taken++] = topology->cpus[i].cpu;
}

static enum err_code check_room(const struct topology *topology, const struct plan *plan,
                                struct err *err)
{
    const unsigned long long wanted = (unsigned long long)plan->workers * plan->threads_per_worker;
    if (wanted <= topology->count)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "placement: %u workers of %u threads cannot each have a processor: %u may be "
                   "used; lower workers or threads_per_worker, or say placement off",
                   plan->workers, plan->threads_per_worker, topology->count);
}

/* ---- copies ---- */

static unsigned node_of(const struct topology *topology, unsigned cpu)
{
    unsigned at = 0;
    while (topology->cpus[at].cpu != cpu)
        at++;
    return topology->cpus[at].node;
}

static unsigned copy_on(struct placement *out, unsigned node)
{
    for (unsigned i = 0; i < out->copies; i++)
        if (out->nodes[i] == node)
            return i;
    out->nodes[out->copies] = (unsigned short)node;
    return out->copies++;
}

static void bind(struct placement *out, const struct topology *topology, struct plan *plan)
{
    out->copies = 0;
    out->is_bound = true;
    for (unsigned i = 0; i < plan->workers; i++) {
        out->pools[i].cpus = out->cpus + (size_t)i * plan->threads_per_worker;
        out->pools[i].copy = copy_on(out, node_of(topology, out->pools[i].cpus[0]));
    }
    plan->copies = out->copies;
}

enum err_code placement_choose(struct placement *out, struct plan *plan,
                               const struct topology *topology, unsigned quota,
                               const struct config *config, struct err *err)
{
    const bool is_bound = is_wanted(topology, quota, config);
    const bool is_named = config->workers != 0 || config->threads_per_worker != 0;
    const bool in_caches = is_bound && !is_named && topology_cores(topology) > PLAN_POOL_MAX;
    *out = (struct placement){0};
    if (in_caches) {
        plan->threads_per_worker = choose_size(topology);
        plan->workers = pools_of(topology, plan->threads_per_worker);
    }
    if ((is_bound && check_room(topology, plan, err)) || take_pools(out, plan, err))
        return err->code;
    if (in_caches)
        order_by_cache(topology, plan->threads_per_worker, out);
    else if (is_bound)
        order_all(topology, plan->workers * plan->threads_per_worker, out);
    if (is_bound)
        bind(out, topology, plan);
    return ERR_OK;
}

enum err_code placement_make(struct placement *out, struct plan *plan, const struct config *config,
                             struct err *err)
{
    struct topology topology;
    const unsigned quota = cpu_quota_threads("");
    topology_read(&topology, "");
    *plan = plan_choose(quota, config);
    return placement_choose(out, plan, &topology, quota, config, err);
}

void placement_free(struct placement *placement)
{
    free(placement->pools);
    free(placement->cpus);
    *placement = (struct placement){0};
}
