#include "tests/torture/drill.h"

#include "engine/base/clock.h"
#include "tests/torture/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UPS = 3, WHY_BYTES = 512, PRINTED_MAX = 100, ALL = 1000000000 };

/* Times the five minutes of other tests: a drill is hundreds of tries, and machines are busy. */
#define DRILL_TIME "2"

/* Shared with the tests' processes, so that it outlives one that crashes. */
struct record {
    unsigned injected, bad;
    char now[256]; /* the try that runs */
};
static struct record *record;

struct level {
    long blocks;
    int descriptors;
};

static unsigned samples_wanted(void)
{
    const char *wanted = getenv("ATTND_TORTURE");
    unsigned long number = wanted != NULL ? strtoul(wanted, NULL, 10) : 0;
    if (wanted != NULL && strcmp(wanted, "all") == 0)
        return ALL;
    return number > 0 ? (unsigned)number : DRILL_SAMPLES;
}

static void tell_bad(const char *why, bool with_stack)
{
    record->bad++;
    if (record->bad > PRINTED_MAX)
        return;
    printf("bad: %s: %s\n", record->now, why);
    if (with_stack && getenv("ATTND_TORTURE_STACK") != NULL)
        faults_print_first();
    fflush(stdout);
}

static struct level level_now(void)
{
    return (struct level){faults_live_blocks(), faults_open_descriptors()};
}

