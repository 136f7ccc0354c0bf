/* gunzip.h - unpacks gzip data in memory (RFC 1952), over zlib, which libpng depends on. Successive
 * members, as in a rotated log, are one text; bytes behind the last member are ignored, as by
 * gzip(1). Threads: any. */
#ifndef ATTND_ENGINE_BASE_GUNZIP_H
#define ATTND_ENGINE_BASE_GUNZIP_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gzFile_s; /* zlib's */

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

/* A gzip file that is read from its start to its end, in memory that does not grow with it. The
 * descriptor, at the start of a file that begins like gzip data, stays the caller's, to be closed
 * later. NULL if there is no memory or no other descriptor. */
struct gzFile_s *gunzip_open(int fd);

/* *got: the bytes put into out[room]; 0: the end. ERR_MALFORMED, ERR_IO. */
enum err_code gunzip_read(struct gzFile_s *file, char *out, size_t room, size_t *got,
                          struct err *err);

/* The file's bytes that were read so far, packed as they are. */
uint64_t gunzip_place(struct gzFile_s *file);

void gunzip_close(struct gzFile_s *file);

/* True if a file that begins with these bytes is gzip. */
bool gunzip_is_packed(const void *bytes, size_t len);

#endif
