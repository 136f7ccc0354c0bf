/* lanes.h - shares out tasks so that a member of a pool finds its data in its own cache.
 *
 * There are `rounds` x `things` tasks. Each member begins with a share of the things, in one round
 * after the other: the same columns of a product for all rows, the same heads for all queries.
 * Successive runs are cut alike, so a member reads the data that it wrote. A member that is done
 * takes over the rest of the others' shares, so that no member waits for a delayed one.
 *
 *     lanes_init(&lanes, members, rows, columns);
 *     ... each member:
 *     struct lane_cursor at = lanes_begin(&lanes, index);
 *     for (size_t row, column; lanes_take(&lanes, &at, &row, &column);)
 *         ...
 *
 * Threads: filled by one, then taken from by the members of its pool.
 */
#ifndef ATTND_ENGINE_TENSOR_LANES_H
#define ATTND_ENGINE_TENSOR_LANES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { LANES_MAX = 64, LANES_CACHE_LINE = 64 };

struct lanes {
    unsigned count; /* one a member; more than LANES_MAX members share lanes */
    size_t rounds, things;
    struct {
        _Alignas(LANES_CACHE_LINE) atomic_size_t next; /* partners: the members of the pool */
    } lane[LANES_MAX];
};

/* The position of a member: its own lane at first, then the others in turn. */
struct lane_cursor {
    unsigned lane, passed;
};

static inline void lanes_init(struct lanes *lanes, unsigned members, size_t rounds, size_t things)
{
    lanes->count = members < LANES_MAX ? members : LANES_MAX;
    lanes->rounds = rounds;
    lanes->things = things;
    for (unsigned l = 0; l < lanes->count; l++)
        atomic_init(&lanes->lane[l].next, 0);
}

static inline struct lane_cursor lanes_begin(const struct lanes *lanes, unsigned index)
{
    return (struct lane_cursor){.lane = index % lanes->count};
}

/* Prefetches a row that is read next. Other members wrote most of it, and a line in another core's
 * cache takes longer than one in memory. */
static inline void lanes_prefetch(const float *row, size_t width)
{
    for (size_t c = 0; c < width; c += LANES_CACHE_LINE / sizeof *row)
        __builtin_prefetch(row + c);
}

/* Takes the next task. False: none is left. */
static inline bool lanes_take(struct lanes *lanes, struct lane_cursor *at, size_t *round,
                              size_t *thing)
{
    for (; at->passed < lanes->count; at->passed++, at->lane = (at->lane + 1) % lanes->count) {
        const size_t first = lanes->things * at->lane / lanes->count;
        const size_t share = lanes->things * (at->lane + 1) / lanes->count - first;
        const size_t task =
            atomic_fetch_add_explicit(&lanes->lane[at->lane].next, 1, memory_order_relaxed);
        if (task < share * lanes->rounds) {
            *round = task / share;
            *thing = first + task % share;
            return true;
        }
    }
    return false;
}

#endif
