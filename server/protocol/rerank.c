/* rerank.c - documents by how well they fit a query: POST /v1/rerank, as clients of Cohere and Jina
 * send it, and POST /rerank, as those of text-embeddings-inference do.
 *
 *     {"model": "r", "query": "...", "documents": ["..."], "top_n": 3,
 *      "return_documents": false}
 *     {"id": "...", "model": "r", "results": [{"index": 1, "relevance_score": 0.98}, ...],
 *      "usage": {"total_tokens": 57}, "meta": {"api_version": {"version": "1"}}}
 *
 *     {"query": "...", "texts": ["..."], "raw_scores": false, "return_text": false}
 *     [{"index": 1, "score": 0.98}, ...]
 *
 * Each document is an input of its own: the pair (query, document), packed with the others. The
 * score is the sigmoid of the model's one logit; raw_scores: the logit. Best first, equal ones in
 * their order. A pair that is too long is cut at its longer text. The second route refuses it
 * without `truncate` true, as text-embeddings-inference does.
 *
 * Source: API references of Cohere (rerank v1, v2), Jina (v1/rerank) and text-embeddings-inference
 * 1.8 (/rerank). */
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"

#include "engine/base/doc.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_BYTES = 96, /* of a result, beside its text */
    TEXT_COPIES =
        6 * 3,          /* of a document: a character takes six, in a tree, its dump and the text */
    FRAME_BYTES = 2048, /* of the rest */
    MESSAGE_COPIES = 6 * 2, /* of a message in JSON */
};

/* The options of a call; request->state. */
struct ranking {
    bool is_tei, returns_texts, wants_logits;
    unsigned top_n;
};

/* ---- the call ---- */

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    (void)call;
    snprintf(out, CALL_PLACE_BYTES, "documents[%u]", index);
}

static void tei_place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    (void)call;
    snprintf(out, CALL_PLACE_BYTES, "texts[%u]", index);
}

/* Makes each document the second text of a pair, of which the query is the first. */
static enum err_code pair_up(struct request *request, const struct json_t *root)
{
    struct predict_call *call = &request->call;
    const char *query;
    size_t len;
    if (texts_text(request, doc_member(root, "query"), "query", &query, &len))
        return request->err.code;
    for (unsigned i = 0; i < call->item_count; i++) {
        struct engine_source *source = &call->items[i].source;
        source->pair = source->bytes;
        source->pair_len = source->len;
        source->bytes = query;
        source->len = len;
    }
    return ERR_OK;
}

static enum err_code open_call(struct request *request, bool is_tei)
{
    struct ranking *state = arena_alloc(&request->exchange->arena, sizeof *state);
    /* Documents of a search are no inputs for a review. */
    request->call = (struct predict_call){
        .place = is_tei ? tei_place : place, .model_place = "model", .wish = WISH_RANK};
    request->state = state;
    if (state == NULL)
        return err_no_memory(&request->err, sizeof *state);
    *state = (struct ranking){.is_tei = is_tei, .top_n = UINT_MAX};
    return ERR_OK;
}

static enum err_code parse(struct service *service, struct request *request)
{
    static const char known[] = "query, documents, model, top_n, return_documents";
    struct json_t *root = NULL;
    long long top_n = UINT_MAX;
    (void)service;
    if (open_call(request, false) || texts_open(request, &root, known))
        goto out;
    struct ranking *state = request->state;
    if (texts_name(request, root, "model", LIMIT_MODEL_NAME_BYTES, &request->call.model) ||
        doc_get_integer(root, "$", "top_n", 1, UINT_MAX, &top_n, &request->err) ||
        doc_get_bool(root, "$", "return_documents", &state->returns_texts, &request->err) ||
        texts_items(request, doc_member(root, "documents"), "documents") || pair_up(request, root))
        goto out;
    state->top_n = (unsigned)top_n;
out:
    doc_free(root);
    return request->err.code;
}

static enum err_code tei_parse(struct service *service, struct request *request)
{
    static const char known[] =
        "query, texts, raw_scores, return_text, truncate, truncation_direction";
    struct json_t *root = NULL;
    const char *direction = "Right";
    bool truncates = false;
    (void)service;
    if (open_call(request, true) || texts_open(request, &root, known))
        goto out;
    struct ranking *state = request->state;
    if (doc_get_bool(root, "$", "raw_scores", &state->wants_logits, &request->err) ||
        doc_get_bool(root, "$", "return_text", &state->returns_texts, &request->err) ||
        doc_get_bool(root, "$", "truncate", &truncates, &request->err) ||
        doc_get_string(root, "$", "truncation_direction", &direction, &request->err) ||
        texts_items(request, doc_member(root, "texts"), "texts") || pair_up(request, root))
        goto out;
    request->call.refuses_cut = !truncates;
    if (strcmp(direction, "Right") != 0 && strcmp(direction, "right") != 0)
        err_set(&request->err, ERR_UNUSABLE,
                "truncation_direction: only Right is supported: a text is cut at its end");
out:
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static size_t reply_bytes(const struct request *request, size_t *text)
{
    const struct ranking *state = request->state;
    size_t largest = 0;
    *text = FRAME_BYTES;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const size_t len = state->returns_texts ? request->call.items[i].source.pair_len : 0;
        largest = len > largest ? len : largest;
        *text = memory_sum(*text, memory_sum(ROW_BYTES, memory_product(len, 6)));
    }
    *text = memory_sum(*text, request->call.item_count * sizeof(unsigned));
    return memory_sum(*text, memory_sum(memory_product(largest, TEXT_COPIES),
                                        sizeof((struct err *)0)->text * MESSAGE_COPIES));
}

