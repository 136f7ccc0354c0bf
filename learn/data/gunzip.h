/* gunzip.h - unpacks a gzip file in memory (RFC 1952), over zlib, which libpng brings along.
 * Threads: any. */
#ifndef ATTND_LEARN_DATA_GUNZIP_H
#define ATTND_LEARN_DATA_GUNZIP_H

#include "engine/base/err.h"

#include <stddef.h>

/* If *bytes (from malloc) begin as gzip does, puts the unpacked bytes in their place and frees the
 * packed ones; else leaves them alone. After an error they are as they were. ERR_MALFORMED,
 * ERR_TOO_LARGE above bytes_max, ERR_NO_MEMORY. */
enum err_code gunzip_if_packed(char **bytes, size_t *len, size_t bytes_max, struct err *err);

#endif
