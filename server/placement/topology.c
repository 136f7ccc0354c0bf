#include "server/placement/topology.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The first that is in both; TOPOLOGY_CPUS_MAX: none is. */
static unsigned first_of(const struct cpu_list *list, const struct cpu_list *allowed)
{
    unsigned cpu = 0;
    while (cpu < TOPOLOGY_CPUS_MAX && !(list->has[cpu] && allowed->has[cpu]))
        cpu++;
    return cpu;
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

static bool read_allowed(struct cpu_list *out, const char *root)
{
    char path[PATH_MAX], line[LINE_BYTES];
    const int len = snprintf(path, sizeof path, "%s/proc/self/status", root);
    const char *text =
        len > 0 && (size_t)len < sizeof path ? read_line(path, "Cpus_allowed_list:", line) : NULL;
    if (text != NULL)
        parse_list(out, text);
    return text != NULL;
}

/* ---- the processors ---- */

/* The first of those that `name` lists beside the processor, which is one of them. */
static unsigned short group_of(const char *root, unsigned cpu, const char *name,
                               const struct cpu_list *allowed, unsigned otherwise)
{
    struct cpu_list list;
    if (!read_list(&list, root, "cpu/cpu", cpu, name) || !list.has[cpu])
        return (unsigned short)otherwise;
    return (unsigned short)first_of(&list, allowed);
}

static void add_nodes(struct topology *out, const char *root)
{
    struct cpu_list list;
    for (unsigned node = 0; node < TOPOLOGY_NODES_MAX; node++) {
        if (!read_list(&list, root, "node/node", node, "cpulist"))
            continue;
        for (unsigned i = 0; i < out->count; i++)
            if (list.has[out->cpus[i].cpu])
                out->cpus[i].node = (unsigned short)node;
    }
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
    if (!read_allowed(&allowed, root))
        return;
    for (unsigned cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
        if (allowed.has[cpu])
            out->cpus[out->count++] = (struct topology_cpu){
                .cpu = (unsigned short)cpu,
                .core = group_of(root, cpu, "topology/thread_siblings_list", &allowed, cpu),
                .cache = group_of(root, cpu, "cache/index3/shared_cpu_list", &allowed, 0)};
    add_nodes(out, root);
    qsort(out->cpus, out->count, sizeof *out->cpus, by_place);
}

unsigned topology_cores(const struct topology *topology)
{
    unsigned count = 0;
    for (unsigned i = 0; i < topology->count; i++)
        count += topology->cpus[i].cpu == topology->cpus[i].core;
    return count;
}
