#include "engine/base/utf8.h"

#include <string.h>

/* Returns the index of the first byte that is not ASCII; eight bytes at a time, since logs are
 * ASCII. */
static size_t skip_ascii(const char *text, size_t at, size_t len)
{
    for (uint64_t word; len - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    while (at < len && (unsigned char)text[at] < 0x80)
        at++;
    return at;
}

bool utf8_valid(const char *text, size_t len, size_t *offset)
{
    for (size_t at = skip_ascii(text, 0, len); at < len; at = skip_ascii(text, at, len)) {
        size_t used = utf8_character_bytes(text + at, len - at);
        if (used == 0) {
            *offset = at;
            return false;
        }
        at += used;
    }
    return true;
}

uint32_t utf8_decode(const char *text, size_t *at)
{
    const unsigned char *bytes = (const unsigned char *)text + *at;
    if (bytes[0] < 0x80) {
        *at += 1;
        return bytes[0];
    }
    if (bytes[0] < 0xE0) {
        *at += 2;
        return (bytes[0] & 0x1Fu) << 6 | (bytes[1] & 0x3Fu);
    }
    if (bytes[0] < 0xF0) {
        *at += 3;
        return (bytes[0] & 0x0Fu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);
    }
    *at += 4;
    return (bytes[0] & 0x07u) << 18 | (bytes[1] & 0x3Fu) << 12 | (bytes[2] & 0x3Fu) << 6 |
           (bytes[3] & 0x3Fu);
}

unsigned utf8_encode(uint32_t character, char out[UTF8_BYTES_MAX])
{
    unsigned need = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[need] | character >> 6 * (need - 1));
    for (unsigned i = 1; i < need; i++)
        out[i] = (char)(0x80 | (character >> 6 * (need - 1 - i) & 0x3F));
    return need;
}

size_t utf8_count(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}
