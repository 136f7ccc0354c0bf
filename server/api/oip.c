/* oip.c - the Open Inference Protocol beside inference: what the server and its models are, whether
 * they are ready, what they have done, and which are loaded. */
#include "server/api/handlers.h"

#include "engine/base/doc.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/api/versions.h"
#include "server/json/codec_rollout.h"
#include "server/protocol/content.h"
#include "server/serve/claim.h"
#include "wire/codec_dump.h"
#include "wire/limits.h"

#include <stdio.h>
#include <string.h>

enum { MODEL_BYTES = 4096 }; /* of a model in a list */

static const char no_memory[] = "out of memory for the description";

enum http_next oip_server(struct service *service, struct request *request)
{
    static const char json[] = "{\"name\":\"attnd\",\"version\":\"" ATTND_VERSION "\","
                               "\"extensions\":[\"binary_tensor_data\",\"classification\","
                               "\"model_repository\",\"statistics\"]}";
    (void)service;
    return reply_json(request, 200, json, sizeof json - 1, no_memory);
}

enum http_next oip_live(struct service *service, struct request *request)
{
    (void)service;
    return reply_json(request, 200, "{\"live\":true}", 13, no_memory);
}

enum http_next oip_ready(struct service *service, struct request *request)
{
    if (atomic_load(&service->phase) == SERVICE_READY)
        return reply_json(request, 200, "{\"ready\":true}", 14, no_memory);
    err_set(&request->err, ERR_NOT_READY, "not ready: GET /readyz tells why");
    return reply_problem(request);
}

/* ---- of models ---- */

/* The model of the path, its version if the path names one, else the primary. NULL: an error. */
static const struct served_model *find_model(struct request *request)
{
    const bool has_version = strstr(request->pattern, "{version}") != NULL;
    const char *name = request_value(request, "model");
    const char *version = has_version ? request_value(request, "version") : NULL;
    const struct served_model *model = NULL;
    if (name != NULL && (version != NULL || !has_version))
        model = has_version ? versions_find(request->snapshot, name, version)
                            : snapshot_find(request->snapshot, name);
    if (model == NULL)
        err_set(&request->err, ERR_NOT_FOUND, "no such model is served; GET /models lists them");
    return model;
}

enum http_next oip_model_ready(struct service *service, struct request *request)
{
    const struct served_model *model = find_model(request);
    return model == NULL ? reply_problem(request) : oip_ready(service, request);
}

static void add_tensor(struct codec_text *text, const char *name, const char *type, unsigned width)
{
    char tensor[128], second[16] = "";
    if (width > 0)
        snprintf(second, sizeof second, ",%u", width);
    snprintf(tensor, sizeof tensor, "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[-1%s]}", name,
             type, second);
    codec_text_add(text, tensor);
}

/* {"name", "versions", "platform", "inputs", "outputs"}; a model that `infer` cannot answer has no
 * outputs. */
enum http_next oip_model(struct service *service, struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    const struct served_model *model = find_model(request);
    struct codec_text text;
    size_t len = 0, bytes = MODEL_BYTES * (1 + (size_t)snapshot->model_count);
    bool has_some = false;
    if (model == NULL || claim_reply(service, request, bytes))
        return reply_problem(request);
    const struct engine_info *info = model->info;
    codec_text_open(&text, bytes, &request->exchange->arena);
    codec_text_add(&text, "{\"name\":");
    codec_text_string(&text, model->name);
    codec_text_add(&text, ",\"versions\":[");
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        if (strcmp(snapshot->models[i]->name, model->name) != 0)
            continue;
        codec_text_add(&text, has_some ? "," : "");
        codec_text_string(&text, snapshot->models[i]->info->version);
        has_some = true;
    }
    codec_text_add(&text, "],\"platform\":");
    codec_text_string(&text, info->family);
    codec_text_add(&text, ",\"inputs\":[");
    add_tensor(&text, info->kind == ENGINE_IMAGE ? "image" : "text", "BYTES", 0);
    if (info->reads_pairs) {
        codec_text_add(&text, ",");
        add_tensor(&text, "text_pair", "BYTES", 0);
    }
    codec_text_add(&text, "],\"outputs\":[");
    if (info->task == ENGINE_EMBED)
        add_tensor(&text, "embedding", "FP32", info->vector_size);
    else if (info->task == ENGINE_GENERATE) {
        add_tensor(&text, "output", "BYTES", 0);
        codec_text_add(&text, ",");
        add_tensor(&text, "score", "FP32", 0);
    } else if (info->task == ENGINE_CLASSIFY || info->task == ENGINE_REGRESS) {
        add_tensor(&text, "label", "BYTES", 0);
        codec_text_add(&text, ",");
        add_tensor(&text, "score", "FP32", 0);
        codec_text_add(&text, ",");
        add_tensor(&text, "scores", "FP32", info->label_count);
        codec_text_add(&text, ",");
        add_tensor(&text, "logits", "FP32", info->label_count);
    }
    codec_text_add(&text, "]}");
    const char *json = codec_text_end(&text, &len);
    return reply_json(request, 200, json, len, no_memory);
}

