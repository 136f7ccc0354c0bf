/* character_class_tables.h - the generated tables behind character_class.c, which alone uses them:
 * ascending ranges of characters.
 */
#ifndef ATTND_ENGINE_TEXT_TABLES_CHARACTER_CLASS_TABLES_H
#define ATTND_ENGINE_TEXT_TABLES_CHARACTER_CLASS_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct character_range {
    uint32_t first, last;
};

extern const struct character_range character_class_letters[];
extern const size_t character_class_letters_count;
extern const struct character_range character_class_numbers[];
extern const size_t character_class_numbers_count;
extern const struct character_range character_class_words[];
extern const size_t character_class_words_count;
extern const struct character_range character_class_digits[];
extern const size_t character_class_digits_count;

#endif
