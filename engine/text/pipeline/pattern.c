#include "engine/text/pipeline/pattern.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/pipeline/character_class.h"

#include <string.h>

/* ---- reading ---- */

static const struct {
    const char *expression;
    enum pattern_kind kind;
} known[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     PATTERN_GPT2},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     PATTERN_GPT2},
    {"'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", PATTERN_CLIP},
    {"<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|"
     "[^\\s\\p{L}\\p{N}]+",
     PATTERN_CLIP_NAMED},
    {"\\w+|[^\\w\\s]+", PATTERN_WORDS},
    {"\\s+", PATTERN_SPACES},
    {" {2,}", PATTERN_BLANKS},
    {"\\s{2,}|[\\n\\r\\t]", PATTERN_BREAKS},
};

static enum err_code read_expression(struct pattern *out, const char *expression, const char *path,
                                     struct err *err)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(expression, known[i].expression) == 0) {
            *out = (struct pattern){.kind = known[i].kind};
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: the regular expression '%s' is not supported, only those of GPT-2 and "
                   "CLIP, '\\s+', ' {2,}' and '\\s{2,}|[\\n\\r\\t]'",
                   path, expression);
}

enum err_code pattern_read(struct pattern *out, const struct json_t *json, const char *path,
                           struct arena *arena, struct err *err)
{
    const char *expression = NULL, *text = NULL;
    if (doc_get_string(json, path, "Regex", &expression, err) ||
        doc_get_string(json, path, "String", &text, err))
        return err->code;
    if (expression != NULL)
        return read_expression(out, expression, path, err);
    if (text == NULL || text[0] == '\0')
        return err_set(err, ERR_UNSUPPORTED, "%s: expected {\"String\": text} or {\"Regex\": text}",
                       path);
    *out = (struct pattern){.kind = PATTERN_STRING, .len = strlen(text)};
    out->text = arena_copy(arena, text, out->len);
    return out->text != NULL ? ERR_OK : err_no_memory(err, out->len);
}

/* ---- runs of characters ---- */

/* Returns the end of the run of characters of a class that begins at `at`. */
static size_t run_end(const char *text, size_t len, size_t at, enum character_class class)
{
    for (size_t next = at; at < len; at = next)
        if (character_class(utf8_decode(text, &next)) != class)
            break;
    return at;
}

static bool is_symbol(uint32_t character)
{
    return !character_is_word(character) && !character_is_space(character);
}

/* The same for characters that satisfy `is`. */
static size_t run_end_of(const char *text, size_t len, size_t at, bool (*is)(uint32_t))
{
    for (size_t next = at; at < len; at = next)
        if (!is(utf8_decode(text, &next)))
            break;
    return at;
}

/* Returns the start of the first character that satisfies `is`; len if none does. */
static size_t seek(const char *text, size_t len, size_t at, bool (*is)(uint32_t))
{
    for (size_t next = at; at < len; at = next)
        if (is(utf8_decode(text, &next)))
            break;
    return at;
}

/* Returns the bytes of 's, 't, 're, 've, 'm, 'll or 'd at text[at..); 0: none of them. */
static size_t contraction(const char *text, size_t len, size_t at)
{
    if (text[at] != '\'' || len - at < 2)
        return 0;
    char first = text[at + 1], second = len - at > 2 ? text[at + 2] : '\0';
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 2;
    bool is_long =
        ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return is_long ? 3 : 0;
}

/* ---- the expressions ---- */

/* \s+(?!\S)|\s+: white space, without its last character if something follows. */
static size_t gpt2_spaces_end(const char *text, size_t len, size_t at)
{
    size_t end = run_end(text, len, at, CHARACTER_SPACE), last;
    if (end == len)
        return end;
    last = character_before(text, end);
    return last > at ? last : end;
}

/* Returns the end of the match at `at`. Every character belongs to a match. */
static size_t gpt2_end(const char *text, size_t len, size_t at)
{
    size_t taken = contraction(text, len, at);
    if (taken > 0)
        return at + taken;
    size_t body = at + (text[at] == ' ' && at + 1 < len), next = body;
    enum character_class class = character_class(utf8_decode(text, &next));
    if (class == CHARACTER_SPACE)
        return gpt2_spaces_end(text, len, at);
    return run_end(text, len, next, class);
}

