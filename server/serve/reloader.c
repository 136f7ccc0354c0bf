/* reloader.c - see reloader.h.
 *
 * All that can fail is done before the one step that cannot: until the next snapshot is published,
 * nothing in service has changed; if the reload fails, what was opened for it is closed.
 */
#include "server/serve/reloader.h"

#include "config/config_load.h"
#include "server/observe/log.h"
#include "server/http/tls.h"
#include "server/serve/request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct reloader {
    struct reloader_options options; /* immutable */
    pthread_mutex_t lock;
    pthread_cond_t wanted; /* with lock: is_signalled, request or is_closing was set */
    /* Under lock. */
    bool is_started, is_closing, is_signalled, is_running;
    struct request *request; /* the one that waits for the next reload */
    /* Of the main thread. */
    pthread_t thread;
};

/* ---- one reload ---- */

/* The state of a reload. */
struct reload {
    const struct reloader_options *options;
    const struct snapshot *old;
    struct snapshot *next;
    struct tls_certificate *certificate; /* NULL: none was read */
    struct arena *arena;
    struct reload_result *result;
    bool in_spare_time;
    const size_t *held; /* [models] bytes that are held already; NULL: none are */
};

static bool has_entry(const struct served_model *model, const struct config_model *wanted)
{
    const char *dtype = model->dtype != NULL ? model->dtype : "f32";
    return strcmp(model->name, wanted->name) == 0 && strcmp(model->dir, wanted->dir) == 0 &&
           strcmp(dtype, wanted->dtype != NULL ? wanted->dtype : "f32") == 0;
}

/* The old snapshot's model for the entry, if nothing of it has changed since. */
static struct served_model *find_unchanged(const struct reload *reload,
                                           const struct config_model *wanted)
{
    struct served_model *model = snapshot_find(reload->old, wanted->name);
    if (model == NULL || !has_entry(model, wanted) ||
        model->stamp != served_model_stamp(wanted->dir))
        return NULL;
    return model;
}

static enum err_code note_model(struct reload *reload, const char *name, struct err *err)
{
    const char *key = arena_format(reload->arena, "models.%s", name);
    if (key == NULL)
        return err_no_memory(err, strlen(name));
    reload->result->changed[reload->result->changed_count++] = key;
    return ERR_OK;
}

/* Bytes for the index-th model of the configuration. */
static enum err_code hold_memory(const struct reload *reload, unsigned index, size_t *bytes,
                                 struct err *err)
{
    const struct reloader_options *options = reload->options;
    const struct config_model *wanted = &reload->next->config.models[index];
    if (reload->held != NULL)
        *bytes = reload->held[index];
    else if (served_model_bytes(bytes, wanted->dir, wanted->dtype, options->batch_tokens,
                                options->workers, options->threads, err) ||
             memory_hold(options->memory, *bytes, err))
        return err_prefix(err, "model %s: ", wanted->name);
    return ERR_OK;
}

static enum err_code open_model(struct reload *reload, unsigned index, struct err *err)
{
    const struct reloader_options *options = reload->options;
    const struct config_model *wanted = &reload->next->config.models[index];
    struct served_model_options how = {.name = wanted->name,
                                       .dir = wanted->dir,
                                       .dtype = wanted->dtype,
                                       .generation = reload->next->generation,
                                       .linear_backend = reload->next->config.linear_backend,
                                       .batch_tokens = options->batch_tokens,
                                       .pools = options->pools,
                                       .workers = options->workers,
                                       .threads = options->threads,
                                       .memory = options->memory,
                                       .metrics = options->metrics,
                                       .in_spare_time = reload->in_spare_time};
    const struct served_model *before = snapshot_find(reload->old, wanted->name);
    struct served_model *model;
    if (hold_memory(reload, index, &how.bytes, err) || served_model_open(&model, &how, err))
        return err->code;
    if (before != NULL)
        batcher_inherit(options->batcher, model, before);
    snapshot_add(reload->next, model);
    return note_model(reload, wanted->name, err);
}

/* The same models in another order: the first of its kind is the default. */
static bool is_reordered(const struct reload *reload)
{
    const struct snapshot *old = reload->old, *next = reload->next;
    bool is_same = true;
    for (unsigned i = 0; i < next->model_count && i < old->model_count; i++)
        is_same = is_same && next->models[i] == old->models[i];
    return !is_same && next->model_count == old->model_count;
}

