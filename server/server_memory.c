#include "server/memory_plan.h"

#include "server/addresses.h"
#include "server/serve/shadow.h"

enum {
    /* Main, the edge, digests, their hashing, the closer, the reloader, who reads what was before
     * the start, who keeps inputs, who has fits made; and the shadows'. */
    THREADS_BESIDE = 10 + SHADOW_THREADS,
};

enum err_code server_memory_plan(struct memory_plan *out, const struct config *config,
                                 const struct plan *plan, struct err *err)
{
    unsigned warming = plan->workers * plan->threads_per_worker; /* while a reload opens models */
    unsigned threads = plan->io_threads + plan->prepare_threads + THREADS_BESIDE + warming +
                       addresses_admin_threads(config);
    if (memory_plan_make(out, config, plan, threads, err))
        err->code = err->code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_UNUSABLE;
    return err->code;
}
