/* unicode.h - the properties of a character that a tokenizer needs, equal to the reference
 * tokenizer's.
 *
 *     const struct unicode_properties *p = unicode_properties(character);
 *     if (p->flags & UNICODE_PUNCTUATION) ...
 *
 * Characters are code points below 0x110000. Tables are generated (make_unicode_tables.py names the
 * versions of Unicode) and constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_UNICODE_H
#define ATTND_ENGINE_TEXT_UNICODE_H

#include "engine/text/unicode_properties.h"

#include <stdint.h>

enum { UNICODE_DECOMPOSITION_MAX = 4, UNICODE_LOWER_MAX = 2 };

const struct unicode_properties *unicode_properties(uint32_t character);

/* Writes the full canonical decomposition (not reordered), or the character itself if it has none.
 * Returns the number of characters written. */
unsigned unicode_decompose(uint32_t character, uint32_t out[UNICODE_DECOMPOSITION_MAX]);

/* Writes the lower-case form without regard to context: a final capital sigma becomes a medial one,
 * and U+0130 becomes two characters. Returns the number of characters written. */
unsigned unicode_lower(uint32_t character, uint32_t out[UNICODE_LOWER_MAX]);

#endif
