/* openai.c - OpenAI's embeddings: POST /v1/embeddings, as their clients send it.
 *
 *     {"model": "e5", "input": ["text", ...], "encoding_format": "float" | "base64",
 *      "dimensions": 256, "user": "..."}
 *     {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [...]}],
 *      "model": "e5", "usage": {"prompt_tokens": 8, "total_tokens": 8}}
 *
 * `dimensions` keeps the first numbers of a vector and scales them to length 1. base64 is of 32-bit
 * floats, the lowest byte first. One text that cannot be used refuses the whole call. `prompt_name`
 * is ours. Token ids in place of texts are refused: they are of OpenAI's tokenizer.
 *
 * Source: OpenAI API reference, Create embeddings, and the client openai-python 1.x. */
#include "server/protocol/content.h"
#include "server/protocol/protocol.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DEPTH_MAX = 4,
    TOKENS_BESIDE = 64,     /* of a body, beside its texts */
    TOKEN_BYTES = 128,      /* of jansson's tree */
    TEXT_COPIES = 5,        /* of a string: the tree's, twice in its lexer's buffer, and ours */
    NUMBER_BYTES = 24,      /* -0.123456789e-38 and a comma */
    ROW_BYTES = 128,        /* of an element of `data`, beside its numbers */
    FRAME_BYTES = 1024,     /* of the rest */
    MESSAGE_COPIES = 6 * 2, /* of a message in JSON: a character takes six, and it is dumped */
};

/* The options of a call; request->state. */
struct embeddings {
    bool is_base64;
};

/* ---- the call ---- */

static enum err_code accept(struct request *request)
{
    request->call.model_place = "model";
    if (content_accept(request) || request->body == REQUEST_JSON)
        return request->err.code;
    return err_set(&request->err, ERR_MEDIA_TYPE, "the body must be JSON: application/json");
}

static struct doc_limits limits_of(const struct request *request)
{
    struct doc_limits limits = doc_limits_request;
    limits.depth_max = DEPTH_MAX;
    limits.tokens_max = TOKENS_BESIDE + request->snapshot->config.inputs_max;
    limits.bytes_max = 0; /* body_bytes_max bounds them */
    return limits;
}

static size_t parse_bytes(struct request *request)
{
    const size_t len = content_len_max(request), tokens = limits_of(request).tokens_max;
    return content_bytes(request) + (len < tokens ? len : tokens) * TOKEN_BYTES +
           memory_product(len, TEXT_COPIES) +
           request->snapshot->config.inputs_max * sizeof(struct predict_item);
}

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    if (call->item_count == 1)
        snprintf(out, CALL_PLACE_BYTES, "input");
    else
        snprintf(out, CALL_PLACE_BYTES, "input[%u]", index);
}

static enum err_code read_text(struct request *request, const struct json_t *value, unsigned index)
{
    struct arena *arena = &request->exchange->arena;
    size_t len = 0;
    double id;
    const char *text = doc_text(value, &len);
    if (text == NULL && (doc_as_number(value, &id) || doc_array_count(value) > 0))
        return err_set(&request->err, ERR_UNUSABLE,
                       "input: expected texts, found token ids: they belong to another tokenizer, "
                       "send the text");
    if (text == NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "input: expected a text or an array of texts, found %s",
                       doc_type_name(value));
    if (len == 0)
        return err_set(&request->err, ERR_UNUSABLE, "input[%u]: empty", index);
    text = arena_copy(arena, text, len);
    if (text == NULL)
        return err_no_memory(&request->err, len + 1);
    request->call.items[index].source =
        (struct engine_source){.kind = ENGINE_TEXT, .bytes = text, .len = len, .is_utf8 = true};
    return ERR_OK;
}

