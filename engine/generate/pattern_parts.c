/* pattern_parts.c - see pattern_parts.h. A recursive descent makes a fragment of each piece: its
 * first part, and a last one of PART_GO whose `next` is still open. A repetition reads its piece
 * again for each time that it needs another copy. */
#include "engine/generate/pattern_parts.h"

#include "engine/base/utf8.h"

#include <stdbool.h>
#include <string.h>

enum { RANGES_MAX = 512, CODE_MAX = 0x10FFFF, SURROGATES = 0xD800, SURROGATES_END = 0xDFFF };

struct fragment {
    unsigned first, last;
};

/* Code points, inclusive. */
struct range {
    uint32_t low, high;
};

struct set {
    struct range ranges[RANGES_MAX];
    unsigned count;
};

struct reader {
    struct pattern_parts *out;
    const char *name, *text;
    size_t at, len;
    unsigned nesting;
    size_t work;                    /* ranges added and moved */
    struct set set, inverse;        /* the set that is being read, and what it leaves out */
    unsigned tails[UTF8_BYTES_MAX]; /* tail_of of that set; 0: not made */
    struct err *err;
};

static enum err_code fault(struct reader *reader, size_t at, const char *what)
{
    return err_set(reader->err, ERR_UNUSABLE, "%s: byte %zu: %s", reader->name, at, what);
}

/* The next byte; 0 at the end. */
static char peek(const struct reader *reader)
{
    return reader->at < reader->len ? reader->text[reader->at] : '\0';
}

static bool accept(struct reader *reader, const char *token)
{
    const size_t len = strlen(token);
    if (len > reader->len - reader->at || memcmp(reader->text + reader->at, token, len) != 0)
        return false;
    reader->at += len;
    return true;
}

/* ---- parts ---- */

static enum err_code add(struct reader *reader, struct part part, unsigned *out)
{
    struct pattern_parts *parts = reader->out;
    *out = parts->count;
    if (parts->count == PATTERN_PARTS_MAX || reader->work > PATTERN_WORK_MAX)
        return err_set(reader->err, ERR_UNUSABLE, "%s: has more than %d parts (limit)",
                       reader->name, PATTERN_PARTS_MAX);
    parts->at[parts->count++] = part;
    return ERR_OK;
}

static void join(struct reader *reader, unsigned from, unsigned to)
{
    reader->out->at[from].next = (uint16_t)to;
}

/* A fragment that takes nothing. */
static enum err_code add_empty(struct reader *reader, struct fragment *out)
{
    enum err_code code = add(reader, (struct part){.kind = PART_GO}, &out->first);
    out->last = out->first;
    return code;
}

/* *either becomes both fragments beside each other, with one end. */
static enum err_code add_either(struct reader *reader, struct fragment *either,
                                struct fragment other)
{
    unsigned fork, end;
    if (add(reader, (struct part){.kind = PART_EITHER}, &fork) ||
        add(reader, (struct part){.kind = PART_GO}, &end))
        return reader->err->code;
    reader->out->at[fork].next = (uint16_t)either->first;
    reader->out->at[fork].other = (uint16_t)other.first;
    join(reader, either->last, end);
    join(reader, other.last, end);
    *either = (struct fragment){fork, end};
    return ERR_OK;
}

/* ---- sets of characters ---- */

static enum err_code set_add(struct reader *reader, struct set *set, uint32_t low, uint32_t high)
{
    if (set->count == RANGES_MAX)
        return fault(reader, reader->at, "a set of more than 512 ranges (limit)");
    set->ranges[set->count++] = (struct range){low, high};
    reader->work++;
    return ERR_OK;
}

/* Sorts the ranges and joins those that touch. */
static void set_order(struct reader *reader, struct set *set)
{
    unsigned kept = 0;
    for (unsigned i = 1; i < set->count; i++) {
        const struct range added = set->ranges[i];
        unsigned to = i;
        for (; to > 0 && set->ranges[to - 1].low > added.low; to--)
            set->ranges[to] = set->ranges[to - 1];
        set->ranges[to] = added;
        reader->work += i - to;
    }
    for (unsigned i = 1; i < set->count; i++) {
        struct range *last = &set->ranges[kept];
        if (set->ranges[i].low > last->high + 1)
            set->ranges[++kept] = set->ranges[i];
        else if (set->ranges[i].high > last->high)
            last->high = set->ranges[i].high;
    }
    set->count = set->count > 0 ? kept + 1 : 0;
}

