/* chunks.h - reads a chunked body beside the HTTP library, byte by byte and strictly, to know
 * whether what the library made of it is what was sent (RFC 9112, section 7.1):
 *
 *     ( SIZE [;...] CRLF bytes CRLF )* 0 [;...] CRLF ( NAME: VALUE CRLF )* CRLF
 *
 * libmicrohttpd 0.9.x also takes a bare LF for the end of a line, control bytes in an extension,
 * and a line without a name for the end of the trailers.
 *
 *     struct chunks chunks = {0};
 *     chunks_read(&chunks, bytes, len);        as they come, in pieces of any length
 *     chunks.has_failed, chunks.is_whole
 *
 * Threads: no state but the caller's.
 */
#ifndef ATTND_SERVER_HTTP_CHUNKS_H
#define ATTND_SERVER_HTTP_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chunks_at {
    CHUNKS_SIZE,
    CHUNKS_EXTENSION,
    CHUNKS_SIZE_LF,
    CHUNKS_BYTES,
    CHUNKS_BYTES_CR,
    CHUNKS_BYTES_LF,
    CHUNKS_TRAILER, /* the first byte of its line */
    CHUNKS_TRAILER_REST,
    CHUNKS_TRAILER_LF,
    CHUNKS_END_LF,
};

struct chunks {
    enum chunks_at at;
    unsigned digits; /* digits of the size, at most 16 */
    uint64_t left;   /* the size; then bytes of the chunk that are to come */
    bool has_failed; /* for good */
    bool is_whole;   /* the next byte belongs to another request */
};

void chunks_read(struct chunks *chunks, const char *bytes, size_t len);

#endif
