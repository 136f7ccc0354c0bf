/* lock_counter.h - how often this thread took and released a lock, and told a condition. Defines
 * functions of the C library, so include it in one file of a test program.
 *
 *     LOCK_COUNTER_EXPECT_ONE(batcher_depth(batcher, 0), 0);
 *
 * While `lock_counter_deaf` is set a signal wakes nobody: who waits goes on waiting.
 */
#ifndef ATTND_TESTS_UNIT_SERVER_LOCK_COUNTER_H
#define ATTND_TESTS_UNIT_SERVER_LOCK_COUNTER_H

#include "tests/support/suite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static _Thread_local struct lock_counter {
    unsigned locked, unlocked, signals, broadcasts;
} lock_counter;

static atomic_bool lock_counter_deaf;

/* The call takes and releases one lock, once, and wakes all who wait so many times. The counts are
 * read before check's own functions are called, which take locks as well. */
#define LOCK_COUNTER_EXPECT_ONE(call, broadcasts_)                                                 \
    do {                                                                                           \
        lock_counter = (struct lock_counter){0};                                                   \
        (void)(call);                                                                              \
        struct lock_counter counted = lock_counter;                                                \
        ck_assert_msg(counted.locked == 1 && counted.unlocked == 1 &&                              \
                          counted.broadcasts == (broadcasts_),                                     \
                      #call);                                                                      \
    } while (0)

static union {
    void *symbols[4];
    struct {
        int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *);
        int (*signal)(pthread_cond_t *), (*broadcast)(pthread_cond_t *);
    } call;
} lock_counter_next;

/* Runs before main, because looking a function up takes locks of its own; or earlier, if the start
 * of a library takes the first lock. */
__attribute__((constructor)) static void lock_counter_find(void)
{
    if (lock_counter_next.symbols[3] != NULL)
        return;
    static const char *const names[] = {"pthread_mutex_lock", "pthread_mutex_unlock",
                                        "pthread_cond_signal", "pthread_cond_broadcast"};
    for (int i = 0; i < 4; i++)
        lock_counter_next.symbols[i] = dlsym(RTLD_NEXT, names[i]);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    lock_counter_find();
    lock_counter.locked++;
    return lock_counter_next.call.lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    lock_counter_find();
    lock_counter.unlocked++;
    return lock_counter_next.call.unlock(mutex);
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    lock_counter_find();
    lock_counter.signals++;
    return atomic_load(&lock_counter_deaf) ? 0 : lock_counter_next.call.signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    lock_counter_find();
    lock_counter.broadcasts++;
    return lock_counter_next.call.broadcast(condition);
}

#endif
