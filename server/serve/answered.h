/* answered.h - answers that were given before: an input that comes again, by the same key, to the
 * same version of a model within one generation of the configuration, is not computed again.
 *
 *     answered_find      before an input is prepared: its answer, as if it had been computed
 *     answered_keep      when the request is answered
 *
 * Labels, numbers and vectors are kept. Spans, explanations and labels of the call's own are
 * computed each time. A reload or a promotion makes another generation, so no answer of the one
 * before is found any more.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_SERVE_ANSWERED_H
#define ATTND_SERVER_SERVE_ANSWERED_H

#include "server/serve/service.h"

/* True: the row has its answer, and the room for it is in the request's arena (which
 * claim_preparing has counted). */
bool answered_find(const struct service *service, struct request *request, unsigned index);

/* Keeps the answers of the rows that were computed. */
void answered_keep(const struct service *service, const struct request *request);

/* "attnd; hit" of a reply whose answers were all found, by RFC 9211; NULL: answers are not kept, or
 * there is no memory. */
const char *answered_status(const struct service *service, struct request *request);

#endif
