/* affinity.h - some processors for a thread, and for those that it starts meanwhile. Memory that
 * they touch first comes from the nodes of these processors while there is any: the kernel's own
 * rule, unless who started the process said otherwise (numactl). set_mempolicy(2) would name the
 * node, and is forbidden in most containers.
 *
 *     struct affinity affinity = {0};
 *     affinity_add(&affinity, 8);  affinity_add(&affinity, 9);
 *     affinity_enter(&affinity);
 *     ... open a model ...
 *     affinity_leave(&affinity);
 *
 * A system that refuses leaves the thread where it is. Threads: each has its own.
 */
#ifndef ATTND_SERVER_PLACEMENT_AFFINITY_H
#define ATTND_SERVER_PLACEMENT_AFFINITY_H

#include <sched.h>
#include <stdbool.h>

struct affinity {
    cpu_set_t cpus, before;
    bool is_entered;
};

/* Processors from CPU_SETSIZE (1024) on are passed over. */
void affinity_add(struct affinity *affinity, unsigned cpu);
void affinity_enter(struct affinity *affinity);
/* Back to where the thread was before; nothing if it has not entered. */
void affinity_leave(struct affinity *affinity);

#endif