static enum err_code take_models(struct reload *reload, struct err *err)
{
    unsigned before = reload->result->changed_count;
    const struct config *config = &reload->next->config;
    for (unsigned i = 0; i < config->model_count && err->code == ERR_OK; i++) {
        struct served_model *model = find_unchanged(reload, &config->models[i]);
        if (model == NULL) {
            open_model(reload, i, err);
            continue;
        }
        served_model_acquire(model);
        snapshot_add(reload->next, model);
    }
    for (unsigned i = 0; i < reload->old->model_count && err->code == ERR_OK; i++)
        if (snapshot_find(reload->next, reload->old->models[i]->name) == NULL)
            note_model(reload, reload->old->models[i]->name, err);
    if (err->code == ERR_OK && reload->result->changed_count == before && is_reordered(reload))
        reload->result->changed[reload->result->changed_count++] = "models";
    return err->code;
}

/* Another text in the file that was named before is a change of it, too. */
static enum err_code take_keys(struct reload *reload, struct err *err)
{
    const struct snapshot *old = reload->old, *next = reload->next;
    struct reload_result *result = reload->result;
    if (snapshot_read_keys(reload->next, old, err))
        return err->code;
    for (unsigned i = 0; i < result->changed_count; i++)
        if (strcmp(result->changed[i], "keys_file") == 0)
            return ERR_OK;
    if (!keys_are_same(old->keys, next->keys))
        result->changed[result->changed_count++] = "keys_file";
    return ERR_OK;
}

/* Files of the same names may hold another certificate. At the start the one in use has just been
 * read. */
static enum err_code take_certificate(struct reload *reload, struct err *err)
{
    struct reload_result *result = reload->result;
    struct tls *tls = reload->options->tls;
    if (tls == NULL || !reload->in_spare_time)
        return ERR_OK;
    if (tls_read(tls, &reload->certificate, err))
        return err->code;
    if (tls_is_new(tls, reload->certificate))
        result->changed[result->changed_count++] = "tls_cert_file";
    return ERR_OK;
}

/* Room for every option, the keys, the certificate and every model of both snapshots. */
static enum err_code list_changes(struct reload *reload, struct config *next, struct err *err)
{
    struct config_change change;
    struct reload_result *result = reload->result;
    if (config_change_find(&change, &reload->old->config, next, reload->arena, err))
        return err->code;
    size_t room = change.live_count + (size_t)next->model_count + reload->old->model_count + 3;
    result->changed = arena_alloc_array(reload->arena, room, sizeof(const char *));
    if (result->changed == NULL)
        return err_no_memory(err, room * sizeof(const char *));
    for (unsigned i = 0; i < change.live_count; i++)
        result->changed[result->changed_count++] = change.live[i];
    result->restart = change.restart;
    result->restart_count = change.restart_count;
    return ERR_OK;
}

/* Takes the configuration over. */
static enum err_code make_next(struct reload *reload, struct config *config, struct err *err)
{
    if (list_changes(reload, config, err) ||
        snapshot_create(&reload->next, reload->old->generation + 1, config, err)) {
        config_deinit(config);
        return err->code;
    }
    if (take_keys(reload, err) || take_certificate(reload, err))
        return err->code;
    return take_models(reload, err);
}

/* Keys that are no longer taken, and a set without any, are rather mistakes than wishes. */
static void tell_keys(const struct keys *keys)
{
    unsigned expired = 0;
    if (keys == NULL)
        return;
    for (unsigned i = 0; i < keys_count(keys); i++)
        expired += time(NULL) >= keys_at(keys, i)->expires_s;
    log_event(keys_count(keys) == expired ? LOG_WARN : LOG_INFO, "keys",
              LOG_NUMBER("keys", keys_count(keys)), LOG_NUMBER("expired", expired));
}

enum { SOON_DAYS = 14, DAY_S = 24 * 60 * 60 };

