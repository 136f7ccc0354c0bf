/* aligned.h - a text on its way through a tokenizer's normalisers; each byte knows the characters
 * of the client's text that it came from.
 *
 *     aligned_of_text(&text, bytes, len, first_character, &arena, &err);
 *     aligned_builder_init(&next, &text, &arena);
 *     while (next.at < text.len)
 *         aligned_put(&next, lower_of(aligned_peek(&next)), 0, &err);
 *     ... next.out is the text, one step further
 *
 * aligned_put is the reference's `NormalizedString::transform` (Hugging Face tokenizers 0.22). A
 * character replaces the next character of the old text and takes its extent. Or it is inserted
 * behind the character replaced last and shares its extent. All bytes of a character have one
 * extent.
 *
 * Threads: one at a time; a finished text may be read by any.
 */
#ifndef ATTND_ENGINE_TEXT_ALIGNED_H
#define ATTND_ENGINE_TEXT_ALIGNED_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aligned {
    char *bytes; /* [len] valid UTF-8; may be NULL if len is 0 */
    /* [len] characters (code points) of the client's text, end exclusive */
    uint32_t *starts, *ends;
    size_t len;
};

struct aligned_builder {
    const struct aligned *from;
    size_t at;          /* bytes of `from` that are replaced, kept or dropped so far */
    struct aligned out; /* the new text so far */
    size_t room;        /* bytes that fit into out */
    struct arena *arena;
};

/* Makes an aligned text of a client's text: `text` is valid UTF-8, its first character is number
 * `first`. Copies; takes 9 bytes of the arena for each byte. ERR_NO_MEMORY. */
enum err_code aligned_of_text(struct aligned *out, const char *text, size_t len, uint32_t first,
                              struct arena *arena, struct err *err);

/* Returns bytes [at, at + len) of a text, whole characters, as a text; borrows. */
struct aligned aligned_part(const struct aligned *text, size_t at, size_t len);

/* Begins the next form of `from`, which is borrowed and not changed. Allocates nothing yet. The
 * memory of `out` comes from the arena: 9 bytes for each byte of `from`. An `out` that grows
 * doubles its arrays and leaves the old ones in the arena: fewer than 4 times 9 for each byte of
 * `out`. */
void aligned_builder_init(struct aligned_builder *builder, const struct aligned *from,
                          struct arena *arena);

/* The next character of `from`; there must be one. */
uint32_t aligned_peek(const struct aligned_builder *builder);

/* Appends a character. change 1: inserts it behind the character replaced last (not allowed for the
 * first of all); 0: replaces the next character of `from`; -n: the same, and drops the n characters
 * after that one. False if there is no memory. */
bool aligned_put(struct aligned_builder *builder, uint32_t character, long change, struct err *err);

/* Keeps the next `len` bytes of `from`, whole characters. False if there is no memory. */
bool aligned_keep(struct aligned_builder *builder, size_t len, struct err *err);

/* Drops the next `len` bytes of `from`, whole characters. */
void aligned_drop(struct aligned_builder *builder, size_t len);

#endif
