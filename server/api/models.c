#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/api/versions.h"
#include "server/feedback/feedback.h"
#include "server/json/codec_models.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "server/serve/claim.h"
#include "wire/codec_check.h"

#include <string.h>

enum { PAIR_BYTES = 512 }; /* of a confusion: in the tree, and twice in the text */

static const char no_memory[] = "out of memory for the list of models";

/* Without feedback there is no accuracy. */
static enum err_code fill_row(struct service *service, struct request *request,
                              const struct served_model *model, bool whole, struct model_row *row)
{
    const struct snapshot *snapshot = request->snapshot;
    struct arena *arena = &request->exchange->arena;
    struct drift_figures *drift = arena_alloc_array(arena, 1, sizeof *drift);
    *row = (struct model_row){
        .name = model->name,
        .version = model->info->version,
        .digest = served_model_digest(model),
        .info = model->info,
        .is_default = snapshot_is_default(snapshot, model),
        .inputs_max = snapshot->config.inputs_max,
        .body_bytes_max = snapshot->config.body_bytes_max,
        .image_pixels_max = snapshot->config.image_pixels_max,
        .request_pixels_max = snapshot->config.request_pixels_max,
    };
    const struct served_index *index = snapshot_index(snapshot, model, &row->has_public_index);
    row->index = index != NULL ? index->info : NULL;
    if (drift == NULL)
        return err_no_memory(&request->err, sizeof *drift);
    if (service->drift != NULL && drift_read(service->drift, row->name, row->info, drift))
        row->drift = drift;
    if (service->feedback == NULL)
        return ERR_OK;
    struct feedback_accuracy *accuracy = arena_alloc_array(arena, 1, sizeof *accuracy);
    if (accuracy == NULL)
        return err_no_memory(&request->err, sizeof *accuracy);
    row->accuracy = accuracy;
    return feedback_accuracy(service->feedback, model->name, model->info->version, whole, arena,
                             accuracy, &request->err);
}

enum http_next models_list(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    const struct snapshot *snapshot = request->snapshot;
    const unsigned count = snapshot->model_count;
    struct model_row *rows = arena_alloc_array(arena, count, sizeof *rows);
    if (rows == NULL)
        return reply_json(request, 200, NULL, 0, no_memory);
    unsigned names = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (snapshot_find(snapshot, model->name) == model &&
            fill_row(service, request, model, false, &rows[names++]))
            return reply_problem(request);
    }
    size_t len = 0;
    const char *json = codec_encode_models(rows, names, arena, &len);
    return reply_json(request, 200, json, len, no_memory);
}

struct options {
    bool with_confusion;
    const char *version; /* NULL: the primary */
    struct arena *arena;
    struct err *err;
};

static void visit_option(void *context, const char *name, const char *value)
{
    static const char *const known[] = {"confusion", "version"};
    struct options *options = context;
    value = value != NULL ? value : "";
    if (strcmp(name, "confusion") == 0) {
        options->with_confusion = strcmp(value, "true") == 0;
        if (!options->with_confusion && strcmp(value, "false") != 0)
            err_set(options->err, ERR_UNUSABLE, "?confusion: expected true or false");
    } else if (strcmp(name, "version") == 0) {
        options->version = arena_copy(options->arena, value, strlen(value));
        if (options->version == NULL)
            err_no_memory(options->err, strlen(value));
    } else {
        codec_check_unknown(CODEC_CHECK_QUERY, name, "option", &(struct codec_names){known, 2},
                            options->err);
    }
}

/* The version that is asked for, else the primary. */
static const struct served_model *find_model(struct request *request, const char *version)
{
    const struct snapshot *snapshot = request->snapshot;
    const char *name = request_value(request, "name");
    if (name == NULL) {
        err_no_memory(&request->err, strlen(request->exchange->path));
        return NULL;
    }
    const struct served_model *model = snapshot_find(snapshot, name);
    if (model == NULL)
        err_set(&request->err, ERR_NOT_FOUND,
                "no model of this name is served; GET /models lists them");
    if (model == NULL || version == NULL)
        return model;
    model = versions_find(snapshot, name, version);
    if (model == NULL)
        err_set(&request->err, ERR_NOT_FOUND,
                "?version: the model has no such version; without it \"versions\" of the reply "
                "lists them");
    return model;
}

enum http_next models_one(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct options options = {.arena = arena, .err = &request->err};
    http_query_each(request->exchange, visit_option, &options);
    const struct served_model *model =
        request->err.code == ERR_OK ? find_model(request, options.version) : NULL;
    size_t pairs = service->feedback != NULL ? feedback_series(service->feedback) : 0;
    if (model == NULL ||
        (options.with_confusion && claim_reply(service, request, pairs * PAIR_BYTES)))
        return reply_problem(request);
    struct model_row row;
    struct version_row *versions;
    size_t len = 0;
    if (fill_row(service, request, model, true, &row) ||
        versions_list(service, request->snapshot, model->name, arena, &versions, &row.version_count,
                      &request->err))
        return reply_problem(request);
    row.versions = versions;
    struct label_shares_figures *shares = arena_alloc_array(arena, 1, sizeof *shares);
    if (shares == NULL) {
        err_no_memory(&request->err, sizeof *shares);
        return reply_problem(request);
    }
    row.with_label_shares = service->label_shares != NULL;
    if (row.with_label_shares &&
        label_shares_read(service->label_shares, row.name, row.info, shares))
        row.label_shares = shares;
    row.with_confusion = options.with_confusion;
    const char *json = codec_encode_model(&row, arena, &len);
    return reply_json(request, 200, json, len, no_memory);
}
