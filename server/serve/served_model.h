/* served_model.h - one generation of a model in service: its weights, its sessions, its lane in the
 * queue, its series of metrics. Opened and warmed up before it is published; closed by its last
 * user.
 *
 *     served_model_open(&model, &options, &err);     minutes for large ones: not on an I/O thread
 *     served_model_acquire(model); ...
 *     served_model_release(model);                   the last release closes it: takes time too
 *
 * Threads: immutable after open, but for the digest, which is published atomically, the lane, which
 * is the batcher's, the counts, and what a shadow needs.
 */
#ifndef ATTND_SERVER_SERVE_SERVED_MODEL_H
#define ATTND_SERVER_SERVE_SERVED_MODEL_H

#include "engine/base/thread_pool.h"
#include "engine/engine.h"
#include "server/bounds/memory.h"
#include "server/observe/metrics.h"
#include "server/placement/placement.h"
#include "server/serve/label_sets.h"
#include "server/serve/throughput.h"

#include <stdatomic.h>

/* The waiting rows of a model; under the batcher's lock. */
struct lane {
    unsigned depth; /* rows */
    uint64_t tokens;
    struct throughput throughput;
    struct lane *next, *previous; /* of the lanes in which something waits */
};

/* Results of the copies that a shadow version got. */
enum shadow_result {
    SHADOW_AGREES,
    SHADOW_DISAGREES,
    SHADOW_SKIPPED,
    SHADOW_FAILED,
    SHADOW_RESULTS
};

struct served_model {
    const char *name, *dir, *dtype; /* as configured; dtype NULL: f32 */
    unsigned generation;            /* of the reload that opened it */
    uint64_t stamp;                 /* of the directory's files when it was opened */
    struct engine_model *engine;
    struct engine_model **copies; /* [copy_count] one for each memory node; the first is `engine` */
    unsigned copy_count;
    const struct engine_info *info;
    struct engine_session **sessions; /* [workers] each worker's own */
    unsigned workers;
    struct label_sets *label_sets; /* of a zero-shot model; else NULL */
    unsigned batch_tokens;         /* of one batch; a longer input is a batch of its own */
    double load_seconds;
    size_t bytes; /* of the process's memory; given back when it is closed */
    struct memory *memory;
    struct metrics *metrics;
    unsigned slot; /* the metrics' */
    struct lane lane;
    /* A session beside the workers', for copies that a shadow gets; NULL: it never was one. Set
     * before a snapshot in which it is one is published; used by the shadow's thread alone. */
    struct engine_session *shadow;
    struct thread_pool *shadow_pool;
    atomic_uint_fast64_t answered;                 /* inputs; alone, as the next */
    atomic_uint_fast64_t shadowed[SHADOW_RESULTS]; /* copies */
    atomic_uint shadow_waiting;                    /* copies that were taken and not yet judged */
    char digest_text[72];
    _Atomic(const char *) digest; /* NULL until known, then digest_text; partner: snapshots.c */
    atomic_uint users;
    struct arena arena;
};

/* Memory of the labels that requests may bring to a model of that cost, and of their encoder. */
static inline size_t served_model_labels(const struct engine_cost *cost)
{
    return cost->labeller_bytes > 0 ? memory_sum(cost->labeller_bytes, LABEL_SETS_BYTES) : 0;
}

struct served_model_options {
    const char *name, *dir, *dtype;
    unsigned generation;
    const char *linear_backend;
    bool takes_uncalibrated;
    const struct plan *plan;
    struct thread_pool *const *pools;  /* [workers] on which the sessions will run */
    const struct placement *placement; /* of the workers; NULL: of a plan with one copy */
    size_t bytes;                      /* already taken from memory (memory_hold) */
    struct memory *memory;
    struct metrics *metrics;
    bool in_spare_time; /* warm it up only with otherwise idle processors */
};

/* Held once. On an error nothing is left, the bytes are given back too; the text begins with the
 * model's name. */
enum err_code served_model_open(struct served_model **out,
                                const struct served_model_options *options, struct err *err);

/* Gives it what a shadow needs, once, from the process's memory. Before the snapshot is published,
 * by the thread that makes it. ERR_TOO_LARGE: there is not enough left; ERR_NO_MEMORY. */
enum err_code served_model_open_shadow(struct served_model *model, struct err *err);

/* Memory that a model of that cost takes, with the plan's copies and a session for each worker. */
static inline size_t served_model_sum(const struct engine_cost *cost, const struct plan *plan)
{
    return memory_sum(
        memory_sum(memory_product(cost->model_bytes, plan->copies), served_model_labels(cost)),
        memory_product(cost->session_bytes, plan->workers));
}

/* Memory of the process that opening it will take: upper bounds from the headers of its files. */
enum err_code served_model_bytes(size_t *bytes, const char *dir, const char *dtype,
                                 const struct plan *plan, struct err *err);

/* For a caller that holds it already. */
void served_model_acquire(struct served_model *model);
void served_model_release(struct served_model *model);

/* "sha256:<hex>"; NULL until it is known. */
const char *served_model_digest(const struct served_model *model);

/* Names, sizes, times of change and places on the disk of the files of a directory and of those in
 * it, as one number: another one when any of them was written, exchanged, added or removed. 0: it
 * cannot be read. */
uint64_t served_model_stamp(const char *dir);
/* The same of one file, whose path begins at the directory that `dir` has open, or at AT_FDCWD. */
uint64_t served_model_file_stamp(int dir, const char *path);

#endif
