/* token_list.h - the tokens of one text, which a kind of tokenizer appends and tokenizer.c reads:
 * arrays of a fixed length, and a count that may exceed it.
 *
 *     struct token_list list;
 *     token_list_init(&list, 510, false, &arena, &err);
 *     while (... && token_list_append(&list, token)) ...
 *     token_list_finish(&list);
 *     list.total > list.count                           the text has more tokens than fit
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
    size_t total;   /* tokens appended so far, of which `count` are kept */
    size_t enough;  /* appending ends at this total */
    bool keeps_end; /* the last tokens are kept if not all fit; otherwise the first */
};

/* Makes an empty list whose arrays come from the arena. It has enough with one token more than its
 * room; a list that keeps the end never has enough. ERR_NO_MEMORY. */
static inline enum err_code token_list_init(struct token_list *list, unsigned room, bool keeps_end,
                                            struct arena *arena, struct err *err)
{
    *list = (struct token_list){
        .room = room, .enough = keeps_end ? SIZE_MAX : (size_t)room + 1, .keeps_end = keeps_end};
    list->ids = arena_alloc(arena, room * sizeof *list->ids);
    list->starts = arena_alloc(arena, room * sizeof *list->starts);
    list->ends = arena_alloc(arena, room * sizeof *list->ends);
    list->continued = arena_alloc(arena, room * sizeof *list->continued);
    if (list->ids == NULL || list->starts == NULL || list->ends == NULL || list->continued == NULL)
        return err_no_memory(err, room * sizeof(struct token));
    return ERR_OK;
}

/* Returns the rest of a list, from its count on, as an empty list with room for `room` tokens. */
static inline struct token_list token_list_rest(const struct token_list *list, unsigned room,
                                                bool keeps_end)
{
    return (struct token_list){.ids = list->ids + list->count,
                               .starts = list->starts + list->count,
                               .ends = list->ends + list->count,
                               .continued = list->continued + list->count,
                               .room = room,
                               .enough = keeps_end ? SIZE_MAX : (size_t)room + 1,
                               .keeps_end = keeps_end};
}

static inline void token_list_put(struct token_list *list, unsigned at, struct token token)
{
    list->ids[at] = token.id;
    list->starts[at] = token.start;
    list->ends[at] = token.end;
    list->continued[at] = token.continued;
}

static inline struct token token_list_get(const struct token_list *list, unsigned at)
{
    return (struct token){list->ids[at], list->starts[at], list->ends[at], list->continued[at]};
}

/* Appends a token. False if the list has enough. A list that keeps the end writes in a circle. */
static inline bool token_list_append(struct token_list *list, struct token token)
{
    if (list->count < list->room)
        token_list_put(list, list->count++, token);
    else if (list->keeps_end && list->room > 0)
        token_list_put(list, (unsigned)(list->total % list->room), token);
    list->total++;
    return list->total < list->enough;
}

static inline void token_list_reverse(struct token_list *list, unsigned first, unsigned end)
{
    for (; first + 1 < end; first++) {
        struct token token = token_list_get(list, first);
        token_list_put(list, first, token_list_get(list, --end));
        token_list_put(list, end, token);
    }
}

/* Call after the last token: sorts a circle into the order of the text. If the first kept token
 * continues a word, it now begins one. */
static inline void token_list_finish(struct token_list *list)
{
    if (!list->keeps_end || list->total <= list->room || list->room == 0)
        return;
    unsigned oldest = (unsigned)(list->total % list->room);
    token_list_reverse(list, 0, oldest);
    token_list_reverse(list, oldest, list->room);
    token_list_reverse(list, 0, list->room);
    list->continued[0] = false;
}

/* Keeps `count` of the tokens, at most as many as there are: the first, or the last. */
static inline void token_list_cut(struct token_list *list, unsigned count)
{
    unsigned gone = list->keeps_end ? list->count - count : 0;
    list->ids += gone;
    list->starts += gone;
    list->ends += gone;
    list->continued += gone;
    list->count = count;
    if (gone > 0 && count > 0)
        list->continued[0] = false;
}

#endif
