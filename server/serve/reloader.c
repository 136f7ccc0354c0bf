/* reloader.c - see reloader.h.
 *
 * All that can fail is done before the one step that cannot: until the next snapshot is published,
 * nothing in service has changed; if the reload fails, what was opened for it is closed.
 */
#include "server/serve/reloader.h"

#include "config/config_change.h"
#include "config/config_load.h"
#include "server/observe/log.h"
#include "server/rollout/rollout.h"
#include "server/serve/reload.h"
#include "server/serve/request.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct reloader {
    struct reloader_options options; /* immutable */
    pthread_mutex_t lock;
    pthread_cond_t wanted; /* with lock: is_signalled, order or is_closing was set */
    /* Under lock. */
    bool is_started, is_closing, is_signalled, is_running, is_held;
    struct reloader_order *order;     /* the one that waits for the next reload */
    const struct reloader_call *call; /* of a thread that waits, until it was carried out */
    pthread_cond_t called;            /* with lock: call was carried out */
    /* Field of the thread; before the thread starts, of the main thread. */
    struct rollout *rollout;
    /* Field of the main thread. */
    pthread_t thread;
};

/* ---- what is asked for ---- */

/* A configuration or a model that cannot be used is the client's error, not the server's. */
static enum err_code unusable(struct err *err)
{
    if (err->code != ERR_OK && err->code != ERR_NO_MEMORY && err->code != ERR_INTERNAL)
        err->code = ERR_UNUSABLE;
    return err->code;
}

/* The roll-out of a change: it is kept besides the snapshot. */
struct commit {
    struct reloader *reloader;
    const struct rollout_change *change; /* NULL: a reload */
    struct reload_result *result;
    struct arena *arena;
    const struct config_model *file; /* [file_count] what the configuration says */
    unsigned file_count;
};

static enum err_code name_version(struct commit *commit, const struct snapshot *next,
                                  struct err *err)
{
    const struct rollout_change *change = commit->change;
    const struct served_model *model = change->action == ROLLOUT_ROLLBACK
                                           ? snapshot_find(next, change->name)
                                           : next->models[next->model_count - 1];
    bool is_told = change->action != ROLLOUT_LOAD && change->action != ROLLOUT_ROLLBACK;
    const char *version = is_told ? change->version : model->info->version;
    commit->result->model = change->name;
    commit->result->version = arena_copy(commit->arena, version, strlen(version));
    return commit->result->version != NULL ? ERR_OK : err_no_memory(err, strlen(version));
}

/* On the disk first: what was published must survive a restart. */
static enum err_code keep_rollout(void *context, const struct snapshot *next, struct err *err)
{
    struct commit *commit = context;
    struct reloader *reloader = commit->reloader;
    struct rollout *made;
    if (commit->change != NULL && name_version(commit, next, err))
        return err->code;
    if (rollout_make(&made, commit->file, commit->file_count, next->config.models,
                     next->config.model_count, err))
        return err->code;
    if (!rollout_is_same(made, reloader->rollout) &&
        rollout_write(made, next->config.state_dir, err)) {
        rollout_close(made);
        err->code = ERR_INTERNAL;
        return err_prefix(err, "the change could not be kept, and was not made: ");
    }
    rollout_close(reloader->rollout);
    reloader->rollout = made;
    return ERR_OK;
}

/* Changes made at run time hold, unless the configuration has changed since. */
static enum err_code overrule(const struct rollout *rollout, struct config *config, struct err *err)
{
    const char *dropped[CONFIG_MODELS_MAX];
    unsigned count;
    if (rollout_apply(rollout, config, dropped, &count, err))
        return err->code;
    for (unsigned i = 0; i < count; i++)
        log_event(LOG_WARN, "rollout_overruled", LOG_TEXT("model", dropped[i]),
                  LOG_TEXT("by", "its entries of the configuration, which have changed"));
    return ERR_OK;
}

static enum err_code read_config(struct reloader *reloader, struct config *config, struct err *err)
{
    const struct reload_source *source = &reloader->options.source;
    enum config_action action;
    if (config_load(config, &action, source->argc, source->argv, source->environment, err))
        return err->code;
    if (config->model_count > 0)
        return ERR_OK;
    config_deinit(config);
    return err_set(err, ERR_UNUSABLE, "no model to serve; the models of before go on serving");
}

static enum err_code reload_once(struct reloader *reloader, struct arena *arena,
                                 struct reload_result *result, struct err *err)
{
    struct reload reload = {
        .options = &reloader->options, .arena = arena, .result = result, .in_spare_time = true};
    struct config config;
    if (read_config(reloader, &config, err))
        return err->code;
    struct commit commit = {.reloader = reloader,
                            .result = result,
                            .arena = arena,
                            .file = config.models,
                            .file_count = config.model_count};
    if (overrule(reloader->rollout, &config, err))
        config_deinit(&config);
    else
        reload_carry_out(&reload, &config, keep_rollout, &commit, err);
    return unusable(err);
}

