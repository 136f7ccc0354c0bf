/* oip.c - the Open Inference Protocol (v2), as KServe and Triton speak it: POST
 * /v2/models/{model}/infer and /v2/models/{model}/versions/{version}/infer.
 *
 *     {"id": "...", "parameters": {"binary_data_output": true},
 *      "inputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "data": ["...", "..."]}],
 *      "outputs": [{"name": "logits", "parameters": {"binary_data": true, "classification": 3}}]}
 *     {"model_name": "m", "model_version": "1", "id": "...", "outputs": [{"name": "logits",
 *      "datatype": "FP32", "shape": [2, 5], "parameters": {"binary_data_size": 40}}]}
 *
 * Inputs are tensors of BYTES, [rows] or [rows, 1]: `text`, and with it `text_pair`; or `image`, of
 * which an element is a file, in JSON its base64. Outputs: `label`, `score`, `scores`, `logits`, or
 * `embedding`, or of a model that writes texts `output` and `score`; all of them if none is named.
 * Options of such a model are `parameters` of the request.
 *
 * With the header Inference-Header-Content-Length the JSON has so many bytes, and the data of
 * tensors that have a `binary_data_size` follow in their order: numbers as they are in memory, each
 * element of BYTES behind its length, 4 bytes, the lowest first. So do those of the reply.
 * `classification` k turns numbers into the k highest, as BYTES "number:index:label".
 *
 * Source: KServe's Open Inference Protocol, its binary extension, Triton's classification
 * extension. */
#include "server/protocol/content.h"
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "server/serve/snapshots.h"
#include "wire/codec_writing.h"
#include "wire/limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are written as they are in memory"
#endif

enum {
    OUTPUT_BYTES = 512, /* of an output, beside its elements */
    PREFIX_BYTES = 4,   /* the length of an element */
    CLASS_BYTES = 64,   /* number and index of a class, and what is around them */
    LETTER_BYTES = 6,   /* of a character in JSON */
    OUTPUTS_MAX = 6,
};

enum output_kind {
    OUTPUT_output,
    OUTPUT_label,
    OUTPUT_score,
    OUTPUT_scores,
    OUTPUT_logits,
    OUTPUT_embedding
};
static const char *const outputs[] = {"output", "label", "score", "scores", "logits", "embedding"};

struct output {
    enum output_kind kind;
    bool is_binary;
    unsigned classes; /* classification; 0: the numbers */
};

/* request->state */
struct oip {
    struct output outputs[OUTPUTS_MAX]; /* [count] */
    unsigned count;
    bool is_binary;            /* outputs that say nothing */
    const char *tail;          /* [tail_len] what is left of the binary data */
    size_t tail_len, json_len; /* of the reply's JSON */
    struct http_field fields[2];
    enum engine_task task; /* of the model; ENGINE_CLASSIFY if it is not served */
};

/* ---- the call ---- */

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    const bool is_image = call->items[index].source.kind == ENGINE_IMAGE;
    snprintf(out, CALL_PLACE_BYTES, "%s[%u]", is_image ? "image" : "text", index);
}

static enum err_code accept_body(struct request *request)
{
    const char *len = http_header(request->exchange, "Inference-Header-Content-Length");
    char *end;
    if (content_accept(request))
        return request->err.code;
    if (request->body != REQUEST_JSON && request->is_typed)
        return err_set(&request->err, ERR_MEDIA_TYPE,
                       "the body must be application/json or application/octet-stream");
    if (len == NULL)
        return ERR_OK;
    const unsigned long long bytes = strtoull(len, &end, 10);
    if (len[0] < '0' || len[0] > '9' || *end != '\0' || bytes >= SIZE_MAX)
        return err_set(&request->err, ERR_UNUSABLE,
                       "Inference-Header-Content-Length: expected a number of bytes");
    request->json_bytes = (size_t)bytes + 1;
    return ERR_OK;
}

/* Splits the body: JSON, and binary data behind it. */
static enum err_code split(struct request *request)
{
    struct oip *state = request->state;
    if (request->json_bytes == 0)
        return content_decode_json(request);
    const size_t len = request->json_bytes - 1;
    if (content_unpack(request))
        return request->err.code;
    if (len > request->content_len)
        return err_set(&request->err, ERR_UNUSABLE,
                       "Inference-Header-Content-Length: the body has only %zu bytes",
                       request->content_len);
    state->tail = request->content + len;
    state->tail_len = request->content_len - len;
    request->content_len = len;
    return ERR_OK;
}

