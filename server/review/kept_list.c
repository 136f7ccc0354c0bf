#include "server/review/kept_file.h"

#include <assert.h>
#include <stdlib.h>

enum err_code kept_list_open(struct kept_list *list, unsigned room, struct err *err)
{
    *list = (struct kept_list){.room = room, .entries = calloc(room, sizeof *list->entries)};
    return list->entries != NULL ? ERR_OK : err_no_memory(err, room * sizeof *list->entries);
}

void kept_list_close(struct kept_list *list)
{
    free(list->entries);
    *list = (struct kept_list){0};
}

/* From the oldest, 0, to the newest, count - 1. */
static struct kept_entry *at(const struct kept_list *list, unsigned place)
{
    return &list->entries[(list->first + place) % list->room];
}

void kept_list_add(struct kept_list *list, const struct kept_entry *entry)
{
    assert(list->count < list->room);
    *at(list, list->count++) = *entry;
    list->bytes += entry->bytes;
}

const struct kept_entry *kept_list_oldest(const struct kept_list *list)
{
    return list->count > 0 ? at(list, 0) : NULL;
}

void kept_list_drop(struct kept_list *list)
{
    assert(list->count > 0);
    list->bytes -= at(list, 0)->bytes;
    list->first = (list->first + 1) % list->room;
    list->count--;
}

bool kept_list_find(const struct kept_list *list, const uint64_t key[2], struct kept_entry *out)
{
    for (unsigned i = list->count; i > 0; i--) {
        const struct kept_entry *entry = at(list, i - 1);
        if (entry->key[0] == key[0] && entry->key[1] == key[1]) {
            *out = *entry;
            return true;
        }
    }
    return false;
}

unsigned kept_list_before(const struct kept_list *list, uint64_t before, enum decision decision,
                          const uint32_t *model, uint64_t *out, unsigned most)
{
    unsigned found = 0;
    for (unsigned i = list->count; i > 0 && found < most; i--) {
        const struct kept_entry *entry = at(list, i - 1);
        if (entry->number < before && (decision == DECISION_COUNT || entry->decision == decision) &&
            (model == NULL || entry->model == *model))
            out[found++] = entry->number;
    }
    return found;
}

unsigned kept_list_newest(const struct kept_list *list, uint32_t model, struct kept_entry *out,
                          unsigned most)
{
    unsigned found = 0;
    for (unsigned i = list->count; i > 0 && found < most; i--)
        if (at(list, i - 1)->model == model)
            out[found++] = *at(list, i - 1);
    return found;
}

/* Numbers rise along the list. */
unsigned kept_list_after(const struct kept_list *list, uint64_t after, struct kept_entry *out,
                         unsigned most)
{
    unsigned low = 0, high = list->count, found = 0;
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (at(list, middle)->number > after)
            high = middle;
        else
            low = middle + 1;
    }
    for (unsigned i = low; i < list->count && found < most; i++)
        out[found++] = *at(list, i);
    return found;
}
