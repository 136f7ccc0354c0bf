/* metrics.c - see metrics.h. Counting must cost nothing that a request would notice: a few relaxed
 * additions on words that other cores do not write. So every counter exists once per shard, a
 * thread writes the shard of the core it runs on (sched_getcpu reads a word that the kernel keeps
 * current, with no system call), and only a scrape looks at all shards. A thread that is moved
 * between the choice and the addition merely shares a cache line for once: the additions are
 * atomic.
 *
 * All series have their place from metrics_open on, computed from the setup; nothing is allocated
 * or looked up while counting. An index out of range is not counted: a metric is never a reason to
 * stop. Sums are integers (metrics.def says in what unit), since doubles cannot be added without a
 * loop. */
#include "server/observe/metrics_process.h"
#include "server/observe/metrics_state.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, CELLS_PER_LINE = CACHE_LINE / sizeof(uint64_t) };

static const double latency_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                        0.25,   0.5,   1,      2.5,   5,    10,    30};
static const double score_bounds[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1};
/* Energies are some units about 0, distances from one to some thousands: even steps of their order.
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

static const char *copy(struct metrics *metrics, const char *text)
{
    return arena_copy(&metrics->arena, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
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

static bool copy_model(struct metrics *metrics, struct metrics_series *series,
                       const struct metrics_model *model)
{
    const struct engine_info *info = model->info;
    series->name = copy(metrics, model->name);
    series->version = copy(metrics, info->version);
    series->dtype = copy(metrics, info->dtype);
    series->kernels = copy(metrics, info->kernels);
    series->load_seconds = model->load_seconds;
    series->label_count = info->label_count;
    series->has_ood = info->ood_method != NULL;
    series->scores_are_shares = info->scores == NULL || strcmp(info->scores, "none") != 0;
    series->labels = arena_alloc_array(&metrics->arena, info->label_count, sizeof *series->labels);
    series->same = arena_alloc_array(&metrics->arena, info->label_count, sizeof *series->same);
    if (series->name == NULL || series->version == NULL || series->dtype == NULL ||
        series->kernels == NULL || series->labels == NULL || series->same == NULL)
        return false;
    for (unsigned i = 0; i < info->label_count; i++)
        if ((series->labels[i] = copy(metrics, info->labels[i])) == NULL)
            return false;
    return find_same_labels(series);
}

static bool copy_routes(struct metrics *metrics, const struct metrics_setup *setup)
{
    unsigned count = setup->route_count;
    metrics->route_count = count;
    metrics->routes =
        arena_alloc_array(&metrics->arena, (size_t)count + 1, sizeof *metrics->routes);
    metrics->takes_model =
        arena_alloc_array(&metrics->arena, (size_t)count + 1, sizeof *metrics->takes_model);
    if (metrics->routes == NULL || metrics->takes_model == NULL)
        return false;
    for (unsigned i = 0; i < count; i++) {
        metrics->routes[i] = copy(metrics, setup->routes[i]);
        metrics->takes_model[i] = setup->route_takes_model == NULL || setup->route_takes_model[i];
        if (metrics->routes[i] == NULL)
            return false;
    }
    metrics->routes[count] = "other";
    return true;
}

static bool copy_setup(struct metrics *metrics, const struct metrics_setup *setup)
{
    metrics->start_seconds = metrics_process_start();
    metrics->queue_limit = setup->queue_limit;
    metrics->memory_max_bytes = setup->memory_max_bytes;
    metrics->memory_fixed_bytes = setup->memory_fixed_bytes;
    metrics->memory_reserved = setup->memory_reserved;
    metrics->queue_depth = setup->queue_depth;
    metrics->context = setup->context;
    metrics->linear_backend = copy(metrics, setup->linear_backend);
    metrics->blas_core = copy(metrics, setup->blas_core);
    metrics->model_count = setup->model_count;
    metrics->models =
        arena_alloc_array(&metrics->arena, setup->model_count, sizeof *metrics->models);
    if (metrics->linear_backend == NULL || metrics->blas_core == NULL || metrics->models == NULL ||
        !copy_routes(metrics, setup))
        return false;
    for (unsigned i = 0; i < setup->model_count; i++)
        if (!copy_model(metrics, &metrics->models[i], &setup->models[i]))
            return false;
    return true;
}

static void reserve(struct metrics *metrics, enum metric_id id, size_t cells)
{
    metrics->first[id] = metrics->cell_count;
    metrics->cell_count += cells;
}

static void lay_out(struct metrics *metrics)
{
    size_t models = metrics->model_count;
    size_t pairs = metrics_pair(metrics, metrics->route_count + 1, 0);
    reserve(metrics, METRIC_REQUESTS, pairs * METRIC_STATUSES);
    reserve(metrics, METRIC_REQUEST_DURATION,
            pairs * metrics_histogram_cells(METRIC_REQUEST_DURATION));
    reserve(metrics, METRIC_STAGE_DURATION,
            models * STAGE_COUNT * metrics_histogram_cells(METRIC_STAGE_DURATION));
    reserve(metrics, METRIC_PREDICTION_SCORE,
            models * metrics_histogram_cells(METRIC_PREDICTION_SCORE));
    reserve(metrics, METRIC_OOD_SCORE, models * metrics_histogram_cells(METRIC_OOD_SCORE));
    reserve(metrics, METRIC_BATCH_ROWS, models * metrics_histogram_cells(METRIC_BATCH_ROWS));
    reserve(metrics, METRIC_BATCH_TOKENS, models * metrics_histogram_cells(METRIC_BATCH_TOKENS));
    reserve(metrics, METRIC_REJECTED, ERR_CODE_COUNT);
    reserve(metrics, METRIC_CLIENTS_GONE, 1);
    for (size_t i = 0; i < models; i++) {
        reserve(metrics, METRIC_PREDICTIONS,
                (size_t)metrics->models[i].label_count * DECISION_COUNT);
        metrics->models[i].first_prediction = metrics->first[METRIC_PREDICTIONS];
    }
    metrics->cell_count =
        (metrics->cell_count + CELLS_PER_LINE - 1) / CELLS_PER_LINE * CELLS_PER_LINE;
}

/* The cells of lay_out, generously: 32 for a status or a histogram. Copied names are few. */
size_t metrics_bytes(size_t routes, size_t models, size_t labels)
{
    enum { CELLS = 32, LABEL_BYTES = 256, SMALL_BYTES = 64 * 1024 };
    size_t pairs = (routes + 1) * (models + 1), per_model = STAGE_COUNT + 4;
    size_t cells = pairs * 2 * CELLS + models * per_model * CELLS + labels * DECISION_COUNT;
    return cells * METRIC_SHARDS * sizeof(uint64_t) + labels * LABEL_BYTES + SMALL_BYTES;
}

