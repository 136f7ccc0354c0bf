/* metrics.c - see metrics.h. Counting must not slow a request: it is a few relaxed additions on
 * words that other cores do not write. So every counter exists once per shard, a thread writes the
 * shard of the core it runs on (sched_getcpu reads a word that the kernel keeps current, with no
 * system call), and only a scrape looks at all shards. A thread that is moved between the choice
 * and the addition merely shares a cache line for once: the additions are atomic.
 *
 * A model's series have their place from metrics_add_model on; nothing is allocated or looked up
 * while counting. An index out of range is not counted: a metric must not cause a failure. Sums are
 * integers (metrics.def says in what unit), since doubles cannot be added without a loop. */
#include "server/observe/metrics_process.h"
#include "server/observe/metrics_state.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, CELLS_PER_LINE = CACHE_LINE / sizeof(uint64_t) };

static const double latency_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                        0.25,   0.5,   1,      2.5,   5,    10,    30};
static const double score_bounds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1};
/* Energies are some units about 0, distances from one to some thousands: even steps of that
 * magnitude.
 */
static const double ood_bounds[] = {-30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300, 1e3, 3e3, 1e4};
static const double row_bounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
static const double token_bounds[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};

_Static_assert(sizeof latency_bounds / sizeof latency_bounds[0] <= METRIC_BOUNDS_MAX,
               "a scrape holds every bucket of the longest table");

