#include "server/otlp/otlp_spans.h"

#include "engine/base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* An entry lies at its number modulo the places. The sender reads those from `first` on that it was
 * told of; others write only behind `count`, so an entry is never read and written at once. */
struct otlp_ring {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* enough entries, or closed */

    /* Under the lock. */
    unsigned first; /* written by the sender alone, which may read it without the lock */
    unsigned count;
    unsigned enough; /* entries that the sender waits for */
    bool is_closed;
    struct otlp_entry entries[OTLP_RING_ENTRIES];
};

enum err_code otlp_ring_open(struct otlp_ring **out, struct err *err)
{
    struct otlp_ring *ring = calloc(1, sizeof *ring);
    pthread_condattr_t monotonic;
    *out = ring;
    if (ring == NULL)
        return err_no_memory(err, sizeof *ring);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return ERR_OK;
}

void otlp_ring_free(struct otlp_ring *ring)
{
    if (ring == NULL)
        return;
    pthread_cond_destroy(&ring->changed);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
}

size_t otlp_ring_bytes(void)
{
    return sizeof(struct otlp_ring);
}

/* The sender is woken when it has something to do, not for every request. */
bool otlp_ring_put(struct otlp_ring *ring, const struct otlp_entry *entry)
{
    pthread_mutex_lock(&ring->lock);
    bool has_place = ring->count < OTLP_RING_ENTRIES;
    if (has_place) {
        ring->entries[(ring->first + ring->count++) % OTLP_RING_ENTRIES] = *entry;
        if (ring->count == 1 || ring->count == ring->enough)
            pthread_cond_signal(&ring->changed);
    }
    pthread_mutex_unlock(&ring->lock);
    return has_place;
}

static struct timespec in_ms(unsigned ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    long ns = at.tv_nsec + (long)(ms % 1000) * CLOCK_NS_PER_MS;
    at.tv_sec += (time_t)(ms / 1000) + ns / CLOCK_NS_PER_S;
    at.tv_nsec = ns % CLOCK_NS_PER_S;
    return at;
}

unsigned otlp_ring_await(struct otlp_ring *ring, unsigned enough, unsigned wait_ms)
{
    int failure = 0;
    pthread_mutex_lock(&ring->lock);
    ring->enough = enough;
    while (ring->count == 0 && !ring->is_closed)
        pthread_cond_wait(&ring->changed, &ring->lock);
    const struct timespec end = in_ms(wait_ms);
    while (ring->count < enough && !ring->is_closed && failure == 0)
        failure = pthread_cond_timedwait(&ring->changed, &ring->lock, &end);
    unsigned count = ring->count;
    pthread_mutex_unlock(&ring->lock);
    return count;
}

const struct otlp_entry *otlp_ring_at(const struct otlp_ring *ring, unsigned index)
{
    return &ring->entries[(ring->first + index) % OTLP_RING_ENTRIES];
}

void otlp_ring_remove(struct otlp_ring *ring, unsigned count)
{
    pthread_mutex_lock(&ring->lock);
    ring->first = (ring->first + count) % OTLP_RING_ENTRIES;
    ring->count -= count;
    pthread_mutex_unlock(&ring->lock);
}

bool otlp_ring_rest(struct otlp_ring *ring, unsigned ms)
{
    const struct timespec end = in_ms(ms);
    int failure = 0;
    pthread_mutex_lock(&ring->lock);
    while (!ring->is_closed && failure == 0)
        failure = pthread_cond_timedwait(&ring->changed, &ring->lock, &end);
    bool is_open = !ring->is_closed;
    pthread_mutex_unlock(&ring->lock);
    return is_open;
}

void otlp_ring_close(struct otlp_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->is_closed = true;
    pthread_cond_signal(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}
