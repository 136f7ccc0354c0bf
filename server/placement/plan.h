/* plan.h - chooses `workers`, `threads_per_worker` and `batch_tokens_max` where they are 0, and the
 * number of threads for the work beside batches.
 *
 *     struct plan plan = plan_choose(cpu_quota_threads(""), config);
 *
 * The rule for threads. With a quota of up to PLAN_POOL_MAX: one worker, whose pool has them all.
 * One request alone then uses every core, which is what latency wants, and under load nothing is
 * lost: a batch is cut by columns and heads, a fork-join costs 0.1 us (thread_pool.h), and the
 * weights stream through the shared cache once for all cores instead of once for each. Above: as
 * few pools as keep each at PLAN_POOL_MAX or less, all of one size. A wider pool waits for its
 * slowest member at every one of some hundred joins of a pass, and its slices of 768 columns and 12
 * heads become too thin to be worth one. What is left over (17 = 3 pools of 5 and 2) serves I/O.
 *
 * A count that the operator names stands; the other is then what keeps the product within the
 * quota, and at least 1.
 *
 * One worker runs batches of any model, one after the other. Each of its sessions has a pool, of
 * which only one works; the others sleep 80 us after their last task, so that between two models a
 * core is shared for at most that long.
 *
 * The rule for batches. The products are near their peak from about 64 rows on, so a batch above
 * 128 to 256 tokens hardly computes faster per token; it only delays later requests, since a batch
 * is never interrupted. Against 512, BERT-base by OpenBLAS gave 6 % less rate and answered a
 * hurried short text in 0.32 s instead of 0.75. 128 would make each image of 197 tokens and each
 * long text a batch of its own, with no room for short texts beside it. A longer input than the
 * budget is a batch of its own in any case.
 *
 * The rule for what is beside batches. An I/O thread reads, prepares and answers some 20 000 short
 * texts a second, so two are enough for 32 processors, and beyond one for each 16. Large inputs are
 * prepared by up to four threads, and beyond 32 processors by one for each 8.
 *
 * Threads: pure.
 */
#ifndef ATTND_SERVER_PLACEMENT_PLAN_H
#define ATTND_SERVER_PLACEMENT_PLAN_H

#include "config/config.h"

enum { PLAN_POOL_MAX = 8, PLAN_BATCH_TOKENS = 256 };

struct plan {
    unsigned workers, threads_per_worker;
    unsigned batch_tokens;
    unsigned io_threads, prepare_threads;
    unsigned copies; /* copies of each model's weights: 1, unless placement.h says otherwise */
};

/* quota: the threads that this process may use, at least 1. */
struct plan plan_choose(unsigned quota, const struct config *config);

#endif
