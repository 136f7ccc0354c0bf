/* gunzip.h - unpacks gzip data in memory (RFC 1952), over zlib, which libpng brings along.
 * Threads: any. */
#ifndef ATTND_ENGINE_BASE_GUNZIP_H
#define ATTND_ENGINE_BASE_GUNZIP_H

#include "engine/base/err.h"

#include <stddef.h>

/* If *bytes (from malloc) begin as gzip does, puts the unpacked bytes in their place and frees the
 * packed ones; else leaves them alone. After an error they are as they were. ERR_MALFORMED,
 * ERR_TOO_LARGE above bytes_max, ERR_NO_MEMORY. */
enum err_code gunzip_if_packed(char **bytes, size_t *len, size_t bytes_max, struct err *err);

/* What the data say that they unpack to, modulo 2^32, in their last four bytes; 0 if they are too
 * short to say it. Of data in several members, that of the last alone. */
size_t gunzip_size(const char *bytes, size_t len);

/* Unpacks into out[room]; *out_len becomes what it took. ERR_MALFORMED; ERR_TOO_LARGE if there is
 * not room enough. */
enum err_code gunzip_into(char *out, size_t room, size_t *out_len, const char *bytes, size_t len,
                          struct err *err);

#endif
