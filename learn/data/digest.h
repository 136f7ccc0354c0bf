/* digest.h - identifies an input: the first 64 bits of the SHA-256 of a text, of an image's file,
 * or of a wafer's drawn pixels. Name and path do not count, so that an input is recognised in
 * another list or folder. Threads: no state. */
#ifndef ATTND_LEARN_DATA_DIGEST_H
#define ATTND_LEARN_DATA_DIGEST_H

#include <stddef.h>
#include <stdint.h>

uint64_t digest_of(const void *bytes, size_t len);

/* A pair of texts; the first one's own if the second is empty. */
uint64_t digest_of_pair(const char *text, size_t len, const char *pair, size_t pair_len);

#endif