/* Adds the characters that ranges, which are in order, leave out. */
static enum err_code set_add_others(struct reader *reader, struct set *to,
                                    const struct range *ranges, unsigned count)
{
    uint32_t low = 0;
    for (unsigned i = 0; i < count; i++) {
        if (ranges[i].low > low && set_add(reader, to, low, ranges[i].low - 1))
            return reader->err->code;
        low = ranges[i].high + 1;
    }
    return low <= CODE_MAX ? set_add(reader, to, low, CODE_MAX) : ERR_OK;
}

/* Adds \d, \w or \s, or what it lacks if the letter is a capital. */
static enum err_code set_add_class(struct reader *reader, struct set *to, char letter)
{
    static const struct range digits[] = {{'0', '9'}};
    static const struct range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const struct range spaces[] = {{'\t', '\r'}, {' ', ' '}};
    const char lower = (char)(letter | 0x20);
    const struct range *ranges = lower == 'd' ? digits : lower == 'w' ? words : spaces;
    const unsigned count = lower == 'd' ? 1 : lower == 'w' ? 4 : 2;
    for (unsigned i = 0; i < count && letter == lower; i++)
        if (set_add(reader, to, ranges[i].low, ranges[i].high))
            return reader->err->code;
    return letter == lower ? ERR_OK : set_add_others(reader, to, ranges, count);
}

/* ---- ranges of code points as ranges of bytes ---- */

/* The part behind which `count` bytes of 80 to BF end a character of the set; sets share them. */
static enum err_code tail_of(struct reader *reader, unsigned count, unsigned *out)
{
    unsigned *tails = reader->tails;
    for (unsigned i = 1; i <= count; i++) {
        const struct part part = {
            .kind = PART_BYTE, .low = 0x80, .high = 0xBF, .next = (uint16_t)tails[i - 1]};
        if (tails[i] == 0 && add(reader, part, &tails[i]))
            return reader->err->code;
    }
    *out = tails[count];
    return ERR_OK;
}

/* Adds a chain for code points whose UTF-8 differs in ranges of bytes alone; out->first becomes a
 * fork to it and to what was there. */
static enum err_code add_chain(struct reader *reader, uint32_t low, uint32_t high,
                               struct fragment *out)
{
    char lows[UTF8_BYTES_MAX], highs[UTF8_BYTES_MAX];
    const unsigned count = utf8_encode(low, lows);
    unsigned own = count, at = 0;
    utf8_encode(high, highs);
    while (own > 1 && (uint8_t)lows[own - 1] == 0x80 && (uint8_t)highs[own - 1] == 0xBF)
        own--;
    if (tail_of(reader, count - own, &at))
        return reader->err->code;
    for (unsigned i = own; i > 0; i--) {
        const struct part part = {.kind = PART_BYTE,
                                  .low = (uint8_t)lows[i - 1],
                                  .high = (uint8_t)highs[i - 1],
                                  .next = (uint16_t)at};
        if (add(reader, part, &at))
            return reader->err->code;
    }
    const struct part fork = {
        .kind = PART_EITHER, .next = (uint16_t)at, .other = (uint16_t)out->first};
    if (out->first != out->last && add(reader, fork, &at))
        return reader->err->code;
    out->first = at;
    return ERR_OK;
}

/* Cuts low .. high where the number of bytes changes, at the surrogates, and so that the bytes
 * behind the first that differs are all of 80 to BF; the pieces are added to *out. */
