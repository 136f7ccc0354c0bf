/* unicode_tables.h - the generated tables of unicode.c; private to it.
 *
 * A character's record is found in two steps: its upper bits choose a block of record numbers, its
 * lower bits the number in the block. Decompositions are sorted by character.
 */
#ifndef ATTND_ENGINE_TEXT_TABLES_UNICODE_TABLES_H
#define ATTND_ENGINE_TEXT_TABLES_UNICODE_TABLES_H

#include "engine/text/unicode_properties.h"

#include <stddef.h>
#include <stdint.h>

enum { UNICODE_TABLES_SHIFT = 7 }; /* characters in a block: 1 << shift */

struct unicode_decomposition {
    uint32_t character;
    uint16_t at, count; /* in the pool */
};

extern const struct unicode_properties unicode_tables_records[];
extern const uint16_t unicode_tables_index[];
extern const uint8_t unicode_tables_blocks[];
extern const struct unicode_decomposition unicode_tables_decompositions[];
extern const size_t unicode_tables_decomposition_count;
extern const uint32_t unicode_tables_pool[];

#endif
