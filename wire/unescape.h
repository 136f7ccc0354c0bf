/* unescape.h - the content of a JSON string (RFC 8259, section 7) -> the text it stands for.
 *
 * Threads: no state.
 */
#ifndef ATTND_WIRE_UNESCAPE_H
#define ATTND_WIRE_UNESCAPE_H

#include "engine/base/err.h"

#include <stddef.h>

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
