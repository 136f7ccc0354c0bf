/* layout.h - checks that the parts that the HTTP library found in a request are all that was sent.
 *
 * libmicrohttpd 0.9.x parses in place: it writes a NUL over each byte that separates two parts and
 * hands out pointers to the parts. So the parts of a head lie one behind the other between its
 * first and its last byte, and what stands between them can be looked at after the fact, whether
 * the bytes came over TCP or TLS. A strict reader sees
 *
 *     METHOD SP TARGET SP VERSION CRLF ( NAME ":" blanks VALUE CRLF )* CRLF
 *
 * and the library, which also takes a bare LF for the end of a line, a NUL for the end of a name,
 * of a value or of the whole head, and glues a folded line to the name above it, must have seen the
 * same, byte for byte. chunks_read checks the bytes of a chunked body as they come.
 *
 * Not detected: NULs before the end of a line, if with it they are as long as CRLF (NUL LF) or as
 * two (NUL NUL LF LF, NUL CRLF LF: the library leaves NULs for all), and lines that begin with NUL
 * in front of a request line (skipped as if empty). No intermediary forwards them.
 *
 * libmicrohttpd 1.0.x refuses all of this by itself at its strictest and leaves other bytes behind
 * a line, so it is asked only under 0.9.x (library.c).
 *
 * Threads: no state but the caller's.
 */
#ifndef ATTND_SERVER_HTTP_LAYOUT_H
#define ATTND_SERVER_HTTP_LAYOUT_H

#include "engine/base/err.h"
#include "server/http/framing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole head as the library left it. Everything points to where the library found it. */
struct layout_head {
    const char *method; /* the head's first byte */
    const char *target;
    size_t target_len;   /* as sent, before it was decoded */
    const char *version; /* NUL-terminated like the method */
    size_t bytes;        /* all of the head, the empty line included */
};

/* ERR_MALFORMED if a byte of the head belongs to no part. */
enum err_code layout_check_head(const struct layout_head *head, const struct framing_field *fields,
                                size_t count, struct err *err);

/* ---- chunked bodies ---- */

/* A chunked body, read beside the HTTP library, byte by byte and strictly, to know whether what the
 * library made of it is what was sent (RFC 9112, section 7.1):
 *
 *     ( SIZE [;...] CRLF bytes CRLF )* 0 [;...] CRLF ( NAME: VALUE CRLF )* CRLF
 *
 * libmicrohttpd 0.9.x also takes a bare LF for the end of a line, control bytes in an extension,
 * and a line without a name for the end of the trailers.
 *
 *     struct chunks chunks = {0};
 *     chunks_read(&chunks, bytes, len);        as they come, in pieces of any length
 *     chunks.has_failed, chunks.is_whole
 */

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
