/* metrics_state.h - what metrics.c counts into and metrics_expose.c reads. Private to both.
 *
 * All counters are cells of one flat array per shard. first[id] is where a metric's cells begin;
 * the functions below say how they lie. A histogram takes its buckets (not cumulative, the last one
 * for what exceeds every bound) and then its sum, scaled to an integer.
 */
#ifndef ATTND_SERVER_OBSERVE_METRICS_STATE_H
#define ATTND_SERVER_OBSERVE_METRICS_STATE_H

#include "server/observe/metrics.h"

#include <stdatomic.h>
#include <stdbool.h>

enum metric_id {
#define METRIC(id, ...) METRIC_##id,
#define HISTOGRAM(id, ...) METRIC_##id,
#include "server/observe/metrics.def"
#undef METRIC
#undef HISTOGRAM
    METRIC_TOTAL
};

enum { METRIC_SHARDS = 16, METRIC_LABELS_MAX = 5, METRIC_BOUNDS_MAX = 16, METRIC_STATUSES = 22 };

struct metric {
    const char *name, *type;
    const char *labels[METRIC_LABELS_MAX + 1]; /* NULL after the last */
    const char *help;
    const double *bounds; /* [bound_count], rising; NULL: not a histogram */
    unsigned bound_count;
    double scale;
};

extern const struct metric metric_table[METRIC_TOTAL];
extern const unsigned metric_statuses[METRIC_STATUSES]; /* the last is 0: any other status */

struct metrics_digest {
    struct metrics_digest *older; /* a scrape may still be reading it: freed at close */
    char text[];
};

/* A copy of what series need of a model, which may be closed before the metrics are. */
struct metrics_series {
    const char *name, *version, *dtype, *kernels;
    double load_seconds;
    unsigned label_count;
    const char **labels;
    unsigned *same; /* [label_count] the first label of the same text: a series occurs once */
    size_t first_prediction;                 /* cells [label_count][DECISION_COUNT] */
    bool scores_are_shares;                  /* in 0..1, not the free numbers of a regression */
    bool has_ood;                            /* there is an ood_score */
    _Atomic(struct metrics_digest *) digest; /* written by metrics_set_digest, read by a scrape */
};

struct metrics {
    struct arena arena;
    unsigned route_count; /* without "other", which is route slot route_count */
    const char **routes;  /* [route_count + 1] */
    bool *takes_model;    /* [route_count + 1] */
    unsigned model_count; /* model slot model_count is no model, "" */
    struct metrics_series *models;
    unsigned queue_limit;
    size_t memory_max_bytes, memory_fixed_bytes;
    size_t (*memory_reserved)(void *context);
    uint64_t (*queue_depth)(void *context, unsigned model);
    void *context;
    const char *linear_backend, *blas_core;
    double start_seconds; /* of the process */

    size_t first[METRIC_TOTAL];
    size_t cell_count;       /* of one shard, whole cache lines */
    _Atomic uint64_t *cells; /* [METRIC_SHARDS][cell_count], on a cache line */
    void *memory;            /* what cells lies in */
    _Atomic uint64_t
        in_flight; /* one word: a scrape over shards could see an end before its begin */
};

static inline size_t metrics_histogram_cells(enum metric_id id)
{
    return metric_table[id].bound_count + 2;
}

/* Slots, not arguments: "other" and "" have been mapped. */
static inline size_t metrics_pair(const struct metrics *metrics, unsigned route, unsigned model)
{
    return (size_t)route * (metrics->model_count + 1) + model;
}

static inline size_t metrics_request_cell(const struct metrics *metrics, unsigned route,
                                          unsigned model, unsigned status_index)
{
    return metrics->first[METRIC_REQUESTS] + metrics_pair(metrics, route, model) * METRIC_STATUSES +
           status_index;
}

/* The first cell of the index-th series of a histogram. */
static inline size_t metrics_histogram_cell(const struct metrics *metrics, enum metric_id id,
                                            size_t index)
{
    return metrics->first[id] + index * metrics_histogram_cells(id);
}

#endif
