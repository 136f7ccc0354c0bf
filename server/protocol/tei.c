/* tei.c - text-embeddings-inference: POST /embed, /embed_all, /embed_sparse, /similarity, and POST
 * /predict where its `inputs` are theirs (tei_is_prediction). POST /rerank is rerank.c's, /tokenize
 * and /decode are tei_tokens.c's.
 *
 *     {"inputs": "text" | ["text", {"image": "<base64>"}], "normalize": true, "dimensions": 256,
 *      "prompt_name": "query", "truncate": false}                              [[0.1, ...], ...]
 *     the same texts without dimensions: of each its tokens' last states, never scaled, special
 *     ones included, [[[0.1, ...], ...], ...]; or the weights above nought that a sparse model
 *     gives, [[{"index", "value"}, ...], ...]
 *     {"inputs": {"source_sentence": "text", "sentences": ["text", ...]},
 *      "parameters": {"prompt_name", "truncate"}}                              [0.83, ...]
 *     {"inputs": "text" | ["text", "its pair"], "raw_scores": false}           [{"label", "score"}]
 *     {"inputs": [["text"], ["text", "its pair"], ...]}                      [[{"label", "score"}]]
 *
 * One input that cannot be used refuses the call. A text that is too long is refused without
 * `truncate` true. `model` and pictures are ours: their server has one model, of texts. Ids of
 * tokens are refused.
 *
 * Source: router/src/http/types.rs and server.rs of text-embeddings-inference 1.8. */
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "wire/limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WEIGHT_BYTES = 64 }; /* {"index":4294967295,"value":...}, */

/* The options of a call; request->state. */
struct tei {
    bool is_one; /* a prediction is answered without a list around it */
    bool is_raw; /* logits */
};

/* ---- the call ---- */

static enum err_code open_call(struct request *request, enum predict_wish wish,
                               struct json_t **root, const char *known)
{
    struct tei *state = arena_alloc(&request->exchange->arena, sizeof *state);
    request->call = (struct predict_call){.place = texts_place,
                                          .model_place = "model",
                                          .keep = true,
                                          .wish = wish,
                                          .top_k = TOP_K_ALL};
    request->state = state;
    if (state == NULL)
        return err_no_memory(&request->err, sizeof *state);
    *state = (struct tei){.is_one = false};
    if (texts_open(request, root, known, 0))
        return request->err.code;
    return texts_name(request, *root, "$", "model", LIMIT_MODEL_NAME_BYTES, &request->call.model);
}

static enum err_code parse_embed(struct request *request)
{
    static const char known[] =
        "inputs, normalize, dimensions, prompt_name, truncate, truncation_direction, model";
    struct json_t *root = NULL;
    bool normalizes = true;
    long long dimensions = 0;
    if (open_call(request, WISH_VECTOR, &root, known) ||
        doc_get_bool(root, "$", "normalize", &normalizes, &request->err) ||
        doc_get_integer(root, "$", "dimensions", 1, INT_MAX, &dimensions, &request->err) ||
        texts_name(request, root, "$", "prompt_name", LIMIT_ID_BYTES, &request->call.prompt_name) ||
        texts_truncation(request, root, "$"))
        goto out;
    request->call.vector.is_scaled = normalizes;
    request->call.refuses_unit = !normalizes;
    request->call.vector.dimensions = (unsigned)dimensions;
    texts_items(request, doc_member(root, "inputs"), "inputs", texts_source_or_image);
out:
    doc_free(root);
    return request->err.code;
}

static enum err_code parse_whole(struct request *request, enum predict_wish wish, const char *known)
{
    struct json_t *root = NULL;
    bool normalizes;
    if (!open_call(request, wish, &root, known) &&
        !doc_get_bool(root, "$", "normalize", &normalizes, &request->err) &&
        !texts_name(request, root, "$", "prompt_name", LIMIT_ID_BYTES,
                    &request->call.prompt_name) &&
        !texts_truncation(request, root, "$"))
        texts_items(request, doc_member(root, "inputs"), "inputs", texts_source);
    doc_free(root);
    return request->err.code;
}

/* A client sends `normalize` here, too; their server leaves it out, and so is it here. */
static enum err_code parse_all(struct request *request)
{
    if (parse_whole(request, WISH_VECTOR,
                    "inputs, normalize, prompt_name, truncate, truncation_direction, model"))
        return request->err.code;
    request->call.vector.chunks = VECTORS_TOKENS;
    return ERR_OK;
}

