/* metrics_expose.c - the scrape: sums the shards and writes Prometheus' text format 0.0.4
 * (prometheus.io/docs/instrumenting/exposition_formats). One function per metric or shape of metric
 * that is counted in metrics.c knows its label values, the collectors know those of their own;
 * names, types, help and label names come from the table.
 *
 * A counter is read once per scrape. A histogram's buckets are read once, its cumulative counts and
 * _count are computed from that reading, so they agree with each other under any load; _sum is read
 * after them and may be ahead by what was observed in between. */
#include "server/observe/metrics_state.h"
#include "server/observe/metrics_text.h"

#include "server/observe/metrics_process.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#ifndef ATTND_VERSION
#define ATTND_VERSION "unknown"
#endif

/* The offset-th cell of a metric, of the series and its siblings. */
static uint64_t cell_sum(const struct metrics_series *series, enum metric_id id, size_t offset)
{
    uint64_t sum = 0;
    for (; series != NULL; series = series->sibling)
        sum += metrics_cell_sum(series, series->first[id] + offset);
    return sum;
}

/* The series whose cells begin at `first`; one never observed is left out unless `at_zero`. */
static void put_histogram(struct metrics_text *text, const struct metrics_series *series,
                          enum metric_id id, size_t index, const char *const *values, bool at_zero)
{
    const struct metric *metric = &metric_table[id];
    size_t first = index * metrics_histogram_cells(id);
    uint64_t cumulative[METRIC_BOUNDS_MAX + 1], total = 0;
    for (unsigned i = 0; i <= metric->bound_count; i++)
        cumulative[i] = total += cell_sum(series, id, first + i);
    if (total == 0 && !at_zero)
        return;
    for (unsigned i = 0; i < metric->bound_count; i++) {
        char le[32];
        snprintf(le, sizeof le, "%g", metric->bounds[i]);
        metrics_text_sample(text, id, "_bucket", values, le, (double)cumulative[i]);
    }
    metrics_text_sample(text, id, "_bucket", values, "+Inf", (double)total);
    metrics_text_sample(text, id, "_sum", values, NULL,
                        (double)(int64_t)cell_sum(series, id, first + metric->bound_count + 1) /
                            metric->scale);
    metrics_text_sample(text, id, "_count", values, NULL, (double)total);
}

/* ---- one function per metric of routes -------------------------------------- */

/* The next model that is exposed, from *slot on; the last one is none at all, ""; NULL behind
 * it. */
static const struct metrics_series *next_series(const struct metrics *metrics, unsigned *slot,
                                                bool with_none)
{
    while (*slot < METRICS_SLOTS) {
        const struct metrics_series *series =
            atomic_load_explicit(&metrics->slots[(*slot)++], memory_order_relaxed);
        if (series != NULL && series->exposed != NULL)
            return series;
    }
    return (*slot)++ == METRICS_SLOTS && with_none ? metrics->none : NULL;
}

/* Routes that take a model exist once for each model, and every route without one. */
static bool exists_at_zero(const struct metrics *metrics, unsigned route,
                           const struct metrics_series *series)
{
    return series == metrics->none || metrics->takes_model[route];
}

/* increase() misses the step from no series to 1, and a ratio of nothing is not 0: every status
 * that a client can get is there from the start. Paths of no route are 404; where nothing is
 * predicted, only the server can fail. */
static bool status_exists_at_zero(const struct metrics *metrics, unsigned route, unsigned status)
{
    static const unsigned predicting[] = {200, 400, 404, 408, 411, 413,
                                          415, 422, 429, 500, 503, 504};
    if (route == metrics->route_count)
        return status == 404;
    if (!metrics->takes_model[route])
        return status == 200 || status == 500 || status == 503;
    for (size_t i = 0; i < sizeof predicting / sizeof predicting[0]; i++)
        if (predicting[i] == status)
            return true;
    return false;
}

