/* feedback.c - right labels of predictions: POST /feedback, DELETE /feedback/{id}, DELETE
 * /feedback?id=. */
#include "server/api/handlers.h"

#include "server/api/input_name.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/feedback/feedback_line.h"
#include "server/json/codec_feedback.h"
#include "server/protocol/content.h"
#include "server/serve/claim.h"

#include <stdlib.h>
#include <string.h>

enum { REMOVAL_BYTES = 64 * 1024 + FEEDBACK_TEXT_LINE_BYTES }; /* with two texts */

static const char no_memory[] = "out of memory for the reply";

/* The types and encodings that /predict takes JSON as. */
enum err_code feedback_head(struct service *service, struct request *request)
{
    if (atomic_load(&service->phase) == SERVICE_STARTING)
        return err_set(&request->err, ERR_NOT_READY, "the models are being loaded");
    if (content_accept(request))
        return request->err.code;
    if (request->body != REQUEST_JSON)
        return err_set(&request->err, ERR_MEDIA_TYPE, "a label is sent as application/json");
    return ERR_OK;
}

/* Each error gets its place; that of the only label is the request's. */
static enum err_code give(struct service *service, struct request *request,
                          struct feedback_call *call)
{
    char place[CODEC_FEEDBACK_PLACE_BYTES];
    const struct snapshot *snapshot = request->snapshot;
    struct arena *arena = &request->exchange->arena;
    bool *is_placed = arena_alloc_array(arena, call->count, sizeof *is_placed);
    if (is_placed == NULL)
        return err_no_memory(&request->err, call->count);
    for (unsigned i = 0; i < call->count; i++) {
        is_placed[i] = call->items[i].err.code != ERR_OK;
        call->items[i].key = request->grant.name;
    }
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        feedback_learn(service->feedback, model->name, model->info->version, model->info->labels,
                       model->info->label_count, snapshot->generation);
    }
    if (feedback_give(service->feedback, call->items, call->count, arena, &request->err))
        return request->err.code;
    for (unsigned i = 0; i < call->count; i++) {
        codec_feedback_place(call, i, place);
        if (call->items[i].err.code != ERR_OK && !is_placed[i])
            err_prefix(&call->items[i].err, "%s.", place);
    }
    if (!call->is_list)
        request->err = call->items[0].err;
    return request->err.code;
}

enum http_next feedback_post(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct feedback_call call;
    size_t len = 0;
    const unsigned most = request->snapshot->config.inputs_max;
    const size_t bytes = codec_feedback_bytes(content_len_max(request), most);
    if (claim_reading(service, request, memory_sum(content_bytes(request), bytes)) ||
        content_decode_json(request))
        return reply_problem(request);
    if (request->body != REQUEST_JSON) {
        err_set(&request->err, ERR_MEDIA_TYPE, "a label is sent as JSON");
        return reply_problem(request);
    }
    if (codec_feedback_parse(&call, request->content, request->content_len, most, arena,
                             &request->err) ||
        claim_reading(service, request, codec_feedback_texts_bytes(call.items, call.count)) ||
        give(service, request, &call))
        return reply_problem(request);
    const char *json = codec_feedback_encode(&call, arena, &len);
    return reply_json(request, 200, json, len, no_memory);
}

/* ---- taking back ---- */

enum http_next feedback_delete(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct input_name name;
    const char *json = NULL;
    size_t len = 0;
    if (claim_reply(service, request, REMOVAL_BYTES) || input_name_read(&name, request))
        return reply_problem(request);
    struct feedback_item item = {.id = name.id, .index = name.index, .key = request->grant.name};
    if (feedback_give(service->feedback, &item, 1, arena, &request->err) == ERR_OK)
        request->err = item.err;
    if (request->err.code == ERR_OK)
        json = codec_feedback_encode_removed(&item, arena, &len);
    return reply_json(request, 200, json, len, no_memory);
}