/* The reply in the making. */
struct writing {
    struct codec_text text;
    unsigned *order; /* [count] rows, best first */
    unsigned count, encoded;
};

static float score_of(const struct request *request, unsigned index)
{
    const struct ranking *state = request->state;
    const struct engine_result *result = &request->rows[index].answer.result;
    return state->wants_logits ? result->logits[0] : result->scores[0];
}

/* qsort_r's, by falling score, then by index. */
static int compare(const void *left, const void *right, void *context)
{
    const unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
    const float x = score_of(context, a), y = score_of(context, b);
    return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

static struct writing *begin(struct request *request)
{
    struct writing *writing = request->reply;
    const struct ranking *state = request->state;
    const unsigned count = request->call.item_count;
    if (writing != NULL)
        return writing;
    writing = arena_alloc(&request->exchange->arena, sizeof *writing);
    if (writing == NULL)
        return NULL;
    *writing = (struct writing){.count = count < state->top_n ? count : state->top_n};
    writing->order = arena_alloc_array(&request->exchange->arena, count, sizeof *writing->order);
    if (writing->order == NULL)
        return NULL;
    for (unsigned i = 0; i < count; i++)
        writing->order[i] = i;
    qsort_r(writing->order, count, sizeof *writing->order, compare, request);
    codec_text_open(&writing->text, request->long_reply_bytes, &request->exchange->arena);
    codec_text_add(&writing->text, state->is_tei ? "[" : "{\"results\":[");
    return request->reply = writing;
}

static unsigned encode_row(struct request *request)
{
    struct writing *writing = begin(request);
    const struct ranking *state = request->state;
    if (writing == NULL || writing->encoded == writing->count)
        return 0;
    const unsigned index = writing->order[writing->encoded];
    struct codec_text *text = &writing->text;
    char head[ROW_BYTES];
    snprintf(head, sizeof head, "%s{\"index\":%u,\"%s\":", writing->encoded > 0 ? "," : "", index,
             state->is_tei ? "score" : "relevance_score");
    codec_text_add(text, head);
    texts_number(text, score_of(request, index));
    if (state->returns_texts) {
        codec_text_add(text, state->is_tei ? ",\"text\":" : ",\"document\":{\"text\":");
        codec_text_string(text, request->call.items[index].source.pair);
        codec_text_add(text, state->is_tei ? "" : "}");
    }
    codec_text_add(text, "}");
    return writing->count - ++writing->encoded;
}

static const char *encode(struct request *request, const struct codec_timing *timing, size_t *len)
{
    struct writing *writing = begin(request);
    const struct ranking *state = request->state;
    unsigned long tokens = 0;
    char usage[160];
    (void)timing;
    if (writing == NULL)
        return NULL;
    while (encode_row(request) > 0)
        continue;
    codec_text_add(&writing->text, "]");
    if (state->is_tei)
        return codec_text_end(&writing->text, len);
    for (unsigned i = 0; i < request->call.item_count; i++)
        tokens += request->rows[i].answer.result.tokens;
    codec_text_add(&writing->text, ",\"id\":");
    codec_text_string(&writing->text, request->id);
    codec_text_add(&writing->text, ",\"model\":");
    codec_text_string(&writing->text, request->rows[0].answer.model_name);
    snprintf(usage, sizeof usage,
             ",\"usage\":{\"total_tokens\":%lu},\"meta\":{\"api_version\":{\"version\":\"1\"}}}",
             tokens);
    codec_text_add(&writing->text, usage);
    return codec_text_end(&writing->text, len);
}

static const char *tei_problem(struct request *request, size_t *len)
{
    const unsigned status = problem_status(request->err.code);
    struct codec_text text;
    codec_text_open(&text, 0, &request->exchange->arena);
    codec_text_add(&text, "{\"error\":");
    codec_text_string(&text, request->err.text);
    codec_text_add(&text, ",\"error_type\":");
    codec_text_string(&text, status == 429   ? "Overloaded"
                             : status >= 500 ? "Backend"
                                             : "Validation");
    codec_text_add(&text, "}");
    return codec_text_end(&text, len);
}

const struct protocol protocol_rerank = {
    .name = "rerank",
    .accept = texts_accept,
    .parse_bytes = texts_parse_bytes,
    .parse = parse,
    .reply_bytes = reply_bytes,
    .encode_row = encode_row,
    .encode = encode,
    .problem = texts_problem,
    .reply_type = "application/json",
    .problem_type = "application/json",
};

const struct protocol protocol_tei_rerank = {
    .name = "tei_rerank",
    .accept = texts_accept,
    .parse_bytes = texts_parse_bytes,
    .parse = tei_parse,
    .reply_bytes = reply_bytes,
    .encode_row = encode_row,
    .encode = encode,
    .problem = tei_problem,
    .reply_type = "application/json",
    .problem_type = "application/json",
};
