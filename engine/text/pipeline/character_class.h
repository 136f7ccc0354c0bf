/* character_class.h - the classes of characters that patterns of tokenizer.json name, equal to the
 * reference's (character_class_tables.c names the version).
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The classes that patterns distinguish; each character is in exactly one. */
enum character_class {
    CHARACTER_OTHER,
    CHARACTER_LETTER, /* \p{L} */
    CHARACTER_NUMBER, /* \p{N} */
    CHARACTER_SPACE,  /* \s */
};

enum character_class character_class(uint32_t character);

bool character_is_word(uint32_t character);         /* \w */
bool character_is_digit(uint32_t character);        /* "Digits": Nd, Nl, No */
bool character_is_space(uint32_t character);        /* White_Space */
bool character_is_python_space(uint32_t character); /* the same, and U+001C to U+001F */
bool character_is_punctuation(uint32_t character);  /* P*, and every ASCII symbol */

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
