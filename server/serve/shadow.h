/* shadow.h - copies of answered inputs for shadow versions, on spare capacity only.
 *
 *     shadow_start(&shadow, &options, &err);
 *     shadow_offer(shadow, request);          its reply is out; copies are taken, or skipped
 *     shadow_stop(shadow);                    after the last offer
 *
 * "Spare" is meant in three ways. An input is copied only while little waits (SHADOW_JOBS_MAX,
 * SHADOW_BYTES_MAX, and the process's memory for requests); else it is counted as skipped. A copy
 * is begun only while every worker sleeps, and after one beside which answers were computed only
 * when SHADOW_ANSWERS times as many have been: so few share their time with a copy that the 99th
 * percentile cannot tell. It is computed by one thread of the scheduling class SCHED_IDLE, which
 * the system interrupts for anything else; that thread takes no lock and no memory, so that nobody
 * can wait for it. What takes them, preparing inputs and telling results, is done by a second one,
 * of the lowest priority of the usual class.
 *
 * Threads: shadow_offer may be called by any; start and stop belong to the main thread.
 */
#ifndef ATTND_SERVER_SERVE_SHADOW_H
#define ATTND_SERVER_SERVE_SHADOW_H

#include "server/bounds/memory.h"
#include "server/observe/record.h"
#include "server/serve/batcher.h"

enum {
    SHADOW_JOBS_MAX = 64,
    SHADOW_BYTES_MAX = 32 * 1024 * 1024,
    SHADOW_THREADS = 2,
    SHADOW_ANSWERS = 1000,
    SHADOW_REST_S_MAX = 30, /* where answers are too few to wait for a thousand */
};

struct shadow;

struct shadow_options {
    struct batcher *batcher;
    unsigned workers;
    struct memory *memory;
    const struct observers *observers; /* of what was found */
};

/* Yours to stop. ERR_NO_MEMORY. */
enum err_code shadow_start(struct shadow **out, const struct shadow_options *options,
                           struct err *err);
/* Drops what waits; waits for what runs. NULL is allowed. */
void shadow_stop(struct shadow *shadow);

/* Offers the inputs of an answered request to the shadows. The request's owner calls it, while its
 * inputs and its snapshot are held. */
void shadow_offer(struct shadow *shadow, const struct request *request);

#endif
