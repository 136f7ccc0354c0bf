/* utf8.h - strict UTF-8 (RFC 3629; Unicode Standard, table 3-7: no overlong forms, no surrogates,
 * nothing above U+10FFFF): checks it, walks its characters, and makes other bytes printable.
 *
 *     if (!utf8_valid(text, len, &offset)) ... "invalid UTF-8 at byte %zu"
 *     while (at < len) character = utf8_decode(text, &at);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_BASE_UTF8_H
#define ATTND_ENGINE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns the bytes (1 to 4) of the well-formed character that begins text[0..len), or 0: RFC 3629,
 * section 4, so no overlong forms, no surrogates, nothing above U+10FFFF. A NUL is a character of
 * one byte. */
static inline size_t utf8_character_bytes(const char *text, size_t len)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (len == 0 || byte[0] < 0x80)
        return len == 0 ? 0 : 1;
    size_t need = byte[0] >= 0xF0 ? 4 : byte[0] >= 0xE0 ? 3 : 2;
    if (byte[0] < 0xC2 || byte[0] > 0xF4 || need > len)
        return 0;
    unsigned char low = byte[0] == 0xE0 ? 0xA0 : byte[0] == 0xF0 ? 0x90 : 0x80;
    unsigned char high = byte[0] == 0xED ? 0x9F : byte[0] == 0xF4 ? 0x8F : 0xBF;
    if (byte[1] < low || byte[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if ((byte[i] & 0xC0) != 0x80)
            return 0;
    return need;
}

/* Returns true if the text is valid; else *offset is the first byte of the first ill-formed
 * sequence. */
bool utf8_valid(const char *text, size_t len, size_t *offset);

static inline bool utf8_is_valid(const char *text, size_t len)
{
    size_t offset;
    return utf8_valid(text, len, &offset);
}

enum { UTF8_BYTES_MAX = 4 };

/* Returns the character at *at and moves *at behind it. The text must be valid and *at before its
 * end. */
uint32_t utf8_decode(const char *text, size_t *at);

/* Writes a character; returns its number of bytes. */
unsigned utf8_encode(uint32_t character, char out[UTF8_BYTES_MAX]);

/* Number of characters of a valid text. */
size_t utf8_count(const char *text, size_t len);

/* The width with which printf's "%-*s", which counts bytes, pads a valid text to so many
 * characters. */
static inline int utf8_width(const char *text, int characters)
{
    const size_t len = strlen(text);
    return characters + (int)(len - utf8_count(text, len));
}

/* A place in a valid text, as its number of characters and of bytes. It begins as {0, 0}. */
struct utf8_place {
    uint32_t character;
    size_t byte;
};

/* Moves to a character, or to the end of a text that has fewer; returns the byte. Linear in the way
 * to a later character, and in the text to an earlier one. */
static inline size_t utf8_move(struct utf8_place *place, const char *text, size_t len,
                               uint32_t character)
{
    if (character < place->character)
        *place = (struct utf8_place){0, 0};
    for (; place->character < character && place->byte < len; place->character++)
        place->byte += utf8_character_bytes(text + place->byte, len - place->byte);
    return place->byte;
}

/* Returns, for an error text, the fault that the first bytes of a text show, such as a byte order
 * mark in a text that must be plain UTF-8. NULL: they show none. */
static inline const char *utf8_fault_of_mark(const char *bytes, size_t len)
{
    if (len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
        return "begins with a byte order mark; it must be UTF-8 without one";
    if (len >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0 ||
                     (bytes[0] == '\0') != (bytes[1] == '\0')))
        return "is UTF-16; it must be UTF-8";
    return NULL;
}

enum { UTF8_ESCAPED_BYTES = 8192 };

/* Returns the text, or, if it is not UTF-8, which is possible for the name of a file, a copy with
 * each invalid byte in hexadecimal: caf\xE9.png, so that the file can be found. A copy that would
 * be too long ends early, with three dots. */
static inline const char *utf8_escape(const char *text, char out[UTF8_ESCAPED_BYTES])
{
    enum { ESCAPE = 4, DOTS = 4 }; /* bytes; DOTS includes the NUL */
    static const char digits[] = "0123456789ABCDEF";
    size_t len = strlen(text), to = 0;
    if (utf8_is_valid(text, len))
        return text;
    for (size_t at = 0; at < len; at++) {
        size_t bytes = utf8_character_bytes(text + at, len - at);
        unsigned char c = (unsigned char)text[at];
        if (to + ESCAPE + DOTS > UTF8_ESCAPED_BYTES) {
            memcpy(out + to, "...", DOTS);
            return out;
        }
        if (bytes == 0) {
            const char escape[ESCAPE] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            memcpy(out + to, escape, ESCAPE);
            to += ESCAPE;
        } else {
            memcpy(out + to, text + at, bytes);
            to += bytes;
            at += bytes - 1;
        }
    }
    out[to] = '\0';
    return out;
}

/* For use in an expression: the buffer lives until the end of the caller's block. */
#define UTF8_SHOWN(text) utf8_escape(text, (char[UTF8_ESCAPED_BYTES]){0})

#endif
