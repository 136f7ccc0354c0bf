/* charset.h - a text in an older encoding -> UTF-8, over the C library's iconv.
 *
 *     const char *charset = charset_find("ISO-8859-1", 10);
 *     char *text = arena_alloc(arena, charset_bytes(len));
 *     charset_decode(charset, bytes, len, text, &text_len, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_CONTENT_CHARSET_H
#define ATTND_ENGINE_CONTENT_CHARSET_H

#include "engine/base/err.h"

#include <stddef.h>

/* iconv's name of the charset with this label of the WHATWG Encoding Standard; "" for UTF-8, which
 * needs nothing; NULL: it is none that is decoded. name[len] is compared without case. */
const char *charset_find(const char *name, size_t len);

/* The names of charset_find, for an error text. */
const char *charset_names(void);

/* Returns the charset that a byte order mark names; "" for a text without a mark. */
const char *charset_of_mark(const char *bytes, size_t len);

/* The same of a JSON text, which begins with an ASCII character, so that UTF-16 and UTF-32 without
 * a mark show by its NULs (RFC 4627, section 3). */
const char *charset_of_json(const char *bytes, size_t len);

/* The room that a text of len bytes needs in UTF-8, at most. */
size_t charset_bytes(size_t len);

/* out[charset_bytes(len)] becomes the text, NUL-terminated, without its byte order mark.
 * ERR_UNUSABLE with the offset of the first byte that the charset does not have; ERR_NO_MEMORY. */
enum err_code charset_decode(const char *charset, const char *bytes, size_t len, char *out,
                             size_t *out_len, struct err *err);

#endif