static enum err_code edit(struct config *config, const struct snapshot *snapshot,
                          const struct rollout_change *change, struct arena *arena, struct err *err)
{
    const char *versions[CONFIG_MODELS_MAX];
    struct rollout_change resolved = *change;
    for (unsigned i = 0; i < snapshot->model_count; i++)
        versions[i] = snapshot->models[i]->info->version;
    if (change->action == ROLLOUT_LOAD &&
        rollout_resolve(&resolved.dir, config->models_root, change->dir, arena, err))
        return err->code;
    return rollout_edit(config, &resolved, versions, err);
}

static enum err_code change_once(struct reloader *reloader, const struct rollout_change *change,
                                 struct arena *arena, struct reload_result *result, struct err *err)
{
    const struct snapshot *snapshot = snapshots_acquire(reloader->options.snapshots);
    struct reload reload = {.options = &reloader->options,
                            .arena = arena,
                            .result = result,
                            .in_spare_time = true,
                            .keeps_models = true};
    struct commit commit = {.reloader = reloader,
                            .change = change,
                            .result = result,
                            .arena = arena,
                            .file = reloader->rollout->file,
                            .file_count = reloader->rollout->file_count};
    struct config config;
    if (config_copy(&config, &snapshot->config, err) == ERR_OK) {
        if (edit(&config, snapshot, change, arena, err) == ERR_OK) {
            reload_carry_out(&reload, &config, keep_rollout, &commit, err);
            unusable(err);
        } else {
            config_deinit(&config);
        }
    }
    snapshots_release(reloader->options.snapshots, snapshot);
    return err->code;
}

