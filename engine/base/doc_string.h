/* doc_string.h - writes a text as a JSON string (RFC 8259, section 7), for code without a tree.
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
    DOC_STRING_AS_IT_IS,     /* all other bytes are unchanged, UTF-8 or not */
    DOC_STRING_FOR_TERMINAL, /* also escapes DEL and the C1 controls, on which a terminal may act;
                                the line separators (U+2028, U+2029), at which some readers split;
                                and characters that change the writing direction. A byte that is
                                not UTF-8 becomes U+FFFD */
};

struct doc_string_piece {
    char bytes[8]; /* the bytes to write; no NUL behind them */
    size_t len;
    size_t taken; /* bytes of the text that it replaces */
};

/* Escapes the start of text[len], len >= 1: one byte of it or, for a terminal, one character. */
struct doc_string_piece doc_string_next(const char *text, size_t len, enum doc_string_rest rest);

/* Writes the whole text, as DOC_STRING_AS_IT_IS, with quotation marks. Failures set
 * ferror(file). */
void doc_string_write(FILE *file, const char *text, size_t len);

#endif
