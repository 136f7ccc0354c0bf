/* unicode.h - the properties of a character that a tokenizer needs, as the reference tokenizer has
 * them.
 *
 *     const struct unicode_properties *p = unicode_properties(character);
 *     if (p->flags & UNICODE_PUNCTUATION) ...
 *
 * Characters are code points below 0x110000. Tables are generated (unicode_tables.h says from
 * which versions of Unicode) and constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_UNICODE_H
#define ATTND_ENGINE_TEXT_UNICODE_H

#include "engine/text/unicode_properties.h"

#include <stdint.h>

enum { UNICODE_DECOMPOSITION_MAX = 4, UNICODE_LOWER_MAX = 2 };

const struct unicode_properties *unicode_properties(uint32_t character);

/* The full canonical decomposition (not reordered); the character itself if it has none. Returns
 * how many characters were written. */
unsigned unicode_decompose(uint32_t character, uint32_t out[UNICODE_DECOMPOSITION_MAX]);

/* The lower-case form without regard to context: a final capital sigma becomes a medial one, and
 * U+0130 becomes two characters. Returns how many were written. */
unsigned unicode_lower(uint32_t character, uint32_t out[UNICODE_LOWER_MAX]);

#endif
