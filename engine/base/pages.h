/* pages.h - large memory that is cheap to touch for the first time and to read.
 *
 *     float *activations = pages_alloc(bytes);     its own pages
 *     ...
 *     free(activations);
 *
 *     uint32_t *panel = pages_share(bytes);        next to other weights in huge pages
 *     ...
 *     pages_return(panel, bytes);
 *
 * Threads: any number.
 */
#ifndef ATTND_ENGINE_BASE_PAGES_H
#define ATTND_ENGINE_BASE_PAGES_H

#include <stddef.h>

enum {
    PAGES_HUGE_BYTES = 2 * 1024 * 1024
}; /* a huge page of x86-64 and of arm64 with 4 KB pages */

/* Uninitialised memory, aligned to a cache line of 64 bytes; the huge pages that fit into it are
 * asked for. NULL if there is no memory. Yours to free. */
void *pages_alloc(size_t bytes);

/* Memory for what is read often and given back late, as weights: a matrix smaller than a huge page,
 * or the end of a larger one, shares it with its neighbours. Aligned to 64 bytes, uninitialised.
 * NULL if there is no memory. */
void *pages_share(size_t bytes);

/* memory: of pages_share with the same size, or NULL. What lies in pages of its own goes back to
 * the system at once, the rest with the last neighbour. */
void pages_return(void *memory, size_t bytes);

#endif