/* Waits until no more is held than before. */
static bool settles(const struct drill *drill, struct level before, struct level *now)
{
    uint64_t end_ns = clock_now_ns() + (uint64_t)drill->settle_ms * CLOCK_NS_PER_MS;
    for (;;) {
        *now = level_now();
        if (now->blocks <= before.blocks && now->descriptors <= before.descriptors)
            return true;
        if (clock_now_ns() >= end_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

/* Tries once without a fault: all must be well. False if it was not. */
static bool is_well(const struct drill *drill, const char *when)
{
    char why[WHY_BYTES] = "", text[2 * WHY_BYTES];
    if (drill->run(drill->context, why, sizeof why) == DRILL_RIGHT)
        return true;
    snprintf(text, sizeof text, "%s: %s", when, why);
    tell_bad(text, true);
    return false;
}

/* The lowest level of several unfailed runs. */
static struct level level_before(const struct drill *drill)
{
    struct level lowest = {0};
    for (int i = 0; i < WARM_UPS; i++) {
        is_well(drill, "at first");
        nanosleep(&(struct timespec){.tv_nsec = (long)(drill->settle_ms > 0) * 20000000}, NULL);
        struct level now = level_now();
        lowest.blocks = i == 0 || now.blocks < lowest.blocks ? now.blocks : lowest.blocks;
        lowest.descriptors = now.descriptors;
    }
    return lowest;
}

static void check_level(const struct drill *drill, struct level *before)
{
    struct level now;
    char why[WHY_BYTES];
    if (settles(drill, *before, &now))
        return;
    snprintf(why, sizeof why, "left behind: %ld blocks, %d descriptors",
             now.blocks - before->blocks, now.descriptors - before->descriptors);
    tell_bad(why, true);
    *before = now; /* told once */
}

/* Descriptors and blocks that a library has lost are not asked for again. */
static void forgive_lost(const struct drill *drill, struct level *before)
{
    int more = level_now().descriptors - before->descriptors;
    if (more > 0 && more <= drill->lost) {
        before->descriptors += more;
        suite_forgive_descriptors((unsigned)more);
    }
}

/* Lets the n-th call fail. False if the try ended before it. */
static bool fail_nth(const struct drill *drill, const struct fault *fault, unsigned n, int in_a_row,
                     struct level *before)
{
    char why[WHY_BYTES] = "";
    snprintf(record->now, sizeof record->now, "%s: %s %s, call %u%s", drill->name, fault->call,
             fault->name, n, in_a_row == FAULT_ONCE ? "" : " and those after it");
    faults_arm(fault, n, in_a_row);
    enum drill_outcome outcome = drill->run(drill->context, why, sizeof why);
    unsigned failed = faults_disarm();
    record->injected += failed > 0;
    if (outcome == DRILL_BAD || (outcome == DRILL_REFUSED && failed == 0))
        tell_bad(why, failed > 0);
    if (failed == 0)
        return false;
    if (outcome == DRILL_REFUSED)
        forgive_lost(drill, before);
    check_level(drill, before);
    if (is_well(drill, "the next"))
        check_level(drill, before);
    return true;
}

/* Counts the calls that a try makes. */
static void tally(const struct drill *drill)
{
    char why[WHY_BYTES];
    faults_tally();
    drill->run(drill->context, why, sizeof why);
    faults_disarm();
}

static bool is_wanted(const struct drill *drill, const struct fault *fault)
{
    const char *wanted = getenv("ATTND_TORTURE_CALL");
    return faults_tallied(fault) > 0 &&
           (drill->but == NULL || strstr(fault->call, drill->but) == NULL) &&
           (drill->only == NULL || strcmp(drill->only, fault->call) == 0) &&
           (wanted == NULL || strcmp(wanted, fault->call) == 0);
}

static void fail_each(const struct drill *drill, const struct fault *fault, int in_a_row,
                      struct level *before)
{
    unsigned calls = faults_tallied(fault), samples = samples_wanted();
    unsigned step = calls / samples + 1, last = samples == ALL ? ALL : calls;
    for (unsigned n = 1; n <= last && fail_nth(drill, fault, n, in_a_row, before); n += step)
        continue;
}

/* The first call from each place. */
static void fail_everywhere(const struct drill *drill, const struct fault *fault,
                            struct level *before)
{
    unsigned count = faults_places(fault);
    for (unsigned i = 0; i < count; i++)
        fail_nth(drill, fault, faults_first_from(fault, i), FAULT_ONCE, before);
}

enum drill_outcome drill_refused(const struct err *err, char *why, size_t size)
{
    snprintf(why, size, "%s: %s", err_name(err->code), err->text);
    bool honest = err->code == ERR_NO_MEMORY || err->code == ERR_IO;
    return honest && err->text[0] != '\0' ? DRILL_REFUSED : DRILL_BAD;
}

unsigned drill_run(const struct drill *drill)
{
    unsigned bad = record->bad, injected = record->injected;
    const char *wanted = getenv("ATTND_TORTURE_DRILL");
    uint64_t start_ns = clock_now_ns();
    if (wanted != NULL && strcmp(wanted, drill->name) != 0)
        return 0;
    snprintf(record->now, sizeof record->now, "%s", drill->name);
    struct level before = level_before(drill);
    tally(drill);
    for (unsigned i = 0; i < faults_count; i++) {
        if (!is_wanted(drill, &faults_table[i]))
            continue;
        if (getenv("ATTND_TORTURE") == NULL)
            fail_everywhere(drill, &faults_table[i], &before);
        else
            fail_each(drill, &faults_table[i], FAULT_ONCE, &before);
        fail_each(drill, &faults_table[i], faults_table[i].in_a_row, &before);
    }
    printf("%s: %u failures, %u bad, %.1f s\n", drill->name, record->injected - injected,
           record->bad - bad, clock_ms_between(start_ns, clock_now_ns()) / 1000);
    return record->bad - bad;
}

int drill_main(const char *name, const TTest *const *tests, int count)
{
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED)
        return 1;
    setenv("CK_TIMEOUT_MULTIPLIER", DRILL_TIME, 0);
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0); /* a try that writes would wait for a disk */
    int failed = suite_run(name, tests, count);
    if (failed != 0)
        printf("last: %s\n", record->now);
    printf("torture %s: %u failures injected, %u bad outcomes\n", name, record->injected,
           record->bad);
    return failed != 0 || record->bad != 0;
}
