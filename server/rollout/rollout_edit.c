/* rollout_edit.c - the changes of rollout.h: each makes another list of models out of one. The
 * first entry of a name is its primary, so a promotion exchanges two entries and leaves the order
 * of the names, on which the defaults depend. */
#include "server/rollout/rollout.h"

#include "config/config_change.h"

#include <stdio.h>
#include <string.h>

enum { NONE = -1 };

/* A list that is being changed. */
struct edit {
    const struct rollout_change *change;
    const char *const *versions; /* [count] */
    struct config_model models[CONFIG_MODELS_MAX + 1];
    unsigned count;
    int primary, standby, chosen; /* places of the change's name; NONE */
};

/* ---- finding ---- */

static bool has_name(const struct edit *edit, unsigned at)
{
    return strcmp(edit->models[at].name, edit->change->name) == 0;
}

static enum err_code check_places(const struct edit *edit, struct err *err)
{
    char versions[200];
    if (edit->change->action == ROLLOUT_LOAD)
        return ERR_OK;
    if (edit->primary == NONE)
        return err_set(err, ERR_NOT_FOUND,
                       "no model of this name is served; GET /models lists them");
    size_t len = 0;
    versions[0] = '\0';
    for (unsigned i = 0; i < edit->count; i++)
        if (has_name(edit, i) && len < sizeof versions)
            len += (size_t)snprintf(versions + len, sizeof versions - len, "%s%.32s",
                                    len > 0 ? ", " : "", edit->versions[i]);
    if (edit->change->action != ROLLOUT_ROLLBACK && edit->chosen == NONE)
        return err_set(err, ERR_NOT_FOUND, "the model has no such version; there is %s", versions);
    return ERR_OK;
}

/* ---- the changes ---- */

static void take_out(struct edit *edit, int at)
{
    memmove(&edit->models[at], &edit->models[at + 1],
            (edit->count - (unsigned)at - 1) * sizeof *edit->models);
    edit->count--;
}

static void set_shares(struct config_model *model, const struct rollout_change *change)
{
    if (change->has_split)
        model->split = change->split;
    if (change->has_shadow)
        model->shadow = change->shadow;
}

static enum err_code load(struct edit *edit, struct err *err)
{
    const struct rollout_change *change = edit->change;
    if (edit->count == CONFIG_MODELS_MAX)
        return err_set(err, ERR_CONFLICT, "%d models are served, the limit; unload one first",
                       CONFIG_MODELS_MAX);
    struct config_model *added = &edit->models[edit->count++];
    *added =
        (struct config_model){.name = change->name, .dir = change->dir, .dtype = change->dtype};
    set_shares(added, change);
    return ERR_OK;
}

static struct config_model alone(const struct config_model *model, bool is_standby)
{
    return (struct config_model){.name = model->name,
                                 .dir = model->dir,
                                 .dtype = model->dtype,
                                 .index = model->index,
                                 .is_public = model->is_public,
                                 .is_standby = is_standby};
}

/* The one that was kept until now is closed: it is two steps back. */
static enum err_code promote(struct edit *edit, struct err *err)
{
    if (edit->chosen == edit->primary)
        return err_set(err, ERR_CONFLICT, "this version is the primary already");
    const struct config_model before = edit->models[edit->primary];
    edit->models[edit->primary] = alone(&edit->models[edit->chosen], false);
    edit->models[edit->chosen] = alone(&before, true);
    if (edit->standby != NONE && edit->standby != edit->chosen)
        take_out(edit, edit->standby);
    return ERR_OK;
}

static enum err_code roll_back(struct edit *edit, struct err *err)
{
    if (edit->standby == NONE)
        return err_set(err, ERR_CONFLICT,
                       "there is nothing to roll back to: no version was promoted since the last "
                       "rollback, or the one before it was unloaded");
    const struct config_model now = edit->models[edit->primary];
    edit->models[edit->primary] = alone(&edit->models[edit->standby], false);
    edit->models[edit->standby] = alone(&now, false);
    return ERR_OK;
}

static unsigned versions_of(const struct edit *edit)
{
    unsigned count = 0;
    for (unsigned i = 0; i < edit->count; i++)
        count += has_name(edit, i);
    return count;
}

static enum err_code unload(struct edit *edit, struct err *err)
{
    if (edit->count == 1)
        return err_set(err, ERR_CONFLICT,
                       "this is the only model; a server without one is of no use");
    if (edit->chosen == edit->primary && versions_of(edit) > 1)
        return err_set(
            err, ERR_CONFLICT,
            "this version is the primary; promote another one first, or unload the others");
    take_out(edit, edit->chosen);
    return ERR_OK;
}

static enum err_code carry_out(struct edit *edit, struct err *err)
{
    switch (edit->change->action) {
    case ROLLOUT_LOAD:
        return load(edit, err);
    case ROLLOUT_SHARES: {
        if (edit->chosen == edit->primary)
            return err_set(
                err, ERR_CONFLICT,
                "this version is the primary, which answers what no split takes; change the "
                "shares of the others, or promote one");
        set_shares(&edit->models[edit->chosen], edit->change);
        return ERR_OK;
    }
    case ROLLOUT_PROMOTE:
        return promote(edit, err);
    case ROLLOUT_ROLLBACK:
        return roll_back(edit, err);
    case ROLLOUT_UNLOAD:
        return unload(edit, err);
    }
    return ERR_OK;
}

enum err_code rollout_edit(struct config *config, const struct rollout_change *change,
                           const char *const *versions, struct err *err)
{
    struct edit edit = {.change = change,
                        .versions = versions,
                        .count = config->model_count,
                        .primary = NONE,
                        .standby = NONE,
                        .chosen = NONE};
    memcpy(edit.models, config->models, config->model_count * sizeof *config->models);
    const char *version = edit.change->version;
    for (unsigned i = 0; i < edit.count; i++) {
        if (!has_name(&edit, i))
            continue;
        if (edit.primary == NONE)
            edit.primary = (int)i;
        if (edit.models[i].is_standby)
            edit.standby = (int)i;
        if (version != NULL && strcmp(edit.versions[i], version) == 0)
            edit.chosen = (int)i;
    }
    if (check_places(&edit, err) || carry_out(&edit, err))
        return err->code;
    return config_set_models(config, edit.models, edit.count, err);
}
