/* sha256.h - SHA-256 (FIPS 180-4) and its HMAC as lower-case hexadecimal, over nettle. Threads: any
 * number. */
#ifndef ATTND_ENGINE_BASE_SHA256_H
#define ATTND_ENGINE_BASE_SHA256_H

#include "engine/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHA256_HEX_BYTES = 65 }; /* 64 digits and a NUL */

void sha256_hex(const void *bytes, size_t len, char out[SHA256_HEX_BYTES]);

/* HMAC-SHA-256 (RFC 2104) of the bytes under a key of any length. */
void sha256_hmac_hex(const void *key, size_t key_len, const void *bytes, size_t len,
                     char out[SHA256_HEX_BYTES]);

/* The hash of bytes that come in pieces. */
struct sha256_pieces {
    _Alignas(8) unsigned char state[128];
};
void sha256_pieces_begin(struct sha256_pieces *pieces);
void sha256_pieces_add(struct sha256_pieces *pieces, const void *bytes, size_t len);
void sha256_pieces_end(struct sha256_pieces *pieces, char out[SHA256_HEX_BYTES]);

/* The hash of the files' bytes one after the other, read in pieces. ERR_IO names the file, without
 * its directory; ERR_NOT_READY if another thread set *stop meanwhile (NULL: never). out is then
 * empty. */
enum err_code sha256_files(const char *const *paths, unsigned count, const atomic_bool *stop,
                           char out[SHA256_HEX_BYTES], struct err *err);

#endif
