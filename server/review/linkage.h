/* linkage.h - groups inputs that are alike: average linkage over the cosines of their likenesses
 * (server/serve/likeness.h). Two groups become one while the mean cosine of the inputs of one with
 * those of the other is at least `least`, the most alike first. The order of the inputs matters
 * only among ties.
 *
 *     unsigned of[500], groups;
 *     const struct linkage linkage = {.likenesses = all, .count = 500, .size = 192, .least = 0.8F};
 *     linkage_groups(&linkage, of, &groups, &arena, &err);          of[i] < groups
 *
 * Time O(count^2 size): 2000 inputs of 384 numbers take 0.8 s (x86-64, SSE2, one thread).
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_REVIEW_LINKAGE_H
#define ATTND_SERVER_REVIEW_LINKAGE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"

#include <stddef.h>
#include <stdint.h>

struct linkage {
    const int8_t *likenesses; /* [count, size] */
    unsigned count, size;
    float least;
    struct interrupt *interrupt; /* NULL: it is never interrupted */
};

/* Most bytes that linkage_groups takes from the arena. */
size_t linkage_bytes(unsigned count);

/* of [count]: the group of each, from 0 to *groups - 1. ERR_NO_MEMORY; what the interrupt says. */
enum err_code linkage_groups(const struct linkage *linkage, unsigned *of, unsigned *groups,
                             struct arena *arena, struct err *err);

#endif
