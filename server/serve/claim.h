/* claim.h - takes memory for one exchange from the process's budget (memory.h), from its body on:
 * before each step the upper bound of the step's memory, so that a request is refused before the
 * work, and nothing fails half way.
 *
 *     claim_reading      the tree of the body, decoded base64, rows
 *     claim_preparing    what all rows keep, the largest of what passes, and the reply
 *     claim_prepared     what has passed, also while a lot was read, is given back
 *     claim_explaining   attention, words, heat maps
 *
 * All of it is in exchange->memory_bytes, which http.c gives back with the exchange's arena. A
 * refusal goes into request->err: ERR_QUEUE_FULL or ERR_TOO_LARGE, as memory_take.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_SERVE_CLAIM_H
#define ATTND_SERVER_SERVE_CLAIM_H

#include "server/serve/service.h"

/* The protocol's bound for parsing (protocol.h: parse_bytes). */
enum err_code claim_reading(struct service *service, struct request *request, size_t bytes);

/* After reading; *passing is for claim_prepared. */
enum err_code claim_preparing(struct service *service, struct request *request, size_t *passing);
/* True if the memory of claim_preparing includes the row's likeness (likeness.h): inputs are kept,
 * and the row has the model's own labels. */
bool claim_has_likeness(const struct service *service, const struct row *row);
void claim_prepared(struct service *service, struct request *request, size_t passing);

/* For a prepared row; capture_bytes are those of its attention and its heat map. */
enum err_code claim_explaining(struct service *service, struct request *request,
                               const struct row *row, size_t capture_bytes);

/* For a reply that is made in `begin`. */
enum err_code claim_reply(struct service *service, struct request *request, size_t bytes);

/* The labels of its call, encoded for a model; as claim_reply. */
enum err_code claim_labels(struct service *service, struct request *request,
                           const struct engine_model *engine);

#endif
