/* metrics_state.h - what metrics.c counts into and metrics_expose.c reads. Private to both.
 *
 * All counters of a model are cells of one flat array per shard. first[id] is where a metric's
 * cells begin; the functions below say how they lie. A histogram takes its buckets (not cumulative,
 * the last one for what exceeds every bound) and then its sum, scaled to an integer.
 */
#ifndef ATTND_SERVER_OBSERVE_METRICS_STATE_H
#define ATTND_SERVER_OBSERVE_METRICS_STATE_H

#include "server/observe/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

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

enum { METRIC_DIGEST_BYTES = 80 };

/* The description of a model of one generation; under the metrics' lock. */
struct metrics_description {
    struct metrics_description *older;
    bool is_served; /* it is or was: not only opened by a reload that goes on */
    unsigned generation;
    double load_seconds;
    const char *version, *dtype, *kernels;
    char digest[METRIC_DIGEST_BYTES]; /* "": not known yet */
    struct arena arena;               /* holds the strings */
};

/* All that is counted for a model, or for none. Immutable but for the cells and what is under the
 * metrics' lock. */
struct metrics_series {
    /* Under the lock: one for each metrics_add_model, the latest first, and the one that a scrape
     * exposes; NULL: the series is not exposed, or only as part of a sibling. */
    struct metrics_description *told, *exposed;
    /* Under the lock: of the same name with other labels, whose counts are exposed with its own. */
    struct metrics_series *sibling;

    struct arena arena; /* holds what follows */
    const char *name;
    unsigned label_count; /* metrics_labels, and the other behind them */
    const char **labels;
    bool has_other;
    unsigned *same; /* [label_count] the first label of the same text: a series occurs once */
    bool scores_are_shares; /* in 0..1, not the free numbers of a regression */
    bool has_ood;           /* there is an ood_score */
    bool reads_text;        /* which may be longer than it reads */

    size_t first[METRIC_TOTAL];    /* where a metric's cells begin */
    size_t reserved[METRIC_TOTAL]; /* and how many there are */
    size_t cell_count;             /* of one shard, whole cache lines */
    _Atomic uint64_t *cells;       /* [METRIC_SHARDS][cell_count], on a cache line */
    void *memory;                  /* what cells lies in */
};

struct metrics {
    struct arena arena;
    unsigned route_count; /* without "other", which is route slot route_count */
    const char **routes;  /* [route_count + 1] */
    bool *takes_model;    /* [route_count + 1] */
    unsigned queue_limit;
    size_t memory_max_bytes, memory_fixed_bytes;
    struct metrics_collector collectors[METRIC_TOTAL]; /* immutable from the first scrape on */
    const char *linear_backend, *blas_core;
    double start_seconds;        /* of the process */
    struct metrics_series *none; /* of requests without a model, and of what has no model */
    _Atomic uint64_t
        in_flight; /* one word: a scrape over shards could see an end before its begin */

    pthread_mutex_t lock; /* of the slots, and of what describes a model */
    /* Written under lock; read by threads that count under a slot, which is then in use. */
    _Atomic(struct metrics_series *) slots[METRICS_SLOTS];
};

/* A copy in the arena, "" for NULL; NULL without memory. */
const char *metrics_copy(struct arena *arena, const char *text);

/* info NULL: of no model. Without a description. NULL without memory. */
struct metrics_series *metrics_series_open(const struct metrics *metrics, const char *name,
                                           const struct engine_info *info);
void metrics_series_close(struct metrics_series *series);

/* Drops the description of a generation. Under the lock, or by the only user of the series. */
void metrics_forget(struct metrics_series *series, unsigned generation);

/* Sum of the cell over all shards. */
uint64_t metrics_cell_sum(const struct metrics_series *series, size_t cell);

/* Labels of the model's own that its predictions are counted by, and the one behind them for all
 * others: "spans" of a model of tags and "answers" of one of questions, which count texts; "texts"
 * of one that writes; "other" of a zero-shot one; NULL: none. */
unsigned metrics_labels(const struct engine_info *info, const char **other);

/* The first label of the text; label_count if it has none. */
size_t metrics_find_label(const struct metrics_series *series, const char *text);

static inline struct metrics_series *metrics_series_at(const struct metrics *metrics, unsigned slot)
{
    return slot < METRICS_SLOTS ? atomic_load_explicit(&metrics->slots[slot], memory_order_acquire)
                                : NULL;
}

static inline size_t metrics_histogram_cells(enum metric_id id)
{
    return metric_table[id].bound_count + 2;
}

static inline size_t metrics_request_cell(const struct metrics_series *series, unsigned route,
                                          unsigned status_index)
{
    return series->first[METRIC_REQUESTS] + (size_t)route * METRIC_STATUSES + status_index;
}

/* The first cell of the index-th histogram of a metric. */
static inline size_t metrics_histogram_cell(const struct metrics_series *series, enum metric_id id,
                                            size_t index)
{
    return series->first[id] + index * metrics_histogram_cells(id);
}

#endif
