#include "engine/text/pipeline/character_class.h"

#include "engine/text/tables/character_class_tables.h"
#include "engine/text/unicode.h"

#include <stddef.h>

static bool is_in(const struct character_range *ranges, size_t count, uint32_t character)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < character)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= character;
}

bool character_is_space(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_SPACE;
}

bool character_is_python_space(uint32_t character)
{
    return character_is_space(character) || character - 0x1C < 4;
}

bool character_is_punctuation(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_PUNCTUATION;
}

static bool is_ascii_letter(uint32_t character)
{
    return (character | 32) - 'a' < 26;
}

enum character_class character_class(uint32_t character)
{
    if (character < 0x80) {
        if (is_ascii_letter(character))
            return CHARACTER_LETTER;
        if (character - '0' < 10)
            return CHARACTER_NUMBER;
        return character == ' ' || character - '\t' < 5 ? CHARACTER_SPACE : CHARACTER_OTHER;
    }
    if (is_in(character_class_letters, character_class_letters_count, character))
        return CHARACTER_LETTER;
    if (is_in(character_class_numbers, character_class_numbers_count, character))
        return CHARACTER_NUMBER;
    return character_is_space(character) ? CHARACTER_SPACE : CHARACTER_OTHER;
}

bool character_is_word(uint32_t character)
{
    if (character < 0x80)
        return is_ascii_letter(character) || character - '0' < 10 || character == '_';
    return is_in(character_class_words, character_class_words_count, character);
}

bool character_is_digit(uint32_t character)
{
    if (character < 0x80)
        return character - '0' < 10;
    return is_in(character_class_digits, character_class_digits_count, character);
}
