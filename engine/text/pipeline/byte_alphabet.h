/* byte_alphabet.h - GPT-2's alphabet of printable characters for bytes, in which byte-level
 * vocabularies are written ("\u0120the" is " the").
 *
 *     char *bytes;
 *     size_t len;
 *     if (byte_alphabet_decode(piece, piece_len, bytes, &len)) ...
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_BYTE_ALPHABET_H
#define ATTND_ENGINE_TEXT_PIPELINE_BYTE_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the byte that a character stands for; -1: none. */
int byte_alphabet_byte(uint32_t character);

/* Writes the bytes of a piece of valid UTF-8 to out[len], which may be the piece itself. False,
 * with `out` undefined, if a character stands for no byte. */
bool byte_alphabet_decode(const char *piece, size_t len, char *out, size_t *out_len);

#endif