static enum err_code add_range(struct reader *reader, uint32_t low, uint32_t high,
                               struct fragment *out)
{
    static const uint32_t ends[] = {0x7F, 0x7FF, SURROGATES - 1, SURROGATES_END, 0xFFFF, CODE_MAX};
    while (low <= high) {
        uint32_t end = high;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            end = low <= ends[i] && end > ends[i] ? ends[i] : end;
        for (unsigned bits = 18; bits >= 6 && end > 0x7F; bits -= 6) {
            const uint32_t below = (1u << bits) - 1;
            if ((low | below) >= end)
                continue; /* in one block of this size */
            if ((low & below) != 0)
                end = low | below;
            else
                end = (end & below) == below ? end : (end & ~below) - 1;
        }
        if ((low < SURROGATES || low > SURROGATES_END) && add_chain(reader, low, end, out))
            return reader->err->code;
        low = end + 1;
    }
    return ERR_OK;
}

/* Makes a fragment of an ordered set; an empty one, in which `at` is the place, is refused. */
static enum err_code add_set(struct reader *reader, const struct set *set, size_t at,
                             struct fragment *out)
{
    memset(reader->tails, 0, sizeof reader->tails);
    if (add_empty(reader, out))
        return reader->err->code;
    reader->tails[0] = out->last;
    for (unsigned i = 0; i < set->count; i++)
        if (add_range(reader, set->ranges[i].low, set->ranges[i].high, out))
            return reader->err->code;
    return out->first != out->last ? ERR_OK : fault(reader, at, "no character is in this set");
}

/* ---- characters ---- */

/* Reads `digits` hexadecimal digits. */
static enum err_code read_code(struct reader *reader, unsigned digits, uint32_t *out)
{
    const size_t at = reader->at;
    *out = 0;
    for (unsigned i = 0; i < digits; i++, reader->at++) {
        const char c = peek(reader), lower = (char)(c | 0x20);
        const bool is_letter = lower >= 'a' && lower <= 'f';
        if (!is_letter && (c < '0' || c > '9'))
            return fault(reader, at, "expected hexadecimal digits, 2 behind \\x and 4 behind \\u");
        *out = *out * 16 + (uint32_t)(is_letter ? lower - 'a' + 10 : c - '0');
    }
    if (*out >= SURROGATES && *out <= SURROGATES_END)
        return fault(reader, at, "a surrogate is no character");
    return ERR_OK;
}

static bool is_alphanumeric(char c)
{
    const char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
}

/* Reads what stands behind a backslash: a character, or the letter of a class. */
static enum err_code read_escape(struct reader *reader, uint32_t *out, char *class)
{
    static const char names[] = "tnrfv", values[] = "\t\n\r\f\v", classes[] = "dwsDWS";
    const size_t at = reader->at - 1;
    const char c = peek(reader);
    *class = '\0';
    if (c == '\0' || (unsigned char)c >= 0x80)
        return fault(reader, at, "a backslash before no character that it changes");
    reader->at++;
    *out = (uint32_t)c;
    if (c == 'x' || c == 'u')
        return read_code(reader, c == 'x' ? 2 : 4, out);
    if (strchr(names, c) != NULL)
        *out = (uint32_t)values[strchr(names, c) - names];
    else if (strchr(classes, c) != NULL)
        *class = c;
    else if (is_alphanumeric(c))
        return fault(reader, at,
                     "this escape is not supported: \\d \\w \\s \\D \\W \\S \\t \\n \\r \\f \\v "
                     "\\xHH \\uHHHH, and punctuation");
    return ERR_OK;
}

/* Reads a character of a set, or adds a class to it. */
static enum err_code read_set_item(struct reader *reader, struct set *set, uint32_t *out,
                                   char *class)
{
    *class = '\0';
    if (reader->at >= reader->len)
        return fault(reader, reader->at, "a set without its ]");
    if (accept(reader, "[:"))
        return fault(reader, reader->at - 2, "classes like [:alpha:] are not supported");
    if (!accept(reader, "\\")) {
        *out = utf8_decode(reader->text, &reader->at);
        return ERR_OK;
    }
    if (read_escape(reader, out, class))
        return reader->err->code;
    return *class != '\0' ? set_add_class(reader, set, *class) : ERR_OK;
}

