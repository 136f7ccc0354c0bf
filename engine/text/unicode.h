/* unicode.h - what a tokenizer asks about a character, answered as the reference tokenizer does.
 *
 *     const struct unicode_properties *p = unicode_properties(character);
 *     if (p->flags & UNICODE_PUNCTUATION) ...
 *
 * Characters are code points below 0x110000. Tables are generated (unicode_tables.h says from
 * which versions of Unicode) and constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_UNICODE_H
#define ATTND_ENGINE_TEXT_UNICODE_H

#include <stdint.h>

enum unicode_flag {
    UNICODE_CONTROL = 1,     /* Cc, Cf, Co but not tab, line feed, carriage return; also U+FFFD */
    UNICODE_SPACE = 2,       /* White_Space */
    UNICODE_PUNCTUATION = 4, /* P*, and every ASCII symbol */
    UNICODE_MARK = 8,        /* Mn: what "strip accents" removes */
    UNICODE_CJK = 16,        /* the ideographs that BERT makes words of their own */
    UNICODE_DECOMPOSES = 32, /* has a canonical decomposition; Hangul syllables are not flagged */
};

struct unicode_properties {
    uint8_t flags;
    uint8_t combining_class; /* 0: a starter */
    int32_t lower_delta;     /* to the lower-case letter; see unicode_lower */
};

enum { UNICODE_DECOMPOSITION_MAX = 4, UNICODE_LOWER_MAX = 2 };

const struct unicode_properties *unicode_properties(uint32_t character);

/* The full canonical decomposition (not reordered); the character itself if it has none. Returns
 * how many characters were written. */
unsigned unicode_decompose(uint32_t character, uint32_t out[UNICODE_DECOMPOSITION_MAX]);

/* The lower-case form without regard to context: a final capital sigma becomes a medial one, and
 * U+0130 becomes two characters. Returns how many were written. */
unsigned unicode_lower(uint32_t character, uint32_t out[UNICODE_LOWER_MAX]);

#endif
