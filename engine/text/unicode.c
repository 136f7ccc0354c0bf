#include "engine/text/unicode.h"

#include "engine/text/tables/form_tables.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Unicode Standard, section 3.12, "Conjoining Jamo Behavior". */
enum {
    HANGUL_FIRST = 0xAC00,
    HANGUL_COUNT = 11172,
    LEAD_FIRST = 0x1100,
    VOWEL_FIRST = 0x1161,
    TAIL_BASE = 0x11A7, /* one before the first tail: tail 0 means none */
    TAIL_COUNT = 28,
    SYLLABLES_PER_LEAD = 21 * TAIL_COUNT,
};

enum { CAPITAL_I_WITH_DOT = 0x130, COMBINING_DOT_ABOVE = 0x307 };

/* Writes the decomposition that one of the runs has. */
static unsigned look_up(const struct form_run *runs, size_t count, uint32_t character,
                        uint32_t *out)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (runs[middle].first <= character)
            low = middle;
        else
            high = middle;
    }
    const struct form_run *run = &runs[low];
    assert(run->first <= character && character <= run->last);
    memcpy(out, &form_tables_pool[run->at + (character - run->first) * run->length],
           run->length * sizeof *out);
    return run->length;
}

unsigned unicode_decompose(uint32_t character, uint32_t out[UNICODE_DECOMPOSITION_MAX])
{
    const uint32_t syllable = character - HANGUL_FIRST, tail = syllable % TAIL_COUNT;
    if (syllable < HANGUL_COUNT) {
        out[0] = LEAD_FIRST + syllable / SYLLABLES_PER_LEAD;
        out[1] = VOWEL_FIRST + syllable % SYLLABLES_PER_LEAD / TAIL_COUNT;
        out[2] = TAIL_BASE + tail;
        return tail == 0 ? 2 : 3;
    }
    out[0] = character;
    if (!(unicode_properties(character)->flags & UNICODE_DECOMPOSES))
        return 1;
    return look_up(form_tables_canonical, form_tables_canonical_count, character, out);
}

unsigned unicode_decompose_compatible(uint32_t character, uint32_t out[UNICODE_COMPATIBLE_MAX])
{
    if (!(unicode_properties(character)->flags & UNICODE_DECOMPOSES_IN_KD))
        return unicode_decompose(character, out);
    return look_up(form_tables_compatible, form_tables_compatible_count, character, out);
}

unsigned unicode_lower(uint32_t character, uint32_t out[UNICODE_LOWER_MAX])
{
    if (character == CAPITAL_I_WITH_DOT) {
        out[0] = 'i';
        out[1] = COMBINING_DOT_ABOVE;
        return 2;
    }
    out[0] = character + (uint32_t)unicode_properties(character)->lower_delta;
    return 1;
}
