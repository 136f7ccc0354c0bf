/* intake.h - from the body of a POST /predict to rows that may enter the queue.
 *
 *     intake_read       body -> call, rows and their models; what it will cost is then known
 *     intake_prepare    texts -> tokens, images -> patches: request->good
 *
 * A mistake of the whole call goes into request->err, one of an item into its row.
 *
 * Threads: the holder of the baton.
 */
#ifndef ATTND_SERVER_INTAKE_H
#define ATTND_SERVER_INTAKE_H

#include "server/routes.h"

/* Sets request->call, rows, deadline_ns and pixels. Returns request->err.code. */
enum err_code intake_read(struct service *service, struct request *request);

/* Prepares the rows that have no error, one after the other, while the request is wanted
 * (watch.h). Returns request->err.code. */
enum err_code intake_prepare(struct service *service, struct request *request);

#endif
