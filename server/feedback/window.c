/* window.c - see window.h.
 *
 * Invariants: an entry whose key a later one has too stays in its place until that is needed, but
 * no place of the table names it; each other entry is named once. The table is at most half full,
 * and probed linearly; what is removed from it is filled by those behind it (Knuth, volume 3,
 * algorithm 6.4R), so that there are no tombstones. */
#include "server/feedback/window.h"

#include "server/feedback/siphash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint32_t mask_of(unsigned size)
{
    uint32_t places = 2;
    while (places < 2 * (uint64_t)size)
        places *= 2;
    return places - 1;
}

size_t window_bytes(unsigned size)
{
    return size * sizeof(struct window_entry) + ((size_t)mask_of(size) + 1) * sizeof(uint32_t);
}

enum err_code window_open(struct window *window, unsigned size, struct err *err)
{
    *window = (struct window){.size = size, .next = (uint64_t)size + 1, .mask = mask_of(size)};
    if (getrandom(window->secret, sizeof window->secret, 0) != sizeof window->secret)
        return err_set(err, ERR_IO, "no random bytes for the hashes of ids");
    if (size == 0)
        return ERR_OK;
    window->entries = calloc(size, sizeof *window->entries);
    window->places = calloc((size_t)window->mask + 1, sizeof *window->places);
    if (window->entries != NULL && window->places != NULL)
        return ERR_OK;
    window_close(window);
    return err_no_memory(err, window_bytes(size));
}

void window_close(struct window *window)
{
    for (unsigned slot = 0; window->entries != NULL && slot < window->size; slot++)
        if (window->left != NULL && window->entries[slot].number != 0)
            window->left(window->context, &window->entries[slot]);
    free(window->entries);
    free(window->places);
    *window = (struct window){0};
}

void window_key(const struct window *window, const char *id, unsigned index, uint64_t key[2])
{
    siphash(window->secret, id, strlen(id), key);
    key[0] += index * 0x9E3779B97F4A7C15; /* odd: another key for each index of an id */
}

uint16_t window_owner(const struct window *window, const char *key_name)
{
    uint64_t hash[2] = {0};
    if (key_name != NULL)
        siphash(window->secret, key_name, strlen(key_name), hash);
    return (uint16_t)(key_name == NULL ? 0 : hash[0] % UINT16_MAX + 1);
}

/* ---- the table ---- */

/* The place that names the key, or the empty one where it belongs. */
static uint32_t probe(const struct window *window, const uint64_t key[2])
{
    uint32_t at = (uint32_t)key[0] & window->mask;
    for (; window->places[at] != 0; at = (at + 1) & window->mask) {
        const struct window_entry *entry = &window->entries[window->places[at] - 1];
        if (entry->key[0] == key[0] && entry->key[1] == key[1])
            break;
    }
    return at;
}

static void empty(struct window *window, uint32_t hole)
{
    const uint32_t mask = window->mask;
    window->places[hole] = 0;
    for (uint32_t at = (hole + 1) & mask; window->places[at] != 0; at = (at + 1) & mask) {
        uint32_t home = (uint32_t)window->entries[window->places[at] - 1].key[0] & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue; /* a walk from `home` comes to `at` before it comes to `hole` */
        window->places[hole] = window->places[at];
        window->places[at] = 0;
        hole = at;
    }
}

/* ---- entries ---- */

static void forget(struct window *window, uint32_t slot)
{
    if (window->entries[slot].number == 0)
        return;
    uint32_t at = probe(window, window->entries[slot].key);
    if (window->places[at] == slot + 1)
        empty(window, at);
    window->entries[slot].number = 0;
    if (window->left != NULL)
        window->left(window->context, &window->entries[slot]);
}

static void put(struct window *window, const struct window_entry *entry)
{
    uint32_t slot = (uint32_t)(entry->number % window->size);
    forget(window, slot);
    window->entries[slot] = *entry;
    window->places[probe(window, entry->key)] = slot + 1;
}

void window_put(struct window *window, const struct window_entry *entry)
{
    if (window->size == 0)
        return;
    struct window_entry numbered = *entry;
    numbered.number = window->next++;
    put(window, &numbered);
}

bool window_put_old(struct window *window, const struct window_entry *entry)
{
    if (entry->number == 0 || window->next > entry->number + window->size)
        return false;
    const struct window_entry *other = window_find(window, entry->key);
    if (other != NULL && other->number > entry->number)
        return false;
    put(window, entry);
    return true;
}

void window_drop(struct window *window, const uint64_t key[2])
{
    const struct window_entry *entry = window_find(window, key);
    if (entry != NULL)
        forget(window, (uint32_t)(entry - window->entries));
}

bool window_drop_oldest_text(struct window *window, uint64_t *from)
{
    for (; window->size > 0 && *from < window->next; ++*from) {
        const uint32_t slot = (uint32_t)(*from % window->size);
        const struct window_entry *entry = &window->entries[slot];
        if (entry->number != *from || !entry->is_text)
            continue;
        forget(window, slot);
        return true;
    }
    return false;
}

void window_drop_version(struct window *window, unsigned version)
{
    for (uint32_t slot = 0; slot < window->size; slot++)
        if (window->entries[slot].version == version)
            forget(window, slot);
}

struct window_entry *window_find(const struct window *window, const uint64_t key[2])
{
    if (window->size == 0)
        return NULL;
    uint32_t named = window->places[probe(window, key)];
    return named != 0 ? &window->entries[named - 1] : NULL;
}
