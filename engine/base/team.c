/* team.c - see team.h. Two counters carry everything: `generation` numbers the tasks and starts
 * them, `arrived` counts the members that have ended one, over all tasks, and ends them. While the
 * members spin, a fork-join is a store and an increment on each side and no system call. Both
 * counters wrap; they are only compared for equality.
 *
 * Whoever waits spins for SPIN_NS, bounded in time because a pause takes 40 to 140 cycles depending
 * on the processor, and then sleeps on a condition. The lock is taken by those who sleep and by
 * those who see a sleeper, never else. That nobody sleeps through the news is Dekker's argument,
 * which needs all four accesses to be sequentially consistent:
 *
 *     waiter: sleepers += 1;   if (generation is old) sleep
 *     waker:  generation += 1; if (sleepers > 0) lock, signal
 *
 * and in the other direction caller_waits and arrived.
 * In the one order of all four, either the waiter's read comes after the waker's write, and it does
 * not sleep; or the waiter's write came before the waker's read, and the waker takes the lock. The
 * waiter holds that lock from before its write until it is on the condition, so the signal finds it
 * there or already gone.
 *
 * What the caller writes and what the members write lie on cache lines of their own, so that a spin
 * is a read from the own cache until there is news.
 */
#include "engine/base/team.h"

#include "engine/base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SPIN_NS = 80000, SPINS_PER_LOOK = 64, CACHE_LINE = 64 };

struct member {
    struct team *team;
    unsigned index;
    pthread_t thread;
};

struct team {
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
    atomic_bool caller_waits; /* partner: member_finish */

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

/* Whether the counter became `value` (`equal`) or left it within SPIN_NS. Between looks at the
 * clock it yields: on a crowded machine the one waited for may be waiting for this very core. */
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

static void member_wait(struct team *team, unsigned seen)
{
    if (spin(&team->generation, seen, false))
        return;
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(&team->generation) == seen)
        pthread_cond_wait(&team->work, &team->lock);
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->lock);
}

static void publish(struct team *team)
{
    atomic_fetch_add(&team->generation, 1);
    if (atomic_load(&team->sleepers) == 0)
        return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->work);
    pthread_mutex_unlock(&team->lock);
}

static void member_finish(struct team *team)
{
    atomic_fetch_add(&team->arrived, 1);
    if (!atomic_load(&team->caller_waits))
        return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->done);
    pthread_mutex_unlock(&team->lock);
}

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct team *team = member->team;
    for (unsigned seen = 0;; seen++) {
        member_wait(team, seen);
        if (team->closing)
            return NULL;
        team->task(team->context, member->index, team->size);
        member_finish(team);
    }
}

static void wait_for_members(struct team *team, unsigned arrived)
{
    if (spin(&team->arrived, arrived, true))
        return;
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->caller_waits, true);
    while (atomic_load(&team->arrived) != arrived)
        pthread_cond_wait(&team->done, &team->lock);
    atomic_store(&team->caller_waits, false);
    pthread_mutex_unlock(&team->lock);
}

void team_run(struct team *team, void (*task)(void *context, unsigned index, unsigned count),
              void *context)
{
    unsigned others = team->size - 1;
    if (others == 0) {
        task(context, 0, 1);
        return;
    }
    team->task = task;
    team->context = context;
    publish(team);
    task(context, 0, team->size);
    wait_for_members(team, atomic_load_explicit(&team->generation, memory_order_relaxed) * others);
}

unsigned team_size(const struct team *team)
{
    return team->size;
}

static enum err_code start_members(struct team *team, struct err *err)
{
    for (unsigned i = 0; i + 1 < team->size; i++) {
        team->members[i] = (struct member){.team = team, .index = i + 1};
        int failed = pthread_create(&team->members[i].thread, NULL, member_main, &team->members[i]);
        if (failed)
            return err_set(err, ERR_IO, "cannot start a compute thread: %s", strerror(failed));
        team->started++;
    }
    return ERR_OK;
}

enum err_code team_open(struct team **out, unsigned threads, struct err *err)
{
    *out = NULL;
    struct team *team = aligned_alloc(CACHE_LINE, sizeof *team);
    struct member *members = calloc(threads, sizeof *members);
    if (team == NULL || members == NULL) {
        free(team);
        free(members);
        return err_no_memory(err, threads * sizeof *members);
    }
    *team = (struct team){.size = threads, .members = members};
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->work, NULL);
    pthread_cond_init(&team->done, NULL);
    if (start_members(team, err)) {
        team_close(team);
        return err->code;
    }
    *out = team;
    return ERR_OK;
}

void team_close(struct team *team)
{
    if (team == NULL)
        return;
    team->closing = true;
    publish(team);
    for (unsigned i = 0; i < team->started; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->work);
    pthread_mutex_destroy(&team->lock);
    free(team->members);
    free(team);
}
