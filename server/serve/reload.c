#include "server/serve/reload.h"

#include "config/config_load.h"
#include "engine/base/file.h"
#include "server/http/tls.h"
#include "server/observe/log.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

/* ---- models ---- */

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
    for (unsigned i = 0; i < reload->old->model_count; i++) {
        struct served_model *model = reload->old->models[i];
        if (has_entry(model, wanted) &&
            (reload->keeps_models || model->stamp == served_model_stamp(wanted->dir)))
            return model;
    }
    return NULL;
}

/* The at-th entry of a name in a snapshot; false behind the last. */
static bool find_entry(const struct snapshot *snapshot, const char *name, unsigned at,
                       unsigned *index)
{
    for (*index = 0; *index < snapshot->model_count; ++*index)
        if (strcmp(snapshot->models[*index]->name, name) == 0 && at-- == 0)
            return true;
    return false;
}

static bool has_same_shares(const struct config_model *a, const struct config_model *b)
{
    return a->split == b->split && a->shadow == b->shadow && a->is_standby == b->is_standby &&
           a->is_public == b->is_public;
}

/* True if a name has the same versions in the same order, with the same shares. */
static bool is_unchanged(const struct reload *reload, const char *name)
{
    const struct snapshot *old = reload->old, *next = reload->next;
    for (unsigned at = 0;; at++) {
        unsigned before, after;
        bool was = find_entry(old, name, at, &before), is = find_entry(next, name, at, &after);
        if (!was || !is)
            return was == is;
        if (old->models[before] != next->models[after] ||
            old->indexes[before] != next->indexes[after] ||
            !has_same_shares(&old->config.models[before], &next->config.models[after]))
            return false;
    }
}