/* calloc, so that shards of cores that never count take no memory. */
static enum err_code allocate_cells(struct metrics *metrics, struct err *err)
{
    size_t count = metrics->cell_count * METRIC_SHARDS + CELLS_PER_LINE;
    metrics->memory = calloc(count, sizeof *metrics->cells);
    if (metrics->memory == NULL)
        return err_no_memory(err, count * sizeof *metrics->cells);
    size_t past = (uintptr_t)metrics->memory % CACHE_LINE;
    metrics->cells = (void *)((char *)metrics->memory + (past > 0 ? CACHE_LINE - past : 0));
    return ERR_OK;
}

enum err_code metrics_open(struct metrics **out, const struct metrics_setup *setup, struct err *err)
{
    *out = NULL;
    struct metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL)
        return err_no_memory(err, sizeof *metrics);
    arena_init(&metrics->arena);
    if (!copy_setup(metrics, setup)) {
        err_no_memory(err, metrics->arena.bytes);
    } else {
        lay_out(metrics);
        allocate_cells(metrics, err);
    }
    if (err->code) {
        metrics_close(metrics);
        return err->code;
    }
    *out = metrics;
    return ERR_OK;
}

void metrics_close(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    for (unsigned i = 0; metrics->models != NULL && i < metrics->model_count; i++)
        for (struct metrics_digest *digest = metrics->models[i].digest; digest != NULL;) {
            struct metrics_digest *older = digest->older;
            free(digest);
            digest = older;
        }
    free(metrics->memory);
    arena_deinit(&metrics->arena);
    free(metrics);
}

/* ---- counting -------------------------------------------------------------- */

