/* machine.h - what this machine can do at most, measured before anything is judged by it.
 *
 *     struct machine machine;
 *     machine_measure(&machine, threads, &err);
 *     machine_print(&machine, stdout);
 *     share = gflops / machine.peak[PEAK_F32].all;
 *
 * Threads: plain data after machine_measure.
 */
#ifndef ATTND_TESTS_BENCH_MACHINE_H
#define ATTND_TESTS_BENCH_MACHINE_H

#include "engine/base/err.h"
#include "tests/bench/peak.h"

#include <stdio.h>

enum machine_level { MACHINE_L1, MACHINE_L2, MACHINE_L3, MACHINE_MEMORY, MACHINE_LEVELS };

struct machine {
    char cpu[128];
    unsigned threads;
    double load; /* runnable threads in the minute before: more than 0 spoils what follows */
    struct {
        const char *name; /* the instruction; NULL: the CPU has none */
        double one, all;  /* Gop/s of one thread, and of `threads` at once; 0: none */
    } peak[PEAK_LOOPS];
    struct {
        size_t bytes;                /* of the cache; 0: unknown, or memory */
        double read, update;         /* GB/s of one thread */
        double read_all, update_all; /* memory only: all threads at once */
    } level[MACHINE_LEVELS];
};

/* Takes some seconds. ERR_NO_MEMORY. */
enum err_code machine_measure(struct machine *out, unsigned threads, struct err *err);
void machine_print(const struct machine *machine, FILE *file);

/* The level of memory that holds a working set of so many bytes. */
enum machine_level machine_level_of(const struct machine *machine, size_t bytes);
/* "L1", "L2", "L3", "memory" */
const char *machine_level_name(enum machine_level level);

#endif
