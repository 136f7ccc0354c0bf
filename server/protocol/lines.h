/* lines.h - a body of lines (NDJSON): each line is an input, and its answer a line, too. A list may
 * be far longer than `inputs` of a request, so it is read, computed and answered in portions of at
 * most inputs_max lines. Each portion passes through the phases of a request (request.h):
 *
 *     lines_parse       the first portion -> request->call; later ones likewise
 *     lines_fail        a portion that cannot be answered: its error is that of each of its lines
 *     lines_next        the portion is sent: what belongs to it is given back
 *     lines_close       with the request
 *
 * The first portion is small and each next one larger, so the first answers come soon. What a
 * portion takes is claimed before its work and given back when it is sent; while it is sent nothing
 * of the next one is done, so a client that reads slowly makes no work, and one that has gone ends
 * it.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_PROTOCOL_LINES_H
#define ATTND_SERVER_PROTOCOL_LINES_H

#include "server/serve/service.h"

/* Upper bound of what the whole list takes beside its body and its portions. */
size_t lines_bytes(const struct request *request);

/* Reads the next portion; at first the options, too, which hold for all lines. ERR_TOO_LARGE: too
 * many lines; ERR_UNUSABLE: there is none. Returns request->err.code. */
enum err_code lines_parse(struct service *service, struct request *request);

/* Lines behind this portion. */
bool lines_are_left(const struct request *request);

/* Bytes of the portion. */
size_t lines_portion_bytes(const struct request *request);

/* Turns request->err into an error of each line of a portion behind the first. False: the error is
 * the whole request's, since nothing has been answered, or there is no memory. */
bool lines_fail(struct request *request);

/* `most`: lines that the queue has room for. */
void lines_next(struct service *service, struct request *request, unsigned most);

/* Lines of the portions before. */
unsigned lines_answered(const struct request *request);

/* How many lines the next portion may have. */
unsigned lines_most(const struct request *request);

/* Puts all memory of the request into its exchange's arena. Nothing if it has no lines. */
void lines_close(struct request *request);

#endif
