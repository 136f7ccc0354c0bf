#include "engine/base/arena.h"

#include "engine/base/pages.h"

#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small allocations share blocks of this size; one larger than half a block gets its own. */
enum { BLOCK_BYTES = 16 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t used; /* bytes of the block in use, this header included */
    size_t size;
};

enum { HEADER_BYTES = ARENA_ALIGNMENT };
_Static_assert(sizeof(struct arena_block) <= HEADER_BYTES, "block header fits its slot");

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_deinit(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks; block != NULL;) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena_init(arena);
}

/* Under AddressSanitizer, memory that is not allocated is poisoned. */
static struct arena_block *block_create(size_t size)
{
    struct arena_block *block = pages_alloc(size);
    if (block == NULL)
        return NULL;
    *block = (struct arena_block){.used = HEADER_BYTES, .size = size};
    ASAN_POISON_MEMORY_REGION((char *)block + HEADER_BYTES, size - HEADER_BYTES);
    return block;
}

static void *block_take(struct arena_block *block, size_t bytes)
{
    void *memory = (char *)block + block->used;
    block->used += bytes;
    return memory;
}

/* Puts a large allocation behind the newest block, whose free space stays in use. */
static void *alloc_large(struct arena *arena, size_t bytes)
{
    struct arena_block *block = block_create(HEADER_BYTES + bytes);
    if (block == NULL)
        return NULL;
    if (arena->blocks == NULL) {
        arena->blocks = block;
    } else {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    }
    return block_take(block, bytes);
}

static void *take(struct arena *arena, size_t bytes)
{
    arena->bytes += bytes;
    struct arena_block *block = arena->blocks;
    if (block != NULL && bytes <= block->size - block->used)
        return block_take(block, bytes);
    if (bytes > BLOCK_BYTES / 2)
        return alloc_large(arena, bytes);
    block = block_create(BLOCK_BYTES);
    if (block == NULL)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    return block_take(block, bytes);
}

/* AddressSanitizer gets the requested size, so that it detects overruns as with malloc. */
void *arena_alloc(struct arena *arena, size_t bytes)
{
    size_t lines = bytes > 0 ? (bytes - 1) / ARENA_ALIGNMENT + 1 : 1;
    void *memory = bytes > SIZE_MAX / 2 ? NULL : take(arena, lines * ARENA_ALIGNMENT);
    if (memory != NULL)
        ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    arena->failed |= memory == NULL;
    return memory;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    const size_t bytes = memory_product(count, size);
    void *memory = arena_alloc(arena, bytes);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

char *arena_copy(struct arena *arena, const char *text, size_t len)
{
    char *copy = len < SIZE_MAX ? arena_alloc(arena, len + 1) : NULL;
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = len < 0 ? NULL : arena_alloc(arena, (size_t)len + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return text;
}
