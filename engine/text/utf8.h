/* utf8.h - strict UTF-8 (RFC 3629; Unicode Standard, table 3-7): no overlong forms, no surrogates,
 * nothing above U+10FFFF.
 *
 *     if (!utf8_valid(text, len, &offset)) ... "invalid UTF-8 at byte %zu"
 *     while (at < len) character = utf8_decode(text, &at);
 *
 * Stateless: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_UTF8_H
#define ATTND_ENGINE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_BYTES_MAX = 4 };

/* Returns true if the text is valid; else *offset is the first byte of the first ill-formed
 * sequence. */
bool utf8_valid(const char *text, size_t len, size_t *offset);

/* Returns the character at *at and moves *at behind it. The text must be valid and *at before its
 * end. */
uint32_t utf8_decode(const char *text, size_t *at);

/* Writes a character; returns its number of bytes. */
unsigned utf8_encode(uint32_t character, char out[UTF8_BYTES_MAX]);

/* Number of characters of a valid text. */
size_t utf8_count(const char *text, size_t len);

#endif
