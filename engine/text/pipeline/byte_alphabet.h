/* byte_alphabet.h - GPT-2's way to write any bytes as printable characters: what byte-level
 * vocabularies are written in ("\u0120the" is " the").
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

/* The byte that a character stands for; -1 if for none. */
int byte_alphabet_byte(uint32_t character);

/* Writes the bytes of a piece of valid UTF-8 to out[len], which may be the piece itself. False,
 * with nothing to rely on in `out`, if a character stands for no byte. */
bool byte_alphabet_decode(const char *piece, size_t len, char *out, size_t *out_len);

#endif
