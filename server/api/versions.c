#include "server/api/versions.h"

#include "server/serve/versions.h"

#include <string.h>

static uint64_t shadowed(const struct served_model *model, enum shadow_result result)
{
    return atomic_load_explicit(&model->shadowed[result], memory_order_relaxed);
}

static struct version_row row_of(const struct snapshot *snapshot, unsigned index)
{
    const struct served_model *model = snapshot->models[index];
    return (struct version_row){
        .version = model->info->version,
        .digest = served_model_digest(model),
        .role = version_role_name(versions_role(snapshot, index)),
        .share = versions_share(snapshot, index),
        .shadow = snapshot->config.models[index].shadow,
        .predictions = atomic_load_explicit(&model->answered, memory_order_relaxed),
        .agrees = shadowed(model, SHADOW_AGREES),
        .disagrees = shadowed(model, SHADOW_DISAGREES),
        .skipped = shadowed(model, SHADOW_SKIPPED),
        .failed = shadowed(model, SHADOW_FAILED),
        .waiting = atomic_load_explicit(&model->shadow_waiting, memory_order_relaxed),
    };
}

static uint64_t paired_count(const struct feedback_paired *paired)
{
    return paired->both + paired->answer_only + paired->shadow_only + paired->neither;
}

/* Accuracy over the inputs that the version answered and those that it judged as a shadow. No input
 * is in both. */
static enum err_code add_accuracy(struct service *service, const char *name,
                                  struct version_row *row, struct arena *arena, struct err *err)
{
    struct feedback_accuracy accuracy;
    if (service->feedback == NULL)
        return ERR_OK;
    if (feedback_accuracy(service->feedback, name, row->version, false, arena, &accuracy, err))
        return err->code;
    row->paired = accuracy.paired;
    row->accuracy = (struct feedback_share){
        .right = accuracy.all.right + accuracy.paired.both + accuracy.paired.shadow_only,
        .count = accuracy.all.count + paired_count(&accuracy.paired)};
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
        if (strcmp(snapshot->models[i]->name, name) != 0)
            continue;
        rows[*count] = row_of(snapshot, i);
        if (add_accuracy(service, name, &rows[(*count)++], arena, err))
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