/* The rows of a tensor: [rows] or [rows, 1]. */
static enum err_code read_shape(struct request *request, const struct json_t *tensor,
                                const char *name, unsigned *rows)
{
    const struct json_t *shape = doc_member(tensor, "shape");
    const size_t dimensions = doc_array_count(shape);
    long long count = 0, one = 1;
    if (!doc_as_integer(doc_array_item(shape, 0), &count) || count < 0 || dimensions > 2 ||
        (dimensions == 2 && (!doc_as_integer(doc_array_item(shape, 1), &one) || one != 1)))
        return err_set(&request->err, ERR_UNUSABLE, "%s.shape: expected [rows] or [rows, 1]", name);
    *rows = count > UINT_MAX ? UINT_MAX : (unsigned)count;
    return ERR_OK;
}

/* The next element of the binary data, of which *left bytes are the tensor's. */
static enum err_code read_binary(struct request *request, const char *where, size_t *left,
                                 struct engine_source *out)
{
    struct oip *state = request->state;
    const unsigned char *prefix = (const unsigned char *)state->tail;
    const bool is_text = out->kind == ENGINE_TEXT;
    size_t len, fault;
    if (*left < PREFIX_BYTES)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: binary_data_size ends before the element's length", where);
    len = prefix[0] | (size_t)prefix[1] << 8 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 24;
    *left -= PREFIX_BYTES;
    if (len == 0)
        return err_set(&request->err, ERR_UNUSABLE, "%s: empty", where);
    if (len > *left)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: the element has %zu bytes, of binary_data_size %zu are left", where,
                       len, *left);
    *out = (struct engine_source){
        .kind = out->kind, .bytes = state->tail + PREFIX_BYTES, .len = len, .is_utf8 = is_text};
    if (is_text && !utf8_valid(out->bytes, len, &fault))
        return err_set(&request->err, ERR_UNUSABLE, "%s: invalid UTF-8 at byte %zu", where, fault);
    *left -= len;
    state->tail += PREFIX_BYTES + len;
    state->tail_len -= PREFIX_BYTES + len;
    return ERR_OK;
}

/* How many bytes of the binary data are the tensor's; *has: false if its data are JSON. */
static enum err_code read_size(struct request *request, const struct json_t *tensor,
                               const char *name, bool *has, size_t *size)
{
    const struct oip *state = request->state;
    const struct json_t *parameters;
    long long bytes = -1;
    if (texts_parameters(request, tensor, name, "binary_data_size", &parameters) ||
        doc_get_integer(parameters, name, "binary_data_size", 0, LLONG_MAX, &bytes, &request->err))
        return request->err.code;
    *has = bytes >= 0;
    *size = *has ? (size_t)bytes : 0;
    if (*has && (*size > state->tail_len || doc_member(tensor, "data") != NULL))
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: binary_data_size is %zu, of the binary data %zu bytes are left; with "
                       "it there is no `data`",
                       name, *size, state->tail_len);
    return ERR_OK;
}

/* Row `index` of the data: an element, or of shape [rows, 1] the one element of a list. */
static enum err_code find_element(struct request *request, const struct json_t *data,
                                  unsigned index, const char *where, const struct json_t **out)
{
    const struct json_t *value = doc_array_item(data, index);
    const size_t count = doc_array_count(value);
    *out = texts_is_array(value) ? doc_array_item(value, 0) : value;
    if (texts_is_array(value) && count != 1)
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected one element, found a list of %zu",
                       where, count);
    return ERR_OK;
}

