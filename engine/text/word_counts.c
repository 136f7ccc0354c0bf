/* word_counts.c - see word_counts.h. Logs have millions of different words (times, addresses,
 * serial numbers), so a word costs its bytes, one item and two slots: the text lies in one buffer
 * that grows, and the hash table with open addressing, at most half full, holds numbers of items.
 */
#include "engine/text/word_counts.h"

#include "engine/base/arena.h"
#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_FIRST = 4096, BYTES_FIRST = 65536, ITEMS_MAX = 1 << 30 };

struct word {
    size_t characters, len;
    char bytes[UTF8_BYTES_MAX * WORD_CHARACTERS_MAX];
};

void word_counts_init(struct word_counts *words, struct normalizer_flags flags)
{
    *words = (struct word_counts){.flags = flags};
}

void word_counts_deinit(struct word_counts *words)
{
    free(words->items);
    free(words->slots);
    free(words->bytes);
    *words = (struct word_counts){0};
}

const char *word_counts_text(const struct word_counts *words, size_t index)
{
    return words->bytes + words->items[index].offset;
}

/* ---- the table ---- */

/* Returns the slot of a word, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct word_counts *words, const char *bytes, size_t len,
                           uint32_t hash)
{
    for (size_t at = hash & words->slot_mask;; at = (at + 1) & words->slot_mask) {
        uint32_t *slot = &words->slots[at];
        if (*slot == 0)
            return slot;
        const struct word_count *item = &words->items[*slot - 1];
        if (item->hash == hash && item->len == len &&
            memcmp(words->bytes + item->offset, bytes, len) == 0)
            return slot;
    }
}

static enum err_code grow_items(struct word_counts *words, struct err *err)
{
    size_t capacity = words->capacity == 0 ? ITEMS_FIRST : 2 * words->capacity;
    if (capacity > ITEMS_MAX)
        return err_set(err, ERR_TOO_LARGE, "more than %d different words", ITEMS_MAX / 2);
    struct word_count *items = reallocarray(words->items, capacity, sizeof *items);
    if (items == NULL)
        return err_no_memory(err, capacity * sizeof *items);
    words->items = items;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    if (slots == NULL)
        return err_no_memory(err, 2 * capacity * sizeof *slots);
    free(words->slots);
    words->slots = slots;
    words->slot_mask = 2 * capacity - 1;
    words->capacity = capacity;
    for (size_t i = 0; i < words->count; i++)
        *find_slot(words, words->bytes + items[i].offset, items[i].len, items[i].hash) =
            (uint32_t)i + 1;
    return ERR_OK;
}

static enum err_code count_word(struct word_counts *words, const struct word *word, struct err *err)
{
    uint32_t hash = 2166136261u; /* FNV-1a, finished so that its low bits depend on all bits */
    if (words->count == words->capacity && grow_items(words, err))
        return err->code;
    for (size_t i = 0; i < word->len; i++)
        hash = (hash ^ (unsigned char)word->bytes[i]) * 16777619u;
    hash = (hash ^ hash >> 15) * 2654435769u;
    uint32_t *slot = find_slot(words, word->bytes, word->len, hash);
    if (*slot > 0) {
        words->items[*slot - 1].count++;
        return ERR_OK;
    }
    if (words->bytes_capacity - words->bytes_used < word->len) {
        size_t capacity = words->bytes_capacity == 0 ? BYTES_FIRST : 2 * words->bytes_capacity;
        char *bytes = realloc(words->bytes, capacity);
        if (bytes == NULL)
            return err_no_memory(err, capacity);
        words->bytes = bytes;
        words->bytes_capacity = capacity;
    }
    memcpy(words->bytes + words->bytes_used, word->bytes, word->len);
    words->items[words->count++] = (struct word_count){
        .offset = words->bytes_used, .len = (uint32_t)word->len, .hash = hash, .count = 1};
    words->bytes_used += word->len;
    *slot = (uint32_t)words->count;
    return ERR_OK;
}

/* ---- words ---- */

static void put(struct word *word, uint32_t character)
{
    if (word->characters++ < WORD_CHARACTERS_MAX)
        word->len += utf8_encode(character, word->bytes + word->len);
}

/* Counts the word, if there is one, and empties it. */
static enum err_code finish(struct word_counts *words, struct word *word, struct err *err)
{
    if (word->characters > 0 && word->characters <= WORD_CHARACTERS_MAX)
        count_word(words, word, err);
    word->characters = word->len = 0;
    return err->code;
}

static enum err_code take(struct word_counts *words, struct word *word, uint32_t character,
                          struct err *err)
{
    unsigned flags = unicode_properties(character)->flags;
    if (!(flags & (UNICODE_SPACE | UNICODE_PUNCTUATION))) {
        put(word, character);
        return ERR_OK;
    }
    if (finish(words, word, err) || flags & UNICODE_SPACE)
        return err->code;
    put(word, character);
    return finish(words, word, err);
}

enum err_code word_counts_add(struct word_counts *words, const char *text, size_t len,
                              struct err *err)
{
    struct normalizer normalizer;
    struct word word = {.characters = 0};
    struct arena arena;
    if (err_check_utf8(err, text, len, "the text"))
        return err->code;
    arena_init(&arena);
    normalizer_init(&normalizer, words->flags, text, len, 0, &arena);
    for (struct normalized next; normalizer_next(&normalizer, &next, err);)
        if (take(words, &word, next.character, err))
            break;
    if (err->code == ERR_OK)
        finish(words, &word, err);
    arena_deinit(&arena);
    return err->code;
}
