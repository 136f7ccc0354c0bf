/* faults.c - see faults.h: which faults there are, and whose turn it is. */
#include "tests/torture/faults.h"

#include "tests/torture/verdict.h"

#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FAULT(call, error, in_a_row)                                                               \
    {                                                                                              \
#call, #error, error, in_a_row                                                             \
    }
#define SHORT(call)                                                                                \
    {                                                                                              \
#call, "short", FAULT_SHORT, FAULT_FROM_THEN_ON                                            \
    }

const struct fault faults_table[] = {
    FAULT(malloc, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(arena, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(read, EIO, FAULT_FROM_THEN_ON),
    FAULT(read, EINTR, FAULT_SOME),
    SHORT(read),
    FAULT(fread, EIO, FAULT_FROM_THEN_ON),
    FAULT(write, EIO, FAULT_FROM_THEN_ON),
    FAULT(write, ENOSPC, FAULT_FROM_THEN_ON),
    FAULT(write, EINTR, FAULT_SOME),
    SHORT(write),
    FAULT(recv, ECONNRESET, FAULT_FROM_THEN_ON),
    FAULT(recv, EINTR, FAULT_SOME),
    FAULT(send, ECONNRESET, FAULT_FROM_THEN_ON),
    FAULT(send, EPIPE, FAULT_FROM_THEN_ON),
    FAULT(send, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(send, EINTR, FAULT_SOME),
    FAULT(accept, EMFILE, FAULT_SOME),
    FAULT(accept, ENOMEM, FAULT_SOME),
    FAULT(accept, ECONNABORTED, FAULT_SOME),
    FAULT(accept, EINTR, FAULT_SOME),
    {"accept epoll_ctl", "ENOMEM", ENOMEM, FAULT_SOME},
    FAULT(epoll_create, EMFILE, FAULT_FROM_THEN_ON),
    FAULT(epoll_ctl, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(epoll_wait, EINTR, FAULT_SOME),
    FAULT(eventfd, EMFILE, FAULT_FROM_THEN_ON),
    FAULT(socket, EMFILE, FAULT_FROM_THEN_ON),
    FAULT(bind, EADDRINUSE, FAULT_FROM_THEN_ON),
    FAULT(listen, EADDRINUSE, FAULT_FROM_THEN_ON),
    FAULT(getsockname, ENOBUFS, FAULT_FROM_THEN_ON),
    FAULT(getsockopt, ENOBUFS, FAULT_FROM_THEN_ON),
    FAULT(setsockopt, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(fcntl, EMFILE, FAULT_FROM_THEN_ON),
    FAULT(poll, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(poll, EINTR, FAULT_SOME),
    FAULT(mmap, ENOMEM, FAULT_FROM_THEN_ON),
    FAULT(open, EMFILE, FAULT_FROM_THEN_ON),
    FAULT(open, EIO, FAULT_FROM_THEN_ON),
    FAULT(stat, EIO, FAULT_FROM_THEN_ON),
    FAULT(access, EIO, FAULT_FROM_THEN_ON),
    FAULT(pthread_create, EAGAIN, FAULT_FROM_THEN_ON),
    FAULT(getrandom, EAGAIN, FAULT_FROM_THEN_ON),
};
const unsigned faults_count = sizeof faults_table / sizeof faults_table[0];

/* -------------------------------------------------------------------------------------------- */
/* The call that fails next */

enum {
    STACK = 24,
    OWN_FRAMES = 3,    /* of a place's stack: this file's and the wrapper's */
    STREAM_FRAMES = 5, /* of those who called, by which places are told apart */
};

/* Partners: faults_arm sets the three before it sets armed; whoever sees it armed sees them. */
static _Atomic(const struct fault *) armed;
static atomic_uint first, last;
static atomic_uint seen, failures;
static atomic_bool tallying;
static atomic_uint tally[sizeof faults_table / sizeof faults_table[0]];
static struct {
    unsigned count;
    uint64_t hashes[FAULT_PLACES_MAX];
    unsigned first[FAULT_PLACES_MAX];
} places[sizeof faults_table / sizeof faults_table[0]];
static atomic_flag places_held = ATOMIC_FLAG_INIT;
static void *stack[STACK]; /* of the call that failed first */
static atomic_int stack_len;
static _Thread_local __attribute__((tls_model("initial-exec"))) bool spared =
    FAULTS_SPARED_AT_FIRST;

void faults_arm(const struct fault *fault, unsigned n, int in_a_row)
{
    unsigned row = (unsigned)(in_a_row < fault->in_a_row ? in_a_row : fault->in_a_row);
    atomic_store(&seen, 0);
    atomic_store(&failures, 0);
    atomic_store(&first, n);
    atomic_store(&last, n + row - 1);
    atomic_store(&armed, fault);
}

unsigned faults_disarm(void)
{
    atomic_store(&armed, NULL);
    atomic_store(&tallying, false);
    return atomic_load(&failures);
}

const struct fault *faults_armed(void)
{
    return atomic_load(&armed);
}

void faults_tally(void)
{
    for (unsigned i = 0; i < faults_count; i++) {
        atomic_store(&tally[i], 0);
        places[i].count = 0;
    }
    atomic_store(&tallying, true);
}

unsigned faults_tallied(const struct fault *fault)
{
    return atomic_load(&tally[fault - faults_table]);
}

unsigned faults_places(const struct fault *fault)
{
    return places[fault - faults_table].count;
}

unsigned faults_first_from(const struct fault *fault, unsigned place)
{
    return places[fault - faults_table].first[place];
}

static bool concerns(const struct fault *fault, const char *call)
{
    size_t len = strlen(call);
    for (const char *at = fault->call; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, call, len) == 0 && (at[len] == '\0' || at[len] == ' '))
            return true;
    }
    return false;
}

/* FNV-1a of who called. Not inlined: AddressSanitizer calls malloc before it can watch an array on
 * the stack, which verdict therefore has not. */
static __attribute__((noinline)) uint64_t place_now(void)
{
    void *frames[OWN_FRAMES + STREAM_FRAMES];
    spared = true;
    int len = backtrace(frames, OWN_FRAMES + STREAM_FRAMES);
    spared = false;
    uint64_t hash = 0xCBF29CE484222325u;
    for (int i = OWN_FRAMES; i < len; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 0x100000001B3u;
    return hash;
}

static void note_place(unsigned row, uint64_t hash, unsigned call)
{
    unsigned i = 0;
    while (i < places[row].count && places[row].hashes[i] != hash)
        i++;
    if (i == places[row].count && i < FAULT_PLACES_MAX) {
        places[row].hashes[i] = hash;
        places[row].first[i] = call;
        places[row].count++;
    }
}

static void count_call(const char *call)
{
    uint64_t hash = place_now();
    while (atomic_flag_test_and_set(&places_held))
        continue;
    for (unsigned i = 0; i < faults_count; i++)
        if (concerns(&faults_table[i], call))
            note_place(i, hash, atomic_fetch_add(&tally[i], 1) + 1);
    atomic_flag_clear(&places_held);
}

void faults_spare_this_thread(bool spare)
{
    spared = spare;
}

/* The first use of backtrace loads a library, which may not happen within an armed call. */
__attribute__((constructor)) static void prepare_stack(void)
{
    backtrace(stack, STACK);
    spared = false;
}

static void keep_stack(void)
{
    spared = true;
    atomic_store(&stack_len, backtrace(stack, STACK));
    spared = false;
}

void faults_print_first(void)
{
    fflush(stdout);
    backtrace_symbols_fd(stack, atomic_load(&stack_len), STDOUT_FILENO);
}

int verdict(const char *call)
{
    const struct fault *fault = atomic_load(&armed);
    if (!spared && atomic_load_explicit(&tallying, memory_order_relaxed))
        count_call(call);
    if (fault == NULL || spared || !concerns(fault, call))
        return 0;
    unsigned count = atomic_fetch_add(&seen, 1) + 1;
    if (count < atomic_load(&first) || count > atomic_load(&last))
        return 0;
    if (atomic_fetch_add(&failures, 1) == 0)
        keep_stack();
    return fault->error;
}
