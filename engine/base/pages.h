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

/* Returns uninitialised memory, aligned to a cache line of 64 bytes; huge pages that fit into it
 * are requested. NULL if there is no memory. Yours to free. */
void *pages_alloc(size_t bytes);

/* Returns memory for data that is read often and freed late, such as weights. A matrix smaller than
 * a huge page, or the end of a larger one, shares a page with its neighbours. Aligned to 64 bytes,
 * uninitialised. NULL if there is no memory. */
void *pages_share(size_t bytes);

/* memory: from pages_share with the same size, or NULL. Whole pages return to the system at once,
 * shared ones with the last neighbour. */
void pages_return(void *memory, size_t bytes);

#endif
