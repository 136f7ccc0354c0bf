/* metrics_models.c - the slots of metrics.h: which models are counted, and the description of each.
 *
 * A slot's series may belong to models of several generations at once, the one that is served, one
 * that a reload has opened and those that still answer. Each has a description in the series; the
 * scrape tells that of the latest which is or was served. */
#include "server/observe/metrics_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- descriptions ---- */

/* Puts a description in front of those of the series; false without memory. */
static bool describe(struct metrics_series *series, const struct metrics_model *model)
{
    struct metrics_description *told = calloc(1, sizeof *told);
    if (told == NULL)
        return false;
    arena_init(&told->arena);
    told->version = metrics_copy(&told->arena, model->info->version);
    told->dtype = metrics_copy(&told->arena, model->info->dtype);
    told->kernels = metrics_copy(&told->arena, model->info->kernels);
    told->load_seconds = model->load_seconds;
    told->generation = model->generation;
    told->older = series->told;
    series->told = told;
    if (told->version != NULL && told->dtype != NULL && told->kernels != NULL)
        return true;
    metrics_forget(series, told->generation);
    return false;
}

static struct metrics_description *find(const struct metrics_series *series, unsigned generation)
{
    struct metrics_description *told = series->told;
    while (told != NULL && told->generation != generation)
        told = told->older;
    return told;
}

void metrics_forget(struct metrics_series *series, unsigned generation)
{
    struct metrics_description **place = &series->told, *gone = find(series, generation);
    if (gone == NULL)
        return;
    while (*place != gone)
        place = &(*place)->older;
    *place = gone->older;
    arena_deinit(&gone->arena);
    free(gone);
}

/* A name has one series for each set of labels. Only the series of the latest model, served or
 * retired, is exposed; the counts of the others are exposed with it, as siblings. */
static void expose_latest_locked(struct metrics *metrics, const char *name)
{
    struct metrics_series *latest = NULL, *others = NULL;
    for (unsigned i = 0; i < METRICS_SLOTS; i++) {
        struct metrics_series *series = metrics_series_at(metrics, i);
        if (series == NULL || strcmp(series->name, name) != 0)
            continue;
        struct metrics_description *served = series->told;
        while (served != NULL && !served->is_served)
            served = served->older;
        bool is_later =
            served != NULL && (latest == NULL || served->generation > latest->exposed->generation);
        struct metrics_series *other = is_later ? latest : series;
        if (is_later)
            latest = series;
        if (other != NULL) {
            other->sibling = others;
            others = other;
        }
        series->exposed = is_later ? served : NULL;
        if (is_later && other != NULL)
            other->exposed = NULL;
    }
    if (latest != NULL)
        latest->sibling = others;
}

/* ---- counts ---- */

uint64_t metrics_cell_sum(const struct metrics_series *series, size_t cell)
{
    uint64_t sum = 0;
    for (size_t shard = 0; shard < METRIC_SHARDS; shard++)
        sum += atomic_load_explicit(&series->cells[shard * series->cell_count + cell],
                                    memory_order_relaxed);
    return sum;
}

size_t metrics_find_label(const struct metrics_series *series, const char *text)
{
    size_t label = 0;
    while (label < series->label_count && strcmp(series->labels[label], text) != 0)
        label++;
    return label;
}

static void add(const struct metrics_series *to, size_t cell, uint64_t count)
{
    atomic_fetch_add_explicit(&to->cells[cell], count, memory_order_relaxed);
}

/* Counters never fall: what a series counted that is removed goes on in one of its name. Labels
 * that this one lacks are no longer told at all. */
static void hand_down(const struct metrics_series *from, const struct metrics_series *to)
{
    for (unsigned id = 0; id < METRIC_TOTAL; id++)
        for (size_t i = 0; id != METRIC_PREDICTIONS && i < from->reserved[id]; i++)
            add(to, to->first[id] + i, metrics_cell_sum(from, from->first[id] + i));
    for (size_t label = 0; label < from->label_count; label++) {
        const size_t same = metrics_find_label(to, from->labels[label]);
        for (size_t i = 0; same < to->label_count && i < DECISION_COUNT; i++)
            add(to, to->first[METRIC_PREDICTIONS] + same * DECISION_COUNT + i,
                metrics_cell_sum(from,
                                 from->first[METRIC_PREDICTIONS] + label * DECISION_COUNT + i));
    }
}