/* Clients refuse a certificate that has expired, so nobody else would tell. */
static void tell_certificate(struct tls *tls)
{
    double days = (double)(tls_expiry_s(tls) - (int64_t)time(NULL)) / DAY_S;
    log_event(days < SOON_DAYS ? LOG_WARN : LOG_INFO,
              days < 0           ? "tls_certificate_expired"
              : days < SOON_DAYS ? "tls_certificate_expires_soon"
                                 : "tls_certificate",
              LOG_NUMBER("days_left", days));
}

static enum err_code carry_out(struct reload *reload, struct config *config, struct err *err)
{
    struct snapshots *snapshots = reload->options->snapshots;
    reload->old = snapshots_acquire(snapshots);
    if (!make_next(reload, config, err)) {
        reload->result->generation = reload->next->generation;
        log_set_level(reload->next->config.log_level);
        tell_keys(reload->next->keys);
        if (reload->certificate != NULL)
            tls_use(reload->options->tls, reload->certificate);
        if (reload->options->tls != NULL)
            tell_certificate(reload->options->tls);
        snapshots_publish(snapshots, reload->next);
    } else {
        tls_discard(reload->certificate);
        snapshot_discard(reload->next);
    }
    snapshots_release(snapshots, reload->old);
    return err->code;
}

/* A configuration or a model that cannot be used is the client's error, not the server's. */
static enum err_code unusable(struct err *err)
{
    if (err->code != ERR_OK && err->code != ERR_NO_MEMORY)
        err->code = ERR_UNUSABLE;
    return err->code;
}

static enum err_code reload_once(struct reloader *reloader, struct arena *arena,
                                 struct reload_result *result, struct err *err)
{
    const struct reload_source *source = &reloader->options.source;
    struct reload reload = {
        .options = &reloader->options, .arena = arena, .result = result, .in_spare_time = true};
    struct config config;
    enum config_action action;
    if (config_load(&config, &action, source->argc, source->argv, source->environment, err))
        return err->code;
    if (config.model_count == 0) {
        config_deinit(&config);
        return err_set(err, ERR_UNUSABLE, "no model to serve; the models of before go on serving");
    }
    carry_out(&reload, &config, err);
    return unusable(err);
}

enum err_code reloader_load(struct reloader *reloader, const struct config *config,
                            const size_t *bytes, struct err *err)
{
    struct reload_result result = {0};
    struct arena arena;
    struct config copy;
    arena_init(&arena);
    struct reload reload = {
        .options = &reloader->options, .arena = &arena, .result = &result, .held = bytes};
    if (!config_copy(&copy, config, err))
        carry_out(&reload, &copy, err);
    arena_deinit(&arena);
    return unusable(err);
}

/* ---- the thread ---- */

static void tell(const struct reload_result *result, const struct err *err)
{
    if (err->code != ERR_OK) {
        log_event(LOG_ERROR, "reload_failed", LOG_TEXT("error", err->text));
        return;
    }
    log_event(LOG_INFO, "reloaded", LOG_NUMBER("generation", result->generation),
              LOG_NUMBER("changed", result->changed_count),
              LOG_NUMBER("wait_for_restart", result->restart_count));
    for (unsigned i = 0; i < result->changed_count; i++)
        log_event(LOG_INFO, "reload_changed", LOG_TEXT("key", result->changed[i]));
    for (unsigned i = 0; i < result->restart_count; i++)
        log_event(LOG_WARN, "reload_waits_for_restart", LOG_TEXT("key", result->restart[i]));
}

static void observe(const struct observers *observers, const struct reload_result *result,
                    const char *key, const struct err *err)
{
    const struct change_record record = {.generation = result->generation,
                                         .changed = result->changed,
                                         .changed_count = result->changed_count,
                                         .reason = err->code != ERR_OK ? err->text : NULL,
                                         .key = key};
    if (observers != NULL)
        observers_change(observers, &record);
}

/* With the request that waits for it, or none: then the lists are in an arena of their own. */
static void run(struct reloader *reloader, struct request *request)
{
    struct reload_result result = {0}, *kept = &result;
    struct err own = {0}, *err = request != NULL ? &request->err : &own;
    struct arena spare, *arena = request != NULL ? &request->exchange->arena : &spare;
    arena_init(&spare);
    if (request != NULL && (kept = arena_alloc_array(arena, 1, sizeof *kept)) == NULL)
        err_no_memory(err, sizeof *kept);
    else
        reload_once(reloader, arena, kept, err);
    tell(kept, err);
    observe(reloader->options.observers, kept != NULL ? kept : &result,
            request != NULL ? request->grant.name : NULL, err);
    metrics_reload(reloader->options.metrics, err->code == ERR_OK);
    arena_deinit(&spare);
    if (request != NULL)
        request->reload = kept;
}

