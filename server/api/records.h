/* records.h - writes the outcome of a request for the observers (observe/record.h).
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_API_RECORDS_H
#define ATTND_SERVER_API_RECORDS_H

#include "server/serve/service.h"

/* A line of the audit log for every input that was answered, before any of it is told. Returns
 * request->err.code: what cannot be written may be a reason not to answer (audit.h). */
enum err_code records_audit(const struct service *service, struct request *request);

/* Every input of a request that was answered with a 200. */
void records_predictions(const struct service *service, const struct request *request);

/* The request itself, once, when all of it is over; route_index is the table's. */
void records_request(const struct service *service, const struct request *request, int route_index);

#endif