/* {"count", "ns"} of a stage. */
static void add_stage(const struct service *service, const struct served_model *model,
                      struct codec_text *text, const char *name, enum metrics_stage stage)
{
    char member[128];
    uint64_t count = 0;
    double seconds = 0;
    metrics_read_stage(service->metrics, model->slot, stage, &count, &seconds);
    snprintf(member, sizeof member, ",\"%s\":{\"count\":%llu,\"ns\":%.0f}", name,
             (unsigned long long)count, seconds * 1e9);
    codec_text_add(text, member);
}

static void add_statistics(const struct service *service, const struct served_model *model,
                           struct codec_text *text)
{
    char member[256];
    uint64_t count = 0, inputs = atomic_load_explicit(&model->answered, memory_order_relaxed);
    double seconds = 0, queued = 0;
    metrics_read_stage(service->metrics, model->slot, STAGE_QUEUE, &count, &queued);
    metrics_read_stage(service->metrics, model->slot, STAGE_INFERENCE, &count, &seconds);
    codec_text_add(text, "{\"name\":");
    codec_text_string(text, model->name);
    codec_text_add(text, ",\"version\":");
    codec_text_string(text, model->info->version);
    snprintf(member, sizeof member,
             ",\"last_inference\":0,\"inference_count\":%llu,\"execution_count\":%llu,"
             "\"inference_stats\":{\"success\":{\"count\":%llu,\"ns\":%.0f},"
             "\"fail\":{\"count\":0,\"ns\":0}",
             (unsigned long long)inputs, (unsigned long long)count, (unsigned long long)count,
             (queued + seconds) * 1e9);
    codec_text_add(text, member);
    add_stage(service, model, text, "queue", STAGE_QUEUE);
    add_stage(service, model, text, "compute_input", STAGE_PREPARE);
    add_stage(service, model, text, "compute_infer", STAGE_INFERENCE);
    add_stage(service, model, text, "compute_output", STAGE_ENCODE);
    codec_text_add(text, "},\"batch_stats\":[]}");
}

/* The statistics of all models, of one, or of a version. */
enum http_next oip_statistics(struct service *service, struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    const bool has_name = strstr(request->pattern, "{model}") != NULL;
    const bool has_version = strstr(request->pattern, "{version}") != NULL;
    const struct served_model *named = has_name ? find_model(request) : NULL;
    const size_t bytes = MODEL_BYTES * (1 + (size_t)snapshot->model_count);
    struct codec_text text;
    size_t len = 0;
    bool has_some = false;
    if (request->err.code != ERR_OK || claim_reply(service, request, bytes))
        return reply_problem(request);
    codec_text_open(&text, bytes, &request->exchange->arena);
    codec_text_add(&text, "{\"model_stats\":[");
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (has_name && (strcmp(model->name, named->name) != 0 || (has_version && model != named)))
            continue;
        codec_text_add(&text, has_some ? "," : "");
        add_statistics(service, model, &text);
        has_some = true;
    }
    codec_text_add(&text, "]}");
    const char *json = codec_text_end(&text, &len);
    return reply_json(request, 200, json, len, no_memory);
}

/* ---- the repository ---- */

/* The body, which may be absent: {"ready": true} asks for models that are ready, as all are. */
static enum err_code read_filter(struct service *service, struct request *request)
{
    bool is_ready;
    struct json_t *root = NULL;
    if (request->exchange->body_len == 0 ||
        claim_reading(service, request,
                      memory_sum(content_bytes(request), (size_t)CODEC_ROLLOUT_BYTES)) ||
        content_decode_json(request) ||
        doc_parse(&root, request->content, request->content_len, &doc_limits_request,
                  &request->err))
        return request->err.code;
    if (doc_check_members(root, "$", "ready", &request->err))
        request->err.code = ERR_UNUSABLE;
    else
        doc_get_bool(root, "$", "ready", &is_ready, &request->err);
    doc_free(root);
    return request->err.code;
}

enum http_next oip_index(struct service *service, struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    const size_t bytes = MODEL_BYTES * (1 + (size_t)snapshot->model_count);
    struct codec_text text;
    size_t len = 0;
    if (read_filter(service, request) || claim_reply(service, request, bytes))
        return reply_problem(request);
    codec_text_open(&text, bytes, &request->exchange->arena);
    codec_text_add(&text, "[");
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        codec_text_add(&text, i == 0 ? "{\"name\":" : ",{\"name\":");
        codec_text_string(&text, snapshot->models[i]->name);
        codec_text_add(&text, ",\"version\":");
        codec_text_string(&text, snapshot->models[i]->info->version);
        codec_text_add(&text, ",\"state\":\"READY\",\"reason\":\"\"}");
    }
    codec_text_add(&text, "]");
    const char *json = codec_text_end(&text, &len);
    return reply_json(request, 200, json, len, no_memory);
}