static enum err_code parse_sparse(struct request *request)
{
    return parse_whole(request, WISH_SPARSE,
                       "inputs, prompt_name, truncate, truncation_direction, model");
}

static enum err_code parse_similarity(struct request *request)
{
    struct json_t *root = NULL;
    if (open_call(request, WISH_VECTOR, &root, "inputs, parameters, model"))
        goto out;
    const struct json_t *parameters;
    if (!texts_parameters(request, root, "$.parameters",
                          "prompt_name, truncate, truncation_direction", &parameters) &&
        !texts_name(request, parameters, "$.parameters", "prompt_name", LIMIT_ID_BYTES,
                    &request->call.prompt_name) &&
        !texts_truncation(request, parameters, "$.parameters"))
        texts_similarity(request, doc_member(root, "inputs"));
out:
    doc_free(root);
    return request->err.code;
}

/* A text, a list of it, or a list of it and its pair. */
static enum err_code read_sequence(struct request *request, const struct json_t *value,
                                   const char *where, struct engine_source *out)
{
    const size_t count = doc_array_count(value);
    if (!texts_is_array(value))
        return texts_source(request, value, where, out);
    if (count != 1 && count != 2)
        return err_set(&request->err, ERR_UNUSABLE,
                       "%s: expected a text or a pair of texts, found a list of %zu", where, count);
    if (texts_source(request, doc_array_item(value, 0), where, out) || count == 1)
        return request->err.code;
    return texts_text(request, doc_array_item(value, 1), where, &out->pair, &out->pair_len);
}

static enum err_code parse_predict(struct request *request)
{
    struct json_t *root = NULL;
    struct predict_call *call = &request->call;
    if (open_call(request, WISH_SCORES, &root,
                  "inputs, raw_scores, truncate, truncation_direction, model"))
        goto out;
    struct tei *state = request->state;
    const struct json_t *inputs = doc_member(root, "inputs");
    state->is_one = !texts_is_array(doc_array_item(inputs, 0));
    if (doc_get_bool(root, "$", "raw_scores", &state->is_raw, &request->err) ||
        texts_truncation(request, root, "$"))
        goto out;
    if (!state->is_one)
        texts_items(request, inputs, "inputs", read_sequence);
    else if (!texts_room(request, 1, "inputs"))
        read_sequence(request, inputs, "inputs", &call->items[0].source);
out:
    doc_free(root);
    return request->err.code;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0')
        at++;
    return at;
}

/* True for the value of `inputs` that begins with a text or with a list. */
static bool is_theirs(const char *at, const char *end)
{
    at = skip_blanks(at, end);
    if (at < end && *at == '[')
        at = skip_blanks(at + 1, end);
    else if (at == end || *at != '"')
        return false;
    return at < end && (*at == '"' || *at == '[');
}

bool tei_is_prediction(const struct request *request)
{
    static const char name[] = "inputs";
    const char *at = request->content;
    if (request->body != REQUEST_JSON || at == NULL)
        return false;
    const char *end = at + request->content_len;
    unsigned depth = 0;
    for (; at < end; at++) {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        if (*at != '"')
            continue;
        const char *string = ++at;
        while (at < end && *at != '"')
            at += *at == '\\' ? 2 : 1;
        if (at >= end || depth != 1 || (size_t)(at - string) != strlen(name) ||
            memcmp(string, name, strlen(name)) != 0)
            continue;
        const char *colon = skip_blanks(at + 1, end);
        if (colon < end && *colon == ':')
            return is_theirs(colon + 1, end);
    }
    return false;
}

/* ---- the answer ---- */

static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    size_t numbers = memory_product(1 + writing_vector_size(request, row), WRITING_NUMBER_BYTES);
    (void)work;
    if (request->call.wish == WISH_SPARSE)
        numbers = memory_product(row_info(row)->vocab_size, WEIGHT_BYTES);
    if (request->call.vector.chunks == VECTORS_TOKENS)
        numbers =
            memory_product(engine_need(row_engine(row), &source).parts,
                           memory_product(1 + row_info(row)->hidden_size, WRITING_NUMBER_BYTES));
    return memory_sum(numbers, writing_labels_bytes(row));
}

static unsigned embed_row(struct request *request)
{
    struct writing *writing = writing_next(request, "[", request->call.item_count);
    if (writing == NULL)
        return 0;
    const struct row *row = &request->rows[writing->encoded];
    writing_numbers(&writing->text, row->answer.result.vector, writing_vector_size(request, row));
    return writing_done(writing, "]");
}

