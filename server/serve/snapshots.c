/* snapshots.c - see snapshots.h.
 *
 * Two threads of its own. The closer waits for snapshots without holders: closing one may free
 * gigabytes, too long for the thread of the request that held it last. The digester hashes weights:
 * hundreds of megabytes, which must not delay readiness.
 */
#include "server/serve/snapshots.h"

#include "config/config_load.h"
#include "server/observe/log.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct snapshots {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* with lock: a snapshot was published or retired, or all is closing */
    /* Under lock. */
    struct snapshot *current;
    struct snapshot *retired; /* to be closed, by next */
    bool is_closing;
    bool is_hashing; /* the digester is to go on */
    unsigned published;
    /* Used only by the thread that opens and closes. */
    pthread_t closer, digester;
    bool has_digester;
    atomic_bool stop_hashing; /* partners: snapshots_stop_digests, engine_digest */
};

/* ---- one snapshot ---- */

enum err_code snapshot_create(struct snapshot **out, unsigned generation, struct config *config,
                              struct err *err)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    *out = NULL;
    if (snapshot != NULL) {
        snapshot->models = calloc(config->model_count + 1u, sizeof(struct served_model *));
        snapshot->indexes = calloc(config->model_count + 1u, sizeof(struct served_index *));
    }
    if (snapshot == NULL || snapshot->models == NULL || snapshot->indexes == NULL) {
        if (snapshot != NULL) {
            free(snapshot->models);
            free(snapshot->indexes);
        }
        free(snapshot);
        return err_no_memory(err, sizeof *snapshot);
    }
    snapshot->generation = generation;
    snapshot->config = *config;
    atomic_init(&snapshot->users, 1);
    *config = (struct config){0};
    *out = snapshot;
    return ERR_OK;
}

void snapshot_add(struct snapshot *snapshot, struct served_model *model)
{
    snapshot->models[snapshot->model_count++] = model;
}

void snapshot_add_index(struct snapshot *snapshot, struct served_index *index)
{
    snapshot->indexes[snapshot->model_count - 1] = index;
}

enum err_code snapshot_read_keys(struct snapshot *snapshot, const struct snapshot *before,
                                 struct err *err)
{
    return keys_read(&snapshot->keys, snapshot->config.keys_file,
                     before != NULL ? before->keys : NULL, err);
}

void snapshot_discard(struct snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        served_index_release(snapshot->indexes[i]);
        served_model_release(snapshot->models[i]);
    }
    free(snapshot->indexes);
    free(snapshot->models);
    keys_close(snapshot->keys);
    config_deinit(&snapshot->config);
    free(snapshot);
}

struct served_model *snapshot_find(const struct snapshot *snapshot, const char *name)
{
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (strcmp(snapshot->models[i]->name, name) == 0)
            return snapshot->models[i];
    return NULL;
}

struct served_model *snapshot_default(const struct snapshot *snapshot, enum engine_kind kind)
{
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (engine_reads(snapshot->models[i]->info, kind))
            return snapshot->models[i];
    return NULL;
}

struct served_index *snapshot_index(const struct snapshot *snapshot,
                                    const struct served_model *model, bool *is_public)
{
    unsigned i = 0;
    while (i < snapshot->model_count && snapshot->models[i] != model)
        i++;
    *is_public = i < snapshot->model_count && snapshot->config.models[i].is_public;
    return i < snapshot->model_count ? snapshot->indexes[i] : NULL;
}

bool snapshot_is_default(const struct snapshot *snapshot, const struct served_model *model)
{
    return snapshot_default(snapshot, model->info->kind) == model;
}

/* ---- the closer ---- */

static void *closer_main(void *context)
{
    struct snapshots *snapshots = context;
    pthread_mutex_lock(&snapshots->lock);
    while (!snapshots->is_closing || snapshots->retired != NULL) {
        struct snapshot *snapshot = snapshots->retired;
        if (snapshot == NULL) {
            pthread_cond_wait(&snapshots->changed, &snapshots->lock);
            continue;
        }
        snapshots->retired = snapshot->next;
        pthread_mutex_unlock(&snapshots->lock);
        snapshot_discard(snapshot);
        pthread_mutex_lock(&snapshots->lock);
    }
    pthread_mutex_unlock(&snapshots->lock);
    return NULL;
}

static void tell_metrics(const struct snapshot *snapshot)
{
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (model->metrics != NULL && model->generation == snapshot->generation)
            metrics_serve_model(model->metrics, model->slot, model->generation);
    }
}

enum err_code snapshots_open(struct snapshots **out, struct snapshot *first, struct err *err)
{
    struct snapshots *snapshots = calloc(1, sizeof *snapshots);
    *out = NULL;
    if (snapshots == NULL)
        return err_no_memory(err, sizeof *snapshots);
    pthread_mutex_init(&snapshots->lock, NULL);
    pthread_cond_init(&snapshots->changed, NULL);
    int failure = pthread_create(&snapshots->closer, NULL, closer_main, snapshots);
    if (failure != 0) {
        pthread_cond_destroy(&snapshots->changed);
        pthread_mutex_destroy(&snapshots->lock);
        free(snapshots);
        return err_no_thread(err, failure);
    }
    snapshots->current = first;
    tell_metrics(first);
    *out = snapshots;
    return ERR_OK;
}

