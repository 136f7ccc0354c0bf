/* normalizer.h - BERT's text cleaning as a stream of characters, each with the index of its source
 * character.
 *
 *     normalizer_init(&normalizer, flags, text, len, first_index, &arena);
 *     while (normalizer_next(&normalizer, &character, &err)) ...
 *     if (err.code) ...                      (ERR_NO_MEMORY, or the interrupt's error)
 *
 * Equal to the reference's BertNormalizer: clean_text (control characters and U+FFFD removed, white
 * space unified), spaces around CJK characters, strip_accents (canonical decomposition, marks
 * removed), lower-casing without context.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_NORMALIZER_H
#define ATTND_ENGINE_TEXT_NORMALIZER_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"
#include "engine/text/unicode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct normalizer_flags {
    bool clean_text;
    bool space_cjk;
    bool strip_accents;
    bool lower_case;
};

/* Characters between two checks of the interrupt. */
enum { NORMALIZER_LOOK_CHARACTERS = 4096 };

struct normalized {
    uint32_t character;
    uint32_t source; /* index of its source, a character of the text */
};

/* Reads the text's characters and returns them cleaned, spaced and decomposed. */
struct normalizer_cursor {
    size_t at;                                       /* next byte */
    uint32_t index;                                  /* next character */
    uint32_t source;                                 /* index of the source of `pending` */
    uint32_t pending[UNICODE_DECOMPOSITION_MAX + 2]; /* two more: the spaces */
    unsigned pending_count, pending_next;
};

struct normalizer {
    struct normalizer_flags flags;
    const char *text; /* valid UTF-8 */
    size_t len;
    struct arena *arena;
    struct interrupt *interrupt; /* NULL after init; may be set then */
    struct normalizer_cursor cursor;
    struct normalized *run; /* reordered combining characters that are not yet returned */
    size_t run_count, run_next;
    size_t run_room;          /* the longest run so far */
    struct normalized second; /* second character of a lower-case form of two */
    bool has_second;
};

/* The text, valid UTF-8, is borrowed; its first character is character `first_index`. */
void normalizer_init(struct normalizer *normalizer, struct normalizer_flags flags, const char *text,
                     size_t len, uint32_t first_index, struct arena *arena);

/* Returns false at the end, without memory, and when interrupted. Plain ASCII does not check the
 * interrupt: the caller, which gets each character, checks it. */
bool normalizer_next(struct normalizer *normalizer, struct normalized *out, struct err *err);

#endif
