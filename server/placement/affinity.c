#include "server/placement/affinity.h"

void affinity_add(struct affinity *affinity, unsigned cpu)
{
    if (cpu < CPU_SETSIZE)
        CPU_SET(cpu, &affinity->cpus);
}

void affinity_enter(struct affinity *affinity)
{
    affinity->is_entered = CPU_COUNT(&affinity->cpus) > 0 &&
                           sched_getaffinity(0, sizeof affinity->before, &affinity->before) == 0 &&
                           sched_setaffinity(0, sizeof affinity->cpus, &affinity->cpus) == 0;
}

void affinity_leave(struct affinity *affinity)
{
    if (affinity->is_entered)
        sched_setaffinity(0, sizeof affinity->before, &affinity->before);
    affinity->is_entered = false;
}
