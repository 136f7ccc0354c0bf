#include "engine/base/doc_string.h"

#include "engine/base/utf8.h"

#include <string.h>

static struct doc_string_piece as_it_is(const char *text, size_t taken)
{
    struct doc_string_piece piece = {.len = taken, .taken = taken};
    memcpy(piece.bytes, text, taken);
    return piece;
}

static struct doc_string_piece control(unsigned code, size_t taken)
{
    struct doc_string_piece piece = {.taken = taken};
    piece.len = (size_t)snprintf(piece.bytes, sizeof piece.bytes, "\\u%04x", code);
    return piece;
}

/* Returns the character if it is U+2028 to U+202E or U+2066 to U+2069; 0: another character. */
static unsigned line_or_direction(const char *text, size_t taken)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (taken != 3 || byte[0] != 0xE2)
        return 0;
    if (byte[1] == 0x80 && byte[2] >= 0xA8 && byte[2] <= 0xAE)
        return 0x2000u + byte[2] - 0x80;
    return byte[1] == 0x81 && byte[2] >= 0xA6 && byte[2] <= 0xA9 ? 0x2040u + byte[2] - 0x80 : 0;
}

/* Escapes a character that JSON itself need not escape. */
static struct doc_string_piece for_terminal(const char *text, size_t len)
{
    unsigned char byte = (unsigned char)text[0];
    size_t taken = utf8_character_bytes(text, len);
    if (taken == 0)
        return (struct doc_string_piece){.bytes = "\xEF\xBF\xBD", .len = 3, .taken = 1};
    if (byte == 0x7F)
        return control(byte, taken);
    if (byte == 0xC2 && (unsigned char)text[1] < 0xA0)
        return control((unsigned char)text[1], taken);
    unsigned code = line_or_direction(text, taken);
    return code != 0 ? control(code, taken) : as_it_is(text, taken);
}

struct doc_string_piece doc_string_next(const char *text, size_t len, enum doc_string_rest rest)
{
    unsigned char byte = (unsigned char)text[0];
    if (byte == '"' || byte == '\\')
        return (struct doc_string_piece){.bytes = {'\\', text[0]}, .len = 2, .taken = 1};
    if (byte < 0x20)
        return control(byte, 1);
    return rest == DOC_STRING_FOR_TERMINAL ? for_terminal(text, len) : as_it_is(text, 1);
}

void doc_string_write(FILE *file, const char *text, size_t len)
{
    fputc('"', file);
    for (size_t at = 0; at < len;) {
        struct doc_string_piece piece = doc_string_next(text + at, len - at, DOC_STRING_AS_IT_IS);
        fwrite(piece.bytes, 1, piece.len, file);
        at += piece.taken;
    }
    fputc('"', file);
}
