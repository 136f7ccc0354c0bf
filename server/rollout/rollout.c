/* rollout.c - see rollout.h. The lists: what overrules what. */
#include "server/rollout/rollout.h"

#include "config/config_change.h"

#include <stdlib.h>
#include <string.h>

const char *rollout_action_name(enum rollout_action action)
{
    static const char *const names[] = {
#define X(action, name) [action] = name,
        ROLLOUT_ACTIONS(X)
#undef X
    };
    return names[action];
}

/* ---- lists ---- */

struct list {
    const struct config_model *models;
    unsigned count;
};

/* The at-th entry of a name; NULL behind the last. */
static const struct config_model *entry_of(struct list list, const char *name, unsigned at)
{
    for (unsigned i = 0; i < list.count; i++)
        if (strcmp(list.models[i].name, name) == 0 && at-- == 0)
            return &list.models[i];
    return NULL;
}

static const char *dtype_of(const struct config_model *model)
{
    return model->dtype != NULL ? model->dtype : "f32";
}

static bool is_same(const struct config_model *a, const struct config_model *b)
{
    return strcmp(a->dir, b->dir) == 0 && strcmp(dtype_of(a), dtype_of(b)) == 0 &&
           strcmp(a->index != NULL ? a->index : "", b->index != NULL ? b->index : "") == 0 &&
           a->is_public == b->is_public && a->split == b->split && a->shadow == b->shadow &&
           a->is_standby == b->is_standby;
}

static bool has_same(struct list a, struct list b, const char *name)
{
    for (unsigned i = 0;; i++) {
        const struct config_model *left = entry_of(a, name, i), *right = entry_of(b, name, i);
        if (left == NULL || right == NULL)
            return left == right;
        if (!is_same(left, right))
            return false;
    }
}

bool rollout_is_changed(const struct rollout *rollout, const char *name)
{
    return !has_same((struct list){rollout->file, rollout->file_count},
                     (struct list){rollout->now, rollout->now_count}, name);
}

static bool is_same_list(struct list a, struct list b)
{
    bool is_equal = a.count == b.count;
    for (unsigned i = 0; is_equal && i < a.count; i++)
        is_equal =
            strcmp(a.models[i].name, b.models[i].name) == 0 && is_same(&a.models[i], &b.models[i]);
    return is_equal;
}

bool rollout_is_same(const struct rollout *a, const struct rollout *b)
{
    return is_same_list((struct list){a->file, a->file_count},
                        (struct list){b->file, b->file_count}) &&
           is_same_list((struct list){a->now, a->now_count}, (struct list){b->now, b->now_count});
}

/* ---- a roll-out ---- */

static bool copy_text(struct arena *arena, const char **text)
{
    if (*text == NULL)
        return true;
    *text = arena_copy(arena, *text, strlen(*text));
    return *text != NULL;
}

static bool copy_list(struct arena *arena, struct list from, struct config_model **out)
{
    struct config_model *copy = arena_alloc_array(arena, from.count + 1u, sizeof *copy);
    *out = copy;
    for (unsigned i = 0; copy != NULL && i < from.count; i++) {
        copy[i] = from.models[i];
        if (!copy_text(arena, &copy[i].name) || !copy_text(arena, &copy[i].dir) ||
            !copy_text(arena, &copy[i].dtype) || !copy_text(arena, &copy[i].index))
            return false;
    }
    return copy != NULL;
}

enum err_code rollout_make(struct rollout **out, const struct config_model *file,
                           unsigned file_count, const struct config_model *now, unsigned now_count,
                           struct err *err)
{
    struct rollout *rollout = calloc(1, sizeof *rollout);
    *out = NULL;
    if (rollout == NULL)
        return err_no_memory(err, sizeof *rollout);
    arena_init(&rollout->arena);
    rollout->file_count = file_count;
    rollout->now_count = now_count;
    if (!copy_list(&rollout->arena, (struct list){file, file_count}, &rollout->file) ||
        !copy_list(&rollout->arena, (struct list){now, now_count}, &rollout->now)) {
        rollout_close(rollout);
        return err_no_memory(err, (file_count + now_count) * sizeof *file);
    }
    *out = rollout;
    return ERR_OK;
}

void rollout_close(struct rollout *rollout)
{
    if (rollout == NULL)
        return;
    arena_deinit(&rollout->arena);
    free(rollout);
}

/* ---- over a configuration ---- */

/* The effective list in the making. */
struct effective {
    struct config_model models[2 * CONFIG_MODELS_MAX];
    unsigned count;
};

static bool has_name(const struct effective *to, const char *name)
{
    return entry_of((struct list){to->models, to->count}, name, 0) != NULL;
}

static void add_entries(struct effective *to, struct list from, const char *name)
{
    const struct config_model *entry;
    for (unsigned i = 0; (entry = entry_of(from, name, i)) != NULL; i++)
        if (to->count < 2 * CONFIG_MODELS_MAX)
            to->models[to->count++] = *entry;
}

/* True if the roll-out's entries for the name still apply. */
static bool holds(const struct rollout *rollout, struct list read, const char *name)
{
    return rollout_is_changed(rollout, name) &&
           has_same(read, (struct list){rollout->file, rollout->file_count}, name);
}

/* The result is in the order of the configuration; names that it does not have come last. */
enum err_code rollout_apply(const struct rollout *rollout, struct config *config,
                            const char *dropped[CONFIG_MODELS_MAX], unsigned *dropped_count,
                            struct err *err)
{
    const struct list read = {config->models, config->model_count};
    const struct list now = {rollout->now, rollout->now_count};
    struct effective *to = calloc(1, sizeof *to);
    *dropped_count = 0;
    if (to == NULL)
        return err_no_memory(err, sizeof *to);
    for (unsigned i = 0; i < read.count; i++) {
        const char *name = read.models[i].name;
        if (!has_name(to, name))
            add_entries(to, holds(rollout, read, name) ? now : read, name);
    }
    for (unsigned i = 0; i < now.count; i++)
        if (!has_name(to, now.models[i].name) && holds(rollout, read, now.models[i].name))
            add_entries(to, now, now.models[i].name);
    for (unsigned i = 0; i < rollout->now_count; i++) {
        const char *name = rollout->now[i].name;
        bool is_first = entry_of((struct list){rollout->now, i}, name, 0) == NULL;
        if (is_first && rollout_is_changed(rollout, name) && !holds(rollout, read, name) &&
            *dropped_count < CONFIG_MODELS_MAX)
            dropped[(*dropped_count)++] = name;
    }
    config_set_models(config, to->models, to->count, err);
    free(to);
    return err->code;
}