static void write_route(struct metrics_text *text, const struct metrics *metrics, unsigned route,
                        const struct metrics_series *series)
{
    for (unsigned status = 0; status < METRIC_STATUSES; status++) {
        uint64_t sum = cell_sum(series, METRIC_REQUESTS, (size_t)route * METRIC_STATUSES + status);
        char code[16] = "other";
        if (sum == 0 && !(exists_at_zero(metrics, route, series) &&
                          status_exists_at_zero(metrics, route, metric_statuses[status])))
            continue;
        if (metric_statuses[status] != 0)
            snprintf(code, sizeof code, "%u", metric_statuses[status]);
        const char *const values[] = {metrics->routes[route], series->name, code};
        metrics_text_value(text, METRIC_REQUESTS, values, (double)sum);
    }
}

static void write_requests(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    (void)id;
    for (unsigned route = 0; route <= metrics->route_count; route++) {
        unsigned slot = 0;
        for (const struct metrics_series *series;
             (series = next_series(metrics, &slot, true)) != NULL;)
            write_route(text, metrics, route, series);
    }
}

/* Only what was observed: routes times models times buckets would be half of the page. rate() and
 * histogram_quantile() of a series that is not there yet are nothing, and of one at zero NaN; no
 * alert tells these apart. */
static void write_request_duration(struct metrics_text *text, struct metrics *metrics,
                                   enum metric_id id)
{
    for (unsigned route = 0; route <= metrics->route_count; route++) {
        unsigned slot = 0;
        for (const struct metrics_series *series;
             (series = next_series(metrics, &slot, true)) != NULL;) {
            const char *const values[] = {metrics->routes[route], series->name};
            put_histogram(text, series, id, route, values, false);
        }
    }
}

/* ---- one function per metric of a model ------------------------------------ */

static void write_stages(struct metrics_text *text, const struct metrics_series *series,
                         enum metric_id id)
{
    static const char *const stages[STAGE_COUNT] = {
        [STAGE_PARSE] = "parse",         [STAGE_PREPARE] = "prepare", [STAGE_QUEUE] = "queue",
        [STAGE_INFERENCE] = "inference", [STAGE_SIMILAR] = "similar", [STAGE_EXPLAIN] = "explain",
        [STAGE_ENCODE] = "encode"};
    for (unsigned stage = 0; stage < STAGE_COUNT; stage++) {
        const char *const values[] = {series->name, stages[stage]};
        put_histogram(text, series, id, stage, values, true);
    }
}

/* True if an earlier label of the series, or a label of a series before it, has the same text. */
static bool is_written(const struct metrics_series *first, const struct metrics_series *series,
                       size_t label)
{
    const char *text = series->labels[label];
    for (; first != series; first = first->sibling)
        if (metrics_find_label(first, text) < first->label_count)
            return true;
    return series->same[label] != label;
}

static void write_label(struct metrics_text *text, const struct metrics_series *first,
                        const char *label)
{
    for (size_t decision = 0; decision < DECISION_COUNT; decision++) {
        const char *const values[] = {first->name, label, decision_name((enum decision)decision)};
        uint64_t sum = 0;
        for (const struct metrics_series *series = first; series != NULL;
             series = series->sibling) {
            const size_t at = metrics_find_label(series, label);
            if (at < series->label_count)
                sum += metrics_cell_sum(series, series->first[METRIC_PREDICTIONS] +
                                                    at * DECISION_COUNT + decision);
        }
        metrics_text_value(text, METRIC_PREDICTIONS, values, (double)sum);
    }
}

static void write_predictions(struct metrics_text *text, const struct metrics_series *first,
                              enum metric_id id)
{
    (void)id;
    for (const struct metrics_series *series = first; series != NULL; series = series->sibling)
        for (size_t label = 0; label < series->label_count; label++)
            if (!is_written(first, series, label))
                write_label(text, first, series->labels[label]);
}

static void write_truncated(struct metrics_text *text, const struct metrics_series *series,
                            enum metric_id id)
{
    if (series->reads_text)
        metrics_text_value(text, id, &series->name, (double)cell_sum(series, id, 0));
}

