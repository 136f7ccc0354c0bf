/* drill.h - tries one thing again and again while each of its calls to the C library fails in turn.
 *
 *     static enum drill_outcome opens(const void *dir, char *why, size_t size) { ... }
 *     static const struct drill drill = {.name = "open bert", .run = opens, .context = "..."};
 *     ck_assert_uint_eq(drill_run(&drill), 0);
 *     DRILLS("engine", a_checkpoint_opens_or_says_why)
 *
 * For every fault of faults.h and every n the n-th call fails, once alone and once with those after
 * it, until the thing is done without an n-th call. After each failure it must be done rightly when
 * nothing fails, and hold no more memory and no more descriptors than before.
 *
 * ATTND_TORTURE=all in the environment takes every n; a number takes about so many of them for each
 * fault. Without it the first call from each place fails once (faults.h), and DRILL_SAMPLES times
 * one call and those after it. ATTND_TORTURE_CALL names a call of faults.h that alone is to
 * fail, ATTND_TORTURE_DRILL a drill that alone is to run. With ATTND_TORTURE_STACK a bad outcome
 * comes with the stack of the call that failed.
 * Threads: one drill at a time.
 */
#ifndef ATTND_TESTS_TORTURE_DRILL_H
#define ATTND_TESTS_TORTURE_DRILL_H

#include "engine/base/err.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stddef.h>

enum { DRILL_SAMPLES = 4 };

enum drill_outcome {
    DRILL_RIGHT,   /* done, and what came out is right */
    DRILL_REFUSED, /* not done, and it said so in the way that it should */
    DRILL_BAD,     /* done wrongly, or said nothing */
};

struct drill {
    const char *name;
    /* Tries once, and writes into `why` what was refused or bad. */
    enum drill_outcome (*run)(const void *context, char *why, size_t size);
    const void *context;
    const char *only;   /* faults of this call alone; NULL: all */
    const char *but;    /* faults of this call are another drill's; NULL: none */
    int lost;           /* descriptors that a library may keep for good when a try is refused */
    unsigned settle_ms; /* time for others to give back the memory that the try made them take */
};

/* The outcome of a try that the engine refused: it may not blame its input or its checkpoint for
 * what the system did not give. */
enum drill_outcome drill_refused(const struct err *err, char *why, size_t size);

/* All faults of a drill; the number of bad outcomes, each printed. */
unsigned drill_run(const struct drill *drill);

/* Runs a suite of drills and prints, as the last line, how many failures were injected and how many
 * outcomes were bad. */
int drill_main(const char *name, const TTest *const *tests, int count);
#define DRILLS(name, ...) SUITE_BY(name, drill_main(name, suite_tests, suite_count), __VA_ARGS__)

#endif
