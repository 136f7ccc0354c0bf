/* gunzip.h - unpacks gzip data in memory (RFC 1952), over zlib, which libpng depends on. Successive
 * members, as in a rotated log, are one text; bytes behind the last member are ignored, as by
 * gzip(1). Threads: any. */
#ifndef ATTND_ENGINE_BASE_GUNZIP_H
#define ATTND_ENGINE_BASE_GUNZIP_H

#include "engine/base/err.h"

#include <stddef.h>

/* If *bytes (from malloc) begin like gzip data, replaces them by the unpacked bytes and frees the
 * packed ones; otherwise, and after an error, they are unchanged. ERR_MALFORMED, ERR_TOO_LARGE
 * above bytes_max, ERR_NO_MEMORY. */
enum err_code gunzip_if_packed(char **bytes, size_t *len, size_t bytes_max, struct err *err);

/* Returns the size of the unpacked data, all members together, at most bytes_max + 1. The data are
 * unpacked for it and dropped. If they are damaged, the bytes before the damage count. */
size_t gunzip_size(const char *bytes, size_t len, size_t bytes_max);

/* Unpacks into out[room]; *out_len: bytes written. ERR_MALFORMED: not gzip, cut off, or damaged.
 * ERR_TOO_LARGE if there is not enough room. */
enum err_code gunzip_into(char *out, size_t room, size_t *out_len, const char *bytes, size_t len,
                          struct err *err);

#endif