/* `text` and `image` make the items, `text_pair` completes them. */
static enum err_code read_tensor(struct request *request, const struct json_t *tensor,
                                 const char *name)
{
    struct predict_call *call = &request->call;
    const bool is_pair = strcmp(name, "text_pair") == 0, is_image = strcmp(name, "image") == 0;
    const struct json_t *data = doc_member(tensor, "data");
    char where[CALL_PLACE_BYTES];
    const char *type = NULL;
    unsigned rows = 0;
    size_t left = 0;
    bool is_binary = false;
    if (doc_check_members(tensor, name, "name, shape, datatype, parameters, data", &request->err))
        return request->err.code = ERR_UNUSABLE;
    if (doc_get_string(tensor, name, "datatype", &type, &request->err) ||
        read_shape(request, tensor, name, &rows) ||
        read_size(request, tensor, name, &is_binary, &left))
        return request->err.code;
    if (type == NULL || strcmp(type, "BYTES") != 0)
        return err_set(&request->err, ERR_UNUSABLE, "%s.datatype: expected BYTES", name);
    if (is_pair && rows != call->item_count)
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected %u rows, as text has", name,
                       call->item_count);
    if (!is_binary && doc_array_count(data) != rows)
        return err_set(&request->err, ERR_UNUSABLE, "%s.data: expected %u elements, found %zu",
                       name, rows, doc_array_count(data));
    if (!is_pair && texts_room(request, rows, name))
        return request->err.code;
    for (unsigned i = 0; i < rows; i++) {
        struct engine_source source = {.kind = is_image ? ENGINE_IMAGE : ENGINE_TEXT};
        const struct json_t *value = NULL;
        snprintf(where, sizeof where, "%s[%u]", name, i);
        if (!is_binary && find_element(request, data, i, where, &value))
            return request->err.code;
        if (is_binary ? read_binary(request, where, &left, &source)
                      : (is_image ? texts_image : texts_source)(request, value, where, &source))
            return request->err.code;
        if (is_pair) {
            call->items[i].source.pair = source.bytes;
            call->items[i].source.pair_len = source.len;
        } else
            call->items[i].source = source;
    }
    return left == 0 ? ERR_OK
                     : err_set(&request->err, ERR_UNUSABLE,
                               "%s: %zu bytes of binary_data_size are behind its last element",
                               name, left);
}

static enum err_code read_inputs(struct request *request, const struct json_t *list)
{
    const struct oip *state = request->state;
    const size_t count = doc_array_count(list);
    if (count == 0 || count > 2)
        return err_set(&request->err, ERR_UNUSABLE, "inputs: expected one tensor, or two");
    for (size_t i = 0; i < count; i++) {
        const char *name = doc_as_string(doc_member(doc_array_item(list, i), "name"));
        const bool is_first =
            name != NULL && (strcmp(name, "text") == 0 || strcmp(name, "image") == 0);
        const bool is_second = name != NULL && strcmp(name, "text_pair") == 0 &&
                               request->call.item_count > 0 &&
                               request->call.items[0].source.kind == ENGINE_TEXT;
        if (i == 0 ? !is_first : !is_second)
            return err_set(&request->err, ERR_UNUSABLE,
                           "inputs[%zu].name: expected text or image, behind text also text_pair",
                           i);
        if (read_tensor(request, doc_array_item(list, i), name))
            return request->err.code;
    }
    return state->tail_len == 0
               ? ERR_OK
               : err_set(&request->err, ERR_UNUSABLE, "%zu bytes of binary data are no tensor's",
                         state->tail_len);
}

/* A score is of labels, or of a text. */
static enum predict_wish wish_of(const struct oip *state, enum output_kind kind)
{
    if (kind == OUTPUT_score && state->task == ENGINE_GENERATE)
        return WISH_TEXT;
    return kind == OUTPUT_embedding ? WISH_VECTOR : kind == OUTPUT_output ? WISH_TEXT : WISH_SCORES;
}

static enum err_code read_output(struct request *request, const struct json_t *value, size_t index)
{
    struct oip *state = request->state;
    const struct json_t *parameters;
    const char *name = doc_as_string(doc_member(value, "name"));
    struct output *output = &state->outputs[state->count];
    long long classes = 0;
    unsigned kind = 0;
    while (name != NULL && kind < OUTPUTS_MAX && strcmp(outputs[kind], name) != 0)
        kind++;
    if (name == NULL || kind == OUTPUTS_MAX)
        return err_set(&request->err, ERR_UNUSABLE,
                       "outputs[%zu].name: expected label, score, scores, logits, embedding or "
                       "output",
                       index);
    *output = (struct output){.kind = (enum output_kind)kind, .is_binary = state->is_binary};
    if (doc_check_members(value, "outputs", "name, parameters", &request->err))
        return request->err.code = ERR_UNUSABLE;
    if (texts_parameters(request, value, name, "binary_data, classification", &parameters) ||
        doc_get_bool(parameters, name, "binary_data", &output->is_binary, &request->err) ||
        doc_get_integer(parameters, name, "classification", 0, INT_MAX, &classes, &request->err))
        return request->err.code;
    output->classes = (unsigned)classes;
    if (classes > 0 && kind != OUTPUT_scores && kind != OUTPUT_logits)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: classification is of scores or logits alone", name);
    const enum predict_wish wish = wish_of(state, (enum output_kind)kind);
    if (request->call.wish != WISH_ANY && request->call.wish != wish)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: vectors and their options do not go with scores or texts", name);
    request->call.wish = wish;
    state->count++;
    return ERR_OK;
}