static void write_histogram(struct metrics_text *text, const struct metrics_series *series,
                            enum metric_id id)
{
    if ((id != METRIC_PREDICTION_SCORE || series->scores_are_shares) &&
        (id != METRIC_OOD_SCORE || series->has_ood))
        put_histogram(text, series, id, 0, &series->name, true);
}

/* One number. */
static void write_value(struct metrics_text *text, const struct metrics_series *series,
                        enum metric_id id)
{
    metrics_text_value(text, id, &series->name,
                       id == METRIC_MODEL_LOAD ? series->exposed->load_seconds
                                               : series->exposed->generation);
}

static void write_model_info(struct metrics_text *text, const struct metrics_series *series,
                             enum metric_id id)
{
    const struct metrics_description *told = series->exposed;
    const char *const values[] = {series->name, told->version, told->digest, told->dtype,
                                  told->kernels};
    metrics_text_value(text, id, values, 1);
}

/* ---- one function per other metric ----------------------------------------- */

/* One number. */
static void write_number(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    const double number = id == METRIC_QUEUE_LIMIT    ? metrics->queue_limit
                          : id == METRIC_MEMORY_MAX   ? (double)metrics->memory_max_bytes
                          : id == METRIC_MEMORY_FIXED ? (double)metrics->memory_fixed_bytes
                          : id == METRIC_CLIENTS_GONE ? (double)cell_sum(metrics->none, id, 0)
                                                      : (double)text->in_flight;
    metrics_text_value(text, id, NULL, number);
}

static void write_rejected(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    for (int code = ERR_OK + 1; code < ERR_CODE_COUNT; code++) {
        const char *const values[] = {err_name((enum err_code)code)};
        metrics_text_value(text, id, values, (double)cell_sum(metrics->none, id, (size_t)code));
    }
}

static void write_reloads(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    static const char *const results[] = {"failure", "success"};
    for (size_t i = 0; i < 2; i++)
        metrics_text_value(text, id, &results[i], (double)cell_sum(metrics->none, id, i));
}

static void write_build_info(struct metrics_text *text, struct metrics *metrics, enum metric_id id)
{
    const char *const values[] = {ATTND_VERSION, metrics->linear_backend, metrics->blas_core};
    metrics_text_value(text, id, values, 1);
}

/* A metric without a writer has a collector, or is of the process. */
static void (*const writers[METRIC_TOTAL])(struct metrics_text *text, struct metrics *metrics,
                                           enum metric_id id) = {
    [METRIC_REQUESTS] = write_requests,   [METRIC_REQUEST_DURATION] = write_request_duration,
    [METRIC_QUEUE_LIMIT] = write_number,  [METRIC_MEMORY_MAX] = write_number,
    [METRIC_MEMORY_FIXED] = write_number, [METRIC_REQUESTS_IN_FLIGHT] = write_number,
    [METRIC_REJECTED] = write_rejected,   [METRIC_CLIENTS_GONE] = write_number,
    [METRIC_RELOADS] = write_reloads,     [METRIC_BUILD_INFO] = write_build_info,
};

/* Writers of metrics that each model has. */
static void (*const model_writers[METRIC_TOTAL])(struct metrics_text *text,
                                                 const struct metrics_series *series,
                                                 enum metric_id id) = {
    [METRIC_STAGE_DURATION] = write_stages,      [METRIC_PREDICTIONS] = write_predictions,
    [METRIC_PREDICTION_SCORE] = write_histogram, [METRIC_OOD_SCORE] = write_histogram,
    [METRIC_TRUNCATED] = write_truncated,        [METRIC_BATCH_ROWS] = write_histogram,
    [METRIC_BATCH_TOKENS] = write_histogram,     [METRIC_MODEL_INFO] = write_model_info,
    [METRIC_MODEL_LOAD] = write_value,           [METRIC_MODEL_GENERATION] = write_value,
};