/* ---- slots ---- */

static bool has_labels(const struct metrics_series *series, const struct engine_info *info)
{
    const char *other;
    const unsigned own = metrics_labels(info, &other);
    bool is_same = series->label_count == own + (other != NULL);
    for (unsigned i = 0; is_same && i < own; i++)
        is_same = strcmp(series->labels[i], info->labels[i]) == 0;
    return is_same && (other != NULL ? series->has_other && strcmp(series->labels[own], other) == 0
                                     : !series->has_other);
}

/* The slot that the model shares with an earlier one of its name and labels, else a free one;
 * METRICS_SLOTS: there is none. */
static unsigned choose_locked(const struct metrics *metrics, const struct metrics_model *model)
{
    unsigned chosen = METRICS_SLOTS;
    for (unsigned i = METRICS_SLOTS; i-- > 0;) {
        const struct metrics_series *series = metrics_series_at(metrics, i);
        if (series == NULL)
            chosen = i;
    }
    for (unsigned i = 0; i < METRICS_SLOTS; i++) {
        const struct metrics_series *series = metrics_series_at(metrics, i);
        if (series != NULL && strcmp(series->name, model->name) == 0 &&
            has_labels(series, model->info))
            chosen = i;
    }
    return chosen;
}

static enum err_code enter_locked(struct metrics *metrics, const struct metrics_model *model,
                                  unsigned slot, struct err *err)
{
    if (slot == METRICS_SLOTS)
        return err_set(err, ERR_UNUSABLE, "metrics: more than %d models at once", METRICS_SLOTS);
    struct metrics_series *before = metrics_series_at(metrics, slot);
    struct metrics_series *series =
        before != NULL ? before : metrics_series_open(metrics, model->name, model->info);
    if (series == NULL || !describe(series, model)) {
        if (before == NULL)
            metrics_series_close(series);
        return err_no_memory(err, sizeof *series);
    }
    atomic_store_explicit(&metrics->slots[slot], series, memory_order_release);
    return ERR_OK;
}

enum err_code metrics_add_model(struct metrics *metrics, const struct metrics_model *model,
                                unsigned *slot, struct err *err)
{
    pthread_mutex_lock(&metrics->lock);
    *slot = choose_locked(metrics, model);
    enter_locked(metrics, model, *slot, err);
    pthread_mutex_unlock(&metrics->lock);
    return err->code;
}

void metrics_serve_model(struct metrics *metrics, unsigned slot, unsigned generation)
{
    pthread_mutex_lock(&metrics->lock);
    struct metrics_series *series = metrics_series_at(metrics, slot);
    find(series, generation)->is_served = true;
    expose_latest_locked(metrics, series->name);
    pthread_mutex_unlock(&metrics->lock);
}

static struct metrics_series *exposed_of_locked(const struct metrics *metrics, const char *name)
{
    for (unsigned i = 0; i < METRICS_SLOTS; i++) {
        struct metrics_series *series = metrics_series_at(metrics, i);
        if (series != NULL && series->exposed != NULL && strcmp(series->name, name) == 0)
            return series;
    }
    return NULL;
}

void metrics_remove_model(struct metrics *metrics, unsigned slot, unsigned generation)
{
    pthread_mutex_lock(&metrics->lock);
    struct metrics_series *series = metrics_series_at(metrics, slot);
    metrics_forget(series, generation);
    bool is_last = series->told == NULL;
    if (is_last)
        atomic_store_explicit(&metrics->slots[slot], NULL, memory_order_release);
    expose_latest_locked(metrics, series->name);
    struct metrics_series *heir = is_last ? exposed_of_locked(metrics, series->name) : NULL;
    if (heir != NULL)
        hand_down(series, heir);
    pthread_mutex_unlock(&metrics->lock);
    if (is_last)
        metrics_series_close(series);
}

void metrics_set_digest(struct metrics *metrics, unsigned slot, unsigned generation,
                        const char *digest)
{
    struct metrics_series *series = metrics_series_at(metrics, slot);
    if (series == NULL)
        return;
    pthread_mutex_lock(&metrics->lock);
    struct metrics_description *told = find(series, generation);
    if (told != NULL)
        snprintf(told->digest, sizeof told->digest, "%s", digest);
    pthread_mutex_unlock(&metrics->lock);
}
