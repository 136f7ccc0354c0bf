/* rollout.c - changes which versions of a model are served: POST /admin/models, PATCH and DELETE of
 * a version, promote and rollback. The work is the reloader's; guard.h says who may ask. */
#include "server/api/handlers.h"

#include "engine/base/doc.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/api/versions.h"
#include "server/json/codec_rollout.h"
#include "server/protocol/content.h"
#include "server/serve/claim.h"

#include <string.h>

/* The state of a request of these routes, in its arena. */
struct rollout_request {
    struct rollout_call call;
    struct reloader_order order;
};

/* The types and encodings that /predict takes JSON as. */
enum err_code rollout_head(struct service *service, struct request *request)
{
    (void)service;
    if (content_accept(request))
        return request->err.code;
    if (request->body != REQUEST_JSON)
        return err_set(&request->err, ERR_MEDIA_TYPE, "a change is sent as application/json");
    return ERR_OK;
}

/* The elements of the path, where the route has them. */
static enum err_code read_path(struct request *request, struct rollout_change *change)
{
    const char *pattern = request->route->pattern;
    const bool has_name = strstr(pattern, "{name}") != NULL;
    const bool has_version = strstr(pattern, "{version}") != NULL;
    if (has_name)
        change->name = request_value(request, "name");
    if (has_version)
        change->version = request_value(request, "version");
    if ((has_name && change->name == NULL) || (has_version && change->version == NULL))
        return err_no_memory(&request->err, strlen(request->exchange->path));
    return ERR_OK;
}

/* By few labels a worse model looks better too often. A version that is not served is refused
 * later, by the reloader. */
static enum err_code check_labels(struct service *service, struct request *request,
                                  const struct rollout_call *call)
{
    const struct rollout_change *change = &call->change;
    const unsigned least = request->snapshot->config.promote_min_feedback;
    if (call->force || versions_find(request->snapshot, change->name, change->version) == NULL)
        return ERR_OK;
    const uint64_t labels = versions_labels(service, change->name, change->version);
    if (labels >= least)
        return ERR_OK;
    return err_set(&request->err, ERR_CONFLICT,
                   "this version has %llu right labels by POST /feedback, a promotion needs %u "
                   "(promote_min_feedback); or send {\"force\": true, \"reason\": \"...\"}",
                   (unsigned long long)labels, least);
}

static bool is_repository(const struct request *request)
{
    return strncmp(request->pattern, "/v2/", 4) == 0;
}

/* A body of the model repository: {"parameters": {"dir", "dtype"}} of a load, where the directory
 * without one has the model's name, and {"parameters": {"version"}} of an unload, which without one
 * is of the model's only version. */
static enum err_code read_repository(struct request *request, struct rollout_change *change)
{
    const struct snapshot *snapshot = request->snapshot;
    struct arena *arena = &request->exchange->arena;
    const bool is_load = change->action == ROLLOUT_LOAD;
    const char *dir = NULL, *dtype = NULL, *version = NULL;
    bool with_dependents = false;
    struct json_t *root = NULL;
    change->name = request_value(request, "model");
    if (change->name == NULL)
        return err_no_memory(&request->err, strlen(request->exchange->path));
    if (request->content_len > 0 && doc_parse(&root, request->content, request->content_len,
                                              &doc_limits_request, &request->err))
        return request->err.code;
    const struct json_t *parameters = doc_member(root, "parameters");
    if (doc_check_members(root, "$", "parameters", &request->err) ||
        doc_check_members(parameters, "$.parameters",
                          is_load ? "dir, dtype" : "version, unload_dependents", &request->err))
        request->err.code = ERR_UNUSABLE;
    else if (!doc_get_string(parameters, "$.parameters", "dir", &dir, &request->err) &&
             !doc_get_string(parameters, "$.parameters", "dtype", &dtype, &request->err) &&
             !doc_get_string(parameters, "$.parameters", "version", &version, &request->err))
        doc_get_bool(parameters, "$.parameters", "unload_dependents", &with_dependents,
                     &request->err);
    if (with_dependents)
        err_set(&request->err, ERR_UNUSABLE, "unload_dependents: no model depends on another");
    for (unsigned i = 0; !is_load && version == NULL && i < snapshot->model_count; i++)
        if (strcmp(snapshot->models[i]->name, change->name) == 0)
            change->version = change->version == NULL ? snapshot->models[i]->info->version : "";
    if (change->version != NULL && change->version[0] == '\0')
        err_set(&request->err, ERR_CONFLICT,
                "the model has several versions: name one in parameters.version");
    if (!is_load && version == NULL && change->version == NULL)
        err_set(&request->err, ERR_NOT_FOUND,
                "no model of this name is served; GET /models lists them");
    if (is_load)
        change->dir = dir != NULL ? arena_copy(arena, dir, strlen(dir)) : change->name;
    if (dtype != NULL)
        change->dtype = arena_copy(arena, dtype, strlen(dtype));
    if (version != NULL)
        change->version = arena_copy(arena, version, strlen(version));
    if ((is_load && change->dir == NULL) || (dtype != NULL && change->dtype == NULL) ||
        (version != NULL && change->version == NULL))
        err_no_memory(&request->err, request->content_len);
    doc_free(root);
    return request->err.code;
}

