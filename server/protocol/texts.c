#include "server/protocol/texts.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "server/protocol/content.h"
#include "server/serve/snapshots.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"
#include "wire/problem.h"

#include <stdio.h>
#include <string.h>

enum {
    DEPTH_MAX = 7,
    TOKENS_PER_TEXT = 2, /* the text and its comma */
    TOKEN_BYTES = 128,   /* of jansson's tree */
    TEXT_COPIES = 5,     /* of a string: the tree's, twice in its lexer's buffer, and ours */
    OTHER_BLOCKS = 6,    /* of the arena, beside the texts: items, options, names, a query */
};

enum err_code texts_accept(struct request *request)
{
    request->call.model_place = "model";
    if (content_accept(request) || request->body == REQUEST_JSON)
        return request->err.code;
    return err_set(&request->err, ERR_MEDIA_TYPE, "the body must be JSON: application/json");
}

void texts_place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    if (call->item_count == 1)
        snprintf(out, CALL_PLACE_BYTES, "inputs");
    else
        snprintf(out, CALL_PLACE_BYTES, "inputs[%u]", index);
}

static struct doc_limits limits_of(const struct request *request, size_t more)
{
    struct doc_limits limits = doc_limits_request;
    limits.depth_max = DEPTH_MAX;
    limits.tokens_max += (size_t)request->snapshot->config.inputs_max * TOKENS_PER_TEXT + more;
    limits.bytes_max = 0; /* body_bytes_max bounds them */
    return limits;
}

size_t texts_parse_bytes_more(struct request *request, size_t more)
{
    const size_t len = content_len_max(request), tokens = limits_of(request, more).tokens_max;
    const size_t inputs = request->snapshot->config.inputs_max;
    return content_bytes(request) + (len < tokens ? len : tokens) * TOKEN_BYTES +
           memory_product(len, TEXT_COPIES) + inputs * sizeof(struct predict_item) +
           (inputs + OTHER_BLOCKS) * ARENA_ALIGNMENT;
}

size_t texts_parse_bytes(struct request *request)
{
    return texts_parse_bytes_more(request, 0);
}

enum err_code texts_parse(struct request *request, struct json_t **root, const char *known,
                          size_t more)
{
    const struct doc_limits limits = limits_of(request, more);
    const struct config *config = &request->snapshot->config;
    if (doc_parse(root, request->content, request->content_len, &limits, &request->err)) {
        if (request->err.code != ERR_TOO_LARGE)
            return request->err.code;
        if (more > 0)
            return err_prefix(&request->err,
                              "expected at most %u lists (inputs_max) of %u token ids together "
                              "(text_tokens_max): ",
                              config->inputs_max, config->text_tokens_max);
        return err_prefix(&request->err, "expected at most %u texts (inputs_max), no token ids: ",
                          config->inputs_max);
    }
    if (strcmp(doc_type_name(*root), "an object") != 0)
        return err_set(&request->err, ERR_UNUSABLE, "expected an object, found %s",
                       doc_type_name(*root));
    if (doc_check_members(*root, "$", known, &request->err))
        request->err.code = ERR_UNUSABLE;
    return request->err.code;
}

enum err_code texts_open(struct request *request, struct json_t **root, const char *known,
                         size_t more)
{
    *root = NULL;
    return content_decode_json(request) ? request->err.code
                                        : texts_parse(request, root, known, more);
}

enum err_code texts_name(struct request *request, const struct json_t *object, const char *path,
                         const char *key, size_t most, const char **out)
{
    return codec_check_text(object, path, key, most, &request->exchange->arena, out, &request->err);
}

enum err_code texts_parameters(struct request *request, const struct json_t *root, const char *path,
                               const char *known, const struct json_t **out)
{
    const struct json_t *value = doc_member(root, "parameters");
    *out = value;
    if (doc_check_members(value, path, known, &request->err))
        request->err.code = ERR_UNUSABLE;
    return request->err.code;
}

