/* prepare.h - a small pool of threads for what is too heavy for an I/O thread: requests that are
 * long to decode, and explanations.
 *
 * An I/O thread serves thousands of sockets; a 30-megapixel JPEG would hold all of them up. Such a
 * request is suspended and handed over, twice: first to be read, which tells how many pixels it
 * has, then to be prepared, after which its rows go to the batcher. What is to be explained comes
 * back from the workers.
 *
 * The pool's backlog is bounded in time, as the batcher's is (queue_ms_max), by what a unit of each
 * kind of work was measured to take. Reading is short beside preparing and has a thread of its own:
 * so a body's pixels are known, and what is too much refused, while the other threads are busy. In
 * number the list needs no bound: whoever hands a request over has reserved a place in the
 * batcher's queue for it.
 *
 * Threads: submit and retry_after from any thread; the others belong to the main thread.
 */
#ifndef ATTND_SERVER_SERVE_PREPARE_H
#define ATTND_SERVER_SERVE_PREPARE_H

#include "server/serve/request.h"

struct prepare;

enum prepare_kind {
    PREPARE_READ,    /* units: bytes of the body */
    PREPARE_INPUTS,  /* bytes of the body and pixels of its images */
    PREPARE_EXPLAIN, /* explain_units of its rows (explain.h) */
    PREPARE_KINDS,
};

/* A pool of so many threads, and one more that only reads. `work` gets the baton of each request;
 * those to be read, and the others, are begun in order of arrival. True: it did all of the units
 * that were submitted, so its time tells their throughput. */
enum err_code prepare_start(struct prepare **out, unsigned threads,
                            bool (*work)(void *context, struct request *request), void *context,
                            struct err *err);

/* While what waits and what is in work would keep the pool busy for longer than that, nothing is
 * taken but explanations, which are of requests that were admitted long before. 0: no bound, as
 * before this call. Before the pool is used. */
void prepare_limit_wait(struct prepare *prepare, unsigned wait_ms_max);

/* Hands over a suspended request. ERR_QUEUE_FULL, and ERR_NOT_READY after prepare_stop began: the
 * caller still holds it. Else it may be gone already. */
enum err_code prepare_submit(struct prepare *prepare, struct request *request,
                             enum prepare_kind kind, uint64_t units, struct err *err);

/* Seconds after which a refused request may succeed: until the backlog is back within its bound if
 * nothing else comes, at least LIMIT_RETRY_AFTER_S. */
unsigned prepare_retry_after_s(struct prepare *prepare);

/* Takes no more, works off what waits, joins the threads. Submitting stays allowed (and refused)
 * until prepare_free. */
void prepare_stop(struct prepare *prepare);
void prepare_free(struct prepare *prepare);

#endif
