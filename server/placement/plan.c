#include "server/placement/plan.h"

static unsigned at_least_one(unsigned count)
{
    return count > 0 ? count : 1;
}

static unsigned pools_for(unsigned quota)
{
    return at_least_one(quota / PLAN_POOL_MAX + (quota % PLAN_POOL_MAX != 0));
}

struct plan plan_choose(unsigned quota, const struct config *config)
{
    unsigned workers = config->workers, threads = config->threads_per_worker;
    if (workers == 0)
        workers = threads != 0 ? at_least_one(quota / threads) : pools_for(quota);
    if (threads == 0)
        threads = at_least_one(quota / workers);
    return (struct plan){
        .workers = workers,
        .threads_per_worker = threads,
        .copies = 1,
        .batch_tokens =
            config->batch_tokens_max != 0 ? config->batch_tokens_max : PLAN_BATCH_TOKENS,
    };
}
