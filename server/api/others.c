/* others.c - what clients of other servers ask beside predictions: is it alive, which model does it
 * serve, which models are there. */
#include "server/api/handlers.h"

#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/protocol/written.h"
#include "server/serve/claim.h"
#include "wire/codec_dump.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MODEL_BYTES = 1024, /* of a model, beside its labels */
    LABEL_BYTES = 64,   /* of a label, beside its text, in two lists */
};

static const char no_memory[] = "out of memory for the description";

/* ---- text-embeddings-inference ---- */

enum http_next others_health(struct service *service, struct request *request)
{
    if (atomic_load(&service->phase) != SERVICE_READY) {
        err_set(&request->err, ERR_NOT_READY, "unhealthy: GET /readyz tells why");
        return reply_problem(request);
    }
    reply_fill(request, 200, "text/plain", "", 0);
    return HTTP_REPLY;
}

/* The model of the option `model`, else the first one that embeds, else the first that reads texts,
 * else the first. */
struct choice {
    const char *name;
    struct request *request;
};

static void visit_option(void *context, const char *name, const char *value)
{
    struct choice *choice = context;
    if (strcmp(name, "model") != 0)
        err_set(&choice->request->err, ERR_UNUSABLE, "this route takes only the option model");
    else
        choice->name = value != NULL ? value : "";
}

static const struct served_model *choose_model(struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    struct choice choice = {.request = request};
    const struct served_model *best = NULL;
    http_query_each(request->exchange, visit_option, &choice);
    if (choice.name != NULL)
        best = snapshot_find(snapshot, choice.name);
    for (unsigned i = 0; choice.name == NULL && i < snapshot->model_count; i++) {
        const struct engine_info *info = snapshot->models[i]->info;
        const bool embeds = info->task == ENGINE_EMBED;
        if (best == NULL ||
            (info->kind == ENGINE_TEXT &&
             (best->info->kind != ENGINE_TEXT || (embeds && best->info->task != ENGINE_EMBED))))
            best = snapshot->models[i];
    }
    if (best == NULL)
        err_set(&request->err, ERR_NOT_FOUND,
                "no model of this name is served; GET /models lists them");
    return best;
}

static void add_number(struct codec_text *text, const char *key, unsigned long long number)
{
    char member[96];
    snprintf(member, sizeof member, "\"%s\":%llu", key, number);
    codec_text_add(text, member);
}

/* {"classifier": {"id2label": {"0": "..."}, "label2id": {"...": 0}}}, "reranker" likewise, or
 * {"embedding": {"pooling": "mean"}}. A model of sparse vectors is one of "splade" there. */
static void add_type(struct codec_text *text, const struct engine_info *info)
{
    char number[32];
    if (info->task == ENGINE_EMBED || info->task == ENGINE_SPARSE) {
        const char *pooling = info->task == ENGINE_SPARSE ? "splade" : info->pooling;
        codec_text_add(text, "{\"embedding\":{\"pooling\":");
        codec_text_string(text, strcmp(pooling, "lasttoken") == 0 ? "last_token" : pooling);
        codec_text_add(text, "}}");
        return;
    }
    codec_text_add(text, info->reads_pairs && info->label_count == 1
                             ? "{\"reranker\":{\"id2label\":{"
                             : "{\"classifier\":{\"id2label\":{");
    for (unsigned i = 0; i < info->label_count; i++) {
        snprintf(number, sizeof number, "%s\"%u\":", i > 0 ? "," : "", i);
        codec_text_add(text, number);
        codec_text_string(text, info->labels[i]);
    }
    codec_text_add(text, "},\"label2id\":{");
    for (unsigned i = 0; i < info->label_count; i++) {
        snprintf(number, sizeof number, ":%u", i);
        codec_text_add(text, i > 0 ? "," : "");
        codec_text_string(text, info->labels[i]);
        codec_text_add(text, number);
    }
    codec_text_add(text, "}}}");
}

/* Members that text-generation-inference tells of a model that writes, beside those of both. */
static void add_generation(struct codec_text *text, const struct served_model *model)
{
    const enum written_form form = written_form_of(model->info);
    codec_text_add(text, ",\"model_pipeline_tag\":");
    codec_text_string(text, model->info->kind == ENGINE_IMAGE ? "image-to-text"
                            : form == WRITTEN_TRANSLATION     ? "translation"
                            : form == WRITTEN_SUMMARY         ? "summarization"
                                                              : "text2text-generation");
    codec_text_add(text, ",\"max_best_of\":1,\"max_stop_sequences\":0,");
    add_number(text, "max_input_tokens", model->info->tokens_max);
    codec_text_add(text, ",\"router\":\"attnd\",");
}

