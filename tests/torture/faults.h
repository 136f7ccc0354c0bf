/* faults.h - makes calls to the C library fail on purpose: the n-th allocation, the n-th read.
 *
 *     faults_arm(&faults_table[i], n, FAULT_ONCE);
 *     ... what is to be tried, on any threads ...
 *     if (faults_disarm() == 0)
 *         ... it was done before the n-th call ...
 *
 * Linked into a program, or preloaded into one, calls.c stands in front of the C library for the
 * whole process: calls of libmicrohttpd, jansson, libpng and libjpeg fail too. It also counts what
 * is allocated and not yet freed, so that a leak is seen as a difference of two numbers.
 *
 * Threads: any. One fault is armed at a time. A thread that drives the test spares itself.
 */
#ifndef ATTND_TESTS_TORTURE_FAULTS_H
#define ATTND_TESTS_TORTURE_FAULTS_H

#include <limits.h>
#include <stdbool.h>

/* Number of calls in a row that fail, from the n-th on. */
enum { FAULT_ONCE = 1, FAULT_SOME = 3, FAULT_FROM_THEN_ON = INT_MAX };

/* Takes half of what was asked for, instead of failing. */
enum { FAULT_SHORT = -1 };

struct fault {
    const char *call; /* "malloc", "arena": every way to the allocator, to an arena; two: either */
    const char *name; /* of the error: "ENOMEM", "short" */
    int error;        /* errno, or FAULT_SHORT */
    int in_a_row;     /* the most that makes sense: a caller may repeat EINTR for ever */
};

/* Every fault there is; the first is malloc's. */
extern const struct fault faults_table[];
extern const unsigned faults_count;

/* The n-th matching call from now on fails, n from 1, and those after it up to in_a_row. */
void faults_arm(const struct fault *fault, unsigned n, int in_a_row);
/* Disarms the fault. Returns the number of calls that have failed since it was armed. */
unsigned faults_disarm(void);

/* The fault that is armed; NULL: none. */
const struct fault *faults_armed(void);

/* Counts calls instead of failing any, until faults_disarm; then the number for each fault. */
void faults_tally(void);
unsigned faults_tallied(const struct fault *fault);

/* The places that the calls came from, that is, stacks whose innermost frames differ: their number,
 * at most FAULT_PLACES_MAX, and the first call from each, in the order of the calls. */
enum { FAULT_PLACES_MAX = 2048 };
unsigned faults_places(const struct fault *fault);
unsigned faults_first_from(const struct fault *fault, unsigned place);

/* Prints the stack of the call that failed first, one address a line, for addr2line. */
void faults_print_first(void);

/* spare: calls of this thread never fail from now on. They may fail at first. */
void faults_spare_this_thread(bool spare);

/* Blocks that are allocated now, by all threads; open descriptors, of the first thousand. */
long faults_live_blocks(void);
int faults_open_descriptors(void);

#endif
