/* thread_pool.c - see thread_pool.h. Two counters synchronise the pool: `generation` numbers the
 * tasks and starts them, `arrived` counts the members that have ended one, over all tasks, and ends
 * them. While the members spin, a fork-join is a store and an increment on each side and no system
 * call. Both counters wrap; they are only compared for equality.
 *
 * A waiting thread spins for SPIN_NS, bounded in time because a pause takes 40 to 140 cycles
 * depending on the processor, and then sleeps on a condition. The lock is taken only by a thread
 * that sleeps and by one that sees a sleeper. No wake-up is lost, by Dekker's argument, which needs
 * all four accesses to be sequentially consistent:
 *
 *     waiter: sleepers += 1;   if (generation is old) sleep
 *     waker:  generation += 1; if (sleepers > 0) lock, signal
 *
 * and in the other direction caller_waits and arrived.
 * In the single order of all four, either the waiter's read comes after the waker's write, and it
 * does not sleep; or the waiter's write comes before the waker's read, and the waker takes the
 * lock. The waiter holds that lock from before its write until it waits on the condition, so the
 * signal reaches it, or it has already gone on.
 *
 * The caller's fields and the members' fields are on separate cache lines, so that a spin reads
 * from its own cache until the value changes.
 */
#include "engine/base/thread_pool.h"

#include "engine/base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN_NS = 80000, SPINS_PER_LOOK = 64, CACHE_LINE = 64 };

struct member {
    struct thread_pool *pool;
    unsigned index;
    int cpu; /* -1: any */
    pthread_t thread;
};

struct thread_pool {
    unsigned size;
    struct member *members; /* [size - 1]: all but the caller */
    unsigned started;
    pthread_mutex_t lock; /* for the two conditions */
    pthread_cond_t work, done;

    /* Written by the caller. */
    _Alignas(CACHE_LINE) atomic_uint generation; /* publishes the three below */
    void (*task)(void *context, unsigned index, unsigned count);
    void *context;
    bool closing;
    atomic_bool caller_waits; /* partner: member_main */

    /* Written by the members. */
    _Alignas(CACHE_LINE) atomic_uint arrived; /* partner: wait_for_members */
    atomic_uint sleepers;                     /* partner: publish */
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Returns true if the counter became `value` (`equal`) or left it within SPIN_NS. Yields between
 * readings of the clock: with more threads than cores, the awaited thread may need this core. */
static bool spin(const atomic_uint *counter, unsigned value, bool equal)
{
    uint64_t end_ns = 0, now_ns = 0;
    do {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if ((atomic_load_explicit(counter, memory_order_acquire) == value) == equal)
                return true;
            relax();
        }
        sched_yield();
        now_ns = clock_now_ns();
        if (end_ns == 0)
            end_ns = now_ns + SPIN_NS;
    } while (now_ns < end_ns);
    return false;
}

static void member_wait(struct thread_pool *pool, unsigned seen)
{
    if (spin(&pool->generation, seen, false))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void publish(struct thread_pool *pool)
{
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct thread_pool *pool = member->pool;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (member->cpu >= 0 && member->cpu < CPU_SETSIZE) {
        CPU_SET(member->cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    for (unsigned seen = 0;; seen++) {
        member_wait(pool, seen);
        if (pool->closing)
            return NULL;
        pool->task(pool->context, member->index, pool->size);
        atomic_fetch_add(&pool->arrived, 1);
        if (!atomic_load(&pool->caller_waits))
            continue;
        pthread_mutex_lock(&pool->lock);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void wait_for_members(struct thread_pool *pool, unsigned arrived)
{
    if (spin(&pool->arrived, arrived, true))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->caller_waits, true);
    while (atomic_load(&pool->arrived) != arrived)
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->caller_waits, false);
    pthread_mutex_unlock(&pool->lock);
}

void thread_pool_run(struct thread_pool *pool,
                     void (*task)(void *context, unsigned index, unsigned count), void *context)
{
    unsigned others = pool->size - 1;
    if (others == 0) {
        task(context, 0, 1);
        return;
    }
    pool->task = task;
    pool->context = context;
    publish(pool);
    task(context, 0, pool->size);
    wait_for_members(pool, atomic_load_explicit(&pool->generation, memory_order_relaxed) * others);
}

unsigned thread_pool_size(const struct thread_pool *pool)
{
    return pool->size;
}

enum err_code thread_pool_open(struct thread_pool **out, unsigned threads, struct err *err)
{
    return thread_pool_open_on(out, threads, NULL, err);
}

enum err_code thread_pool_open_on(struct thread_pool **out, unsigned threads,
                                  const unsigned short *cpus, struct err *err)
{
    *out = NULL;
    struct thread_pool *pool = aligned_alloc(CACHE_LINE, sizeof *pool);
    struct member *members = calloc(threads, sizeof *members);
    if (pool == NULL || members == NULL) {
        free(pool);
        free(members);
        return err_no_memory(err, threads * sizeof *members);
    }
    *pool = (struct thread_pool){.size = threads, .members = members};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (; pool->started + 1 < threads; pool->started++) {
        struct member *member = &members[pool->started];
        const unsigned index = pool->started + 1;
        *member =
            (struct member){.pool = pool, .index = index, .cpu = cpus != NULL ? cpus[index] : -1};
        int failed = pthread_create(&member->thread, NULL, member_main, member);
        if (failed) {
            thread_pool_close(pool);
            return err_no_thread(err, failed);
        }
    }
    *out = pool;
    return ERR_OK;
}

void thread_pool_close(struct thread_pool *pool)
{
    if (pool == NULL)
        return;
    pool->closing = true;
    publish(pool);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->members);
    free(pool);
}