enum http_next others_info(struct service *service, struct request *request)
{
    const struct config *config = &request->snapshot->config;
    const struct served_model *model = choose_model(request);
    struct codec_text text;
    size_t bytes = MODEL_BYTES, len = 0;
    for (unsigned i = 0; model != NULL && i < model->info->label_count; i++)
        bytes += LABEL_BYTES + strlen(model->info->labels[i]) * 12;
    if (request->err.code != ERR_OK || claim_reply(service, request, bytes))
        return reply_problem(request);
    codec_text_open(&text, bytes, &request->exchange->arena);
    codec_text_add(&text, "{\"model_id\":");
    codec_text_string(&text, model->name);
    codec_text_add(&text, ",\"model_sha\":");
    if (served_model_digest(model) != NULL)
        codec_text_string(&text, served_model_digest(model));
    else
        codec_text_add(&text, "null");
    codec_text_add(&text, ",\"model_dtype\":");
    codec_text_string(&text, model->info->dtype);
    codec_text_add(&text, ",\"served_model_name\":");
    codec_text_string(&text, model->name);
    if (model->info->task == ENGINE_GENERATE) {
        add_generation(&text, model);
    } else {
        codec_text_add(&text, ",\"model_type\":");
        add_type(&text, model->info);
        codec_text_add(&text, ",");
    }
    add_number(&text, "max_concurrent_requests", config->queue_limit);
    codec_text_add(&text, ",");
    add_number(&text, "max_input_length", model->info->tokens_max);
    codec_text_add(&text, ",");
    add_number(&text, "max_batch_tokens", model->batch_tokens);
    codec_text_add(&text, ",\"max_batch_requests\":null,");
    add_number(&text, "max_client_batch_size", config->inputs_max);
    codec_text_add(&text, model->info->accepts_truncated ? ",\"auto_truncate\":true,"
                                                         : ",\"auto_truncate\":false,");
    add_number(&text, "tokenization_workers", 1);
    codec_text_add(&text, ",\"version\":\"" ATTND_VERSION "\",\"sha\":null,"
                          "\"docker_label\":null}");
    const char *json = codec_text_end(&text, &len);
    return reply_json(request, 200, json, len, no_memory);
}

/* ---- OpenAI, and TensorFlow Serving's state of a model ---- */

/* The weights' file says since when the model is. */
static void add_model(struct codec_text *text, const struct served_model *model)
{
    struct stat file = {0};
    if (model->info->weight_file_count > 0 && stat(model->info->weight_files[0], &file) != 0)
        file.st_mtime = 0;
    codec_text_add(text, "{\"id\":");
    codec_text_string(text, model->name);
    codec_text_add(text, ",\"object\":\"model\",");
    add_number(text, "created", (unsigned long long)(file.st_mtime > 0 ? file.st_mtime : 0));
    codec_text_add(text, ",\"owned_by\":\"attnd\"");
}

enum http_next others_models(struct service *service, struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    const size_t bytes = (1 + (size_t)snapshot->model_count) * MODEL_BYTES;
    struct codec_text text;
    size_t len = 0;
    bool has_some = false;
    if (claim_reply(service, request, bytes))
        return reply_problem(request);
    codec_text_open(&text, bytes, &request->exchange->arena);
    codec_text_add(&text, "{\"object\":\"list\",\"data\":[");
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (snapshot_find(snapshot, model->name) != model)
            continue;
        codec_text_add(&text, has_some ? "," : "");
        add_model(&text, model);
        codec_text_add(&text, "}");
        has_some = true;
    }
    codec_text_add(&text, "]}");
    const char *json = codec_text_end(&text, &len);
    return reply_json(request, 200, json, len, no_memory);
}

/* One object for clients of both. */
enum http_next others_model(struct service *service, struct request *request)
{
    const struct snapshot *snapshot = request->snapshot;
    const size_t bytes = (1 + (size_t)snapshot->model_count) * MODEL_BYTES;
    const char *name = request_value(request, "model");
    const struct served_model *first = name != NULL ? snapshot_find(snapshot, name) : NULL;
    struct codec_text text;
    size_t len = 0;
    bool has_some = false;
    if (first == NULL)
        err_set(&request->err, ERR_NOT_FOUND,
                "no model of this name is served; GET /v1/models lists them");
    if (request->err.code != ERR_OK || claim_reply(service, request, bytes))
        return reply_problem(request);
    codec_text_open(&text, bytes, &request->exchange->arena);
    add_model(&text, first);
    codec_text_add(&text, ",\"model_version_status\":[");
    for (unsigned i = 0; i < snapshot->model_count; i++) {
        const struct served_model *model = snapshot->models[i];
        if (strcmp(model->name, name) != 0)
            continue;
        codec_text_add(&text, has_some ? ",{\"version\":" : "{\"version\":");
        codec_text_string(&text, model->info->version);
        codec_text_add(&text, ",\"state\":\"AVAILABLE\",\"status\":"
                              "{\"error_code\":\"OK\",\"error_message\":\"\"}}");
        has_some = true;
    }
    codec_text_add(&text, "]}");
    const char *json = codec_text_end(&text, &len);
    return reply_json(request, 200, json, len, no_memory);
}
