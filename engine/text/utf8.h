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

/* If not, *offset is the first byte of the first ill-formed sequence. */
bool utf8_valid(const char *text, size_t len, size_t *offset);

/* The character at *at, which moves behind it. The text must be valid and *at before its end. */
uint32_t utf8_decode(const char *text, size_t *at);

/* Writes a character; returns how many bytes it took. */
unsigned utf8_encode(uint32_t character, char out[UTF8_BYTES_MAX]);

/* How many characters a valid text has. */
size_t utf8_count(const char *text, size_t len);

#endif
