/* memory.h - the budget of bytes for what requests hold: bodies, parsed trees, decoding, rows,
 * explanations and replies. memory_plan.h counts what the process holds without requests.
 *
 *     if (memory_take(&memory, bytes, MEMORY_LARGE, &err))
 *         return err.code;                  (429: not now; 413: never)
 *     ...
 *     memory_give(&memory, bytes);
 *
 * A caller takes an upper bound before the work, so that nothing fails half way, and gives the same
 * number back, once. No call blocks: a request that cannot have its bytes is refused.
 *
 * Part of the pool is reserved for small requests, so that a few large ones, which take long,
 * cannot block them.
 *
 * Threads: any number.
 */
#ifndef ATTND_SERVER_BOUNDS_MEMORY_H
#define ATTND_SERVER_BOUNDS_MEMORY_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdatomic.h>
#include <stddef.h>

enum memory_use {
    MEMORY_SMALL, /* may use the whole pool: what is prepared on the I/O thread */
    MEMORY_LARGE, /* leaves the part for small ones alone */
};

struct memory {
    size_t max_bytes;     /* limit of the process, for error texts: memory_max */
    size_t pool_bytes;    /* most bytes that all requests may hold together */
    size_t small_bytes;   /* the part of it that is kept for small ones */
    _Atomic size_t taken; /* alone: no other data is published by it */
    _Atomic size_t held;  /* the part of it that models hold, which change at run time */
};

/* The pool is what is left of max_bytes beside fixed_bytes, which must be less. model_bytes of the
 * fixed ones are the first models': they are held, and given back with memory_release. */
void memory_init(struct memory *memory, size_t max_bytes, size_t fixed_bytes, size_t model_bytes);

/* Takes memory from the pool for a model that is loaded at run time. MEMORY_REQUESTS_MIN stay for
 * requests. ERR_TOO_LARGE. */
enum err_code memory_hold(struct memory *memory, size_t bytes, struct err *err);
/* A model is closed. */
void memory_release(struct memory *memory, size_t bytes);

enum { MEMORY_REQUESTS_MIN = 8 * 1024 * 1024 };

/* ERR_QUEUE_FULL if the bytes are not free now, ERR_TOO_LARGE if they never are, even alone. */
enum err_code memory_take(struct memory *memory, size_t bytes, enum memory_use use,
                          struct err *err);

/* Takes `more` for a request that holds `held`: checks the sum, takes only `more`. */
enum err_code memory_take_more(struct memory *memory, size_t held, size_t more, enum memory_use use,
                               struct err *err);

/* The bytes have been freed. */
void memory_give(struct memory *memory, size_t bytes);

/* Bytes that requests hold at present, for the metrics. */
size_t memory_taken(const struct memory *memory);

enum { MEMORY_HEAPS = 4, MEMORY_HEAP_SPARE_BYTES = 4 * 1024 * 1024 };

/* Makes malloc give large blocks back to the system when they are freed, and keep little of the
 * rest. Before any thread is started. */
void memory_tune_heap(void);

/* ---- the memory that this process may use ---- */

/* Bytes that this process may use, and the limit that sets them. Nothing is cached.
 *
 *     struct ram_limit limit = ram_limit("");
 *     printf("%zu bytes, by %s\n", limit.bytes, limit.source);
 */

struct ram_limit {
    size_t bytes;
    const char *source; /* "cgroup", "RLIMIT_AS", "RLIMIT_DATA" or "half of MemTotal"; static */
};

/* The smallest of the cgroup's limit (version 1 and 2, every group up to the root) and the
 * process's own on address space and data. A limit above the machine's memory is ignored; without
 * any it is half of the machine's memory, since other processes need some too. `root` is prepended
 * to every path read: "" normally, a fixture in tests. */
struct ram_limit ram_limit(const char *root);

/* The cgroup's limit alone; 0: none. What cannot be read or understood is none. */
size_t ram_cgroup_limit(const char *root);

#endif
