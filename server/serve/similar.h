/* similar.h - the past inputs that are near to each row of a request: from its model's index
 * (served_index.h) or, if it has none, from the inputs that are kept for a review
 * (server/review/review_nearest.h). A thread of the prepare pool finds them, a row at a time.
 *
 *     similar_find         with a row's model: where its near inputs are looked for
 *     similar_keep         for a prepared row: room for what is searched for
 *     similar_next         after the rows are computed: the row whose turn it is
 *     similar_search       its neighbours in an index
 *     similar_go_on        to the next row
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_SERVE_SIMILAR_H
#define ATTND_SERVER_SERVE_SIMILAR_H

#include "server/serve/service.h"

/* Sets row->index or row->in_review, if near inputs are asked for. ERR_UNUSABLE in row->err: its
 * model has no index, and none of its inputs are kept. Returns row->err.code. */
enum err_code similar_find(const struct request *request, struct row *row);

/* True if the near inputs of a row are only for those who may give feedback. */
bool similar_is_restricted(const struct request *request);

/* Upper bounds of memory: of all that searching takes from the arena, and of the neighbours' text
 * in the reply; a tree of it takes SIMILAR_TREE_TIMES as much. 0 if no search is asked for. */
enum { SIMILAR_TREE_TIMES = 4 };
size_t similar_bytes(const struct row *row);
size_t similar_text_bytes(const struct row *row);

/* Takes room for the numbers of a row, and sends its request to the pool after the last row.
 * ERR_NO_MEMORY. Returns row->err.code. */
enum err_code similar_keep(struct request *request, struct row *row);

/* The row for which near inputs are found next. */
struct row *similar_next(const struct request *request);

/* Fills the row's neighbours from its index. What the interrupt returns, ERR_NO_MEMORY and
 * ERR_INTERNAL go into row->err. */
void similar_search(struct row *row, struct interrupt *interrupt);

/* After a row: true if others are left, and the request is submitted again. An error goes into
 * request->err. */
bool similar_go_on(struct service *service, struct request *request);

#endif
