/* memory_plan.h - how memory_max is used: what the process holds without any request, item by item,
 * and the rest, which is for requests (memory.h).
 *
 *     struct memory_plan plan;
 *     if (memory_plan_make(&plan, config, &threads, &err))     the sum does not fit, or a model
 *         return err.code;                                     cannot be read
 *     memory_plan_print(&plan, stdout);
 *
 * The plan is made before any memory is taken. Models are not opened: the headers of their files
 * suffice for a bound, the process that checks a configuration may have less memory than the
 * server, and a server that would not fit must report that instead of being killed while it loads.
 *
 * Threads: pure, but for reading files.
 */
#ifndef ATTND_SERVER_MEMORY_PLAN_H
#define ATTND_SERVER_MEMORY_PLAN_H

#include "config/config.h"
#include "engine/base/err.h"
#include "server/placement/plan.h"

#include <stdio.h>

enum memory_item {
    MEMORY_PROCESS,     /* program, libraries, threads */
    MEMORY_MODELS,      /* weights and vocabularies */
    MEMORY_SESSIONS,    /* workspaces, one for each worker and model */
    MEMORY_CONNECTIONS, /* as many as may be open, each with a request */
    MEMORY_QUEUE,
    MEMORY_METRICS,
    MEMORY_FEEDBACK, /* the window of predictions, and the list of kept inputs */
    MEMORY_ITEMS
};

struct memory_plan {
    size_t max_bytes;
    const char *source; /* which limit it is: "memory_max", or ram_limit's */
    size_t items[MEMORY_ITEMS];
    size_t fixed_bytes;             /* their sum */
    size_t model_bytes;             /* of them, those of the models with their sessions */
    size_t each[CONFIG_MODELS_MAX]; /* and of each, in the order of the configuration */
};

/* io_threads: all threads beside the workers' pools. ERR_UNUSABLE if a model cannot be read, or if
 * the items leave less than MEMORY_REQUESTS_MIN: the text is the sum, with the options to lower. */
enum err_code memory_plan_make(struct memory_plan *out, const struct config *config,
                               const struct plan *plan, unsigned io_threads, struct err *err);

/* A table: item, bytes, and the options that change it. */
void memory_plan_print(const struct memory_plan *plan, FILE *file);

/* The event "memory_plan". */
void memory_plan_log(const struct memory_plan *plan);

/* The same with all threads that a server of the plan has (server_memory.c). Any error but
 * ERR_NO_MEMORY is ERR_UNUSABLE. */
enum err_code server_memory_plan(struct memory_plan *out, const struct config *config,
                                 const struct plan *plan, struct err *err);

#endif