/* All outputs of the model's task, if the call names none. */
static void choose_outputs(const struct request *request)
{
    struct oip *state = request->state;
    const enum predict_wish wish = state->task == ENGINE_EMBED      ? WISH_VECTOR
                                   : state->task == ENGINE_GENERATE ? WISH_TEXT
                                                                    : WISH_SCORES;
    const bool has_none = state->count == 0;
    for (unsigned kind = 0; has_none && kind < OUTPUTS_MAX; kind++)
        if (wish_of(state, (enum output_kind)kind) == wish)
            state->outputs[state->count++] =
                (struct output){.kind = (enum output_kind)kind, .is_binary = state->is_binary};
}

static enum err_code read_call(struct request *request, const struct json_t *root)
{
    struct oip *state = request->state;
    struct predict_call *call = &request->call;
    static const char known[] = "binary_data_output, timeout, truncate, prompt_name, dimensions, "
                                "max_new_tokens, min_new_tokens, num_beams, no_repeat_ngram_size, "
                                "length_penalty, source_language, target_language";
    const struct json_t *parameters, *list = doc_member(root, "outputs");
    bool truncates = false;
    long long timeout_us = 0, dimensions = 0;
    if (texts_parameters(request, root, "$.parameters", known, &parameters))
        return request->err.code;
    if (list != NULL && !texts_is_array(list))
        return err_set(&request->err, ERR_UNUSABLE, "outputs: expected a list");
    const char *named = call->model;
    if (doc_get_string(root, "$", "model_name", &named, &request->err) == ERR_OK &&
        strcmp(named, call->model) != 0)
        err_set(&request->err, ERR_UNUSABLE, "$.model_name: the path names another model");
    if (texts_name(request, root, "$", "id", LIMIT_ID_BYTES, &call->id) ||
        doc_get_bool(parameters, "$.parameters", "binary_data_output", &state->is_binary,
                     &request->err) ||
        doc_get_bool(parameters, "$.parameters", "truncate", &truncates, &request->err) ||
        doc_get_integer(parameters, "$.parameters", "timeout", 0, LLONG_MAX, &timeout_us,
                        &request->err) ||
        doc_get_integer(parameters, "$.parameters", "dimensions", 1, INT_MAX, &dimensions,
                        &request->err) ||
        texts_name(request, parameters, "$.parameters", "prompt_name", LIMIT_ID_BYTES,
                   &call->prompt_name) ||
        codec_writing_read(&call->writing, parameters, "$.parameters", NULL,
                           &request->exchange->arena, &request->err))
        return request->err.code;
    const long long ms = timeout_us / 1000 + (timeout_us % 1000 > 0);
    call->deadline_ms = ms > INT_MAX ? INT_MAX : (unsigned)ms;
    call->vector.dimensions = (unsigned)dimensions;
    call->refuses_cut = !truncates;
    if (dimensions > 0 || call->prompt_name != NULL)
        call->wish = WISH_VECTOR;
    if (doc_array_count(list) > OUTPUTS_MAX)
        return err_set(&request->err, ERR_UNUSABLE, "outputs: at most %d", OUTPUTS_MAX);
    for (size_t i = 0; i < doc_array_count(list); i++)
        if (read_output(request, doc_array_item(list, i), i))
            return request->err.code;
    choose_outputs(request);
    request->call.wish = wish_of(state, state->outputs[0].kind);
    return read_inputs(request, doc_member(root, "inputs"));
}

