#include "server/placement/placement.h"

#include "engine/base/cpu.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the processors ---- */

/* ---- lists of the kernel: "0-3,8" ---- */

struct cpu_list {
    bool has[TOPOLOGY_CPUS_MAX];
};

/* False if there is no number at *at. */
static bool read_number(const char **at, unsigned long *out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoul(*at, &end, 10);
    *at = end;
    return true;
}

/* Reads a list of processors, up to the first character that does not belong to one. */
static void parse_list(struct cpu_list *out, const char *text)
{
    unsigned long first, last;
    memset(out, 0, sizeof *out);
    text += strspn(text, " \t");
    while (read_number(&text, &first)) {
        last = first;
        if (*text == '-') {
            text++;
            if (!read_number(&text, &last))
                return;
        }
        for (; first <= last && first < TOPOLOGY_CPUS_MAX; first++)
            out->has[first] = true;
        if (*text != ',')
            return;
        text++;
    }
}

/* ---- files ---- */

enum { LINE_BYTES = 16 * 1024 };

/* The line that begins with `prefix`, behind that; NULL if there is none. */
static const char *read_line(const char *path, const char *prefix, char line[LINE_BYTES])
{
    const size_t len = strlen(prefix);
    FILE *file = fopen(path, "re");
    bool found = false;
    if (file == NULL)
        return NULL;
    while (!found && fgets(line, LINE_BYTES, file) != NULL)
        found = strncmp(line, prefix, len) == 0;
    fclose(file);
    return found ? line + len : NULL;
}

/* A list in root + /sys/devices/system/ + kind + number + name. False: there is none. */
static bool read_list(struct cpu_list *out, const char *root, const char *kind, unsigned number,
                      const char *name)
{
    char path[PATH_MAX], line[LINE_BYTES];
    const int len =
        snprintf(path, sizeof path, "%s/sys/devices/system/%s%u/%s", root, kind, number, name);
    const char *text = len > 0 && (size_t)len < sizeof path ? read_line(path, "", line) : NULL;
    if (text == NULL)
        return false;
    parse_list(out, text);
    return true;
}

/* ---- the processors ---- */

/* The first of those that `name` lists beside the processor, which is one of them. */
static unsigned short group_of(const char *root, unsigned cpu, const char *name,
                               const struct cpu_list *allowed, unsigned otherwise)
{
    struct cpu_list list;
    if (!read_list(&list, root, "cpu/cpu", cpu, name) || !list.has[cpu])
        return (unsigned short)otherwise;
    unsigned first = 0;
    while (first < TOPOLOGY_CPUS_MAX && !(list.has[first] && allowed->has[first]))
        first++;
    return (unsigned short)first;
}

static int by_place(const void *a, const void *b)
{
    const struct topology_cpu *one = a, *other = b;
    const bool is_second = one->cpu != one->core, other_second = other->cpu != other->core;
    if (one->node != other->node)
        return one->node < other->node ? -1 : 1;
    if (one->cache != other->cache)
        return one->cache < other->cache ? -1 : 1;
    if (is_second != other_second)
        return is_second ? 1 : -1;
    return one->cpu < other->cpu ? -1 : one->cpu > other->cpu;
}

void topology_read(struct topology *out, const char *root)
{
    struct cpu_list allowed;
    out->count = 0;
    char path[PATH_MAX], line[LINE_BYTES];
    const int len = snprintf(path, sizeof path, "%s/proc/self/status", root);
    const char *text =
        len > 0 && (size_t)len < sizeof path ? read_line(path, "Cpus_allowed_list:", line) : NULL;
    if (text == NULL)
        return;
    parse_list(&allowed, text);
    for (unsigned cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
        if (allowed.has[cpu])
            out->cpus[out->count++] = (struct topology_cpu){
                .cpu = (unsigned short)cpu,
                .core = group_of(root, cpu, "topology/thread_siblings_list", &allowed, cpu),
                .cache = group_of(root, cpu, "cache/index3/shared_cpu_list", &allowed, 0)};
    struct cpu_list list;
    for (unsigned node = 0; node < TOPOLOGY_NODES_MAX; node++) {
        if (!read_list(&list, root, "node/node", node, "cpulist"))
            continue;
        for (unsigned i = 0; i < out->count; i++)
            if (list.has[out->cpus[i].cpu])
                out->cpus[i].node = (unsigned short)node;
    }
    qsort(out->cpus, out->count, sizeof *out->cpus, by_place);
}

unsigned topology_cores(const struct topology *topology)
{
    unsigned count = 0;
    for (unsigned i = 0; i < topology->count; i++)
        count += topology->cpus[i].cpu == topology->cpus[i].core;
    return count;
}

/* ---- where to compute ---- */

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

enum err_code placement_choose(struct placement *out, struct plan *plan,
                               const struct topology *topology, unsigned quota,
                               const struct config *config, struct err *err)
{
    const bool is_bound = is_wanted(topology, quota, config);
    const bool is_named = config->workers != 0 || config->threads_per_worker != 0;
    const bool in_caches = is_bound && !is_named && topology_cores(topology) > PLAN_POOL_MAX;
    *out = (struct placement){0};
    if (in_caches) {
        enum { PARTS = 16 };
        const unsigned cores = topology_cores(topology);
        unsigned size = PLAN_POOL_MAX;
        while (size > 1 && pools_of(topology, size) * size * PARTS < cores * (PARTS - 1))
            size--;
        plan->threads_per_worker = size;
        plan->workers = pools_of(topology, plan->threads_per_worker);
    }
    if ((is_bound && check_room(topology, plan, err)) || take_pools(out, plan, err))
        return err->code;
    if (in_caches)
        order_by_cache(topology, plan->threads_per_worker, out);
    else if (is_bound)
        order_all(topology, plan->workers * plan->threads_per_worker, out);
    if (is_bound) {
        out->copies = 0;
        out->is_bound = true;
        for (unsigned i = 0; i < plan->workers; i++) {
            out->pools[i].cpus = out->cpus + (size_t)i * plan->threads_per_worker;
            out->pools[i].copy = copy_on(out, node_of(topology, out->pools[i].cpus[0]));
        }
        plan->copies = out->copies;
    }
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
