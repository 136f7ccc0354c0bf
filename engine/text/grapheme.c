/* grapheme.c - see unicode.h: grapheme clusters.
 *
 * A border between two characters depends on their classes. Three rules also depend on the
 * characters of the cluster before them. A cluster is read forwards from its border, so a small
 * state is enough: the number of regional indicators (GB12, GB13), a pictograph followed by Extend
 * only (GB11), and a consonant followed by a linker (GB9c). */
#include "engine/base/utf8.h"
#include "engine/text/unicode.h"

#include <stdbool.h>

/* State of the cluster after the characters read so far. */
struct context {
    enum grapheme_class last;
    bool indicators_are_odd;
    bool pictograph;         /* pictograph, then Extend only; a ZWJ may follow */
    bool joining_pictograph; /* the same, and `last` is a ZWJ */
    bool consonant, linked;
};

static bool is_extend(enum grapheme_class class)
{
    return class == GRAPHEME_EXTEND || class == GRAPHEME_LINKER || class == GRAPHEME_NON_JOINER;
}

static bool is_control(enum grapheme_class class)
{
    return class == GRAPHEME_CR || class == GRAPHEME_LF || class == GRAPHEME_CONTROL;
}

static struct context context_after(struct context context, enum grapheme_class class)
{
    bool conjunct = class == GRAPHEME_EXTEND || class == GRAPHEME_LINKER || class == GRAPHEME_ZWJ;
    bool goes_on = context.consonant && conjunct;
    return (struct context){
        .last = class,
        .indicators_are_odd = class == GRAPHEME_REGIONAL_INDICATOR && !context.indicators_are_odd,
        .pictograph = class == GRAPHEME_PICTOGRAPHIC || (context.pictograph && is_extend(class)),
        .joining_pictograph = context.pictograph && class == GRAPHEME_ZWJ,
        .consonant = class == GRAPHEME_CONSONANT || goes_on,
        .linked = goes_on && (context.linked || class == GRAPHEME_LINKER),
    };
}

/* True if a syllable of Hangul continues (GB6 to GB8). */
static bool is_syllable(enum grapheme_class before, enum grapheme_class after)
{
    switch (before) {
    case GRAPHEME_L:
        return after == GRAPHEME_L || after == GRAPHEME_V || after == GRAPHEME_LV ||
               after == GRAPHEME_LVT;
    case GRAPHEME_LV:
    case GRAPHEME_V:
        return after == GRAPHEME_V || after == GRAPHEME_T;
    case GRAPHEME_LVT:
    case GRAPHEME_T:
        return after == GRAPHEME_T;
    default:
        return false;
    }
}

static bool is_border(struct context context, enum grapheme_class after)
{
    enum grapheme_class before = context.last;
    if (before == GRAPHEME_CR && after == GRAPHEME_LF) /* GB3 */
        return false;
    if (is_control(before) || is_control(after)) /* GB4, GB5 */
        return true;
    if (is_syllable(before, after) || is_extend(after) || after == GRAPHEME_ZWJ ||
        after == GRAPHEME_SPACING_MARK || before == GRAPHEME_PREPEND) /* GB6 to GB9b */
        return false;
    if (after == GRAPHEME_CONSONANT) /* GB9c */
        return !context.linked;
    if (after == GRAPHEME_PICTOGRAPHIC) /* GB11 */
        return !context.joining_pictograph;
    return after != GRAPHEME_REGIONAL_INDICATOR || !context.indicators_are_odd;
}

size_t grapheme_end(const char *text, size_t len, size_t at)
{
    struct context context = {0};
    uint32_t character = utf8_decode(text, &at);
    for (size_t next = at;; at = next) {
        context = context_after(context, unicode_properties(character)->grapheme_class);
        if (at == len)
            return at;
        character = utf8_decode(text, &next);
        if (is_border(context, unicode_properties(character)->grapheme_class))
            return at;
    }
}
