#include "wire/elide.h"

#include "engine/base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t unescape_plain(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        unsigned char byte = (unsigned char)text[at];
        if (byte < 0x20 || byte == '"' || byte == '\\')
            break;
        size_t bytes = byte < 0x80 ? 1 : utf8_character_bytes(text + at, len - at);
        if (bytes == 0)
            break;
        at += bytes;
    }
    return at;
}

/* Four hexadecimal digits; false if text does not start with them. */
static bool read_unit(const char *text, size_t len, unsigned *unit)
{
    *unit = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = i < len ? text[i] : '\0';
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return false;
        *unit = *unit * 16 + digit;
    }
    return true;
}

/* The character of an escape that starts with \u, and its length in the text; 0 if it is none. A
 * character above U+FFFF is two escapes: a high and a low surrogate (RFC 8259, section 7). */
static size_t read_character(const char *text, size_t len, unsigned *character)
{
    unsigned low;
    if (!read_unit(text + 2, len - 2, character) || (*character >= 0xDC00 && *character < 0xE000))
        return 0;
    if (*character < 0xD800 || *character >= 0xE000)
        return 6;
    if (len < 12 || text[6] != '\\' || text[7] != 'u' || !read_unit(text + 8, 4, &low) ||
        low < 0xDC00 || low >= 0xE000)
        return 0;
    *character = 0x10000 + ((*character - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

/* At most four bytes, fewer than the escape has. */
static size_t write_utf8(char *out, unsigned character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t bytes = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = bytes - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3F));
    out[0] = (char)(leads[bytes] | character);
    return bytes;
}

/* One escape, with at least the backslash there: its length in the text, or 0. */
static size_t decode_escape(char *out, size_t *out_bytes, const char *text, size_t len)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    unsigned character;
    const char *letter = len > 1 && text[1] != '\0' ? strchr(letters, text[1]) : NULL;
    if (letter != NULL) {
        out[0] = values[letter - letters];
        *out_bytes = 1;
        return 2;
    }
    size_t bytes = len > 1 && text[1] == 'u' ? read_character(text, len, &character) : 0;
    *out_bytes = bytes > 0 ? write_utf8(out, character) : 0;
    return bytes;
}

enum err_code unescape(char *out, size_t *out_len, const char *text, size_t len)
{
    size_t at = 0, written = 0;
    while (at < len) {
        char character[4];
        size_t run = unescape_plain(text + at, len - at), more = 0;
        if (out != NULL)
            memcpy(out + written, text + at, run);
        written += run;
        at += run;
        if (at == len)
            break;
        size_t bytes = text[at] == '\\' ? decode_escape(character, &more, text + at, len - at) : 0;
        if (bytes == 0) {
            *out_len = at;
            return (unsigned char)text[at] >= 0x80 ? ERR_UNUSABLE : ERR_MALFORMED;
        }
        if (out != NULL)
            memcpy(out + written, character, more);
        written += more;
        at += bytes;
    }
    *out_len = written;
    return ERR_OK;
}
