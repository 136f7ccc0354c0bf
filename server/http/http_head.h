/* http_head.h - checks the head and the trailers that the HTTP library has parsed, and gives access
 * to the fields and arguments that the application asks for (http.h). Private to http.c and
 * http_answer.c.
 *
 * Threads: a request belongs to its connection's I/O thread, except while it is suspended.
 */
#ifndef ATTND_SERVER_HTTP_HTTP_HEAD_H
#define ATTND_SERVER_HTTP_HTTP_HEAD_H

#include "server/http/http_request.h"

/* Once the request line is whole: makes the library see an empty query (framing.h says why). */
void http_head_hide_query(const char *target);

/* Once the head is whole: ERR_MALFORMED, ERR_LENGTH or ERR_TOO_LARGE for one that is not taken. */
enum err_code http_head_check(struct http_request *request, const char *method, const char *version,
                              struct err *err);

/* Once a chunked body is whole. ERR_MALFORMED for trailers that do not belong after a body. */
enum err_code http_head_check_trailers(struct http_request *request, struct err *err);

#endif
