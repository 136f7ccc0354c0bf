/* throughput.h - a running estimate of a model's time per token, for the bound on the queue.
 *
 * Only load may change it. A batch of a few tokens costs what streaming the weights costs, so it
 * counts as one of THROUGHPUT_TOKENS_MIN. The first batches run cold, so until there are
 * THROUGHPUT_SAMPLES_FIRST the fastest counts. Afterwards the estimate is the time over the tokens
 * of about the last eight batches, not the mean of their quotients, which small batches would
 * raise; and one that stalled counts as at most twice the estimate.
 *
 * Threads: none of its own; the owner locks.
 */
#ifndef ATTND_SERVER_SERVE_THROUGHPUT_H
#define ATTND_SERVER_SERVE_THROUGHPUT_H

#include <stdint.h>

enum { THROUGHPUT_TOKENS_MIN = 64, THROUGHPUT_SAMPLES_FIRST = 8 };

struct throughput {
    double ns, tokens; /* of past batches, each worth 7/8 of the next; 0: nothing measured yet */
    unsigned samples;  /* up to THROUGHPUT_SAMPLES_FIRST */
};

/* A batch of so many tokens took so long. */
void throughput_add(struct throughput *throughput, unsigned tokens, uint64_t ns);

/* Expected time of `tokens` in full batches; 0 before the first measurement. */
double throughput_ns(const struct throughput *throughput, uint64_t tokens);

/* Retry-After of a 429 for that much waiting work above the bound: whole seconds, within the
 * limits. */
unsigned throughput_retry_after_s(double over_ms);

#endif
