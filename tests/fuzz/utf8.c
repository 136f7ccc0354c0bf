/* UTF-8, both readers of ours against a third that works on numbers (RFC 3629, section 3). */
#include "engine/base/utf8.h"

#include "tests/fuzz/driver/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Decodes first and judges the number afterwards: bytes of the character, or 0. */
static size_t character_slowly(const unsigned char *text, size_t len, uint32_t *out)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = text[0] < 0x80             ? 1
                  : (text[0] & 0xE0) == 0xC0 ? 2
                  : (text[0] & 0xF0) == 0xE0 ? 3
                  : (text[0] & 0xF8) == 0xF0 ? 4
                                             : 0;
    if (need == 0 || need > len)
        return 0;
    *out = need == 1 ? text[0] : text[0] & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        *out = *out << 6 | (text[i] & 0x3Fu);
    }
    bool surrogate = *out >= 0xD800 && *out <= 0xDFFF;
    return *out < smallest[need] || *out > 0x10FFFF || surrogate ? 0 : need;
}

/* The valid bytes in front; *count of characters. Each is compared as it is passed. */
static size_t walk(const char *text, size_t len, size_t *count)
{
    size_t at = 0;
    *count = 0;
    while (at < len) {
        uint32_t character = 0;
        size_t bytes = character_slowly((const unsigned char *)text + at, len - at, &character);
        FUZZ_CLAIM(utf8_character_bytes(text + at, len - at) == bytes);
        if (bytes == 0)
            return at;
        size_t next = at;
        char again[UTF8_BYTES_MAX];
        FUZZ_CLAIM(utf8_decode(text, &next) == character && next == at + bytes);
        FUZZ_CLAIM(utf8_encode(character, again) == bytes && memcmp(again, text + at, bytes) == 0);
        at += bytes;
        (*count)++;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    size_t count, offset = 0, valid = walk(text, size, &count);
    FUZZ_CLAIM(utf8_valid(text, size, &offset) == (valid == size));
    FUZZ_CLAIM(valid == size || offset == valid);
    FUZZ_CLAIM(utf8_count(text, valid) == count);
    FUZZ_CLAIM(utf8_character_bytes(text, 0) == 0);
    free(text);
    return 0;
}
