/* doc_load.c - see doc_load.h. jansson 2.14 does not check whether the buffer of a string could
 * grow (lex_save in its load.c drops the result of strbuffer_append_byte). It continues with fewer
 * bytes than it counts, and unescapes the string past the end of its memory. Other versions may
 * have other such faults, so none is relied on: while json_loadb runs, an allocation that fails
 * does not return. It jumps back here, and all memory that the parse had taken is freed.
 *
 * The blocks that a parse has allocated form a linked list. The links lie at the end of each block
 * (found by malloc_usable_size), so that a block is an ordinary malloc block outside of this file:
 * any code may free a tree, and outside of a parse jansson's allocations are malloc and free.
 * During a parse jansson frees only its own blocks.
 *
 * The jump passes over jansson's frames only. They hold no lock and no state but memory; the seed
 * of its hash tables, its one global, is set before main, as are the allocators. The two
 * thread-local words are set for the length of a call. */
#include "engine/base/doc_load.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

/* The links at the end of each block that a parse allocated. */
struct links {
    struct links *next, **from; /* from: the pointer to this one */
    void *block;
};

/* Room for the links at any alignment of the block's end. */
enum { EXTRA_BYTES = sizeof(struct links) + _Alignof(struct links) - 1 };

static _Thread_local jmp_buf *no_memory; /* NULL: no parse runs on this thread */
static _Thread_local struct links *held; /* blocks of that parse */

static struct links *links_of(void *block)
{
    size_t end = malloc_usable_size(block) / _Alignof(struct links) * _Alignof(struct links);
    return (struct links *)(void *)((char *)block + end - sizeof(struct links));
}

static void *take(size_t bytes)
{
    if (no_memory == NULL)
        return malloc(bytes);
    void *block = bytes <= SIZE_MAX - EXTRA_BYTES ? malloc(bytes + EXTRA_BYTES) : NULL;
    if (block == NULL)
        longjmp(*no_memory, 1);
    struct links *links = links_of(block);
    *links = (struct links){.next = held, .from = &held, .block = block};
    if (held != NULL)
        held->from = &links->next;
    held = links;
    return block;
}

static void give_back(void *block)
{
    if (block == NULL)
        return;
    if (no_memory != NULL) {
        struct links *links = links_of(block);
        *links->from = links->next;
        if (links->next != NULL)
            links->next->from = links->from;
    }
    free(block);
}

__attribute__((constructor)) static void set_up(void)
{
    json_set_alloc_funcs(take, give_back);
    json_object_seed(0);
}

bool doc_load(json_t **out, const char *bytes, size_t len, size_t flags, json_error_t *error)
{
    jmp_buf back;
    *out = NULL;
    held = NULL;
    no_memory = &back;
    bool enough = setjmp(back) == 0;
    if (enough)
        *out = json_loadb(bytes, len, flags, error);
    for (struct links *links = enough ? NULL : held, *next; links != NULL; links = next) {
        next = links->next;
        free(links->block);
    }
    no_memory = NULL;
    return enough;
}