static enum err_code parse(struct request *request)
{
    struct oip *state = arena_alloc_array(&request->exchange->arena, 1, sizeof *state);
    struct predict_call *call = &request->call;
    struct json_t *root = NULL;
    *call = (struct predict_call){
        .place = place, .model_place = "model", .keep = true, .top_k = TOP_K_ALL};
    request->state = state;
    call->model = request_value(request, "model");
    if (strstr(request->pattern, "{version}") != NULL)
        call->version = request_value(request, "version");
    if (state == NULL || call->model == NULL)
        return err_no_memory(&request->err, sizeof *state);
    const struct served_model *model = snapshot_find(request->snapshot, call->model);
    state->task = model != NULL ? model->info->task : ENGINE_CLASSIFY;
    if (!split(request) &&
        !texts_parse(request, &root, "id, model_name, parameters, inputs, outputs", 0))
        read_call(request, root);
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static bool is_text(const struct output *output)
{
    return output->kind == OUTPUT_label || output->kind == OUTPUT_output || output->classes > 0;
}

/* An output's numbers of one row; *count of them. NULL: its elements are texts. */
static const float *numbers_of(const struct request *request, const struct output *output,
                               const struct row *row, unsigned *count)
{
    const struct engine_info *info = row_info(row);
    const struct engine_result *result = &row->answer.result;
    *count = output->kind == OUTPUT_score                                     ? 1
             : output->kind == OUTPUT_scores || output->kind == OUTPUT_logits ? info->label_count
             : request->call.vector.dimensions > 0 ? request->call.vector.dimensions
                                                   : info->vector_size;
    return output->kind == OUTPUT_score    ? &result->number
           : output->kind == OUTPUT_scores ? result->scores
           : output->kind == OUTPUT_logits ? result->logits
                                           : result->vector;
}

/* Elements of one row; 0: the output has one dimension, its rows. */
static unsigned width_of(const struct request *request, const struct output *output)
{
    const struct row *row = &request->rows[0];
    const unsigned labels = row_info(row)->label_count;
    unsigned count;
    if (output->kind == OUTPUT_label || output->kind == OUTPUT_score ||
        output->kind == OUTPUT_output)
        return 0;
    if (output->classes > 0)
        return output->classes < labels ? output->classes : labels;
    numbers_of(request, output, row, &count);
    return count;
}

/* Element `index` of a row's texts, *len bytes: its label, what the model wrote, or, in the arena,
 * a class; the first one sorts the others into `order`. NULL: no memory. */
static const char *text_of(const struct request *request, const struct output *output,
                           const struct row *row, unsigned *order, unsigned index, size_t *len)
{
    const struct engine_info *info = row_info(row);
    const struct engine_result *result = &row->answer.result;
    unsigned count;
    if (output->kind == OUTPUT_output) {
        *len = result->texts[0].len;
        return result->texts[0].text;
    }
    if (output->kind == OUTPUT_label) {
        *len = strlen(info->labels[result->label]);
        return info->labels[result->label];
    }
    const float *numbers = numbers_of(request, output, row, &count);
    if (index == 0)
        writing_rank(order, numbers, count);
    const char *text =
        arena_format(&request->exchange->arena, "%.9g:%u:%s", (double)numbers[order[index]],
                     order[index], info->labels[order[index]]);
    *len = text != NULL ? strlen(text) : 0;
    return text;
}

/* The first row's is that of the outputs, too. */
static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct oip *state = request->state;
    const struct engine_info *info = row_info(row);
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const size_t frame = row == request->rows ? OUTPUT_BYTES : 0;
    const size_t numbers = (size_t)info->label_count + info->vector_size + 1;
    /* of classes the text, and what it is made from in the arena */
    const size_t classes =
        2 * writing_labels_bytes(row) + (size_t)info->label_count * (CLASS_BYTES + ARENA_ALIGNMENT);
    const size_t written =
        info->task == ENGINE_GENERATE ? engine_need(row_engine(row), &source).written : 0;
    (void)work;
    return memory_sum(state->count * (frame + numbers * WRITING_NUMBER_BYTES + classes),
                      memory_product(state->count * LETTER_BYTES, written));
}

/* Bytes of the output's binary data. */
static size_t binary_size(const struct request *request, struct writing *writing,
                          const struct output *output)
{
    const unsigned width = width_of(request, output), elements = width > 0 ? width : 1;
    size_t bytes = 0;
    if (!is_text(output))
        return (size_t)request->call.item_count * elements * sizeof(float);
    for (unsigned r = 0; r < request->call.item_count; r++) {
        const struct row *row = &request->rows[r];
        for (unsigned i = 0; i < elements; i++) {
            size_t len = 0;
            text_of(request, output, row, writing->order, i, &len);
            bytes += PREFIX_BYTES + len;
        }
    }
    return bytes;
}

