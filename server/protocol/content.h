/* content.h - a request's body as it came -> what it holds: unpacked, recognised by its first bytes
 * if the head does not say what it is, and a text in UTF-8.
 *
 *     if (claim_reading(service, request, content_bytes(request) + ...) || content_decode(request))
 *
 * Threads: the request is its holder's.
 */
#ifndef ATTND_SERVER_PROTOCOL_CONTENT_H
#define ATTND_SERVER_PROTOCOL_CONTENT_H

#include "server/serve/request.h"

/* Reads Content-Type and Content-Encoding, which say how the body is to be read. Returns
 * request->err.code. */
enum err_code content_accept(struct request *request);

/* How many bytes the content has, at most, and how much memory content_decode takes. A packed body
 * is unpacked once for the answer, and what it holds is dropped. */
size_t content_len_max(struct request *request);
size_t content_bytes(struct request *request);

/* True if the body is a lot by its head or, if that does not say what it is, by its first bytes. */
bool content_is_lot(const struct request *request);

/* Fills request->content; request->body becomes REQUEST_IMAGE for a picture and REQUEST_LOT for a
 * lot whose kind the head did not tell. Returns request->err.code: ERR_UNUSABLE, ERR_MALFORMED,
 * ERR_TOO_LARGE (gzip that unpacks to more than the exchange's body_bytes_max), ERR_NO_MEMORY. What
 * is not read is refused by name. */
enum err_code content_decode(struct request *request);
/* Unpacks the content alone, whatever it is. */
enum err_code content_unpack(struct request *request);
/* The same for a route that takes no inputs: a picture or a lot is ERR_MEDIA_TYPE. */
enum err_code content_decode_json(struct request *request);

#endif
