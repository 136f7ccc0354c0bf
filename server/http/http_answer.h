/* http_answer.h - answers a request through the HTTP library: after its head, after its whole body,
 * and after a suspension.
 *
 *     http_answer_head(request, "POST", "HTTP/1.1")    the head is whole: ask for the body, or not
 *     http_answer_whole(request)                       so is the body: begin, unless answered
 *     http_answer_resumed(request)                     resumed: finish
 *     http_answer_end(request)                         the reply is sent, or the client gone
 *
 * The library takes a reply only before the body or after it, and one that is queued before the
 * body closes the connection, even if there is no body. So a refusal of the application waits until
 * the body has come and been dropped: the client can read it, and goes on using the connection.
 * Refused at once, with Connection: close, are a body over the limit, a body that still waits for
 * "100 Continue", and bad framing, after which nothing on the connection can be trusted. A body
 * that grows over its limit is answered past the library (rawreply.h). What a refused client still
 * sends is read and dropped by the edge, lest a reset destroy the answer.
 *
 * Threads: a request belongs to its connection's I/O thread, except while it is suspended; that
 * thread calls all of this but http_answer_stop. Private to http.c.
 */
#ifndef ATTND_SERVER_HTTP_HTTP_ANSWER_H
#define ATTND_SERVER_HTTP_HTTP_ANSWER_H

#include "server/http/http_request.h"

/* The steps. Each borrows the request. False: the library must close the connection, which is
 * overdue, or the server stops, or there is no memory for a whole reply. */
bool http_answer_head(struct http_request *request, const char *method, const char *version);
/* After true the request may be suspended: another thread may own it already. */
bool http_answer_whole(struct http_request *request);
bool http_answer_resumed(struct http_request *request);

/* Refuses before the body, and has the connection closed after it. False as above. */
bool http_answer_refuse(struct http_request *request, const struct err *err);

/* Call it before the request is destroyed, answered or not. http_answer_stop then waits for it no
 * longer. */
void http_answer_end(struct http_request *request);

/* Lets nothing more begin, and returns once nothing is begun or suspended: the holders must be able
 * to resume. Once, on any thread that is not an I/O thread. */
void http_answer_stop(struct http_shared *shared);

#endif
