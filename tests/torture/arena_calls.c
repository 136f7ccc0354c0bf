/* arena_calls.c - allocations from an arena fail too, each by itself. A block serves many of them,
 * so that of the malloc behind it only the first would. The linker puts these functions before
 * those of arena.h (--wrap); what arena.c calls within itself stays its own. */
#include "engine/base/arena.h"
#include "tests/torture/verdict.h"

#include <stdio.h>

enum { FORMATTED_MAX = 8192 };

void *__real_arena_alloc(struct arena *arena, size_t bytes);
void *__wrap_arena_alloc(struct arena *arena, size_t bytes);
void *__real_arena_alloc_array(struct arena *arena, size_t count, size_t size);
void *__wrap_arena_alloc_array(struct arena *arena, size_t count, size_t size);
char *__real_arena_copy(struct arena *arena, const char *text, size_t len);
char *__wrap_arena_copy(struct arena *arena, const char *text, size_t len);
char *__wrap_arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* True if an allocation fails, which the arena keeps in mind as it does by itself. */
static bool fails(struct arena *arena)
{
    const bool is_failing = verdict("arena") != 0;
    arena->failed |= is_failing;
    return is_failing;
}

void *__wrap_arena_alloc(struct arena *arena, size_t bytes)
{
    return fails(arena) ? NULL : __real_arena_alloc(arena, bytes);
}

void *__wrap_arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    return fails(arena) ? NULL : __real_arena_alloc_array(arena, count, size);
}

char *__wrap_arena_copy(struct arena *arena, const char *text, size_t len)
{
    return fails(arena) ? NULL : __real_arena_copy(arena, text, len);
}

/* Has no other that takes a va_list. */
char *__wrap_arena_format(struct arena *arena, const char *format, ...)
{
    char text[FORMATTED_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0 || len >= FORMATTED_MAX || fails(arena))
        return NULL;
    return __real_arena_copy(arena, text, (size_t)len);
}
