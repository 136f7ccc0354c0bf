/* vocab.h - a vocabulary: piece -> id, and the longest piece that a text begins with.
 *
 *     vocab_init(&vocab, pieces_max, &arena, &err);
 *     vocab_add(&vocab, "##ing", 5, 2075, &err);
 *     id = vocab_longest(&vocab, word, len, &taken);
 *
 * Immutable once filled: any thread may look up.
 */
#ifndef ATTND_ENGINE_TEXT_VOCAB_H
#define ATTND_ENGINE_TEXT_VOCAB_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    VOCAB_NONE = -1,
    VOCAB_PIECE_BYTES_MAX = 1024, /* bounds the work that one character of a text can cause */
};

struct vocab_slot;

struct vocab_entry {
    const char *piece;
    uint32_t len;
    int32_t id;
};

struct vocab {
    struct vocab_entry *entries; /* [count] */
    struct vocab_slot *slots;    /* [slot_mask + 1], open addressing, at most half full */
    uint32_t slot_mask;
    uint32_t count, count_max;
    uint16_t longest[256]; /* bytes of the longest piece that begins with the byte */
};

/* Memory comes from the arena and lasts as long as it does. */
enum err_code vocab_init(struct vocab *vocab, size_t pieces_max, struct arena *arena,
                         struct err *err);

/* Adds a piece; a piece that is there already gets the new id, as in the reference. The text is
 * borrowed. An empty piece is ignored: nothing matches it. ERR_UNSUPPORTED if it is too long. */
enum err_code vocab_add(struct vocab *vocab, const char *piece, size_t len, int32_t id,
                        struct err *err);

/* Returns the id of a piece, or VOCAB_NONE. */
int32_t vocab_find(const struct vocab *vocab, const char *piece, size_t len);

/* Returns the id of the longest piece that text begins with, and its bytes in *taken; VOCAB_NONE if
 * there is none. Cost: at most as many steps as the longest piece with that first byte has
 * bytes. */
int32_t vocab_longest(const struct vocab *vocab, const char *text, size_t len, size_t *taken);

#endif