/* A number, or an array of numbers. */
static bool is_token_ids(const struct json_t *value)
{
    double id;
    return doc_as_number(value, &id) || doc_as_number(doc_array_item(value, 0), &id);
}

enum err_code texts_text(struct request *request, const struct json_t *value, const char *place,
                         const char **out, size_t *len)
{
    const char *text = doc_text(value, len);
    if (value == NULL)
        return err_set(&request->err, ERR_UNUSABLE, "%s: it is missing", place);
    if (is_token_ids(value))
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: expected a text, found token ids: they belong to another tokenizer, "
                       "send the text",
                       place);
    if (text == NULL)
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected a text, found %s", place,
                       doc_type_name(value));
    *out = arena_copy(&request->exchange->arena, text, *len);
    return *out != NULL ? ERR_OK : err_no_memory(&request->err, *len + 1);
}

enum err_code texts_source(struct request *request, const struct json_t *value, const char *place,
                           struct engine_source *out)
{
    const char *text;
    size_t len;
    if (texts_text(request, value, place, &text, &len))
        return request->err.code;
    if (len == 0)
        return err_set(&request->err, ERR_UNUSABLE, "%s: empty", place);
    *out = (struct engine_source){.kind = ENGINE_TEXT, .bytes = text, .len = len, .is_utf8 = true};
    return ERR_OK;
}

enum err_code texts_image(struct request *request, const struct json_t *value, const char *place,
                          struct engine_source *out)
{
    size_t len;
    const char *text = doc_text(value, &len);
    if (text == NULL || len == 0)
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected the base64 of a picture", place);
    char *bytes = arena_alloc(&request->exchange->arena, base64_sent_size(len));
    if (bytes == NULL)
        return err_no_memory(&request->err, len);
    *out = (struct engine_source){.kind = ENGINE_IMAGE, .bytes = bytes};
    if (base64_decode_sent(bytes, &out->len, text, len, 0, NULL, &request->err))
        return err_prefix(&request->err, "%s: ", place);
    return ERR_OK;
}

enum err_code texts_source_or_image(struct request *request, const struct json_t *value,
                                    const char *place, struct engine_source *out)
{
    if (doc_object_count(value) == 1 && doc_member(value, "image") != NULL)
        return texts_image(request, doc_member(value, "image"), place, out);
    return texts_source(request, value, place, out);
}

bool texts_is_array(const struct json_t *value)
{
    return value != NULL && strcmp(doc_type_name(value), "an array") == 0;
}

enum err_code texts_room(struct request *request, size_t count, const char *name)
{
    const unsigned most = request->snapshot->config.inputs_max;
    struct predict_call *call = &request->call;
    if (count == 0)
        return err_set(&request->err, ERR_UNUSABLE, "%s: the array is empty", name);
    if (count > most)
        return err_set(&request->err, ERR_TOO_LARGE, "%s: at most %u texts (inputs_max), found %zu",
                       name, most, count);
    call->items = arena_alloc_array(&request->exchange->arena, count, sizeof *call->items);
    if (call->items == NULL)
        return err_no_memory(&request->err, count * sizeof *call->items);
    call->item_count = (unsigned)count;
    return ERR_OK;
}

enum err_code texts_items(struct request *request, const struct json_t *value, const char *name,
                          texts_read *read)
{
    const bool is_array = texts_is_array(value);
    struct predict_call *call = &request->call;
    char place[CALL_PLACE_BYTES];
    if (value == NULL)
        return err_set(&request->err, ERR_UNUSABLE, "%s: it is missing", name);
    if (is_token_ids(value))
        return texts_text(request, value, name, &(const char *){NULL}, &(size_t){0});
    if (texts_room(request, is_array ? doc_array_count(value) : 1, name))
        return request->err.code;
    for (unsigned i = 0; i < call->item_count; i++) {
        call->place(call, i, place);
        if (read(request, is_array ? doc_array_item(value, i) : value, place,
                 &call->items[i].source))
            return request->err.code;
    }
    return ERR_OK;
}

