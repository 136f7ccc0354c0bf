/* stream.h - a text is answered token by token, as server-sent events (WHATWG HTML, section 9.2),
 * which the protocol writes (protocol.h). POST /predict:
 *
 *     event: token     data: {"index": 0, "id": 115, "text": " die"}      for each token
 *     event: result    data: the object that POST /predict answers        the end
 *     event: problem   data: a problem object, in place of the result
 *
 * The row is the worker's or the request's, never both: the worker gives it to the request after a
 * step (request_tell), which sends what is written and, when the client has read it, queues the row
 * again. So a slow reader makes no work, and nothing is buffered for it. What is found before the
 * first token is answered as for any other request.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_API_STREAM_H
#define ATTND_SERVER_API_STREAM_H

#include "server/serve/service.h"

/* A call that asks for a stream has one input and one answer. Returns request->err.code. */
enum err_code stream_check(struct request *request);

/* The next part of the reply, of a request that goes on (request_goes_on). */
void stream_part(struct request *request);
/* That part is sent: the row goes on. */
enum http_next stream_more(struct service *service, struct request *request);
/* Turns a reply that is filled in into the last events. */
void stream_end(struct request *request);
/* The exchange ends; if its client left in between, the row and its place are given back. */
void stream_drop(struct service *service, struct request *request);

#endif
