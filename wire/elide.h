/* elide.h - cuts the long strings out of a JSON text, so that the JSON parser never copies (nor
 * even reads) the megabytes of an image or of a text: the text that it parses is short.
 *
 *     struct elided elided;
 *     elide_strings(&elided, body, len, strings_max, arena, &err);
 *     doc_parse_mapped(&tree, elided.text, elided.len, ..., elide_origin, &elided, &err);
 *     const struct elided_span *span = elide_find(&elided, value, value_len);
 *
 * The shortened text has the same tree as the original one, but for placeholders in the place of
 * long strings; elide_find gives back the string that a placeholder stands for. Threads: no state.
 */
#ifndef ATTND_WIRE_ELIDE_H
#define ATTND_WIRE_ELIDE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>

enum { ELIDE_BYTES_MIN = 2048 }; /* shorter strings stay */

/* One string: its value, and its place in the original text, without its quotes. */
struct elided_span {
    const char *bytes; /* in the original text if it holds no escapes, else in the arena */
    size_t len;
    size_t at, written_len;
};

struct elided {
    const char *text; /* the shortened text, or the original where nothing was cut */
    size_t len;
    const char *original;
    struct elided_span *spans; /* in the order of the text */
    unsigned span_count;
    /* The first long literal that is not a valid string: it is not cut, so the parser refuses it.
     * ERR_OK: there is none (see unescape). */
    enum err_code fault;
    size_t fault_at; /* in the original */
};

/* A text with more than strings_max strings is left whole. ERR_NO_MEMORY is the only error: invalid
 * JSON stays invalid. The original is borrowed. */
enum err_code elide_strings(struct elided *out, const char *text, size_t len, size_t strings_max,
                            struct arena *arena, struct err *err);

/* The span that a parsed string stands for; NULL if it stands for itself. */
const struct elided_span *elide_find(const struct elided *elided, const char *value, size_t len);

/* The offset in the original of byte `at` of the shortened text (for doc_parse_mapped). */
size_t elide_origin(const void *elided, size_t at);

/* Length of the prefix of a data URL in base64 that text starts with; 0 if there is none. */
size_t elide_data_prefix(const char *text, size_t len);

/* ---- unescape.c: the content of a JSON string (RFC 8259, section 7) -> the text ---- */

/* Bytes at the start of text[0..len) that need no unescaping: well-formed UTF-8 without control
 * characters, quotes and backslashes. */
size_t unescape_plain(const char *text, size_t len);

/* Decodes what stands between the quotes into out; the text has *out_len bytes, never more than
 * len. With out NULL it only says how many. \u0000 is a character like any other. ERR_UNUSABLE for
 * bytes that are not UTF-8, ERR_MALFORMED for a control character, a bare quote, an unknown escape
 * and half a surrogate pair; *out_len is then the index in text of the byte that is wrong, or of
 * its escape. */
enum err_code unescape(char *out, size_t *out_len, const char *text, size_t len);

#endif
