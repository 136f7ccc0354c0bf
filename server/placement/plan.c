#include "server/placement/plan.h"

enum {
    IO_THREADS_MIN = 2,
    PREPARE_THREADS_MIN = 4, /* fewer on fewer processors */
    PROCESSORS_OF_IO = 16,
    PROCESSORS_OF_PREPARING = 8
};

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned at_least_one(unsigned count)
{
    return count > 0 ? count : 1;
}

struct plan plan_choose(unsigned quota, const struct config *config)
{
    unsigned workers = config->workers, threads = config->threads_per_worker;
    if (workers == 0)
        workers = at_least_one(threads != 0 ? quota / threads
                                            : quota / PLAN_POOL_MAX + (quota % PLAN_POOL_MAX != 0));
    if (threads == 0)
        threads = at_least_one(quota / workers);
    return (struct plan){
        .workers = workers,
        .threads_per_worker = threads,
        .io_threads = larger(IO_THREADS_MIN, quota / PROCESSORS_OF_IO),
        .prepare_threads = quota < PREPARE_THREADS_MIN
                               ? at_least_one(quota)
                               : larger(PREPARE_THREADS_MIN, quota / PROCESSORS_OF_PREPARING),
        .copies = 1,
        .batch_tokens =
            config->batch_tokens_max != 0 ? config->batch_tokens_max : PLAN_BATCH_TOKENS,
    };
}