/* {"name", "datatype", "shape", and the beginning of its data or its size. */
static void write_head(const struct request *request, struct writing *writing,
                       const struct output *output, bool is_first)
{
    const unsigned width = width_of(request, output);
    char part[OUTPUT_BYTES], second[16] = "";
    if (width > 0)
        snprintf(second, sizeof second, ",%u", width);
    snprintf(part, sizeof part, "%s{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":[%u%s]",
             is_first ? "" : ",", outputs[output->kind], is_text(output) ? "BYTES" : "FP32",
             request->call.item_count, second);
    codec_text_add(&writing->text, part);
    if (output->is_binary)
        snprintf(part, sizeof part, ",\"parameters\":{\"binary_data_size\":%zu}}",
                 binary_size(request, writing, output));
    else
        snprintf(part, sizeof part, ",\"data\":[");
    codec_text_add(&writing->text, part);
}

/* The elements of one row, in JSON or as they are in memory. */
static void write_row(const struct request *request, struct writing *writing,
                      const struct output *output, unsigned index)
{
    const struct row *row = &request->rows[index];
    const unsigned width = width_of(request, output), elements = width > 0 ? width : 1;
    struct codec_text *text = &writing->text;
    unsigned count;
    const float *numbers = numbers_of(request, output, row, &count);
    if (output->is_binary && !is_text(output)) {
        codec_text_bytes(text, (const char *)numbers, elements * sizeof *numbers);
        return;
    }
    for (unsigned i = 0; i < elements; i++) {
        size_t len = 0;
        const char *string =
            is_text(output) ? text_of(request, output, row, writing->order, i, &len) : "";
        const char prefix[PREFIX_BYTES] = {(char)(len & 0xFF), (char)(len >> 8 & 0xFF),
                                           (char)(len >> 16 & 0xFF), (char)(len >> 24 & 0xFF)};
        text->has_failed |= string == NULL;
        if (output->is_binary) {
            codec_text_bytes(text, prefix, sizeof prefix);
            codec_text_bytes(text, string, len);
            continue;
        }
        codec_text_add(text, index > 0 || i > 0 ? "," : "");
        if (is_text(output))
            codec_text_string_of(text, string != NULL ? string : "", len);
        else
            writing_number(text, numbers[i]);
    }
    if (!output->is_binary && index + 1 == request->call.item_count)
        codec_text_add(text, "]}");
}

static void write_frame(const struct request *request, struct writing *writing)
{
    const struct row *row = &request->rows[0];
    codec_text_add(&writing->text, "{\"model_name\":");
    codec_text_string(&writing->text, row->answer.model_name);
    codec_text_add(&writing->text, ",\"model_version\":");
    codec_text_string(&writing->text, row_info(row)->version);
    codec_text_add(&writing->text, ",\"id\":");
    codec_text_string(&writing->text, request->call.id != NULL ? request->call.id : request->id);
    codec_text_add(&writing->text, ",\"outputs\":[");
}

/* Steps: each row of each output in JSON, then each row of each output in binary. */
static unsigned encode_row(struct request *request)
{
    struct oip *state = request->state;
    struct writing *writing = writing_begin(request, "");
    const unsigned rows = request->call.item_count, all = rows * state->count;
    if (writing == NULL || writing->encoded == 2 * all)
        return 0;
    const unsigned step = writing->encoded++ % all, row = step % rows;
    const struct output *output = &state->outputs[step / rows];
    const bool is_behind = writing->encoded > all;
    if (step == 0 && !is_behind)
        write_frame(request, writing);
    if (row == 0 && !is_behind)
        write_head(request, writing, output, step == 0);
    if (output->is_binary == is_behind)
        write_row(request, writing, output, row);
    if (writing->encoded == all) {
        codec_text_add(&writing->text, "]}");
        state->json_len = writing->text.total;
    }
    return 2 * all - writing->encoded;
}

static void add_head(struct request *request, const struct codec_timing *timing)
{
    struct oip *state = request->state;
    const char *len = arena_format(&request->exchange->arena, "%zu", state->json_len);
    (void)timing;
    if (state->json_len == request->exchange->reply.body_len)
        return;
    if (len == NULL) { /* without it the reply cannot be read */
        err_no_memory(&request->err, sizeof *len);
        return;
    }
    state->fields[0] = (struct http_field){"Inference-Header-Content-Length", len};
    request->exchange->reply.content_type = "application/octet-stream";
    request->exchange->reply.more = state->fields;
}

const struct protocol protocol_oip = {
    .name = "oip",
    .accept = accept_body,
    .parse_bytes = texts_parse_bytes,
    .parse = parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = texts_tei_problem,
    .head = add_head,
    WRITING_PROTOCOL,
};
