#include "learn/eval/report/html.h"

#include "engine/base/base64.h"
#include "engine/base/utf8.h"

#include <stdbool.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static const char *entity_of(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Characters that would hide or reorder their neighbours: the C0 and C1 controls, and the
 * embeddings, overrides and isolates of the bidirectional algorithm (U+202A-202E, 2066-2069).
 */
static bool is_unseen(const char *text, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (bytes == 1)
        return (byte[0] < 0x20 && byte[0] != '\n' && byte[0] != '\t') || byte[0] == 0x7F;
    if (bytes == 2)
        return byte[0] == 0xC2 && byte[1] < 0xA0;
    if (bytes != 3 || byte[0] != 0xE2)
        return false;
    return (byte[1] == 0x80 && byte[2] >= 0xAA && byte[2] <= 0xAE) ||
           (byte[1] == 0x81 && byte[2] >= 0xA6 && byte[2] <= 0xA9);
}

/* Writes the character at the head of text[0..len), len >= 1; returns how many bytes it had. */
static size_t put_character(FILE *file, const char *text, size_t len)
{
    size_t bytes = utf8_character_bytes(text, len);
    const char *entity = bytes == 1 ? entity_of(*text) : NULL;
    if (bytes == 0 || is_unseen(text, bytes))
        fputs(replacement, file);
    else if (entity != NULL)
        fputs(entity, file);
    else
        fwrite(text, 1, bytes, file);
    return bytes > 0 ? bytes : 1;
}

void html_text_bytes(FILE *file, const char *text, size_t len)
{
    for (size_t at = 0; at < len;)
        at += put_character(file, text + at, len - at);
}

void html_text(FILE *file, const char *text)
{
    html_text_bytes(file, text, strlen(text));
}

/* Writes a line without its end; returns the number of bytes read. */
static size_t put_line(FILE *file, const char *text, size_t len, unsigned characters_max)
{
    const char *newline = memchr(text, '\n', len);
    size_t end = newline != NULL ? (size_t)(newline - text) : len, at = 0;
    for (unsigned i = 0; i < characters_max && at < end; i++)
        at += put_character(file, text + at, end - at);
    if (at < end)
        fputs("\xE2\x80\xA6", file);
    return end;
}

void html_excerpt(FILE *file, const char *text, size_t len, const struct html_excerpt *limits)
{
    size_t at = 0;
    for (unsigned line = 0; line < limits->lines_max && at < len; line++) {
        at += put_line(file, text + at, len - at, limits->line_characters_max);
        at += at < len;
        fputc('\n', file);
    }
    if (at < len)
        fputs("\xE2\x80\xA6\n", file);
}

/* Encodes the bytes in pieces. Only the last piece has padding. */
void html_data_uri(FILE *file, const char *media_type, const void *bytes, size_t len)
{
    enum { PIECE = 3 * 1024 };
    char text[PIECE / 3 * 4 + 1];
    fprintf(file, "data:%s;base64,", media_type);
    for (size_t at = 0; at < len; at += PIECE) {
        size_t piece = len - at < PIECE ? len - at : PIECE;
        base64_encode(text, (const char *)bytes + at, piece);
        fputs(text, file);
    }
}
