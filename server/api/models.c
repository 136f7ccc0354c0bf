#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/protocol/codec.h"

static enum http_next reply(struct request *request, const char *json, size_t len)
{
    if (json != NULL) {
        reply_fill(request, 200, "application/json", json, len);
    } else {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the list of models");
        reply_problem(request);
    }
    return HTTP_REPLY;
}

static struct model_row row_of(const struct snapshot *snapshot, const struct served_model *model)
{
    return (struct model_row){
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
}

enum http_next models_list(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    const struct snapshot *snapshot = request->snapshot;
    const unsigned count = snapshot->model_count;
    (void)service;
    struct model_row *rows = arena_alloc_array(arena, count, sizeof *rows);
    if (rows == NULL)
        return reply(request, NULL, 0);
    for (unsigned i = 0; i < count; i++)
        rows[i] = row_of(snapshot, snapshot->models[i]);
    size_t len = 0;
    const char *json = codec_encode_models(rows, count, arena, &len);
    return reply(request, json, len);
}

enum http_next models_one(struct service *service, struct request *request)
{
    const char *name = route_value(request, "name");
    if (name == NULL)
        return reply(request, NULL, 0);
    const struct served_model *model = snapshot_find(request->snapshot, name);
    (void)service;
    if (model == NULL) {
        err_set(&request->err, ERR_NOT_FOUND, "no model of this name is served; GET /models");
        reply_problem(request);
        return HTTP_REPLY;
    }
    struct model_row row = row_of(request->snapshot, model);
    size_t len = 0;
    const char *json = codec_encode_model(&row, &request->exchange->arena, &len);
    return reply(request, json, len);
}
