/* vocab.c - see vocab.h. A hash table with open addressing. Greedy matching needs the hash of every
 * prefix of a word. The hash grows byte by byte (FNV-1a, finished by a multiplication that spreads
 * its low bits), so one pass gives them all. The search then goes from the longest prefix down. The
 * table of the longest piece for each first byte bounds it: digits and symbols, which are frequent
 * in logs, begin short pieces only. Slots hold the hash, so a miss touches one cache line. */
#include "engine/text/vocab.h"

#include <string.h>

struct vocab_slot {
    uint32_t hash;
    uint32_t number; /* the entry's number plus one; 0: empty */
};

enum { PIECES_MAX = 1 << 24 };

static const uint32_t fnv_offset = 2166136261u;
static const uint32_t fnv_prime = 16777619u;

static uint32_t hash_grow(uint32_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * fnv_prime;
}

enum err_code vocab_init(struct vocab *vocab, size_t pieces_max, struct arena *arena,
                         struct err *err)
{
    *vocab = (struct vocab){0};
    if (pieces_max > PIECES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%zu pieces; at most %d are supported", pieces_max,
                       PIECES_MAX);
    size_t slots = 16;
    while (slots < 2 * pieces_max)
        slots *= 2;
    vocab->slots = arena_alloc_array(arena, slots, sizeof *vocab->slots);
    vocab->entries = arena_alloc_array(arena, pieces_max, sizeof *vocab->entries);
    if (vocab->slots == NULL || vocab->entries == NULL)
        return err_no_memory(err, slots * sizeof *vocab->slots);
    vocab->slot_mask = (uint32_t)slots - 1;
    vocab->count_max = (uint32_t)pieces_max;
    return ERR_OK;
}

/* Returns the slot that holds the piece, or the empty slot where it belongs. */
static struct vocab_slot *find_slot(const struct vocab *vocab, uint32_t hash, const char *piece,
                                    size_t len)
{
    uint32_t at = (hash ^ hash >> 15) * 2654435769u >> 7 & vocab->slot_mask;
    for (;; at = (at + 1) & vocab->slot_mask) {
        struct vocab_slot *slot = &vocab->slots[at];
        if (slot->number == 0)
            return slot;
        const struct vocab_entry *entry = &vocab->entries[slot->number - 1];
        if (slot->hash == hash && entry->len == len && memcmp(entry->piece, piece, len) == 0)
            return slot;
    }
}

static uint32_t hash_piece(const char *piece, size_t len)
{
    uint32_t hash = fnv_offset;
    for (size_t i = 0; i < len; i++)
        hash = hash_grow(hash, piece[i]);
    return hash;
}

enum err_code vocab_add(struct vocab *vocab, const char *piece, size_t len, int32_t id,
                        struct err *err)
{
    if (len == 0)
        return ERR_OK;
    if (len > VOCAB_PIECE_BYTES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "piece %d is longer than %d bytes", id,
                       VOCAB_PIECE_BYTES_MAX);
    uint32_t hash = hash_piece(piece, len);
    struct vocab_slot *slot = find_slot(vocab, hash, piece, len);
    if (slot->number != 0) {
        vocab->entries[slot->number - 1].id = id;
        return ERR_OK;
    }
    if (vocab->count == vocab->count_max)
        return err_set(err, ERR_INTERNAL, "more pieces than announced");
    vocab->entries[vocab->count++] = (struct vocab_entry){piece, (uint32_t)len, id};
    *slot = (struct vocab_slot){hash, vocab->count};
    uint16_t *longest = &vocab->longest[(unsigned char)piece[0]];
    *longest = len > *longest ? (uint16_t)len : *longest;
    return ERR_OK;
}

static int32_t slot_id(const struct vocab *vocab, const struct vocab_slot *slot)
{
    return slot->number == 0 ? VOCAB_NONE : vocab->entries[slot->number - 1].id;
}

int32_t vocab_find(const struct vocab *vocab, const char *piece, size_t len)
{
    return slot_id(vocab, find_slot(vocab, hash_piece(piece, len), piece, len));
}

int32_t vocab_longest(const struct vocab *vocab, const char *text, size_t len, size_t *taken)
{
    if (len == 0)
        return VOCAB_NONE;
    size_t longest = vocab->longest[(unsigned char)text[0]];
    longest = len < longest ? len : longest;
    uint32_t hashes[VOCAB_PIECE_BYTES_MAX];
    uint32_t hash = fnv_offset;
    for (size_t i = 0; i < longest; i++) {
        hash = hash_grow(hash, text[i]);
        hashes[i] = hash;
    }
    for (size_t size = longest; size > 0; size--) {
        int32_t id = slot_id(vocab, find_slot(vocab, hashes[size - 1], text, size));
        if (id != VOCAB_NONE) {
            *taken = size;
            return id;
        }
    }
    return VOCAB_NONE;
}
