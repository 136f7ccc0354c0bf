/* gzip_writer.h - a gzip member of given bytes (RFC 1952). Any failure fails the test. */
#ifndef ATTND_TESTS_SUPPORT_GZIP_WRITER_H
#define ATTND_TESTS_SUPPORT_GZIP_WRITER_H

#include <stddef.h>

/* Packs into out[room], and returns the bytes written. */
size_t gzip_pack(void *out, size_t room, const void *bytes, size_t len);

#endif