/* Waits until a reload is requested; false: the reloader is closing. */
static bool take(struct reloader *reloader, struct request **request)
{
    pthread_mutex_lock(&reloader->lock);
    while (!reloader->is_closing && !reloader->is_signalled && reloader->request == NULL)
        pthread_cond_wait(&reloader->wanted, &reloader->lock);
    bool is_asked = reloader->request != NULL || !reloader->is_closing;
    *request = reloader->request;
    if (reloader->is_closing && *request != NULL)
        err_set(&(*request)->err, ERR_NOT_READY, "the server is stopping");
    reloader->request = NULL;
    reloader->is_signalled = false;
    reloader->is_running = is_asked;
    pthread_mutex_unlock(&reloader->lock);
    return is_asked;
}

/* Before the requester is answered, and may request another. */
static void set_idle(struct reloader *reloader)
{
    pthread_mutex_lock(&reloader->lock);
    reloader->is_running = false;
    pthread_mutex_unlock(&reloader->lock);
}

static void *reloader_main(void *context)
{
    struct reloader *reloader = context;
    for (struct request *request; take(reloader, &request);) {
        if (request == NULL || request->err.code == ERR_OK)
            run(reloader, request);
        set_idle(reloader);
        if (request != NULL)
            http_resume(request->exchange);
    }
    return NULL;
}

/* ---- open, start, ask, close ---- */

enum err_code reloader_open(struct reloader **out, const struct reloader_options *options,
                            struct err *err)
{
    struct reloader *reloader = calloc(1, sizeof *reloader);
    *out = reloader;
    if (reloader == NULL)
        return err_no_memory(err, sizeof *reloader);
    reloader->options = *options;
    pthread_mutex_init(&reloader->lock, NULL);
    pthread_cond_init(&reloader->wanted, NULL);
    return ERR_OK;
}

enum err_code reloader_start(struct reloader *reloader, struct err *err)
{
    int failure = pthread_create(&reloader->thread, NULL, reloader_main, reloader);
    if (failure != 0)
        return err_no_thread(err, failure);
    pthread_mutex_lock(&reloader->lock);
    reloader->is_started = true;
    pthread_mutex_unlock(&reloader->lock);
    return ERR_OK;
}

void reloader_signal(struct reloader *reloader)
{
    pthread_mutex_lock(&reloader->lock);
    reloader->is_signalled = true;
    pthread_mutex_unlock(&reloader->lock);
    pthread_cond_signal(&reloader->wanted);
}

enum err_code reloader_submit(struct reloader *reloader, struct request *request, struct err *err)
{
    pthread_mutex_lock(&reloader->lock);
    bool is_heard = reloader->is_started && !reloader->is_closing;
    bool is_busy = reloader->is_running || reloader->is_signalled || reloader->request != NULL;
    if (is_heard && !is_busy)
        reloader->request = request;
    pthread_mutex_unlock(&reloader->lock);
    pthread_cond_signal(&reloader->wanted);
    if (!is_heard)
        return err_set(err, ERR_NOT_READY, "the server is starting or stopping");
    if (is_busy)
        return err_set(err, ERR_CONFLICT, "another reload is running");
    return ERR_OK;
}

void reloader_stop(struct reloader *reloader)
{
    if (reloader == NULL)
        return;
    pthread_mutex_lock(&reloader->lock);
    reloader->is_closing = true;
    bool is_started = reloader->is_started;
    reloader->is_started = false;
    pthread_mutex_unlock(&reloader->lock);
    pthread_cond_signal(&reloader->wanted);
    if (is_started)
        pthread_join(reloader->thread, NULL);
}

void reloader_free(struct reloader *reloader)
{
    if (reloader == NULL)
        return;
    pthread_cond_destroy(&reloader->wanted);
    pthread_mutex_destroy(&reloader->lock);
    free(reloader);
}