static enum err_code read_call(struct service *service, struct request *request,
                               enum rollout_action action)
{
    struct arena *arena = &request->exchange->arena;
    struct rollout_request *state = arena_alloc_array(arena, 1, sizeof *state);
    if (state == NULL)
        return err_no_memory(&request->err, sizeof *state);
    struct rollout_call *call = &state->call;
    call->change.action = action;
    if (claim_reading(service, request,
                      memory_sum(content_bytes(request), (size_t)CODEC_ROLLOUT_BYTES)))
        return request->err.code;
    if (request->route->has_body && request->exchange->body_len > 0 && content_decode_json(request))
        return request->err.code;
    if (is_repository(request)) {
        if (read_repository(request, &call->change))
            return request->err.code;
    } else if (codec_rollout_parse(call, request->content, request->content_len, arena,
                                   &request->err) ||
               read_path(request, &call->change) ||
               (action == ROLLOUT_PROMOTE && check_labels(service, request, call)))
        return request->err.code;
    state->order.request = request;
    state->order.change = &call->change;
    request->state = state;
    return ERR_OK;
}

static enum http_next begin(struct service *service, struct request *request,
                            enum rollout_action action)
{
    if (read_call(service, request, action))
        return reply_problem(request);
    struct rollout_request *state = request->state;
    http_suspend(request->exchange);
    if (reloader_submit(service->reloader, &state->order, &request->err))
        http_resume(request->exchange);
    return HTTP_SUSPENDED;
}

enum http_next rollout_load(struct service *service, struct request *request)
{
    return begin(service, request, ROLLOUT_LOAD);
}

enum http_next rollout_shares(struct service *service, struct request *request)
{
    return begin(service, request, ROLLOUT_SHARES);
}

enum http_next rollout_promote(struct service *service, struct request *request)
{
    return begin(service, request, ROLLOUT_PROMOTE);
}

enum http_next rollout_rollback(struct service *service, struct request *request)
{
    return begin(service, request, ROLLOUT_ROLLBACK);
}

enum http_next rollout_unload(struct service *service, struct request *request)
{
    return begin(service, request, ROLLOUT_UNLOAD);
}

/* Tells of the models that are served now. Another change may have replaced ours already. */
void rollout_finish(struct service *service, struct request *request)
{
    static const unsigned statuses[] = {[ROLLOUT_LOAD] = 201, [ROLLOUT_UNLOAD] = 202};
    const struct rollout_request *state = request->state;
    if (request->err.code != ERR_OK) {
        reply_problem(request);
        return;
    }
    struct arena *arena = &request->exchange->arena;
    const enum rollout_action action = state->call.change.action;
    const unsigned status =
        is_repository(request) || statuses[action] == 0 ? 200 : statuses[action];
    const struct reload_result *result = &state->order.result;
    struct rollout_told told = {
        .generation = result->generation, .name = result->model, .version = result->version};
    const struct snapshot *now = snapshots_acquire(service->snapshots);
    struct version_row *rows;
    const char *json = NULL;
    size_t len = 0;
    if (versions_list(service, now, told.name, arena, &rows, &told.row_count, &request->err) ==
        ERR_OK) {
        told.rows = rows;
        json = codec_rollout_encode(&told, arena, &len);
    }
    snapshots_release(service->snapshots, now);
    reply_json(request, status, json, len, "changed, but out of memory for the reply");
}