/* Reads a set behind its "[". */
static enum err_code read_set(struct reader *reader, struct fragment *out)
{
    const size_t at = reader->at - 1;
    const bool is_negated = accept(reader, "^");
    struct set *set = &reader->set, *inverse = &reader->inverse;
    set->count = inverse->count = 0;
    if (peek(reader) == ']')
        return fault(reader, at, "an empty set");
    while (!accept(reader, "]")) {
        uint32_t low = 0, high;
        char class;
        if (read_set_item(reader, set, &low, &class))
            return reader->err->code;
        if (class != '\0')
            continue;
        high = low;
        if (peek(reader) == '-' && reader->at + 1 < reader->len &&
            reader->text[reader->at + 1] != ']') {
            const size_t dash = reader->at++;
            if (read_set_item(reader, set, &high, &class))
                return reader->err->code;
            if (class != '\0' || high < low)
                return fault(reader, dash,
                             "a range that ends before it begins, or in no character");
        }
        if (set_add(reader, set, low, high))
            return reader->err->code;
    }
    set_order(reader, set);
    if (is_negated && set_add_others(reader, inverse, set->ranges, set->count))
        return reader->err->code;
    return add_set(reader, is_negated ? inverse : set, at, out);
}

/* ---- pieces ---- */

static enum err_code read_either(struct reader *reader, struct fragment *out);

/* Reads a group behind its "(". */
static enum err_code read_group(struct reader *reader, struct fragment *out)
{
    const size_t at = reader->at - 1;
    if (!accept(reader, "?:") && peek(reader) == '?')
        return fault(reader, at,
                     "assertions, names and flags of a group are not supported: ( ) and (?: )");
    if (++reader->nesting > PATTERN_NESTING_MAX)
        return fault(reader, at, "more than 64 groups in each other (limit)");
    if (read_either(reader, out))
        return reader->err->code;
    reader->nesting--;
    return accept(reader, ")") ? ERR_OK : fault(reader, at, "a group without its )");
}

/* Reads one character, set or group. */
static enum err_code read_atom(struct reader *reader, struct fragment *out)
{
    static const struct range line_feed = {'\n', '\n'};
    const size_t at = reader->at;
    struct set *set = &reader->set;
    uint32_t character = 0;
    char class = '\0';
    if (strchr("*+?{", peek(reader)) != NULL && peek(reader) != '\0')
        return fault(reader, at, "nothing to repeat");
    if (strchr("^$", peek(reader)) != NULL && peek(reader) != '\0')
        return fault(reader, at,
                     "^ and $ are supported at the ends of the pattern alone, which "
                     "the whole text must match");
    if (accept(reader, "("))
        return read_group(reader, out);
    if (accept(reader, "["))
        return read_set(reader, out);
    set->count = 0;
    if (accept(reader, ".")) {
        set_add_others(reader, set, &line_feed, 1);
        return add_set(reader, set, at, out);
    }
    if (!accept(reader, "\\"))
        character = utf8_decode(reader->text, &reader->at);
    else if (read_escape(reader, &character, &class) ||
             (class != '\0' && set_add_class(reader, set, class)))
        return reader->err->code;
    if (class == '\0')
        set_add(reader, set, character, character);
    return add_set(reader, set, at, out);
}

/* ---- repetition ---- */

struct repetition {
    unsigned least, most;
    bool is_open; /* most is least, and then any number */
    bool is_one;  /* nothing is repeated */
};

static enum err_code read_count(struct reader *reader, unsigned *out)
{
    const size_t at = reader->at;
    for (*out = 0; peek(reader) >= '0' && peek(reader) <= '9'; reader->at++) {
        *out = *out * 10 + (unsigned)(peek(reader) - '0');
        if (*out > PATTERN_REPEAT_MAX)
            return fault(reader, at, "more than 1000 times (limit)");
    }
    return reader->at > at ? ERR_OK : fault(reader, at, "expected a number: {2}, {2,} or {2,5}");
}