static void write_process(struct metrics_text *text, const struct metrics *metrics)
{
    struct metrics_process now;
    metrics_process_read(&now);
    const struct {
        enum metric_id id;
        double number;
    } rows[] = {{METRIC_PROCESS_CPU, now.cpu_seconds},
                {METRIC_PROCESS_OPEN_FDS, now.open_fds},
                {METRIC_PROCESS_MAX_FDS, now.max_fds},
                {METRIC_PROCESS_VIRTUAL, now.virtual_bytes},
                {METRIC_PROCESS_RESIDENT, now.resident_bytes},
                {METRIC_PROCESS_START, metrics->start_seconds}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number < 0)
            continue;
        metrics_text_family(text, rows[i].id);
        metrics_text_value(text, rows[i].id, NULL, rows[i].number);
    }
}

/* ---- collectors ------------------------------------------------------------ */

/* The last rows of metrics.def: write_process has them, without the lock. */
static bool is_of_process(enum metric_id id)
{
    return id >= METRIC_PROCESS_CPU;
}

void metrics_register(struct metrics *metrics, const enum metric_id *ids, unsigned count,
                      struct metrics_collector collector)
{
    for (unsigned i = 0; i < count; i++) {
        assert(ids[i] < METRIC_TOTAL && !is_of_process(ids[i]));
        assert(writers[ids[i]] == NULL && model_writers[ids[i]] == NULL);
        assert(metrics->collectors[ids[i]].collect == NULL);
        metrics->collectors[ids[i]] = collector;
        collector.begin = NULL; /* once for all of them */
    }
}

void metrics_expose_models(const struct metrics *metrics, struct metrics_text *out,
                           enum metric_id id, double (*value)(void *context, unsigned slot),
                           void *context)
{
    unsigned slot = 0;
    for (const struct metrics_series *series;
         (series = next_series(metrics, &slot, false)) != NULL;)
        metrics_text_value(out, id, &series->name, value(context, slot - 1));
}

/* ---- the page -------------------------------------------------------------- */

/* A cell is at most a line; names of models and labels are short. The text doubles as it grows, so
 * that all its copies together take up to four times its length. */
size_t metrics_expose_bytes(struct metrics *metrics)
{
    enum { LINE_BYTES = 192, NEW = 16 };
    size_t lines = 0;
    unsigned slot = 0;
    pthread_mutex_lock(&metrics->lock);
    for (const struct metrics_series *series; (series = next_series(metrics, &slot, true)) != NULL;)
        for (; series != NULL; series = series->sibling)
            lines += series->cell_count + 8; /* and lines without a cell, as model_info */
    pthread_mutex_unlock(&metrics->lock);
    /* Each series of a collector counts twice, since its labels may be long, and new series may
     * come before the scrape. */
    for (int id = 0; id < METRIC_TOTAL; id++) {
        const struct metrics_collector *collector = &metrics->collectors[id];
        if (collector->series != NULL)
            lines += 2 * collector->series(collector->context, (enum metric_id)id) + NEW;
    }
    return 2 * (size_t)METRICS_TEXT_BYTES_FIRST + 4 * lines * LINE_BYTES;
}

/* Models come and go under the lock, which a scrape holds from its first line to its last. */
const char *metrics_expose(struct metrics *metrics, struct arena *arena, size_t *len)
{
    struct metrics_text text = {
        .arena = arena,
        .in_flight = atomic_load_explicit(&metrics->in_flight, memory_order_acquire)};
    pthread_mutex_lock(&metrics->lock);
    for (int id = 0; id < METRIC_TOTAL; id++)
        if (metrics->collectors[id].begin != NULL)
            metrics->collectors[id].begin(metrics->collectors[id].context);
    for (enum metric_id id = 0; !is_of_process(id); id++) {
        const struct metrics_collector *collector = &metrics->collectors[id];
        unsigned slot = 0;
        metrics_text_family(&text, id);
        for (const struct metrics_series *series;
             model_writers[id] != NULL && (series = next_series(metrics, &slot, false)) != NULL;)
            model_writers[id](&text, series, id);
        if (writers[id] != NULL)
            writers[id](&text, metrics, id);
        else if (collector->collect != NULL)
            collector->collect(collector->context, id, &text);
    }
    pthread_mutex_unlock(&metrics->lock);
    write_process(&text, metrics);
    return metrics_text_end(&text, len);
}