/* Returns the bytes of a special token's name at text[at..); 0: none. */
static size_t clip_name(const char *text, size_t len, size_t at)
{
    static const char *const names[] = {"<|startoftext|>", "<|endoftext|>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t name_len = strlen(names[i]);
        if (len - at >= name_len && memcmp(text + at, names[i], name_len) == 0)
            return name_len;
    }
    return 0;
}

static bool clip_next(const char *text, size_t len, size_t at, bool is_named,
                      struct pattern_match *out)
{
    out->at = at = run_end(text, len, at, CHARACTER_SPACE);
    if (at == len)
        return false;
    size_t taken = is_named ? clip_name(text, len, at) : 0, next = at;
    taken = taken > 0 ? taken : contraction(text, len, at);
    enum character_class class = character_class(utf8_decode(text, &next));
    out->end = taken > 0                   ? at + taken
               : class == CHARACTER_NUMBER ? next
                                           : run_end(text, len, next, class);
    return true;
}

static bool words_next(const char *text, size_t len, size_t at, struct pattern_match *out)
{
    out->at = at = run_end(text, len, at, CHARACTER_SPACE);
    if (at == len)
        return false;
    out->end = run_end_of(text, len, at, character_is_word);
    if (out->end == at)
        out->end = run_end_of(text, len, at, is_symbol);
    return true;
}

static bool spaces_next(const char *text, size_t len, size_t at, struct pattern_match *out)
{
    out->at = seek(text, len, at, character_is_space);
    out->end = run_end(text, len, out->at, CHARACTER_SPACE);
    return out->at < len;
}

/* Finds the next match of PATTERN_BREAKS. A single space, or other single white space that is no
 * line end or tab, does not match. */
static bool breaks_next(const char *text, size_t len, size_t at, struct pattern_match *out)
{
    for (; spaces_next(text, len, at, out); at = out->end) {
        size_t next = out->at;
        uint32_t first = utf8_decode(text, &next);
        if (next < out->end || first == '\n' || first == '\r' || first == '\t')
            return true;
    }
    return false;
}

static bool blanks_next(const char *text, size_t len, size_t at, struct pattern_match *out)
{
    for (; at < len; at = out->end + 1) {
        const char *found = memchr(text + at, ' ', len - at);
        if (found == NULL)
            return false;
        out->at = out->end = (size_t)(found - text);
        while (out->end < len && text[out->end] == ' ')
            out->end++;
        if (out->end - out->at >= 2)
            return true;
    }
    return false;
}

/* ---- literal strings and single characters ---- */

static bool string_next(const struct pattern *pattern, const char *text, size_t len, size_t at,
                        struct pattern_match *out)
{
    const char *found = memmem(text + at, len - at, pattern->text, pattern->len);
    if (found == NULL)
        return false;
    out->at = (size_t)(found - text);
    out->end = out->at + pattern->len;
    return true;
}

static bool character_next(const char *text, size_t len, size_t at, bool (*is)(uint32_t),
                           struct pattern_match *out)
{
    out->at = out->end = seek(text, len, at, is);
    if (out->at == len)
        return false;
    utf8_decode(text, &out->end);
    return true;
}

bool pattern_next(const struct pattern *pattern, const char *text, size_t len, size_t at,
                  struct pattern_match *out)
{
    if (at >= len)
        return false;
    switch (pattern->kind) {
    case PATTERN_STRING:
        return string_next(pattern, text, len, at, out);
    case PATTERN_SPACE:
        return character_next(text, len, at, character_is_space, out);
    case PATTERN_DIGIT:
        return character_next(text, len, at, character_is_digit, out);
    case PATTERN_PUNCTUATION:
        return character_next(text, len, at, character_is_punctuation, out);
    case PATTERN_GPT2:
        *out = (struct pattern_match){at, gpt2_end(text, len, at)};
        return true;
    case PATTERN_CLIP:
    case PATTERN_CLIP_NAMED:
        return clip_next(text, len, at, pattern->kind == PATTERN_CLIP_NAMED, out);
    case PATTERN_WORDS:
        return words_next(text, len, at, out);
    case PATTERN_SPACES:
        return spaces_next(text, len, at, out);
    case PATTERN_BREAKS:
        return breaks_next(text, len, at, out);
    case PATTERN_BLANKS:
        break;
    }
    return blanks_next(text, len, at, out);
}