static enum err_code read_input(struct request *request, const struct json_t *input)
{
    const unsigned most = request->snapshot->config.inputs_max;
    const bool is_array = strcmp(doc_type_name(input), "an array") == 0;
    const size_t count = is_array ? doc_array_count(input) : 1;
    struct predict_call *call = &request->call;
    if (input == NULL)
        return err_set(&request->err, ERR_UNUSABLE, "input: it is missing");
    if (count == 0)
        return err_set(&request->err, ERR_UNUSABLE, "input: the array is empty");
    if (count > most)
        return err_set(&request->err, ERR_TOO_LARGE,
                       "input: at most %u texts (inputs_max), found %zu", most, count);
    call->items = arena_alloc_array(&request->exchange->arena, count, sizeof *call->items);
    if (call->items == NULL)
        return err_no_memory(&request->err, count * sizeof *call->items);
    call->item_count = (unsigned)count;
    for (unsigned i = 0; i < count; i++)
        if (read_text(request, is_array ? doc_array_item(input, i) : input, i))
            return request->err.code;
    return ERR_OK;
}

static enum err_code read_name(struct request *request, const struct json_t *root, const char *key,
                               size_t most, const char **out)
{
    const char *name = NULL;
    if (doc_get_string(root, "$", key, &name, &request->err) || name == NULL)
        return request->err.code;
    if (codec_check_label(name, strlen(name), most, "$", key, &request->err))
        return request->err.code;
    *out = arena_copy(&request->exchange->arena, name, strlen(name));
    return *out != NULL ? ERR_OK : err_no_memory(&request->err, strlen(name));
}

static enum err_code read_options(struct request *request, const struct json_t *root)
{
    static const char known[] = "input, model, encoding_format, dimensions, user, prompt_name";
    struct predict_call *call = &request->call;
    struct embeddings *state = request->state;
    const char *format = "float";
    long long dimensions = 0;
    if (doc_check_members(root, "$", known, &request->err)) {
        request->err.code = ERR_UNUSABLE;
        return ERR_UNUSABLE;
    }
    if (read_name(request, root, "model", LIMIT_MODEL_NAME_BYTES, &call->model) ||
        read_name(request, root, "prompt_name", LIMIT_ID_BYTES, &call->prompt_name) ||
        doc_get_integer(root, "$", "dimensions", 1, INT_MAX, &dimensions, &request->err) ||
        doc_get_string(root, "$", "encoding_format", &format, &request->err))
        return request->err.code;
    call->vector = (struct predict_vector){.is_wanted = true, .dimensions = (unsigned)dimensions};
    state->is_base64 = strcmp(format, "base64") == 0;
    if (!state->is_base64 && strcmp(format, "float") != 0)
        return err_set(&request->err, ERR_UNUSABLE, "encoding_format: expected float or base64");
    return ERR_OK;
}

static enum err_code parse(struct service *service, struct request *request)
{
    const struct doc_limits limits = limits_of(request);
    struct json_t *root = NULL;
    (void)service;
    request->call = (struct predict_call){.place = place, .model_place = "model", .keep = true};
    request->state = arena_alloc(&request->exchange->arena, sizeof(struct embeddings));
    if (request->state == NULL)
        return err_no_memory(&request->err, sizeof(struct embeddings));
    if (content_decode_json(request) ||
        doc_parse(&root, request->content, request->content_len, &limits, &request->err))
        return request->err.code;
    if (strcmp(doc_type_name(root), "an object") != 0)
        err_set(&request->err, ERR_UNUSABLE, "expected an object, found %s", doc_type_name(root));
    else if (!read_options(request, root))
        read_input(request, doc_member(root, "input"));
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static unsigned size_of(const struct request *request, const struct row *row)
{
    const unsigned kept = request->call.vector.dimensions;
    return kept > 0 ? kept : row_info(row)->vector_size;
}

static size_t reply_bytes(const struct request *request, size_t *text)
{
    size_t largest = 0;
    *text = FRAME_BYTES;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct row *row = &request->rows[i];
        const size_t bytes =
            row->err.code != ERR_OK ? 0 : memory_product(size_of(request, row), NUMBER_BYTES);
        largest = bytes > largest ? bytes : largest;
        *text = memory_sum(*text, memory_sum(bytes, ROW_BYTES));
    }
    return memory_sum(*text, memory_sum(largest, sizeof((struct err *)0)->text * MESSAGE_COPIES));
}