const struct metric metric_table[METRIC_TOTAL] = {
#define COUNTER "counter"
#define GAUGE "gauge"
#define LABELS(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define METRIC(id_, name_, type_, labels_, help_)                                                  \
    [METRIC_##id_] = {.name = name_, .type = type_, .labels = labels_, .help = help_},
#define HISTOGRAM(id_, name_, labels_, bounds_, scale_, help_)                                     \
    [METRIC_##id_] = {.name = name_,                                                               \
                      .type = "histogram",                                                         \
                      .labels = labels_,                                                           \
                      .help = help_,                                                               \
                      .bounds = bounds_,                                                           \
                      .bound_count = sizeof bounds_ / sizeof bounds_[0],                           \
                      .scale = scale_},
#include "server/observe/metrics.def"
#undef METRIC
#undef HISTOGRAM
};

/* Every status that this server or its HTTP library sends. */
const unsigned metric_statuses[METRIC_STATUSES] = {200, 304, 400, 401, 403, 404, 405, 406,
                                                   408, 409, 411, 413, 414, 415, 422, 429,
                                                   431, 500, 501, 503, 504, 0};

/* ---- opening --------------------------------------------------------------- */

const char *metrics_copy(struct arena *arena, const char *text)
{
    return arena_copy(arena, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

struct label_order {
    const char *text;
    unsigned index;
};

static int compare_labels(const void *left, const void *right)
{
    const struct label_order *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* Checkpoints exist that give two classes one name, and Prometheus refuses a whole scrape in which
 * a series occurs twice: same[i] is the first label with the text of label i. */
static bool find_same_labels(struct metrics_series *series)
{
    struct label_order *order = calloc(series->label_count + 1u, sizeof *order);
    if (order == NULL)
        return false;
    for (unsigned i = 0; i < series->label_count; i++)
        order[i] = (struct label_order){series->labels[i], i};
    qsort(order, series->label_count, sizeof *order, compare_labels);
    for (unsigned i = 0; i < series->label_count; i++) {
        bool again = i > 0 && strcmp(order[i].text, order[i - 1].text) == 0;
        series->same[order[i].index] = again ? series->same[order[i - 1].index] : order[i].index;
    }
    free(order);
    return true;
}

unsigned metrics_labels(const struct engine_info *info, const char **other)
{
    *other = info->task == ENGINE_ANSWER     ? "answers"
             : info->task == ENGINE_GENERATE ? "texts"
             : info->row_size > 0            ? "spans"
             : info->is_zero_shot            ? "other"
                                             : NULL;
    return info->row_size > 0 ? 0 : info->label_count;
}

static bool copy_labels(struct metrics_series *series, const struct engine_info *info)
{
    struct arena *arena = &series->arena;
    const char *other;
    const unsigned own = metrics_labels(info, &other);
    series->has_other = other != NULL;
    series->label_count = own + series->has_other;
    series->scores_are_shares =
        info->row_size == 0 && (info->scores == NULL || strcmp(info->scores, "none") != 0);
    series->has_ood = info->ood_method != NULL;
    series->reads_text = info->kind == ENGINE_TEXT;
    series->labels = arena_alloc_array(arena, series->label_count, sizeof *series->labels);
    series->same = arena_alloc_array(arena, series->label_count, sizeof *series->same);
    if (series->labels == NULL || series->same == NULL)
        return false;
    for (unsigned i = 0; i < own; i++)
        if ((series->labels[i] = metrics_copy(arena, info->labels[i])) == NULL)
            return false;
    if (other != NULL)
        series->labels[own] = other;
    return find_same_labels(series);
}

static bool copy_setup(struct metrics *metrics, const struct metrics_setup *setup)
{
    struct arena *arena = &metrics->arena;
    const unsigned count = setup->route_count;
    metrics->start_seconds = metrics_process_start();
    metrics->queue_limit = setup->queue_limit;
    metrics->memory_max_bytes = setup->memory_max_bytes;
    metrics->memory_fixed_bytes = setup->memory_fixed_bytes;
    metrics->linear_backend = metrics_copy(arena, setup->linear_backend);
    metrics->blas_core = metrics_copy(arena, setup->blas_core);
    metrics->route_count = count;
    metrics->routes = arena_alloc_array(arena, (size_t)count + 1, sizeof *metrics->routes);
    metrics->takes_model =
        arena_alloc_array(arena, (size_t)count + 1, sizeof *metrics->takes_model);
    if (metrics->linear_backend == NULL || metrics->blas_core == NULL || metrics->routes == NULL ||
        metrics->takes_model == NULL)
        return false;
    for (unsigned i = 0; i < count; i++) {
        metrics->routes[i] = metrics_copy(arena, setup->routes[i]);
        metrics->takes_model[i] = setup->route_takes_model == NULL || setup->route_takes_model[i];
        if (metrics->routes[i] == NULL)
            return false;
    }
    metrics->routes[count] = "other";
    return true;
}

/* ---- series ---------------------------------------------------------------- */

static void reserve(struct metrics_series *series, enum metric_id id, size_t cells)
{
    series->first[id] = series->cell_count;
    series->reserved[id] = cells;
    series->cell_count += cells;
}

static void reserve_histograms(struct metrics_series *series, enum metric_id id, size_t count)
{
    reserve(series, id, count * metrics_histogram_cells(id));
}

static void lay_out(struct metrics_series *series, unsigned routes)
{
    reserve(series, METRIC_REQUESTS, (routes + (size_t)1) * METRIC_STATUSES);
    reserve_histograms(series, METRIC_REQUEST_DURATION, routes + (size_t)1);
    reserve_histograms(series, METRIC_STAGE_DURATION, STAGE_COUNT);
    reserve_histograms(series, METRIC_PREDICTION_SCORE, 1);
    reserve_histograms(series, METRIC_OOD_SCORE, 1);
    reserve_histograms(series, METRIC_BATCH_ROWS, 1);
    reserve_histograms(series, METRIC_BATCH_TOKENS, 1);
    reserve(series, METRIC_TRUNCATED, 1);
    reserve(series, METRIC_REJECTED, ERR_CODE_COUNT);
    reserve(series, METRIC_CLIENTS_GONE, 1);
    reserve(series, METRIC_RELOADS, 2);
    reserve(series, METRIC_PREDICTIONS, (size_t)series->label_count * DECISION_COUNT);
    series->cell_count =
        (series->cell_count + CELLS_PER_LINE - 1) / CELLS_PER_LINE * CELLS_PER_LINE;
}

/* The cells of lay_out, generously: 32 for a status or a histogram. Copied names are few. */
size_t metrics_bytes(size_t routes, size_t models, size_t labels)
{
    enum { CELLS = 32, LABEL_BYTES = 256, SMALL_BYTES = 64 * 1024 };
    size_t pairs = (routes + 1) * (models + 1), per_model = STAGE_COUNT + 4;
    size_t cells = pairs * 2 * CELLS + models * per_model * CELLS + labels * DECISION_COUNT;
    return cells * METRIC_SHARDS * sizeof(uint64_t) + labels * LABEL_BYTES + SMALL_BYTES;
}

void metrics_series_close(struct metrics_series *series)
{
    if (series == NULL)
        return;
    free(series->memory);
    while (series->told != NULL)
        metrics_forget(series, series->told->generation);
    arena_deinit(&series->arena);
    free(series);
}

struct metrics_series *metrics_series_open(const struct metrics *metrics, const char *name,
                                           const struct engine_info *info)
{
    struct metrics_series *series = calloc(1, sizeof *series);
    if (series == NULL)
        return NULL;
    arena_init(&series->arena);
    series->name = metrics_copy(&series->arena, name);
    bool is_whole = series->name != NULL && (info == NULL || copy_labels(series, info));
    lay_out(series, metrics->route_count);
    /* calloc, so that shards of cores that never count take no memory. */
    size_t count = series->cell_count * METRIC_SHARDS + CELLS_PER_LINE;
    series->memory = is_whole ? calloc(count, sizeof *series->cells) : NULL;
    if (series->memory == NULL) {
        metrics_series_close(series);
        return NULL;
    }
    size_t past = (uintptr_t)series->memory % CACHE_LINE;
    series->cells = (void *)((char *)series->memory + (past > 0 ? CACHE_LINE - past : 0));
    return series;
}

enum err_code metrics_open(struct metrics **out, const struct metrics_setup *setup, struct err *err)
{
    *out = NULL;
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL)
        return err_no_memory(err, sizeof *metrics);
    arena_init(&metrics->arena);
    pthread_mutex_init(&metrics->lock, NULL);
    if (copy_setup(metrics, setup))
        metrics->none = metrics_series_open(metrics, "", NULL);
    if (metrics->none == NULL) {
        metrics_close(metrics);
        return err_no_memory(err, sizeof *metrics);
    }
    *out = metrics;
    return ERR_OK;
}

void metrics_close(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    for (unsigned i = 0; i < METRICS_SLOTS; i++)
        metrics_series_close(atomic_load_explicit(&metrics->slots[i], memory_order_relaxed));
    metrics_series_close(metrics->none);
    pthread_mutex_destroy(&metrics->lock);
    arena_deinit(&metrics->arena);
    free(metrics);
}

/* ---- counting -------------------------------------------------------------- */

static void count(struct metrics_series *series, size_t cell, uint64_t amount)
{
    int core = sched_getcpu();
    size_t shard = core < 0 ? 0 : (size_t)core % METRIC_SHARDS;
    atomic_fetch_add_explicit(&series->cells[shard * series->cell_count + cell], amount,
                              memory_order_relaxed);
}

static void observe(struct metrics_series *series, enum metric_id id, size_t index, double value)
{
    const struct metric *metric = &metric_table[id];
    const double least = metric->bounds[0] < 0 ? -1e9 : 0;
    size_t first = metrics_histogram_cell(series, id, index);
    unsigned bucket = 0;
    value = isnan(value) ? 0 : fmax(fmin(value, 1e9), least);
    while (bucket < metric->bound_count && value > metric->bounds[bucket])
        bucket++;
    count(series, first + bucket, 1);
    count(series, first + metric->bound_count + 1, (uint64_t)llround(value * metric->scale));
}

void metrics_request_begin(struct metrics *metrics)
{
    atomic_fetch_add_explicit(&metrics->in_flight, 1, memory_order_relaxed);
}

void metrics_request_end(struct metrics *metrics, int route, int model, unsigned status,
                         double seconds)
{
    unsigned index = route < 0 || (unsigned)route > metrics->route_count ? metrics->route_count
                                                                         : (unsigned)route;
    unsigned status_index = 0;
    while (status_index < METRIC_STATUSES - 1 && metric_statuses[status_index] != status)
        status_index++;
    struct metrics_series *series = model < 0 ? NULL : metrics_series_at(metrics, (unsigned)model);
    if (series == NULL)
        series = metrics->none;
    count(series, metrics_request_cell(series, index, status_index), 1);
    /* A refusal is quick and would make the rest look so. */
    if (status < 400 || (status >= 500 && status != 503))
        observe(series, METRIC_REQUEST_DURATION, index, seconds);
    /* Last: on a page, a request is counted or in flight, and may be both, never neither. */
    atomic_fetch_sub_explicit(&metrics->in_flight, 1, memory_order_release);
}

void metrics_stage(struct metrics *metrics, unsigned model, enum metrics_stage stage,
                   double seconds)
{
    struct metrics_series *series = metrics_series_at(metrics, model);
    if (series != NULL && (unsigned)stage < STAGE_COUNT)
        observe(series, METRIC_STAGE_DURATION, stage, seconds);
}

void metrics_read_stage(struct metrics *metrics, unsigned model, enum metrics_stage stage,
                        uint64_t *observed, double *seconds)
{
    const struct metrics_series *series = metrics_series_at(metrics, model);
    const struct metric *metric = &metric_table[METRIC_STAGE_DURATION];
    *observed = 0;
    *seconds = 0;
    if (series == NULL)
        return;
    const size_t first = metrics_histogram_cell(series, METRIC_STAGE_DURATION, stage);
    for (unsigned bucket = 0; bucket <= metric->bound_count; bucket++)
        *observed += metrics_cell_sum(series, first + bucket);
    *seconds = (double)metrics_cell_sum(series, first + metric->bound_count + 1) / metric->scale;
}

void metrics_prediction(struct metrics *metrics, unsigned model, unsigned label,
                        enum decision decision, double score)
{
    struct metrics_series *series = metrics_series_at(metrics, model);
    if (series != NULL && series->has_other && label == METRICS_OTHER_LABEL)
        label = series->label_count - 1;
    if (series == NULL || label >= series->label_count || (unsigned)decision >= DECISION_COUNT)
        return;
    size_t row = (size_t)series->same[label] * DECISION_COUNT;
    count(series, series->first[METRIC_PREDICTIONS] + row + decision, 1);
    if (series->scores_are_shares)
        observe(series, METRIC_PREDICTION_SCORE, 0, score > 1 ? 1 : score);
}

void metrics_truncated(struct metrics *metrics, unsigned model)
{
    struct metrics_series *series = metrics_series_at(metrics, model);
    if (series != NULL)
        count(series, series->first[METRIC_TRUNCATED], 1);
}

void metrics_ood_score(struct metrics *metrics, unsigned model, double score)
{
    struct metrics_series *series = metrics_series_at(metrics, model);
    if (series != NULL)
        observe(series, METRIC_OOD_SCORE, 0, score);
}

void metrics_batch(struct metrics *metrics, unsigned model, unsigned rows, unsigned tokens)
{
    struct metrics_series *series = metrics_series_at(metrics, model);
    if (series == NULL)
        return;
    observe(series, METRIC_BATCH_ROWS, 0, rows);
    observe(series, METRIC_BATCH_TOKENS, 0, tokens);
}

void metrics_rejected(struct metrics *metrics, enum err_code reason)
{
    if ((unsigned)reason > ERR_OK && (unsigned)reason < ERR_CODE_COUNT)
        count(metrics->none, metrics->none->first[METRIC_REJECTED] + reason, 1);
}

void metrics_client_gone(struct metrics *metrics)
{
    count(metrics->none, metrics->none->first[METRIC_CLIENTS_GONE], 1);
}

void metrics_reload(struct metrics *metrics, bool has_succeeded)
{
    count(metrics->none, metrics->none->first[METRIC_RELOADS] + has_succeeded, 1);
}

void metrics_set_backend(struct metrics *metrics, const char *linear_backend, const char *blas_core)
{
    pthread_mutex_lock(&metrics->lock);
    const char *backend = metrics_copy(&metrics->arena, linear_backend);
    const char *core = metrics_copy(&metrics->arena, blas_core);
    if (backend != NULL && core != NULL) {
        metrics->linear_backend = backend;
        metrics->blas_core = core;
    }
    pthread_mutex_unlock(&metrics->lock);
}
