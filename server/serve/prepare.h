/* prepare.h - a small pool of threads for work that is too long for an I/O thread: requests that
 * take long to decode, labels that have to be encoded, searches for near inputs, explanations, and
 * groups of kept inputs.
 *
 * An I/O thread serves thousands of sockets; a 30-megapixel JPEG would delay all of them. Such a
 * request is suspended and submitted twice: first to be read, which gives its number of pixels,
 * then to be prepared, after which its rows go to the batcher. Requests to explain come back from
 * the workers.
 *
 * Labels of zero-shot models are encoded by a thread of their own, in steps: a request with many
 * goes to the end of that thread's list after each, so that others have their turn, and costs all
 * else no more than one thread's share of the processors. Kept inputs are read there too.
 *
 * The pool's backlog is bounded in time, as the batcher's is (queue_ms_max), by what a unit of each
 * kind of work was measured to take. Reading is short beside preparing and has a thread of its own:
 * so a body's pixels are known, and too many are refused, while the other threads are busy. The
 * number of requests needs no bound: each has a reserved place in the batcher's queue.
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
    PREPARE_SIMILAR, /* rows of an index that are searched (similar.h) */
    PREPARE_REPLY,   /* bytes of a long reply that is encoded, a row at a time */
    PREPARE_LABELS,  /* labels that are not yet encoded */
    PREPARE_GROUPS,  /* kept inputs that are read and grouped (server/review/review_groups.h) */
    PREPARE_KEPT,    /* inputs for which kept ones are read (server/review/review_nearest.h) */
    PREPARE_KINDS,
};

/* A pool of so many threads, one more that only reads, and one that only encodes labels. `work`
 * gets ownership of each request; those to be read, those with labels, and the others, are begun in
 * order of arrival. True: it did all of the units that were submitted, so its time tells their
 * throughput. */
enum err_code prepare_start(struct prepare **out, unsigned threads,
                            bool (*work)(void *context, struct request *request), void *context,
                            struct err *err);

/* While the backlog would keep the pool busy for longer than that, only explanations are taken,
 * whose requests were admitted before. 0: no bound, as before this call. Before the pool is
 * used. */
void prepare_limit_wait(struct prepare *prepare, unsigned wait_ms_max);

/* Submits a suspended request. ERR_QUEUE_FULL, and ERR_NOT_READY after prepare_stop began: the
 * caller still owns it. Else the request must not be accessed any more. */
enum err_code prepare_submit(struct prepare *prepare, struct request *request,
                             enum prepare_kind kind, uint64_t units, struct err *err);

/* The same without a look at the backlog, of a request that was admitted before: the next step of
 * its work. */
enum err_code prepare_continue(struct prepare *prepare, struct request *request,
                               enum prepare_kind kind, uint64_t units, struct err *err);

/* Seconds after which a refused request may succeed: until the backlog is back within its bound if
 * nothing else comes, at least LIMIT_RETRY_AFTER_S. */
unsigned prepare_retry_after_s(struct prepare *prepare);

/* Takes no more, completes the backlog, joins the threads. Submitting stays allowed (and refused)
 * until prepare_free. */
void prepare_stop(struct prepare *prepare);
void prepare_free(struct prepare *prepare);

#endif
