#include "engine/text/pipeline/byte_alphabet.h"

#include "engine/text/utf8.h"

/* The printable characters of Latin-1 stand for themselves. The other bytes, in ascending order,
 * are the characters from 256 on: 0 to 32, 127 to 160, 173. */
enum { REST_FIRST = 256, LOW_COUNT = 33, HIGH_FIRST = 127, HIGH_COUNT = 34, SOFT_HYPHEN = 173 };

int byte_alphabet_byte(uint32_t character)
{
    if (character < REST_FIRST) {
        bool is_rest = character < LOW_COUNT || character - HIGH_FIRST < HIGH_COUNT ||
                       character == SOFT_HYPHEN;
        return is_rest ? -1 : (int)character;
    }
    uint32_t number = character - REST_FIRST;
    if (number < LOW_COUNT)
        return (int)number;
    if (number - LOW_COUNT < HIGH_COUNT)
        return (int)(HIGH_FIRST + number - LOW_COUNT);
    return number == LOW_COUNT + HIGH_COUNT ? SOFT_HYPHEN : -1;
}

bool byte_alphabet_decode(const char *piece, size_t len, char *out, size_t *out_len)
{
    *out_len = 0;
    for (size_t at = 0; at < len;) {
        int byte = byte_alphabet_byte(utf8_decode(piece, &at));
        if (byte < 0)
            return false;
        out[(*out_len)++] = (char)byte;
    }
    return true;
}
