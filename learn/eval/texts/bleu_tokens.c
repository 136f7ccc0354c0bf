#include "learn/eval/texts/bleu_tokens.h"

#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"

#include <stdbool.h>
#include <string.h>

enum { GROWTH = 5 }; /* two spaces are put around a character, and twice around a point */

struct text {
    char *bytes;
    size_t len;
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_point(char byte)
{
    return byte == '.' || byte == ',';
}

/* ASCII's punctuation without . , - and ', and the space, which changes nothing. */
static bool is_apart(char byte)
{
    return (byte >= '{' && byte <= '~') || (byte >= '[' && byte <= '`') ||
           (byte >= ' ' && byte <= '&') || (byte >= '(' && byte <= '+') ||
           (byte >= ':' && byte <= '@') || byte == '/';
}

/* Replaces a string by another that is not longer, in place, from left to right. */
static void replace(struct text *text, const char *from, const char *to)
{
    const size_t old = strlen(from), new = strlen(to);
    size_t used = 0;
    for (size_t at = 0; at < text->len;) {
        if (text->len - at >= old && memcmp(text->bytes + at, from, old) == 0) {
            memcpy(text->bytes + used, to, new);
            used += new;
            at += old;
        } else {
            text->bytes[used++] = text->bytes[at++];
        }
    }
    text->len = used;
}

/* One of the four rules, each a regular expression that replaces from left to right:
 *     0  [{-~[-` -&(-+:-@/]   a space on either side
 *     1  [^0-9][.,]           a space on either side of the second character
 *     2  [.,][^0-9]           a space on either side of the first
 *     3  [0-9]-               a space on either side of the second
 * A character of several bytes is none of those that are named, so bytes do as well. */
static void apply(struct text *out, const struct text *in, int rule)
{
    size_t used = 0;
    for (size_t at = 0; at < in->len; at++) {
        const char byte = in->bytes[at], next = at + 1 < in->len ? in->bytes[at + 1] : '\0';
        const bool has_next = at + 1 < in->len;
        if (rule == 0 && is_apart(byte)) {
            out->bytes[used++] = ' ';
            out->bytes[used++] = byte;
            out->bytes[used++] = ' ';
        } else if (rule == 2 && has_next && is_point(byte) && !is_digit(next)) {
            out->bytes[used++] = ' ';
            out->bytes[used++] = byte;
            out->bytes[used++] = ' ';
            out->bytes[used++] = next;
            at++;
        } else if (has_next && ((rule == 1 && !is_digit(byte) && is_point(next)) ||
                                (rule == 3 && is_digit(byte) && next == '-'))) {
            out->bytes[used++] = byte;
            out->bytes[used++] = ' ';
            out->bytes[used++] = next;
            out->bytes[used++] = ' ';
            at++;
        } else {
            out->bytes[used++] = byte;
        }
    }
    out->len = used;
}

/* Splits at white space, which is Python's. */
static size_t split(struct bleu_word *words, const struct text *text)
{
    size_t count = 0, begin = 0;
    for (size_t at = 0; at < text->len;) {
        const size_t here = at;
        if (!character_is_python_space(utf8_decode(text->bytes, &at)))
            continue;
        if (here > begin)
            words[count++] = (struct bleu_word){text->bytes + begin, here - begin};
        begin = at;
    }
    if (text->len > begin)
        words[count++] = (struct bleu_word){text->bytes + begin, text->len - begin};
    return count;
}

/* The length without white space at the end. */
static size_t strip_end(const char *text, size_t len)
{
    while (len > 0) {
        size_t last = len - 1;
        while (last > 0 && ((unsigned char)text[last] & 0xC0) == 0x80)
            last--;
        size_t at = last;
        if (!character_is_python_space(utf8_decode(text, &at)))
            break;
        len = last;
    }
    return len;
}

enum err_code bleu_tokens_split(struct bleu_tokens *out, const char *text, size_t len,
                                struct arena *arena, struct err *err)
{
    static const char *const replaced[][2] = {{"<skipped>", ""}, {"-\n", ""},    {"\n", " "},
                                              {"&quot;", "\""},  {"&amp;", "&"}, {"&lt;", "<"},
                                              {"&gt;", ">"}};
    const size_t room = GROWTH * (len + 2) + 1;
    struct text here = {.bytes = arena_alloc(arena, room)}, next = {arena_alloc(arena, room), 0};
    struct bleu_word *words = arena_alloc_array(arena, room / 2 + 1, sizeof *words);
    if (here.bytes == NULL || next.bytes == NULL || words == NULL)
        return err_no_memory(err, room * (2 + sizeof *words / 2));
    here.len = strip_end(text, len);
    memcpy(here.bytes, text, here.len);
    for (size_t r = 0; r < sizeof replaced / sizeof *replaced; r++)
        replace(&here, replaced[r][0], replaced[r][1]);
    memmove(here.bytes + 1, here.bytes, here.len);
    here.bytes[0] = here.bytes[here.len + 1] = ' ';
    here.len += 2;
    for (int rule = 0; rule < 4; rule++) {
        const struct text old = here;
        apply(&next, &here, rule);
        here = next;
        next = old;
    }
    *out = (struct bleu_tokens){.words = words, .count = split(words, &here)};
    return ERR_OK;
}
