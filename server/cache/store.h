/* store.h - bytes that are kept for a while under a key, within bounds of bytes and time: answers
 * that may be asked for again. Every entry lives as long, so the oldest goes first, when its time
 * or the room is over.
 *
 *     struct sha256_pieces pieces;
 *     char key[SHA256_HEX_BYTES];
 *     store_key_begin(store, &pieces);
 *     sha256_pieces_add(&pieces, ...);
 *     sha256_pieces_end(&pieces, key);
 *     const struct store_entry *entry = store_find(store, key, clock_now_ns());
 *     if (entry != NULL) ... entry->bytes, entry->len ... store_release(store, entry);
 *     store_keep(store, key, parts, 2, clock_now_ns());
 *
 * A key begins with a secret of the process: nobody outside can choose keys that share a bucket.
 *
 * Threads: internally locked, a leaf but for the memory's budget, which has no lock. An entry that
 * is held is constant.
 */
#ifndef ATTND_SERVER_CACHE_STORE_H
#define ATTND_SERVER_CACHE_STORE_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"
#include "server/bounds/memory.h"

#include <stddef.h>
#include <stdint.h>

struct store;

struct store_entry {
    struct store_entry *next;          /* in its bucket */
    struct store_entry *older, *newer; /* of all that are in the store */
    char key[SHA256_HEX_BYTES];
    uint64_t until_ns;
    unsigned users; /* holders, and the store itself; under the store's lock */
    size_t len;
    char bytes[];
};

struct store_part {
    const void *bytes;
    size_t len;
};

/* bytes_max: of all entries with what they take beside their bytes, from `memory` as well; an entry
 * of more than a quarter of it is not kept. ERR_NO_MEMORY. */
enum err_code store_open(struct store **out, size_t bytes_max, uint64_t life_ns,
                         struct memory *memory, struct err *err);
/* No entry may be held any more. NULL is allowed. */
void store_close(struct store *store);

void store_key_begin(const struct store *store, struct sha256_pieces *pieces);
/* A part of a key, with its length: no two lists of parts are one. NULL is a part of its own. */
void store_key_add(struct sha256_pieces *pieces, const void *bytes, size_t len);

/* The entry, held; NULL if there is none or its time is over. Counts a hit or a miss. */
const struct store_entry *store_find(struct store *store, const char key[SHA256_HEX_BYTES],
                                     uint64_t now_ns);
void store_release(struct store *store, const struct store_entry *entry);

/* Copies the parts, one behind the other, in place of an entry of that key. Nothing is kept that is
 * too large, or for which there is no memory. */
void store_keep(struct store *store, const char key[SHA256_HEX_BYTES],
                const struct store_part *parts, unsigned count, uint64_t now_ns);

struct store_figures {
    uint64_t hits, misses, evictions; /* evictions: for want of room, not of time */
    size_t bytes;
};
struct store_figures store_figures(struct store *store);

#endif