/* Bytes for the index-th model of the configuration. */
static enum err_code hold_memory(const struct reload *reload, unsigned index, size_t *bytes,
                                 struct err *err)
{
    const struct reloader_options *options = reload->options;
    const struct config_model *wanted = &reload->next->config.models[index];
    if (reload->held != NULL)
        *bytes = reload->held[index];
    else if (served_model_bytes(bytes, wanted->dir, wanted->dtype, &options->plan, err) ||
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
                                       .takes_uncalibrated =
                                           strcmp(reload->next->config.uncalibrated, "auto") == 0,
                                       .plan = &options->plan,
                                       .pools = options->pools,
                                       .placement = options->placement,
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
    return ERR_OK;
}

/* Versions are told apart by what their attnd.json says, which is known only now. */
static enum err_code check_versions(const struct snapshot *next, struct err *err)
{
    const struct served_model *last = next->models[next->model_count - 1];
    if (!file_is_part(last->info->version))
        return err_set(
            err, ERR_UNUSABLE,
            "model %s: the \"version\" in attnd.json cannot be named in a path: " FILE_PART_RULE,
            last->name);
    for (unsigned i = 0; i + 1 < next->model_count; i++) {
        const struct served_model *other = next->models[i];
        if (strcmp(other->name, last->name) != 0)
            continue;
        if (other->info->kind != last->info->kind ||
            other->info->reads_both != last->info->reads_both)
            return err_set(err, ERR_UNUSABLE, "model %s: one version reads texts, another images",
                           last->name);
        if (strcmp(other->info->version, last->info->version) == 0)
            return err_set(err, ERR_UNUSABLE,
                           "model %s: two of its directories are version %s; give each its own "
                           "\"version\" in attnd.json",
                           last->name, last->info->version);
    }
    return ERR_OK;
}

static enum err_code note_changed(struct reload *reload, const struct snapshot *of,
                                  const struct snapshot *noted, struct err *err)
{
    for (unsigned i = 0; i < of->model_count; i++) {
        const char *name = of->models[i]->name;
        if (snapshot_find(of, name) != of->models[i] || is_unchanged(reload, name) ||
            (noted != NULL && snapshot_find(noted, name) != NULL))
            continue;
        const char *key = arena_format(reload->arena, "models.%s", name);
        if (key == NULL)
            return err_no_memory(err, strlen(name));
        reload->result->changed[reload->result->changed_count++] = key;
    }
    return ERR_OK;
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

/* The index of the model that was added last: the old snapshot's, if its file is the same. */
static enum err_code take_index(struct reload *reload, const char *path, struct err *err)
{
    const struct snapshot *old = reload->old;
    const struct served_model *model = reload->next->models[reload->next->model_count - 1];
    struct served_index *index = NULL;
    const uint64_t stamp = reload->keeps_models ? 0 : served_model_file_stamp(AT_FDCWD, path);
    for (unsigned i = 0; i < old->model_count && index == NULL; i++)
        if (old->indexes[i] != NULL && strcmp(old->indexes[i]->path, path) == 0 &&
            (reload->keeps_models || old->indexes[i]->stamp == stamp))
            index = old->indexes[i];
    if (index == NULL) {
        if (served_index_open(&index, path, model, reload->options->memory, err))
            return err_prefix(err, "model %s: index ", model->name);
    } else {
        if (served_index_check(index, model, err))
            return err_prefix(err, "model %s: index ", model->name);
        served_index_acquire(index);
    }
    snapshot_add_index(reload->next, index);
    return ERR_OK;
}

static enum err_code take_model(struct reload *reload, unsigned index, struct err *err)
{
    struct served_model *model = find_unchanged(reload, &reload->next->config.models[index]);
    if (model != NULL) {
        served_model_acquire(model);
        snapshot_add(reload->next, model);
    } else if (open_model(reload, index, err)) {
        return err->code;
    }
    const char *path = reload->next->config.models[index].index;
    if (check_versions(reload->next, err) || (path != NULL && take_index(reload, path, err)))
        return err->code;
    /* a shadow runs beside the workers, in a session of its own */
    if (reload->next->config.models[index].shadow <= 0)
        return ERR_OK;
    return served_model_open_shadow(reload->next->models[index], err);
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
    if (tls == NULL || !reload->in_spare_time || reload->keeps_models)
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
    unsigned before = reload->result->changed_count;
    for (unsigned i = 0; i < reload->next->config.model_count; i++)
        if (take_model(reload, i, err))
            return err->code;
    if (note_changed(reload, reload->next, NULL, err) ||
        note_changed(reload, reload->old, reload->next, err))
        return err->code;
    if (reload->result->changed_count == before && is_reordered(reload))
        reload->result->changed[reload->result->changed_count++] = "models";
    return ERR_OK;
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

enum err_code reload_carry_out(struct reload *reload, struct config *config,
                               enum err_code (*commit)(void *context, const struct snapshot *next,
                                                       struct err *err),
                               void *context, struct err *err)
{
    struct snapshots *snapshots = reload->options->snapshots;
    reload->old = snapshots_acquire(snapshots);
    if (make_next(reload, config, err) == ERR_OK && commit != NULL)
        commit(context, reload->next, err);
    if (err->code == ERR_OK) {
        /* the steps that cannot fail: from here on it is the state of the server */
        struct tls *tls = reload->options->tls;
        reload->result->generation = reload->next->generation;
        log_set_level(reload->next->config.log_level);
        tell_keys(reload->next->keys);
        if (reload->certificate != NULL)
            tls_use(tls, reload->certificate);
        if (tls != NULL) {
            /* clients refuse a certificate that has expired, so nobody else would tell */
            double days = (double)(tls_expiry_s(tls) - (int64_t)time(NULL)) / DAY_S;
            log_event(days < SOON_DAYS ? LOG_WARN : LOG_INFO,
                      days < 0           ? "tls_certificate_expired"
                      : days < SOON_DAYS ? "tls_certificate_expires_soon"
                                         : "tls_certificate",
                      LOG_NUMBER("days_left", days));
        }
        snapshots_publish(snapshots, reload->next);
    } else {
        tls_discard(reload->certificate);
        snapshot_discard(reload->next);
    }
    snapshots_release(snapshots, reload->old);
    return err->code;
}
