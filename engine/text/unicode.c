#include "engine/text/unicode.h"

#include "engine/text/tables/unicode_tables.h"

#include <assert.h>
#include <stddef.h>

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

const struct unicode_properties *unicode_properties(uint32_t character)
{
    assert(character < 0x110000);
    size_t block = unicode_tables_index[character >> UNICODE_TABLES_SHIFT];
    size_t within = character & ((1u << UNICODE_TABLES_SHIFT) - 1);
    return &unicode_tables_records[unicode_tables_blocks[(block << UNICODE_TABLES_SHIFT) + within]];
}

static const struct unicode_decomposition *find_decomposition(uint32_t character)
{
    size_t low = 0, high = unicode_tables_decomposition_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (unicode_tables_decompositions[middle].character <= character)
            low = middle;
        else
            high = middle;
    }
    assert(unicode_tables_decompositions[low].character == character);
    return &unicode_tables_decompositions[low];
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
    const struct unicode_decomposition *found = find_decomposition(character);
    for (unsigned i = 0; i < found->count; i++)
        out[i] = unicode_tables_pool[found->at + i];
    return found->count;
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
