/* thread_pool.h - a few threads that run one task together and wait for each other (fork-join).
 *
 *     thread_pool_run(pool, scale_rows, &args);     calls scale_rows(&args, index, count) for each
 *                                            index = 0 .. count - 1
 *
 * The caller is member 0. A waiting thread spins for up to 80 us, because kernels follow each other
 * closely, and then sleeps: an idle pool uses no CPU. While all spin, a fork-join costs 0.1 us (two
 * threads on two cores of an AMD EPYC; with a thread more than cores, 3 us). Threads: a pool
 * belongs to one caller.
 */
#ifndef ATTND_ENGINE_BASE_THREAD_POOL_H
#define ATTND_ENGINE_BASE_THREAD_POOL_H

#include "engine/base/err.h"

struct thread_pool;

/* threads >= 1, the caller included. Yours to close. */
enum err_code thread_pool_open(struct thread_pool **out, unsigned threads, struct err *err);
/* The same, with member i bound to processor cpus[i] [threads]; the caller, member 0, binds itself.
 * A member that may not run there is not bound. */
enum err_code thread_pool_open_on(struct thread_pool **out, unsigned threads,
                                  const unsigned short *cpus, struct err *err);
void thread_pool_close(struct thread_pool *pool);
unsigned thread_pool_size(const struct thread_pool *pool);

void thread_pool_run(struct thread_pool *pool,
                     void (*task)(void *context, unsigned index, unsigned count), void *context);

#endif