static unsigned all_row(struct request *request)
{
    struct writing *writing = writing_next(request, "[", request->call.item_count);
    if (writing == NULL)
        return 0;
    const struct row *row = &request->rows[writing->encoded];
    const struct engine_result *result = &row->answer.result;
    const unsigned size = row_info(row)->hidden_size;
    codec_text_add(&writing->text, "[");
    for (unsigned t = 0; t < result->row_count; t++) {
        codec_text_add(&writing->text, t > 0 ? "," : "");
        writing_numbers(&writing->text, result->rows + (size_t)t * size, size);
    }
    codec_text_add(&writing->text, "]");
    return writing_done(writing, "]");
}

static unsigned sparse_row(struct request *request)
{
    struct writing *writing = writing_next(request, "[", request->call.item_count);
    if (writing == NULL)
        return 0;
    const struct row *row = &request->rows[writing->encoded];
    const float *weights = row->answer.result.rows;
    bool is_first = true;
    codec_text_add(&writing->text, "[");
    for (unsigned i = 0; i < row_info(row)->row_size; i++) {
        char index[WEIGHT_BYTES];
        if (!(weights[i] > 0))
            continue;
        snprintf(index, sizeof index, "%s{\"index\":%u,\"value\":", is_first ? "" : ",", i);
        codec_text_add(&writing->text, index);
        writing_number(&writing->text, weights[i]);
        codec_text_add(&writing->text, "}");
        is_first = false;
    }
    codec_text_add(&writing->text, "]");
    return writing_done(writing, "]");
}

static unsigned similarity_row(struct request *request)
{
    struct writing *writing = writing_next(request, "[", request->call.item_count - 1);
    if (writing == NULL)
        return 0;
    writing_cosine(&writing->text, request, &request->rows[0],
                   &request->rows[1 + writing->encoded]);
    return writing_done(writing, "]");
}

static unsigned predict_row(struct request *request)
{
    const struct tei *state = request->state;
    struct writing *writing =
        writing_next(request, state->is_one ? "" : "[", request->call.item_count);
    if (writing == NULL)
        return 0;
    writing_labels(writing, &request->rows[writing->encoded],
                   &(struct writing_how){.wants_logits = state->is_raw});
    return writing_done(writing, state->is_one ? "" : "]");
}

void tei_head(struct request *request, const struct codec_timing *timing)
{
    struct arena *arena = &request->exchange->arena;
    size_t characters = 0, tokens = 0;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct engine_source *source = &request->call.items[i].source;
        if (source->kind == ENGINE_TEXT)
            characters +=
                utf8_count(source->bytes, source->len) + utf8_count(source->pair, source->pair_len);
        tokens += request->rows[i].answer.result.tokens;
    }
    const struct http_field fields[] = {
        {"x-compute-type", "cpu"},
        {"x-compute-time", arena_format(arena, "%.0f", timing->total_ms)},
        {"x-compute-characters", arena_format(arena, "%zu", characters)},
        {"x-compute-tokens", arena_format(arena, "%zu", tokens)},
        {"x-total-time", arena_format(arena, "%.0f", timing->total_ms)},
        {"x-tokenization-time", arena_format(arena, "%.0f", timing->prepare_ms)},
        {"x-queue-time", arena_format(arena, "%.0f", timing->queue_ms)},
        {"x-inference-time", arena_format(arena, "%.0f", timing->inference_ms)},
        {NULL, NULL}};
    struct http_field *copy = arena_alloc(arena, sizeof fields);
    for (const struct http_field *field = fields; field->name != NULL; field++)
        if (field->value == NULL)
            return; /* without memory the reply has none */
    if (copy != NULL)
        request->exchange->reply.more = memcpy(copy, fields, sizeof fields);
}

#define TEI(name_, parse_, row_)                                                                   \
    {                                                                                              \
        .name = name_, .parse = parse_, .row_bytes = row_bytes, .encode_row = row_,                \
        .problem = texts_tei_problem, .head = tei_head, TEXTS_PROTOCOL, WRITING_PROTOCOL           \
    }

const struct protocol protocol_tei_embed = TEI("tei_embed", parse_embed, embed_row);
const struct protocol protocol_tei_all = TEI("tei_embed_all", parse_all, all_row);
const struct protocol protocol_tei_sparse = TEI("tei_embed_sparse", parse_sparse, sparse_row);
const struct protocol protocol_tei_similarity =
    TEI("tei_similarity", parse_similarity, similarity_row);
const struct protocol protocol_tei_predict = TEI("tei_predict", parse_predict, predict_row);