/* Reads what stands behind a piece: *, +, ?, {m}, {m,}, {m,n} or nothing. */
static enum err_code read_repetition(struct reader *reader, struct repetition *out)
{
    const size_t at = reader->at;
    *out = (struct repetition){.least = 1, .most = 1, .is_one = true};
    if (accept(reader, "*"))
        *out = (struct repetition){.is_open = true};
    else if (accept(reader, "+"))
        *out = (struct repetition){.least = 1, .most = 1, .is_open = true};
    else if (accept(reader, "?"))
        *out = (struct repetition){.most = 1};
    else if (accept(reader, "{")) {
        if (read_count(reader, &out->least))
            return reader->err->code;
        const bool has_comma = accept(reader, ",");
        out->is_one = false;
        out->is_open = has_comma && peek(reader) == '}';
        out->most = out->least;
        if (has_comma && !out->is_open && read_count(reader, &out->most))
            return reader->err->code;
        if (!accept(reader, "}"))
            return fault(reader, at, "a repetition without its }");
        if (out->most < out->least || (out->most == 0 && !out->is_open))
            return fault(reader, at, "a repetition of no times, or of fewer than its least");
    }
    if (!out->is_one && strchr("*+?{", peek(reader)) != NULL && peek(reader) != '\0')
        return fault(reader, reader->at,
                     "a repetition of a repetition: lazy and possessive ones "
                     "are not supported");
    return ERR_OK;
}

/* Reads a piece with its repetition; the piece is read again for each copy. A copy that may be
 * absent has a fork before it that leads behind the last one: a set of parts then has those of one
 * copy, not of all that may follow. */
static enum err_code read_piece(struct reader *reader, struct fragment *out)
{
    const size_t begin = reader->at;
    struct repetition repetition;
    struct fragment part = {0};
    unsigned end = 0, fork = 0;
    if (read_atom(reader, &part))
        return reader->err->code;
    if (read_repetition(reader, &repetition))
        return reader->err->code;
    *out = part;
    if (repetition.is_one)
        return ERR_OK;
    const size_t behind = reader->at;
    const unsigned copies = repetition.most + repetition.is_open;
    if (add_empty(reader, out) || add(reader, (struct part){.kind = PART_GO}, &end))
        return reader->err->code;
    for (unsigned i = 0; i < copies; i++) {
        reader->at = begin;
        if (i > 0 && read_atom(reader, &part))
            return reader->err->code;
        const struct part either = {
            .kind = PART_EITHER, .next = (uint16_t)part.first, .other = (uint16_t)end};
        if (i >= repetition.least && add(reader, either, &fork))
            return reader->err->code;
        join(reader, out->last, i >= repetition.least ? fork : part.first);
        out->last = part.last;
    }
    join(reader, out->last, repetition.is_open ? fork : end);
    out->last = end;
    reader->at = behind;
    return ERR_OK;
}

/* ---- the whole ---- */

static bool is_at_end(const struct reader *reader)
{
    const char c = peek(reader);
    return reader->at >= reader->len || c == '|' || c == ')' ||
           (c == '$' && reader->at + 1 == reader->len && reader->nesting == 0);
}

static enum err_code read_sequence(struct reader *reader, struct fragment *out)
{
    struct fragment part = {0};
    if (add_empty(reader, out))
        return reader->err->code;
    while (!is_at_end(reader)) {
        if (read_piece(reader, &part))
            return reader->err->code;
        join(reader, out->last, part.first);
        out->last = part.last;
    }
    return ERR_OK;
}

static enum err_code read_either(struct reader *reader, struct fragment *out)
{
    struct fragment other = {0};
    if (read_sequence(reader, out))
        return reader->err->code;
    while (accept(reader, "|"))
        if (read_sequence(reader, &other) || add_either(reader, out, other))
            return reader->err->code;
    return ERR_OK;
}

enum err_code pattern_parts_read(struct pattern_parts *out, const char *name, const char *pattern,
                                 size_t len, struct err *err)
{
    struct reader reader = {.out = out, .name = name, .text = pattern, .len = len, .err = err};
    struct fragment whole = {0};
    unsigned end;
    out->count = 0;
    accept(&reader, "^");
    if (read_either(&reader, &whole))
        return err->code;
    accept(&reader, "$");
    if (reader.at < len)
        return fault(&reader, reader.at, "a ) without its (");
    if (add(&reader, (struct part){.kind = PART_END}, &end))
        return err->code;
    join(&reader, whole.last, end);
    out->start = whole.first;
    return ERR_OK;
}
