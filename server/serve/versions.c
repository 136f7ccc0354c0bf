#include "server/serve/versions.h"

#include "server/rollout/share.h"

#include <string.h>

const char *version_role_name(enum version_role role)
{
    static const char *const names[] = {[VERSION_PRIMARY] = "primary",
                                        [VERSION_SPLIT] = "split",
                                        [VERSION_SHADOW] = "shadow",
                                        [VERSION_RETIRING] = "retiring"};
    return names[role];
}

/* The models of a snapshot are in the order of its configuration. */
static const struct config_model *entry(const struct snapshot *snapshot, unsigned index)
{
    return &snapshot->config.models[index];
}

static bool has_name(const struct snapshot *snapshot, unsigned index, const char *name)
{
    return strcmp(snapshot->models[index]->name, name) == 0;
}

enum version_role versions_role(const struct snapshot *snapshot, unsigned index)
{
    const struct served_model *model = snapshot->models[index];
    if (snapshot_find(snapshot, model->name) == model)
        return VERSION_PRIMARY;
    if (entry(snapshot, index)->split > 0)
        return VERSION_SPLIT;
    if (entry(snapshot, index)->shadow > 0)
        return VERSION_SHADOW;
    return entry(snapshot, index)->is_standby ? VERSION_RETIRING : VERSION_SPLIT;
}

double versions_share(const struct snapshot *snapshot, unsigned index)
{
    const struct served_model *model = snapshot->models[index];
    double others = 0;
    if (snapshot_find(snapshot, model->name) != model)
        return entry(snapshot, index)->split;
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (i != index && has_name(snapshot, i, model->name))
            others += entry(snapshot, i)->split;
    return others < 1 ? 1 - others : 0;
}

struct served_model *versions_choose(const struct snapshot *snapshot, struct served_model *primary,
                                     const char *key)
{
    double point = -1, sum = 0;
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        struct served_model *model = snapshot->models[i];
        if (model == primary || entry(snapshot, i)->split <= 0 ||
            !has_name(snapshot, i, primary->name))
            continue;
        if (point < 0)
            point = share_point("split", primary->name, key);
        sum += entry(snapshot, i)->split;
        if (point < sum)
            return model;
    }
    return primary;
}

struct served_model *versions_next_shadow(const struct snapshot *snapshot,
                                          const struct served_model *answered, const char *key,
                                          unsigned *at)
{
    while (*at < snapshot->model_count) {
        const unsigned i = (*at)++;
        struct served_model *model = snapshot->models[i];
        const double share = entry(snapshot, i)->shadow;
        if (model != answered && share > 0 && has_name(snapshot, i, answered->name) &&
            share_point("shadow", answered->name, key) < share)
            return model;
    }
    return NULL;
}