enum err_code reloader_load(struct reloader *reloader, const struct config *config,
                            const struct config *read, const size_t *bytes, struct err *err)
{
    struct reload_result result = {0};
    struct arena arena;
    struct config copy;
    struct rollout *first;
    arena_init(&arena);
    struct reload reload = {
        .options = &reloader->options, .arena = &arena, .result = &result, .held = bytes};
    if (rollout_make(&first, read->models, read->model_count, config->models, config->model_count,
                     err))
        return err->code;
    rollout_close(reloader->rollout);
    reloader->rollout = first;
    if (config_copy(&copy, config, err) == ERR_OK)
        reload_carry_out(&reload, &copy, NULL, NULL, err);
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

static void observe(const struct observers *observers, const struct rollout_change *change,
                    const char *key, const struct reload_result *result, const struct err *err)
{
    struct change_record record = {.generation = result->generation,
                                   .changed = result->changed,
                                   .changed_count = result->changed_count,
                                   .reason = err->code != ERR_OK ? err->text : NULL,
                                   .key = key};
    if (change != NULL) {
        record.action = rollout_action_name(change->action);
        record.model = change->name;
        record.version = result->version != NULL ? result->version : change->version;
        record.told = change->reason;
    }
    if (observers != NULL)
        observers_change(observers, &record);
}

/* A change, or without one a reload. */
static void carry_out(struct reloader *reloader, const struct reloader_call *call)
{
    const struct rollout_change *change = call->change;
    if (change != NULL) {
        change_once(reloader, change, call->arena, call->result, call->err);
        const char *version =
            call->result->version != NULL ? call->result->version : change->version;
        if (call->err->code != ERR_OK)
            log_event(LOG_WARN, "rollout_refused",
                      LOG_TEXT("action", rollout_action_name(change->action)),
                      LOG_TEXT("model", change->name), LOG_TEXT("version", version),
                      LOG_TEXT("error", call->err->text));
        else
            log_event(LOG_INFO, "rollout", LOG_TEXT("action", rollout_action_name(change->action)),
                      LOG_TEXT("model", change->name), LOG_TEXT("version", version),
                      LOG_NUMBER("generation", call->result->generation));
    } else {
        reload_once(reloader, call->arena, call->result, call->err);
        tell(call->result, call->err);
        metrics_reload(reloader->options.metrics, call->err->code == ERR_OK);
    }
    observe(reloader->options.observers, change, call->key, call->result, call->err);
}

/* The thread's next task; all NULL: a signal came. */
struct task {
    struct reloader_order *order;
    const struct reloader_call *call;
};

/* Waits until a reload is requested; false: the reloader is closing. */
static bool take(struct reloader *reloader, struct task *task)
{
    pthread_mutex_lock(&reloader->lock);
    while (!reloader->is_closing &&
           (reloader->is_held ||
            (!reloader->is_signalled && reloader->order == NULL && reloader->call == NULL)))
        pthread_cond_wait(&reloader->wanted, &reloader->lock);
    *task = (struct task){.order = reloader->order};
    if (task->order == NULL && (reloader->is_closing || !reloader->is_signalled))
        task->call = reloader->call;
    bool is_asked = task->order != NULL || task->call != NULL || !reloader->is_closing;
    if (reloader->is_closing && task->order != NULL)
        err_set(&task->order->request->err, ERR_NOT_READY, "the server is stopping");
    if (reloader->is_closing && task->call != NULL)
        err_set(task->call->err, ERR_NOT_READY, "the server is stopping");
    reloader->order = NULL;
    if (task->call == NULL)
        reloader->is_signalled = false;
    reloader->is_running = is_asked;
    pthread_mutex_unlock(&reloader->lock);
    return is_asked;
}

static void run(struct reloader *reloader, const struct task *task)
{
    if (task->order == NULL && task->call == NULL) {
        struct reload_result result = {0};
        struct err err = {0};
        struct arena arena;
        arena_init(&arena);
        carry_out(reloader,
                  &(struct reloader_call){.arena = &arena, .result = &result, .err = &err});
        arena_deinit(&arena);
    } else if (task->order != NULL && task->order->request->err.code == ERR_OK) {
        struct request *request = task->order->request;
        carry_out(reloader, &(struct reloader_call){.change = task->order->change,
                                                    .key = request->grant.name,
                                                    .arena = &request->exchange->arena,
                                                    .result = &task->order->result,
                                                    .err = &request->err});
    } else if (task->call != NULL && task->call->err->code == ERR_OK)
        carry_out(reloader, task->call);
}

static void *reloader_main(void *context)
{
    struct reloader *reloader = context;
    for (struct task task; take(reloader, &task);) {
        run(reloader, &task);
        /* before the requester is answered, and may request another */
        pthread_mutex_lock(&reloader->lock);
        reloader->is_running = false;
        if (task.call != NULL) {
            reloader->call = NULL;
            pthread_cond_signal(&reloader->called);
        }
        pthread_mutex_unlock(&reloader->lock);
        if (task.order != NULL)
            http_resume(task.order->request->exchange);
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
    if (rollout_make(&reloader->rollout, NULL, 0, NULL, 0, err)) {
        free(reloader);
        *out = NULL;
        return err->code;
    }
    pthread_mutex_init(&reloader->lock, NULL);
    pthread_cond_init(&reloader->wanted, NULL);
    pthread_cond_init(&reloader->called, NULL);
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

enum err_code reloader_submit(struct reloader *reloader, struct reloader_order *order,
                              struct err *err)
{
    pthread_mutex_lock(&reloader->lock);
    bool is_heard = reloader->is_started && !reloader->is_closing;
    bool is_busy = reloader->is_running || reloader->is_signalled || reloader->order != NULL ||
                   reloader->call != NULL;
    if (is_heard && !is_busy)
        reloader->order = order;
    pthread_mutex_unlock(&reloader->lock);
    pthread_cond_signal(&reloader->wanted);
    if (!is_heard)
        return err_set(err, ERR_NOT_READY, "the server is starting or stopping");
    if (is_busy)
        return err_set(err, ERR_CONFLICT, "another reload is running");
    return ERR_OK;
}

bool reloader_hold(struct reloader *reloader)
{
    pthread_mutex_lock(&reloader->lock);
    const bool is_free = reloader->is_started && !reloader->is_closing && !reloader->is_held &&
                         !reloader->is_running && !reloader->is_signalled &&
                         reloader->order == NULL && reloader->call == NULL;
    reloader->is_held = reloader->is_held || is_free;
    pthread_mutex_unlock(&reloader->lock);
    return is_free;
}

void reloader_release(struct reloader *reloader)
{
    pthread_mutex_lock(&reloader->lock);
    reloader->is_held = false;
    pthread_mutex_unlock(&reloader->lock);
    pthread_cond_signal(&reloader->wanted);
}

enum err_code reloader_change(struct reloader *reloader, const struct reloader_call *call)
{
    pthread_mutex_lock(&reloader->lock);
    if (reloader->is_started && !reloader->is_closing) {
        reloader->call = call;
        pthread_cond_signal(&reloader->wanted);
        while (reloader->call == call)
            pthread_cond_wait(&reloader->called, &reloader->lock);
    } else {
        err_set(call->err, ERR_NOT_READY, "the server is starting or stopping");
    }
    pthread_mutex_unlock(&reloader->lock);
    return call->err->code;
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
    rollout_close(reloader->rollout);
    pthread_cond_destroy(&reloader->called);
    pthread_cond_destroy(&reloader->wanted);
    pthread_mutex_destroy(&reloader->lock);
    free(reloader);
}
