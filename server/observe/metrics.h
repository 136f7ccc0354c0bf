/* metrics.h - counters and histograms in Prometheus' text format 0.0.4; one row per metric in
 * metrics.def.
 *
 *     metrics_request_begin(metrics);
 *     ...
 *     metrics_request_end(metrics, route, model, 200, seconds);
 *     body = metrics_expose(metrics, &exchange->arena, &len);
 *
 * Counting adds to a shard that belongs to the calling thread's core, with relaxed atomics; a
 * scrape sums the shards. A histogram's +Inf bucket and _count come from the same words, so they
 * are equal under load. Label values are known when metrics_open or metrics_add_model is called
 * (routes, models, labels, codes), so series exist at zero before traffic and are bounded. A model
 * is counted under its slot; a reload adds the new ones and removes the old.
 *
 * A subsystem that counts by itself registers a collector, which a scrape asks for the samples:
 *
 *     static void collect(void *context, enum metric_id id, struct metrics_text *out)
 *     {
 *         metrics_text_value(out, id, NULL, fits_count(context));        metrics_text.h
 *     }
 *     ...
 *     metrics_register(metrics, (enum metric_id[]){METRIC_FITS_WAITING}, 1,
 *                      (struct metrics_collector){.context = fits, .collect = collect});
 *
 * Threads: everything here may be called from any thread after metrics_open, but for
 * metrics_register; a slot is counted under between its metrics_add_model and its
 * metrics_remove_model.
 */
#ifndef ATTND_SERVER_OBSERVE_METRICS_H
#define ATTND_SERVER_OBSERVE_METRICS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of metrics.def, in their order. */
enum metric_id {
#define METRIC(id, ...) METRIC_##id,
#define HISTOGRAM(id, ...) METRIC_##id,
#include "server/observe/metrics.def"
#undef METRIC
#undef HISTOGRAM
    METRIC_TOTAL
};

enum metrics_stage {
    STAGE_PARSE,
    STAGE_PREPARE,
    STAGE_QUEUE,
    STAGE_INFERENCE,
    STAGE_SIMILAR,
    STAGE_EXPLAIN,
    STAGE_ENCODE,
    STAGE_COUNT
};

struct metrics_model {
    const char *name;
    const struct engine_info *info;
    double load_seconds;
    unsigned generation; /* of the reload that opened it */
};

struct metrics_setup {
    const char *const *routes;     /* label values of `route`; "other" is added for unknown paths */
    const bool *route_takes_model; /* [route_count]; NULL: all may. Others have no series at zero
                                    * for each model, which keeps the scrape small. */
    unsigned route_count;
    unsigned queue_limit;
    size_t memory_max_bytes, memory_fixed_bytes;
    const char *linear_backend, *blas_core; /* build_info's labels, with the version */
};

enum { METRICS_NO_MODEL = -1, METRICS_OTHER_ROUTE = -1 };
/* A label that a client chose, of a zero-shot model: counted as "other". */
enum { METRICS_OTHER_LABEL = 0x7FFFFFFF };

struct metrics;
struct metrics_text;

/* The writer of the samples of some metrics. collect is called for each of them at each scrape and
 * writes its samples with metrics_text_value; if it writes none, the metric has HELP and TYPE only.
 * series says how many series a metric has at most, for the memory of a scrape; NULL: a few.
 * begin, if there is one, is called once at each scrape, before anything is written: a collector
 * whose metrics must be of one moment reads them there.
 *
 * Threads: all are called by the thread of a scrape. begin and collect are called under the
 * metrics' lock, by one scrape at a time; they call no other function of this header than
 * metrics_expose_models. They may take a lock of the subsystem, if nobody calls a function of this
 * header under that lock. */
struct metrics_collector {
    void *context;
    void (*collect)(void *context, enum metric_id id, struct metrics_text *out);
    size_t (*series)(void *context, enum metric_id id);
    void (*begin)(void *context);
};

/* Models that can have a slot at once: those of two generations, and some that are retiring. */
enum { METRICS_SLOTS = 256 };

/* Upper bound of what metrics of so many routes, models and labels (of all models) hold. */
size_t metrics_bytes(size_t routes, size_t models, size_t labels);

/* Everything in setup is copied. Yours to close. */
enum err_code metrics_open(struct metrics **out, const struct metrics_setup *setup,
                           struct err *err);
void metrics_close(struct metrics *metrics);

/* The collector writes the samples of the metrics ids, [count]. A metric has one collector; one
 * that is counted by the functions below has none. The context must live as long as there are
 * scrapes. A metric without a collector has no samples. One thread calls this, before the first
 * scrape; nothing changes afterwards. */
void metrics_register(struct metrics *metrics, const enum metric_id *ids, unsigned count,
                      struct metrics_collector collector);

/* A slot for a model, whose strings are copied. One of the same name and labels that has a slot
 * keeps it, with its counts, for both. The model is not exposed, and no series appear, before
 * metrics_serve_model, which cannot fail: then a scrape has for each name the latest model that is
 * or was served. ERR_NO_MEMORY; ERR_UNUSABLE if no slot is left. */
enum err_code metrics_add_model(struct metrics *metrics, const struct metrics_model *model,
                                unsigned *slot, struct err *err);
void metrics_serve_model(struct metrics *metrics, unsigned slot, unsigned generation);
/* Once for each metrics_add_model. The description of another generation in the slot is exposed
 * again; with the last one the series are removed. */
void metrics_remove_model(struct metrics *metrics, unsigned slot, unsigned generation);

/* Arguments out of range are not counted, or counted as "other" and "". Times are in seconds. */
void metrics_request_begin(struct metrics *metrics); /* requests_in_flight */
void metrics_request_end(struct metrics *metrics, int route, int model, unsigned status,
                         double seconds);
void metrics_stage(struct metrics *metrics, unsigned model, enum metrics_stage stage,
                   double seconds);
/* How often a stage was counted so far, and its sum. */
void metrics_read_stage(struct metrics *metrics, unsigned model, enum metrics_stage stage,
                        uint64_t *count, double *seconds);
void metrics_prediction(struct metrics *metrics, unsigned model, unsigned label,
                        enum decision decision, double score);
void metrics_truncated(struct metrics *metrics, unsigned model);
void metrics_ood_score(struct metrics *metrics, unsigned model, double score);
void metrics_batch(struct metrics *metrics, unsigned model, unsigned rows, unsigned tokens);
void metrics_rejected(struct metrics *metrics, enum err_code reason);
void metrics_client_gone(struct metrics *metrics);
/* model_info's digest, once known. */
void metrics_set_digest(struct metrics *metrics, unsigned slot, unsigned generation,
                        const char *digest);
/* build_info's labels, once the models are open. */
void metrics_set_backend(struct metrics *metrics, const char *linear_backend,
                         const char *blas_core);
/* The configuration was reloaded, or could not be. */
void metrics_reload(struct metrics *metrics, bool has_succeeded);

/* Upper bound of what metrics_expose takes from the arena. */
size_t metrics_expose_bytes(struct metrics *metrics);

/* For a collector: a sample of `value` for each model that is exposed, in the order of slots. */
void metrics_expose_models(const struct metrics *metrics, struct metrics_text *out,
                           enum metric_id id, double (*value)(void *context, unsigned slot),
                           void *context);

/* The whole exposition, NUL-terminated, in the arena; NULL if there is no memory. */
const char *metrics_expose(struct metrics *metrics, struct arena *arena, size_t *len);

#endif
