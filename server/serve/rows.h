/* rows.h - from a call to rows that may enter the queue.
 *
 *     rows_open        a row for each item, its model found; its cost is then known
 *     rows_label       the labels of a zero-shot model, if they are not encoded yet
 *     rows_prepare     texts -> tokens, images -> patches: request->good
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

/* The model of a call that names none: the first that reads the kind and grants the call's wish, of
 * a search one with an index; else the first of the kind. NULL: none reads it. */
struct served_model *rows_default(const struct request *request, enum engine_kind kind);

/* The label of a model of pairs that says that the second text follows from the first: one that
 * begins with "entail", in any case. -1: there is none. */
int rows_entailment(const struct engine_info *info);

/* True if labels that came with the call must be encoded first, by rows_label. */
bool rows_want_labels(const struct request *request);

/* The next step of encoding labels, on the labeller's thread, while the request is wanted. *left:
 * labels that are still to be encoded. Returns request->err.code. */
enum err_code rows_label(struct service *service, struct request *request, unsigned *left);

/* Gives back the labels, when no answer is read any more. */
void rows_release_labels(struct request *request);

/* Prepares the rows that have no error, one after the other, while the request is wanted
 * (watch.h). Returns request->err.code. */
enum err_code rows_prepare(struct service *service, struct request *request);

#endif
