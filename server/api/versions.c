#include "server/api/versions.h"

#include "server/serve/versions.h"

#include <string.h>

static uint64_t shadowed(const struct served_model *model, enum shadow_result result)
{
    return atomic_load_explicit(&model->shadowed[result], memory_order_relaxed);
}

const struct served_model *versions_find(const struct snapshot *snapshot, const char *name,
                                         const char *version)
{
    for (unsigned i = 0; i < snapshot->model_count; i++)
        if (strcmp(snapshot->models[i]->name, name) == 0 &&
            strcmp(snapshot->models[i]->info->version, version) == 0)
            return snapshot->models[i];
    return NULL;
}

/* Accuracy over the inputs that the version answered and those that it judged as a shadow. No input
 * is in both. */
static enum err_code add_accuracy(struct service *service, const char *name,
                                  struct version_row *row, struct arena *arena, struct err *err)
{
    struct feedback_accuracy accuracy;
    const struct feedback_paired *paired = &accuracy.paired;
    if (service->feedback == NULL)
        return ERR_OK;
    if (feedback_accuracy(service->feedback, name, row->version, false, arena, &accuracy, err))
        return err->code;
    row->paired = *paired;
    row->accuracy =
        (struct feedback_share){.right = accuracy.all.right + paired->both + paired->shadow_only,
                                .count = accuracy.all.count + paired->both + paired->answer_only +
                                         paired->shadow_only + paired->neither};
    return ERR_OK;
}

enum err_code versions_list(struct service *service, const struct snapshot *snapshot,
                            const char *name, struct arena *arena, struct version_row **out,
                            unsigned *count, struct err *err)
{
    struct version_row *rows = arena_alloc_array(arena, snapshot->model_count + 1, sizeof *rows);
    *count = 0;
    *out = rows;
    if (rows == NULL)
        return err_no_memory(err, snapshot->model_count * sizeof *rows);
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (strcmp(model->name, name) != 0)
            continue;
        struct version_row *row = &rows[(*count)++];
        *row = (struct version_row){
            .version = model->info->version,
            .digest = served_model_digest(model),
            .role = version_role_name(versions_role(snapshot, i)),
            .share = versions_share(snapshot, i),
            .shadow = snapshot->config.models[i].shadow,
            .predictions = atomic_load_explicit(&model->answered, memory_order_relaxed),
            .agrees = shadowed(model, SHADOW_AGREES),
            .disagrees = shadowed(model, SHADOW_DISAGREES),
            .skipped = shadowed(model, SHADOW_SKIPPED),
            .failed = shadowed(model, SHADOW_FAILED),
            .waiting = atomic_load_explicit(&model->shadow_waiting, memory_order_relaxed),
        };
        if (add_accuracy(service, name, row, arena, err))
            return err->code;
    }
    return ERR_OK;
}

uint64_t versions_labels(struct service *service, const char *name, const char *version)
{
    struct version_row row = {.version = version};
    struct err err = {0};
    add_accuracy(service, name, &row, NULL, &err); /* without classes it takes nothing */
    return row.accuracy.count;
}
