/* team.c - see team.h. One generation number starts a task and one countdown ends it. The number is
 * published under the lock, so a member that found nothing while spinning and went to sleep cannot
 * miss it; `pending` pairs its release decrements with the caller's acquire load. */
#include "engine/base/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 2000 }; /* of a pause each: 20 to 80 microseconds */

struct member {
    struct team *team;
    unsigned index;
    pthread_t thread;
};

struct team {
    unsigned size;
    struct member *members; /* [size - 1]: all but the caller */
    unsigned started;

    void (*task)(void *context, unsigned index, unsigned count);
    void *context;
    atomic_uint generation; /* written under lock; partner: member_wait */
    atomic_uint pending;    /* members still in the task; partner: wait_for_members */
    atomic_bool closing;    /* written under lock */

    pthread_mutex_t lock; /* guards the two conditions */
    pthread_cond_t work, done;
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool has_news(struct team *team, unsigned seen)
{
    return atomic_load_explicit(&team->generation, memory_order_acquire) != seen ||
           atomic_load_explicit(&team->closing, memory_order_acquire);
}

static void member_wait(struct team *team, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (has_news(team, seen))
            return;
        relax();
    }
    pthread_mutex_lock(&team->lock);
    while (!has_news(team, seen))
        pthread_cond_wait(&team->work, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

static void member_finish(struct team *team)
{
    if (atomic_fetch_sub_explicit(&team->pending, 1, memory_order_acq_rel) != 1)
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
        if (atomic_load_explicit(&team->closing, memory_order_acquire))
            return NULL;
        team->task(team->context, member->index, team->size);
        member_finish(team);
    }
}

static void wait_for_members(struct team *team)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&team->pending, memory_order_acquire) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load_explicit(&team->pending, memory_order_acquire) != 0)
        pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void team_run(struct team *team, void (*task)(void *context, unsigned index, unsigned count),
              void *context)
{
    if (team->size > 1) {
        team->task = task;
        team->context = context;
        atomic_store_explicit(&team->pending, team->size - 1, memory_order_relaxed);
        pthread_mutex_lock(&team->lock);
        atomic_fetch_add_explicit(&team->generation, 1, memory_order_release);
        pthread_cond_broadcast(&team->work);
        pthread_mutex_unlock(&team->lock);
    }
    task(context, 0, team->size);
    if (team->size > 1)
        wait_for_members(team);
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
            return err_set(err, ERR_INTERNAL, "cannot start a compute thread: %s",
                           strerror(failed));
        team->started++;
    }
    return ERR_OK;
}

enum err_code team_open(struct team **out, unsigned threads, struct err *err)
{
    *out = NULL;
    struct team *team = calloc(1, sizeof *team);
    struct member *members = calloc(threads, sizeof *members);
    if (team == NULL || members == NULL) {
        free(team);
        free(members);
        return err_no_memory(err, threads * sizeof *members);
    }
    team->size = threads;
    team->members = members;
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
    pthread_mutex_lock(&team->lock);
    atomic_store_explicit(&team->closing, true, memory_order_release);
    pthread_cond_broadcast(&team->work);
    pthread_mutex_unlock(&team->lock);
    for (unsigned i = 0; i < team->started; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->work);
    pthread_mutex_destroy(&team->lock);
    free(team->members);
    free(team);
}
