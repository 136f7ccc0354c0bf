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
 * same, byte for byte. Of a chunked body chunks.h looks at the bytes as they come.
 *
 * Not detected: NULs before the end of a line, if with it they are as long as CRLF (NUL LF) or as
 * two (NUL NUL LF LF, NUL CRLF LF: the library leaves NULs for all), and lines that begin with NUL
 * in front of a request line (skipped as if empty). No intermediary forwards them.
 *
 * libmicrohttpd 1.0.x refuses all of this by itself at its strictest and leaves other bytes behind
 * a line, so it is asked only under 0.9.x (library.h).
 *
 * Threads: no state but the caller's.
 */
#ifndef ATTND_SERVER_HTTP_LAYOUT_H
#define ATTND_SERVER_HTTP_LAYOUT_H

#include "engine/base/err.h"
#include "server/http/framing.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
