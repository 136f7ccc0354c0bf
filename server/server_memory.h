/* server_memory.h - the memory plan with all threads that a server of a plan has.
 *
 * Threads: pure, but for reading files.
 */
#ifndef ATTND_SERVER_SERVER_MEMORY_H
#define ATTND_SERVER_SERVER_MEMORY_H

#include "server/memory_plan.h"

/* Any error of memory_plan_make but ERR_NO_MEMORY is ERR_UNUSABLE. */
enum err_code server_memory_plan(struct memory_plan *out, const struct config *config,
                                 const struct plan *plan, struct err *err);

#endif
