/* arena.h - memory that is freed all at once.
 *
 * A request, a loaded checkpoint's metadata and a parsed file each own one arena: everything they
 * hold is allocated from it and freed by a single arena_deinit, so no error path frees piecemeal.
 *
 *     struct arena arena;
 *     arena_init(&arena);
 *     float *pixels = arena_alloc_array(&arena, count, sizeof *pixels);
 *     ...
 *     arena_deinit(&arena);
 *
 * Who asks for many arrays in a row looks at arena.failed once, after the last of them.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_BASE_ARENA_H
#define ATTND_ENGINE_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARENA_ALIGNMENT = 64 }; /* a cache line; also the widest vector register */

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t bytes;               /* allocated so far */
    bool failed;                /* there was no memory for one of the allocations */
};

void arena_init(struct arena *arena);

/* Frees all memory of the arena; the arena may be used again. */
void arena_deinit(struct arena *arena);

/* Returns uninitialised memory, aligned to ARENA_ALIGNMENT. NULL if there is no memory. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* The same, zeroed, for count x size bytes; NULL also when the product overflows. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);

/* Copies of a string; NUL-terminated. NULL if there is no memory. */
char *arena_copy(struct arena *arena, const char *text, size_t len);
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* a + b and a * b, or SIZE_MAX where that is too much: a sum that is too large stays too large. */
static inline size_t memory_sum(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static inline size_t memory_product(size_t a, size_t b)
{
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

#endif
