/* repeats.h - requests with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): one
 * that comes again within idempotency_s gets the answer of the first, and is not computed.
 *
 *     repeats_begin      with the body: the first of its key, or a repeat, or refused
 *     repeats_reply      a repeat: the first one's answer is the reply
 *     repeats_keep       the answer of the first is kept
 *     repeats_end        before its reply is sent, and with the request
 *
 * A key belongs to the key that asks (server/auth) and to a route. The same key with another body,
 * query or type is 422. While the first is being answered, another is 409 with Retry-After. Only
 * answers are kept: after a refusal the key is free, and so it is after a client that has gone
 * before its answer was made. A reload does not matter: the answer says which version gave it.
 *
 * Threads: internally locked; a request by its owner.
 */
#ifndef ATTND_SERVER_API_REPEATS_H
#define ATTND_SERVER_API_REPEATS_H

#include "server/serve/service.h"

enum err_code repeats_open(struct repeats **out, size_t bytes_max, unsigned life_s,
                           struct memory *memory, struct err *err);
void repeats_close(struct repeats *repeats); /* NULL is allowed */
/* Its metrics and those of the answers of inputs (answered.h). */
void repeats_register(struct service *service);

/* From the head: ERR_UNUSABLE for a key that cannot be one. Returns request->err.code. */
enum err_code repeats_head(struct service *service, struct request *request);

/* ERR_UNUSABLE, ERR_CONFLICT as above; what claim_reply returns. Returns request->err.code. */
enum err_code repeats_begin(struct service *service, struct request *request);

/* True if repeats_begin has found an answer. */
bool repeats_has_reply(const struct request *request);
/* Fills the reply, and writes the audit line. ERR_NOT_READY, ERR_NO_MEMORY. */
enum err_code repeats_reply(struct service *service, struct request *request);

void repeats_keep(struct service *service, const struct request *request);
/* The first of its key is answered, or will not be. Any number of times. */
void repeats_end(struct service *service, struct request *request);

#endif
