/* token_list.h - the tokens of one text, as a kind of tokenizer appends them and tokenizer.c reads
 * them: arrays of a fixed length, and a count that may go on beyond them.
 *
 *     struct token_list list;
 *     token_list_init(&list, 510, &arena, &err);
 *     while (... && token_list_append(&list, token)) ...
 *     list.total > list.count                           the text has more tokens than there is room
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_TOKEN_LIST_H
#define ATTND_ENGINE_TEXT_TOKEN_LIST_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token {
    int32_t id;
    uint32_t start, end; /* characters of the text */
    bool continued;
};

struct token_list {
    int32_t *ids;            /* [room] */
    uint32_t *starts, *ends; /* [room] */
    bool *continued;         /* [room] */
    unsigned count, room;
    size_t total;  /* appended so far; of them `count` are kept */
    size_t enough; /* appending ends when there are so many */
};

/* An empty list whose arrays come from the arena; it has enough with one token more than it has
 * room for. ERR_NO_MEMORY. */
static inline enum err_code token_list_init(struct token_list *list, unsigned room,
                                            struct arena *arena, struct err *err)
{
    *list = (struct token_list){.room = room, .enough = (size_t)room + 1};
    list->ids = arena_alloc(arena, room * sizeof *list->ids);
    list->starts = arena_alloc(arena, room * sizeof *list->starts);
    list->ends = arena_alloc(arena, room * sizeof *list->ends);
    list->continued = arena_alloc(arena, room * sizeof *list->continued);
    if (list->ids == NULL || list->starts == NULL || list->ends == NULL || list->continued == NULL)
        return err_no_memory(err, room * sizeof(struct token));
    return ERR_OK;
}

/* The rest of a list, from its count on, as an empty list with so much room. */
static inline struct token_list token_list_rest(const struct token_list *list, unsigned room)
{
    return (struct token_list){.ids = list->ids + list->count,
                               .starts = list->starts + list->count,
                               .ends = list->ends + list->count,
                               .continued = list->continued + list->count,
                               .room = room,
                               .enough = (size_t)room + 1};
}

/* False if the list has enough. */
static inline bool token_list_append(struct token_list *list, struct token token)
{
    list->total++;
    if (list->count < list->room) {
        list->ids[list->count] = token.id;
        list->starts[list->count] = token.start;
        list->ends[list->count] = token.end;
        list->continued[list->count] = token.continued;
        list->count++;
    }
    return list->total < list->enough;
}

#endif
