#include "server/routes.h"

#include <string.h>

static enum http_next reply(struct request *request, const char *json, size_t len)
{
    if (json != NULL) {
        request_reply(request, 200, "application/json", json, len);
    } else {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the list of models");
        request_reply_problem(request);
    }
    return HTTP_REPLY;
}

static struct model_row row_of(const struct service *service, const struct registry_model *model)
{
    struct model_row row = registry_row(model);
    row.inputs_max = service->config->inputs_max;
    row.body_bytes_max = service->config->body_bytes_max;
    row.image_pixels_max = service->config->image_pixels_max;
    row.request_pixels_max = service->config->request_pixels_max;
    return row;
}

enum http_next route_models_list(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    unsigned count = registry_count(service->registry);
    struct model_row *rows = arena_alloc_array(arena, count, sizeof *rows);
    if (rows == NULL)
        return reply(request, NULL, 0);
    for (unsigned i = 0; i < count; i++)
        rows[i] = row_of(service, registry_at(service->registry, i));
    size_t len = 0;
    const char *json = codec_encode_models(rows, count, arena, &len);
    return reply(request, json, len);
}

enum http_next route_models_one(struct service *service, struct request *request)
{
    const char *name = request->exchange->path + strlen(request->route->path);
    const struct registry_model *model = registry_find(service->registry, name);
    if (model == NULL) {
        err_set(&request->err, ERR_NOT_FOUND, "no model of this name is served; GET /models");
        request_reply_problem(request);
        return HTTP_REPLY;
    }
    struct model_row row = row_of(service, model);
    size_t len = 0;
    const char *json = codec_encode_model(&row, &request->exchange->arena, &len);
    return reply(request, json, len);
}
