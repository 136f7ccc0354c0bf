/* rows.h - from a call to rows that may enter the queue.
 *
 *     rows_open        a row for each item, its model found; its cost is then known
 *     rows_prepare     texts -> tokens, images -> patches: request->good, request->queued
 *
 * A mistake of the whole call goes into request->err, one of an item into its row.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_SERVE_ROWS_H
#define ATTND_SERVER_SERVE_ROWS_H

#include "server/serve/service.h"

/* Sets request->rows and pixels; request->deadline_ns is known. Returns request->err.code. */
enum err_code rows_open(struct request *request);

/* Prepares the rows that have no error, one after the other, while the request is wanted
 * (watch.h). Returns request->err.code. */
enum err_code rows_prepare(struct service *service, struct request *request);

#endif
