/* similar.h - the past inputs that are near to each row of a request: from its model's index
 * (served_index.h), on a thread of the prepare pool, a row at a time.
 *
 *     similar_find_index   with a row's model: its index, and who may search it
 *     similar_keep         for a prepared row: room for what is searched for
 *     similar_step         after the rows are computed: the next row's neighbours
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_SERVE_SIMILAR_H
#define ATTND_SERVER_SERVE_SIMILAR_H

#include "server/serve/service.h"

/* Sets row->index, if near inputs are asked for. ERR_UNUSABLE in row->err: its model has none.
 * Returns row->err.code. */
enum err_code similar_find_index(const struct request *request, struct row *row);

/* True if a row's index is only for those who may give feedback. */
bool similar_is_restricted(const struct request *request);

/* Upper bounds of memory: of all that searching takes from the arena, and of the neighbours' text
 * in the reply; a tree of it takes SIMILAR_TREE_TIMES as much. 0 if no search is asked for. */
enum { SIMILAR_TREE_TIMES = 4 };
size_t similar_bytes(const struct row *row);
size_t similar_text_bytes(const struct row *row);

/* Takes room for the numbers of a row, and sends its request to the pool after the last row.
 * ERR_NO_MEMORY. Returns row->err.code. */
enum err_code similar_keep(struct request *request, struct row *row);

/* Searches for one more row, while the request is wanted (watch.h); true if others are left, which
 * is then submitted. An error of the row goes into its err, any other into request->err. */
bool similar_step(struct service *service, struct request *request);

#endif
