/* base64.h - strict base64 (RFC 4648 section 4) over libb64, which alone would skip unknown
 * characters and write one byte past its result. Only base64.c includes b64/.
 *
 *     char *bytes = arena_alloc(arena, base64_decoded_size(len));
 *     if (base64_decode(bytes, &bytes_len, text, len, 0, &err)) ...
 *
 * Threads: no state. */
#ifndef ATTND_ENGINE_BASE_BASE64_H
#define ATTND_ENGINE_BASE_BASE64_H

#include "engine/base/err.h"
#include "engine/base/interrupt.h"

#include <stddef.h>

/* Counts the leading characters of text[len] that are in the alphabet (A-Z a-z 0-9 + /, not `=`).
 * About 10 GB/s: callers use it to skip over base64. */
size_t base64_prefix(const char *text, size_t len);

/* Bytes of the buffer that base64_decode needs: one more than it can write. */
size_t base64_decoded_size(size_t len);

/* Decodes text[len] into out. ERR_UNUSABLE, with the offset, for a character outside the alphabet,
 * a length that is no multiple of 4, `=` anywhere but in the last two places, and unused bits that
 * are not zero. `origin` is added to offsets: the start of text in the client's request. */
enum err_code base64_decode(char *out, size_t *out_len, const char *text, size_t len, size_t origin,
                            struct err *err);

/* The same, checking an interrupt (NULL: none) once per megabyte. */
enum err_code base64_decode_while(char *out, size_t *out_len, const char *text, size_t len,
                                  size_t origin, struct interrupt *interrupt, struct err *err);

/* Decodes base64 with common deviations. Line ends are skipped (MIME and openssl wrap lines). The
 * URL-safe alphabet (RFC 4648 section 5) is accepted, also without padding. Refused: a text that
 * uses both alphabets, and all else that base64_decode_while refuses. out has base64_sent_size(len)
 * bytes. */
size_t base64_sent_size(size_t len);
enum err_code base64_decode_sent(char *out, size_t *out_len, const char *text, size_t len,
                                 size_t origin, struct interrupt *interrupt, struct err *err);

/* Characters that len bytes become, plus one for the NUL. */
size_t base64_encoded_size(size_t len);

/* Encodes without line breaks into out[base64_encoded_size(len)], NUL-terminated. */
void base64_encode(char *out, const char *bytes, size_t len);

#endif