void snapshots_close(struct snapshots *snapshots)
{
    if (snapshots == NULL)
        return;
    snapshots_stop_digests(snapshots);
    snapshots_release(snapshots, snapshots->current);
    pthread_mutex_lock(&snapshots->lock);
    snapshots->is_closing = true;
    pthread_mutex_unlock(&snapshots->lock);
    pthread_cond_broadcast(&snapshots->changed);
    pthread_join(snapshots->closer, NULL);
    pthread_cond_destroy(&snapshots->changed);
    pthread_mutex_destroy(&snapshots->lock);
    free(snapshots);
}

/* The lock makes reading the pointer and holding what it points to one step. */
const struct snapshot *snapshots_acquire(struct snapshots *snapshots)
{
    pthread_mutex_lock(&snapshots->lock);
    struct snapshot *snapshot = snapshots->current;
    atomic_fetch_add_explicit(&snapshot->users, 1, memory_order_relaxed);
    pthread_mutex_unlock(&snapshots->lock);
    return snapshot;
}

void snapshots_release(struct snapshots *snapshots, const struct snapshot *held)
{
    struct snapshot *snapshot = (struct snapshot *)(uintptr_t)held;
    if (atomic_fetch_sub_explicit(&snapshot->users, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_lock(&snapshots->lock);
    snapshot->next = snapshots->retired;
    snapshots->retired = snapshot;
    pthread_mutex_unlock(&snapshots->lock);
    pthread_cond_broadcast(&snapshots->changed);
}

void snapshots_publish(struct snapshots *snapshots, struct snapshot *next)
{
    tell_metrics(next);
    pthread_mutex_lock(&snapshots->lock);
    struct snapshot *old = snapshots->current;
    snapshots->current = next;
    snapshots->published++;
    pthread_mutex_unlock(&snapshots->lock);
    pthread_cond_broadcast(&snapshots->changed);
    snapshots_release(snapshots, old);
}

/* ---- digests ---- */

struct hashing {
    struct served_model *model;
    const atomic_bool *stop;
    struct err err;
};

/* Only spare time is spent on a digest: SCHED_IDLE is an attribute of this thread alone on Linux. A
 * system that refuses it hashes at normal priority. */
static void *hash_main(void *context)
{
    struct hashing *hashing = context;
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    engine_digest(hashing->model->engine, hashing->stop, hashing->model->digest_text,
                  &hashing->err);
    return NULL;
}

static void compute_digest(struct snapshots *snapshots, struct served_model *model)
{
    struct hashing hashing = {.model = model, .stop = &snapshots->stop_hashing};
    /* In a thread of its own, which holds no lock that others wait for and ends when it has hashed:
     * a thread with SCHED_IDLE may not be allowed back to normal priority. */
    pthread_t thread;
    int failure = pthread_create(&thread, NULL, hash_main, &hashing);
    if (failure != 0)
        err_no_thread(&hashing.err, failure);
    else
        pthread_join(thread, NULL);
    if (hashing.err.code == ERR_NOT_READY)
        return;
    if (hashing.err.code != ERR_OK) {
        log_event(LOG_WARN, "digest_failed", LOG_TEXT("model", model->name),
                  LOG_TEXT("error", hashing.err.text));
        return;
    }
    if (served_model_stamp(model->dir) != model->stamp) {
        log_event(LOG_WARN, "digest_failed", LOG_TEXT("model", model->name),
                  LOG_TEXT("error", "its files are no longer those that were loaded"));
        return;
    }
    atomic_store_explicit(&model->digest, model->digest_text, memory_order_release);
    metrics_set_digest(model->metrics, model->slot, model->generation, model->digest_text);
    log_event(LOG_INFO, "model_digest", LOG_TEXT("model", model->name),
              LOG_TEXT("digest", model->digest_text));
}

/* Waits for a snapshot without digests; false: snapshots are closing. */
static bool await_snapshot(struct snapshots *snapshots, unsigned *seen)
{
    pthread_mutex_lock(&snapshots->lock);
    while (snapshots->is_hashing && *seen == snapshots->published + 1)
        pthread_cond_wait(&snapshots->changed, &snapshots->lock);
    *seen = snapshots->published + 1;
    bool goes_on = snapshots->is_hashing;
    pthread_mutex_unlock(&snapshots->lock);
    return goes_on;
}

static void *digester_main(void *context)
{
    struct snapshots *snapshots = context;
    for (unsigned seen = 0; await_snapshot(snapshots, &seen);) {
        const struct snapshot *snapshot = snapshots_acquire(snapshots);
        for (unsigned i = 0; i < snapshot->model_count; i++)
            if (served_model_digest(snapshot->models[i]) == NULL &&
                !atomic_load(&snapshots->stop_hashing))
                compute_digest(snapshots, snapshot->models[i]);
        snapshots_release(snapshots, snapshot);
    }
    return NULL;
}

enum err_code snapshots_start_digests(struct snapshots *snapshots, struct err *err)
{
    snapshots->is_hashing = true;
    int failure = pthread_create(&snapshots->digester, NULL, digester_main, snapshots);
    snapshots->has_digester = failure == 0;
    if (failure != 0)
        return err_no_thread(err, failure);
    return ERR_OK;
}

void snapshots_stop_digests(struct snapshots *snapshots)
{
    if (!snapshots->has_digester)
        return;
    atomic_store(&snapshots->stop_hashing, true);
    pthread_mutex_lock(&snapshots->lock);
    snapshots->is_hashing = false;
    pthread_mutex_unlock(&snapshots->lock);
    pthread_cond_broadcast(&snapshots->changed);
    pthread_join(snapshots->digester, NULL);
    snapshots->has_digester = false;
}
