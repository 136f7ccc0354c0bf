/* gunzip.h - unpacks gzip data in memory (RFC 1952), over zlib, which libpng brings along. Members
 * one after another, as of a rotated log, are one text; what is no member behind the last one is
 * ignored, as gzip(1) does. Threads: any. */
#ifndef ATTND_ENGINE_BASE_GUNZIP_H
#define ATTND_ENGINE_BASE_GUNZIP_H

#include "engine/base/err.h"

#include <stddef.h>

/* If *bytes (from malloc) begin as gzip does, puts the unpacked bytes in their place and frees the
 * packed ones; else leaves them alone. After an error they are as they were. ERR_MALFORMED,
 * ERR_TOO_LARGE above bytes_max, ERR_NO_MEMORY. */
enum err_code gunzip_if_packed(char **bytes, size_t *len, size_t bytes_max, struct err *err);

/* How many bytes the data unpack to, all members together, but at most bytes_max + 1: they are
 * unpacked for it and dropped. Of damaged data, the bytes before the damage. */
size_t gunzip_size(const char *bytes, size_t len, size_t bytes_max);

/* Unpacks into out[room]; *out_len becomes what it took. ERR_MALFORMED: not gzip, cut off, or
 * damaged. ERR_TOO_LARGE if there is not room enough. */
enum err_code gunzip_into(char *out, size_t room, size_t *out_len, const char *bytes, size_t len,
                          struct err *err);

#endif