static void count(struct metrics *metrics, size_t cell, uint64_t amount)
{
    int core = sched_getcpu();
    size_t shard = core < 0 ? 0 : (size_t)core % METRIC_SHARDS;
    atomic_fetch_add_explicit(&metrics->cells[shard * metrics->cell_count + cell], amount,
                              memory_order_relaxed);
}

static void observe(struct metrics *metrics, enum metric_id id, size_t index, double value)
{
    const struct metric *metric = &metric_table[id];
    size_t first = metrics_histogram_cell(metrics, id, index);
    unsigned bucket = 0;
    const double least = metric->bounds[0] < 0 ? -1e9 : 0;
    value = isnan(value) ? 0 : fmax(fmin(value, 1e9), least);
    while (bucket < metric->bound_count && value > metric->bounds[bucket])
        bucket++;
    count(metrics, first + bucket, 1);
    count(metrics, first + metric->bound_count + 1, (uint64_t)llround(value * metric->scale));
}

static unsigned status_index(unsigned status)
{
    unsigned i = 0;
    while (i < METRIC_STATUSES - 1 && metric_statuses[i] != status)
        i++;
    return i;
}

void metrics_request_begin(struct metrics *metrics)
{
    atomic_fetch_add_explicit(&metrics->in_flight, 1, memory_order_relaxed);
}

void metrics_request_end(struct metrics *metrics, int route, int model, unsigned status,
                         double seconds)
{
    unsigned route_slot = route < 0 || (unsigned)route > metrics->route_count ? metrics->route_count
                                                                              : (unsigned)route;
    unsigned model_slot = model < 0 || (unsigned)model > metrics->model_count ? metrics->model_count
                                                                              : (unsigned)model;
    atomic_fetch_sub_explicit(&metrics->in_flight, 1, memory_order_relaxed);
    count(metrics, metrics_request_cell(metrics, route_slot, model_slot, status_index(status)), 1);
    observe(metrics, METRIC_REQUEST_DURATION, metrics_pair(metrics, route_slot, model_slot),
            seconds);
}

void metrics_stage(struct metrics *metrics, unsigned model, enum metrics_stage stage,
                   double seconds)
{
    if (model < metrics->model_count && (unsigned)stage < STAGE_COUNT)
        observe(metrics, METRIC_STAGE_DURATION, (size_t)model * STAGE_COUNT + stage, seconds);
}

void metrics_prediction(struct metrics *metrics, unsigned model, unsigned label,
                        enum decision decision, double score)
{
    if (model >= metrics->model_count || label >= metrics->models[model].label_count ||
        (unsigned)decision >= DECISION_COUNT)
        return;
    const struct metrics_series *series = &metrics->models[model];
    count(metrics,
          series->first_prediction + (size_t)series->same[label] * DECISION_COUNT + decision, 1);
    if (series->scores_are_shares)
        observe(metrics, METRIC_PREDICTION_SCORE, model, score > 1 ? 1 : score);
}

void metrics_ood_score(struct metrics *metrics, unsigned model, double score)
{
    if (model < metrics->model_count)
        observe(metrics, METRIC_OOD_SCORE, model, score);
}

void metrics_batch(struct metrics *metrics, unsigned model, unsigned rows, unsigned tokens)
{
    if (model >= metrics->model_count)
        return;
    observe(metrics, METRIC_BATCH_ROWS, model, rows);
    observe(metrics, METRIC_BATCH_TOKENS, model, tokens);
}

void metrics_rejected(struct metrics *metrics, enum err_code reason)
{
    if ((unsigned)reason > ERR_OK && (unsigned)reason < ERR_CODE_COUNT)
        count(metrics, metrics->first[METRIC_REJECTED] + reason, 1);
}

void metrics_client_gone(struct metrics *metrics)
{
    count(metrics, metrics->first[METRIC_CLIENTS_GONE], 1);
}

void metrics_set_digest(struct metrics *metrics, unsigned model, const char *digest)
{
    size_t len = strlen(digest);
    struct metrics_digest *newer = malloc(sizeof *newer + len + 1);
    if (model >= metrics->model_count || newer == NULL) {
        free(newer);
        return;
    }
    memcpy(newer->text, digest, len + 1);
    newer->older = atomic_load_explicit(&metrics->models[model].digest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&metrics->models[model].digest, &newer->older,
                                                  newer, memory_order_release,
                                                  memory_order_relaxed))
        continue;
}
