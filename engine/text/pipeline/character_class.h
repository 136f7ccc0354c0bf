/* character_class.h - the classes of characters that patterns of tokenizer.json name, equal to the
 * reference's (reference_classes.py names the version).
 *
 *     size_t at = 0;
 *     uint32_t c = utf8_decode(text, &at);
 *     switch (character_class(c)) {
 *     case CHARACTER_LETTER: ... \p{L}
 *     case CHARACTER_SPACE: ...  \s, White_Space
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_CHARACTER_CLASS_H
#define ATTND_ENGINE_TEXT_PIPELINE_CHARACTER_CLASS_H

#include "engine/text/unicode_properties.h"

#include <stdbool.h>

/* The classes that patterns distinguish; each character is in exactly one. */
enum character_class {
    CHARACTER_OTHER,
    CHARACTER_LETTER, /* \p{L} */
    CHARACTER_NUMBER, /* \p{N} */
    CHARACTER_SPACE,  /* \s */
};

static inline enum character_class character_class(uint32_t character)
{
    const unsigned flags = unicode_properties(character)->flags;
    if (flags & UNICODE_LETTER)
        return CHARACTER_LETTER;
    if (flags & UNICODE_NUMBER)
        return CHARACTER_NUMBER;
    return flags & UNICODE_SPACE ? CHARACTER_SPACE : CHARACTER_OTHER;
}

static inline bool character_is_word(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_WORD;
}

static inline bool character_is_digit(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_DIGIT;
}

static inline bool character_is_space(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_SPACE;
}

static inline bool character_is_punctuation(uint32_t character)
{
    return unicode_properties(character)->flags & UNICODE_PUNCTUATION;
}

/* White_Space, and U+001C to U+001F. */
static inline bool character_is_python_space(uint32_t character)
{
    return character_is_space(character) || character - 0x1C < 4;
}

/* Returns the start of the character that ends at `at`, which is above 0; 0 if the text begins
 * inside it, as behind a cut of a byte-level model. */
static inline size_t character_before(const char *text, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80);
    return at;
}

#endif