static void place_of_sentence(const struct predict_call *call, unsigned index,
                              char out[CALL_PLACE_BYTES])
{
    (void)call;
    if (index == 0)
        snprintf(out, CALL_PLACE_BYTES, "inputs.source_sentence");
    else
        snprintf(out, CALL_PLACE_BYTES, "inputs.sentences[%u]", index - 1);
}

enum err_code texts_similarity(struct request *request, const struct json_t *value)
{
    struct predict_call *call = &request->call;
    const struct json_t *sentences = doc_member(value, "sentences");
    char place[CALL_PLACE_BYTES];
    call->place = place_of_sentence;
    call->wish = WISH_VECTOR;
    if (doc_check_members(value, "$.inputs", "source_sentence, sentences", &request->err))
        return request->err.code = ERR_UNUSABLE;
    if (doc_array_count(sentences) == 0)
        return err_set(&request->err, ERR_UNUSABLE, "inputs.sentences: expected a list of texts");
    if (texts_room(request, 1 + doc_array_count(sentences), "inputs"))
        return request->err.code;
    for (unsigned i = 0; request->err.code == ERR_OK && i < call->item_count; i++) {
        call->place(call, i, place);
        texts_source(request,
                     i == 0 ? doc_member(value, "source_sentence")
                            : doc_array_item(sentences, i - 1),
                     place, &call->items[i].source);
    }
    return request->err.code;
}

enum err_code texts_truncation(struct request *request, const struct json_t *object,
                               const char *path)
{
    const char *direction = "Right";
    bool truncates = false;
    if (doc_get_bool(object, path, "truncate", &truncates, &request->err) ||
        doc_get_string(object, path, "truncation_direction", &direction, &request->err))
        return request->err.code;
    request->call.refuses_cut = !truncates;
    if (strcmp(direction, "Right") != 0 && strcmp(direction, "right") != 0)
        err_set(&request->err, ERR_UNUSABLE,
                "truncation_direction: only Right is supported: a text is cut at its end");
    return request->err.code;
}

const char *texts_problem(struct request *request, size_t *len)
{
    const struct err *err = &request->err;
    const unsigned status = problem_status(err->code);
    const char *type = status == 401   ? "authentication_error"
                       : status == 403 ? "permission_error"
                       : status == 429 ? "rate_limit_error"
                       : status >= 500 ? "server_error"
                                       : "invalid_request_error";
    const bool is_model = err->code == ERR_NOT_FOUND && request->rows != NULL;
    struct codec_text text;
    codec_text_open(&text, 0, &request->exchange->arena);
    codec_text_add(&text, "{\"error\":{\"message\":");
    codec_text_string(&text, err->text);
    codec_text_add(&text, ",\"type\":");
    codec_text_string(&text, type);
    codec_text_add(&text,
                   is_model ? ",\"param\":\"model\",\"code\":" : ",\"param\":null,\"code\":");
    codec_text_string(&text, is_model ? "model_not_found" : err_name(err->code));
    codec_text_add(&text, "}}");
    return codec_text_end(&text, len);
}

static const char *problem(struct request *request, const char *type, size_t *len)
{
    struct codec_text text;
    codec_text_open(&text, 0, &request->exchange->arena);
    codec_text_add(&text, "{\"error\":");
    codec_text_string(&text, request->err.text);
    codec_text_add(&text, ",\"error_type\":");
    codec_text_string(&text, type);
    codec_text_add(&text, "}");
    return codec_text_end(&text, len);
}

const char *texts_tei_problem(struct request *request, size_t *len)
{
    const unsigned status = problem_status(request->err.code);
    return problem(request,
                   status == 429   ? "Overloaded"
                   : status == 503 ? "Unhealthy"
                   : status >= 500 ? "Backend"
                                   : "Validation",
                   len);
}

const char *texts_tgi_problem(struct request *request, size_t *len)
{
    const unsigned status = problem_status(request->err.code);
    return problem(request,
                   status == 429 || status == 503 ? "overloaded"
                   : status >= 500                ? "generation"
                                                  : "validation",
                   len);
}
