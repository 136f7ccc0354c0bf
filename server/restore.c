#include "server/restore.h"

#include "config/config_change.h"
#include "config/config_load.h"
#include "server/observe/log.h"
#include "server/rollout/rollout.h"

#include <string.h>

#define FILE_HINT                                                                                  \
    "/rollout.json says what is served; remove it to serve what the configuration says: "

/* Or a configuration that goes back to what it was would bring the change back, too. */
static enum err_code forget(const struct config *read, const struct config *effective,
                            struct err *err)
{
    struct rollout *kept;
    if (rollout_make(&kept, read->models, read->model_count, effective->models,
                     effective->model_count, err))
        return err->code;
    if (rollout_write(kept, read->state_dir, err) && err->code == ERR_IO)
        err->code = ERR_UNUSABLE;
    rollout_close(kept);
    return err->code;
}

static enum err_code apply(const struct rollout *rollout, struct config *out,
                           const struct config *read, bool is_check, struct err *err)
{
    const char *dropped[CONFIG_MODELS_MAX];
    unsigned count;
    if (rollout_apply(rollout, out, dropped, &count, err))
        return err->code;
    for (unsigned i = 0; i < count; i++)
        log_event(LOG_WARN, "rollout_overruled", LOG_TEXT("model", dropped[i]),
                  LOG_TEXT("by", "its entries of the configuration, which have changed"));
    for (unsigned i = 0; i < out->model_count; i++)
        if (rollout_is_changed(rollout, out->models[i].name))
            log_event(LOG_INFO, "rollout_restored", LOG_TEXT("model", out->models[i].name),
                      LOG_TEXT("dir", out->models[i].dir),
                      LOG_NUMBER("split", out->models[i].split),
                      LOG_NUMBER("shadow", out->models[i].shadow));
    return count > 0 && !is_check ? forget(read, out, err) : ERR_OK;
}

static const char *dtype_of(const struct config_model *model)
{
    return model->dtype != NULL ? model->dtype : "f32";
}

static bool has_model(const struct config *config, const struct config_model *wanted)
{
    for (unsigned i = 0; i < config->model_count; i++)
        if (strcmp(config->models[i].name, wanted->name) == 0 &&
            strcmp(config->models[i].dir, wanted->dir) == 0 &&
            strcmp(dtype_of(&config->models[i]), dtype_of(wanted)) == 0)
            return true;
    return false;
}

/* "model NAME: " at the head of a text is how an error of one model begins. */
static bool is_of_model(const char *text, const char *name)
{
    static const char head[] = "model ";
    const size_t len = strlen(name);
    return strncmp(text, head, sizeof head - 1) == 0 &&
           strncmp(text + sizeof head - 1, name, len) == 0 &&
           strncmp(text + sizeof head - 1 + len, ": ", 2) == 0;
}

/* A model whose versions are all the configuration's cannot be used without the file either. */
enum err_code restore_blame(const struct config *out, const struct config *read, struct err *err)
{
    bool is_changed = out->model_count != read->model_count, is_named = false;
    bool is_named_changed = false;
    for (unsigned i = 0; i < out->model_count; i++) {
        const struct config_model *model = &out->models[i];
        const bool is_new = !has_model(read, model);
        is_changed |= is_new;
        is_named |= is_of_model(err->text, model->name);
        is_named_changed |= is_of_model(err->text, model->name) && is_new;
    }
    return err->code == ERR_OK || !is_changed || (is_named && !is_named_changed)
               ? err->code
               : err_prefix(err, "%s" FILE_HINT, read->state_dir);
}

enum err_code restore_config(struct config *out, const struct config *read, bool is_check,
                             struct err *err)
{
    struct rollout *rollout;
    if (rollout_read(&rollout, read->state_dir, err))
        return err->code;
    if (config_copy(out, read, err) == ERR_OK &&
        apply(rollout, out, read, is_check, err) != ERR_OK) {
        config_deinit(out);
        err_prefix(err, "%s" FILE_HINT, read->state_dir);
    }
    rollout_close(rollout);
    return err->code;
}
