/* pages.h - large memory that is cheap to touch for the first time.
 *
 *     float *weight = pages_alloc(bytes);
 *     ...
 *     free(weight);
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

#endif
