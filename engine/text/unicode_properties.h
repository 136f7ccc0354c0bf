/* unicode_properties.h - the properties of a character, and the generated tables that hold them
 * (make_unicode_tables.py names the versions of Unicode).
 *
 * A character's record is found in two steps: its upper bits choose a block of record numbers, its
 * lower bits the number in the block.
 *
 * Constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_UNICODE_PROPERTIES_H
#define ATTND_ENGINE_TEXT_UNICODE_PROPERTIES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum unicode_flag {
    UNICODE_CONTROL = 1,     /* Cc, Cf, Co but not tab, line feed, carriage return; also U+FFFD */
    UNICODE_SPACE = 2,       /* White_Space */
    UNICODE_PUNCTUATION = 4, /* P*, and every ASCII symbol */
    UNICODE_MARK = 8,        /* Mn: "strip accents" removes them */
    UNICODE_CJK = 16,        /* ideographs: BERT makes each a word of its own */
    UNICODE_DECOMPOSES = 32, /* has a canonical decomposition; Hangul syllables are not flagged */
    UNICODE_DECOMPOSES_IN_KD = 64, /* decomposes in form KD differently from form D */
    UNICODE_ANY_MARK = 128,        /* Mn, Mc or Me */
    UNICODE_COMPOSES = 256,        /* is the second character of a composition in the table */
    /* Classes that patterns of tokenizer.json name. */
    UNICODE_LETTER = 512,  /* \p{L} */
    UNICODE_NUMBER = 1024, /* \p{N} */
    UNICODE_WORD = 2048,   /* \w */
    UNICODE_DIGIT = 4096,  /* "Digits": Nd, Nl, No */
};

/* Grapheme_Cluster_Break, and what rules GB9c and GB11 need; make_unicode_tables.py numbers
 * them. */
enum grapheme_class {
    GRAPHEME_ANY,
    GRAPHEME_CR,
    GRAPHEME_LF,
    GRAPHEME_CONTROL,
    GRAPHEME_EXTEND,
    GRAPHEME_LINKER,     /* Extend, and joins two consonants: a virama */
    GRAPHEME_NON_JOINER, /* Extend, and separates two consonants: U+200C */
    GRAPHEME_ZWJ,
    GRAPHEME_SPACING_MARK,
    GRAPHEME_PREPEND,
    GRAPHEME_L,
    GRAPHEME_V,
    GRAPHEME_T,
    GRAPHEME_LV,
    GRAPHEME_LVT,
    GRAPHEME_CONSONANT,
    GRAPHEME_PICTOGRAPHIC,
    GRAPHEME_REGIONAL_INDICATOR,
};

struct unicode_properties {
    uint16_t flags;
    uint8_t combining_class; /* 0: a starter */
    uint8_t grapheme_class;
    int32_t lower_delta; /* to the lower-case letter; see unicode_lower */
};

enum { UNICODE_TABLES_SHIFT = 7 }; /* characters in a block: 1 << shift */

extern const struct unicode_properties unicode_tables_records[];
extern const uint16_t unicode_tables_index[];
extern const uint8_t unicode_tables_blocks[];

/* The character is below 0x110000. */
static inline const struct unicode_properties *unicode_properties(uint32_t character)
{
    assert(character < 0x110000);
    size_t block = unicode_tables_index[character >> UNICODE_TABLES_SHIFT];
    size_t within = character & ((1u << UNICODE_TABLES_SHIFT) - 1);
    return &unicode_tables_records[unicode_tables_blocks[(block << UNICODE_TABLES_SHIFT) + within]];
}

#endif
