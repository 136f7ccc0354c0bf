/* explain.h - explanations of a request's rows, before and after its turn in the queue.
 *
 * Before: each row gets room for its attention, which grows with the square of its tokens (16 MB
 * for 512 tokens of BERT-base), so all requests together share a budget, explain_bytes_max. After:
 * words, patches and heat maps are computed from it, on a thread of the prepare pool, where this
 * delays neither sockets nor batches.
 *
 * Threads: the owner of the request; the budget is an atomic.
 */
#ifndef ATTND_SERVER_SERVE_EXPLAIN_H
#define ATTND_SERVER_SERVE_EXPLAIN_H

#include "server/serve/service.h"

/* For a prepared row of a call that asks for explanations. An error of the row goes into row->err:
 * ERR_UNUSABLE (a layer that the model does not have, an image too large for a heat map),
 * ERR_TOO_LARGE (the request alone needs more than the budget), ERR_NO_MEMORY. A budget that other
 * requests have used up is an error in request->err: ERR_QUEUE_FULL. Returns row->err.code. */
enum err_code explain_keep(struct service *service, struct request *request, struct row *row);

/* row->explanation of each row that was computed, while the request is wanted (watch.h);
 * ERR_NO_MEMORY goes into row->err. Returns request->err.code. */
enum err_code explain_rows(const struct service *service, struct request *request);

/* A row to explain costs about what a heat map of so many pixels does; request->explain_units sums
 * up both. */
enum { EXPLAIN_ROW_UNITS = 1 << 14 };

/* Gives the request's part of the budget back, once. */
void explain_release(struct service *service, struct request *request);

#endif
