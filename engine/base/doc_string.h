/* doc_string.h - a text as a JSON string (RFC 8259, section 7), for those that write JSON by hand.
 *
 *     doc_string_write(file, label, strlen(label));                a"b is written as "a\"b"
 *
 *     for (size_t at = 0; at < len; at += piece.taken) {              into anything but a file
 *         piece = doc_string_next(text + at, len - at, DOC_STRING_AS_IT_IS);
 *         append(piece.bytes, piece.len);
 *     }
 *
 * Quotation marks, backslashes and the controls below U+0020 are escaped, the controls as \u00XX.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_BASE_DOC_STRING_H
#define ATTND_ENGINE_BASE_DOC_STRING_H

#include <stddef.h>
#include <stdio.h>

enum doc_string_rest {
    DOC_STRING_AS_IT_IS,     /* all else passes, UTF-8 or not */
    DOC_STRING_FOR_TERMINAL, /* DEL and the C1 controls are escaped too, since a terminal may act
                                on them, the separators of lines (U+2028, U+2029), at which some
                                readers split, and what turns the direction of writing; a byte that
                                is not UTF-8 becomes U+FFFD */
};

struct doc_string_piece {
    char bytes[8]; /* what is to be written; no NUL behind it */
    size_t len;
    size_t taken; /* bytes of the text that it stands for */
};

/* Escapes the start of text[len], len >= 1: one byte of it or, for a terminal, one character. */
struct doc_string_piece doc_string_next(const char *text, size_t len, enum doc_string_rest rest);

/* The whole text, as it is, with its quotation marks. Failures show in ferror(file). */
void doc_string_write(FILE *file, const char *text, size_t len);

#endif
