#include "server/auth/keys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct meter {
    atomic_uint holders; /* partners: meter_share, meter_release */
    pthread_mutex_t lock;
    /* Under lock. */
    bool is_filled; /* false: never asked, so the bucket is full whatever it holds */
    double tokens;
    uint64_t filled_ns;
    unsigned in_progress;
};

struct meter *meter_open(void)
{
    struct meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL)
        return NULL;
    atomic_init(&meter->holders, 1);
    pthread_mutex_init(&meter->lock, NULL);
    return meter;
}

struct meter *meter_share(struct meter *meter)
{
    atomic_fetch_add_explicit(&meter->holders, 1, memory_order_relaxed);
    return meter;
}

void meter_release(struct meter *meter)
{
    if (meter == NULL || atomic_fetch_sub_explicit(&meter->holders, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

static enum meter_verdict take_locked(struct meter *meter, const struct meter_limits *limits,
                                      uint64_t now_ns, double *wait_s)
{
    *wait_s = 0;
    if (limits->rate > 0) {
        /* threads read the clock before they get the lock: a time may lie before the last one */
        const double burst = limits->rate > 1 ? limits->rate : 1;
        if (!meter->is_filled) {
            meter->is_filled = true;
            meter->tokens = burst;
            meter->filled_ns = now_ns;
        } else if (now_ns > meter->filled_ns) {
            meter->tokens += (double)(now_ns - meter->filled_ns) * 1e-9 * limits->rate;
            meter->filled_ns = now_ns;
        }
        if (meter->tokens > burst)
            meter->tokens = burst;
    }
    if (limits->concurrency > 0 && meter->in_progress >= limits->concurrency)
        return METER_CONCURRENCY;
    if (limits->rate > 0 && meter->tokens < 1) {
        *wait_s = (1 - meter->tokens) / limits->rate;
        return METER_RATE;
    }
    if (limits->rate > 0)
        meter->tokens -= 1;
    meter->in_progress++;
    return METER_TAKEN;
}

enum meter_verdict meter_take(struct meter *meter, const struct meter_limits *limits,
                              uint64_t now_ns, double *wait_s)
{
    pthread_mutex_lock(&meter->lock);
    enum meter_verdict verdict = take_locked(meter, limits, now_ns, wait_s);
    pthread_mutex_unlock(&meter->lock);
    return verdict;
}

void meter_give(struct meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    meter->in_progress--;
    pthread_mutex_unlock(&meter->lock);
}