/* The reply in the making. */
struct writing {
    struct codec_text text;
    unsigned encoded; /* rows */
};

static struct writing *begin(struct request *request)
{
    struct writing *writing = request->reply;
    if (writing != NULL)
        return writing;
    request->reply = writing = arena_alloc(&request->exchange->arena, sizeof *writing);
    if (writing == NULL)
        return NULL;
    writing->encoded = 0;
    codec_text_open(&writing->text, request->long_reply_bytes, &request->exchange->arena);
    codec_text_add(&writing->text, "{\"object\":\"list\",\"data\":[");
    return writing;
}

static void add_base64(struct codec_text *text, const float *vector, unsigned size)
{
    char *out = arena_alloc(text->arena, base64_encoded_size(size * sizeof *vector));
    if (out == NULL) {
        text->has_failed = true;
        return;
    }
    base64_encode(out, (const char *)vector, size * sizeof *vector);
    codec_text_add(text, "\"");
    codec_text_add(text, out);
    codec_text_add(text, "\"");
}

static void add_numbers(struct codec_text *text, const float *vector, unsigned size)
{
    char number[NUMBER_BYTES + 8];
    for (unsigned i = 0; i < size; i++) {
        snprintf(number, sizeof number, "%c%.9g", i == 0 ? '[' : ',', (double)vector[i]);
        codec_text_add(text, number);
    }
    codec_text_add(text, "]");
}

/* Scales the first `size` numbers to length 1, if the vector is cut. */
static void cut(float *vector, unsigned size, unsigned whole)
{
    double squares = 0;
    for (unsigned i = 0; i < size; i++)
        squares += (double)vector[i] * (double)vector[i];
    for (unsigned i = 0; i < size && size < whole && squares > 0; i++)
        vector[i] = (float)((double)vector[i] / sqrt(squares));
}

static unsigned encode_row(struct request *request)
{
    struct writing *writing = begin(request);
    if (writing == NULL || writing->encoded == request->call.item_count)
        return 0;
    const struct embeddings *state = request->state;
    struct row *row = &request->rows[writing->encoded];
    float *vector = row->answer.result.vector;
    const unsigned size = size_of(request, row);
    char head[ROW_BYTES];
    cut(vector, size, row_info(row)->vector_size);
    snprintf(head, sizeof head, "%s{\"object\":\"embedding\",\"index\":%u,\"embedding\":",
             writing->encoded > 0 ? "," : "", writing->encoded);
    codec_text_add(&writing->text, head);
    if (state->is_base64)
        add_base64(&writing->text, vector, size);
    else
        add_numbers(&writing->text, vector, size);
    codec_text_add(&writing->text, "}");
    return request->call.item_count - ++writing->encoded;
}

static const char *encode(struct request *request, const struct codec_timing *timing, size_t *len)
{
    struct writing *writing = begin(request);
    unsigned long tokens = 0;
    char usage[96];
    (void)timing;
    if (writing == NULL)
        return NULL;
    while (encode_row(request) > 0)
        continue;
    for (unsigned i = 0; i < request->call.item_count; i++)
        tokens += request->rows[i].answer.result.tokens;
    snprintf(usage, sizeof usage, ",\"usage\":{\"prompt_tokens\":%lu,\"total_tokens\":%lu}}",
             tokens, tokens);
    codec_text_add(&writing->text, "],\"model\":");
    codec_text_string(&writing->text, request->rows[0].answer.model_name);
    codec_text_add(&writing->text, usage);
    return codec_text_end(&writing->text, len);
}

static const char *problem(struct request *request, size_t *len)
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

const struct protocol protocol_openai = {
    .name = "openai",
    .accept = accept,
    .parse_bytes = parse_bytes,
    .parse = parse,
    .reply_bytes = reply_bytes,
    .encode_row = encode_row,
    .encode = encode,
    .problem = problem,
    .reply_type = "application/json",
    .problem_type = "application/json",
};
