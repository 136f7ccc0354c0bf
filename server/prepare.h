/* prepare.h - a small pool of threads for what is too heavy for an I/O thread: requests that are
 * long to decode, and explanations.
 *
 * An I/O thread serves thousands of sockets; a 30-megapixel JPEG would hold all of them up. Such a
 * request is suspended and handed over; the pool parses and prepares it and hands its rows to the
 * batcher. What it explains comes back from the workers. Its waiting list needs no bound of its
 * own: whoever hands a request over has reserved a place in the batcher's queue for it, so the list
 * is never longer than that queue may be.
 *
 * Threads: prepare_submit from any thread; start and stop belong to the main thread.
 */
#ifndef ATTND_SERVER_PREPARE_H
#define ATTND_SERVER_PREPARE_H

#include "server/request.h"

struct prepare;

/* `work` gets the baton of each request, on a thread of the pool, in order of arrival. */
enum err_code prepare_start(struct prepare **out, unsigned threads,
                            void (*work)(void *context, struct request *request), void *context,
                            struct err *err);

/* Hands over a suspended request. False after prepare_stop began: the caller still holds it. */
bool prepare_submit(struct prepare *prepare, struct request *request);

/* Takes no more, works off what waits, joins the threads. Submitting stays allowed (and false)
 * until prepare_free. */
void prepare_stop(struct prepare *prepare);
void prepare_free(struct prepare *prepare);

#endif
