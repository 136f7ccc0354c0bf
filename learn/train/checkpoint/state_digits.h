/* state_digits.h - training states as attnd 0.1 wrote them, with fp32 numbers only. A 64-bit word
 * is four digits of 16 bits, the lowest first. The fingerprint has one number for each character.
 * These files are read but no longer written. Threads: pure functions. */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_STATE_DIGITS_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_STATE_DIGITS_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"
#include "engine/format/safetensors.h"

enum { STATE_DIGITS = 4 }; /* of a word: exact in fp32 */

/* Errors are ERR_UNSUPPORTED, without the path, and those of safetensors_read_f32. */
enum err_code state_digits_fingerprint(const struct safetensors *file, char out[SHA256_HEX_BYTES],
                                       struct err *err);

/* Reads the `count` 64-bit words of this tensor. */
enum err_code state_digits_words(const struct safetensors *file, const char *name, size_t count,
                                 void *words, struct err *err);

#endif
