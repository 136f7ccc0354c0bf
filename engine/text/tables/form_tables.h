/* form_tables.h - the generated tables behind unicode_forms.c and grapheme.c, which alone use them.
 *
 *     unsigned record = form_record(character);
 *     enum grapheme_class class = record & FORM_CLASS;
 *     if (record & FORM_COMPATIBILITY) ... form_tables_decompositions, sorted, has it
 *
 * A character's record is found in two steps: its upper bits choose a block, its lower bits the
 * record in it. make_form_tables.py names the versions of Unicode.
 *
 * Constant: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_TABLES_FORM_TABLES_H
#define ATTND_ENGINE_TEXT_TABLES_FORM_TABLES_H

#include <stddef.h>
#include <stdint.h>

enum { FORM_TABLES_SHIFT = 7 }; /* characters in a block: 1 << shift */

/* A record: a grapheme_class and flags. */
enum {
    FORM_CLASS = 31,
    FORM_MARK = 32,          /* general category Mn, Mc or Me */
    FORM_COMPATIBILITY = 64, /* decomposes in form KD differently from form D */
    FORM_SECOND = 128,       /* is the second character of a composition in the table */
};

/* Grapheme_Cluster_Break, and what rules GB9c and GB11 need; make_form_tables.py numbers them. */
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

struct form_decomposition {
    uint32_t character;
    uint16_t at, count; /* in the pool; full, not reordered */
};

struct form_composition {
    uint32_t first, second, composed;
};

extern const uint8_t form_tables_index[];
extern const uint8_t form_tables_records[];
extern const struct form_decomposition form_tables_decompositions[]; /* by character */
extern const size_t form_tables_decomposition_count;
extern const uint16_t form_tables_pool[];
extern const struct form_composition form_tables_compositions[]; /* by first, then second */
extern const size_t form_tables_composition_count;

static inline unsigned form_record(uint32_t character)
{
    size_t block = form_tables_index[character >> FORM_TABLES_SHIFT];
    size_t within = character & ((1u << FORM_TABLES_SHIFT) - 1);
    return form_tables_records[(block << FORM_TABLES_SHIFT) + within];
}

#endif
