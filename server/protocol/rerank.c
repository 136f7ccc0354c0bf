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
#include "server/protocol/writing.h"

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
    unsigned *order; /* [item_count] rows, best first; NULL: not sorted yet */
    float *scores;   /* [item_count] */
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
    if (open_call(request, false) || texts_open(request, &root, known, 0))
        goto out;
    struct ranking *state = request->state;
    if (texts_name(request, root, "model", LIMIT_MODEL_NAME_BYTES, &request->call.model) ||
        doc_get_integer(root, "$", "top_n", 1, UINT_MAX, &top_n, &request->err) ||
        doc_get_bool(root, "$", "return_documents", &state->returns_texts, &request->err) ||
        texts_items(request, doc_member(root, "documents"), "documents", texts_source) ||
        pair_up(request, root))
        goto out;
    state->top_n = (unsigned)top_n;
out:
    doc_free(root);
    return request->err.code;
}

static enum err_code tei_parse(struct service *service, struct request *request)
{
    static const char known[] =
        "query, texts, raw_scores, return_text, truncate, truncation_direction, model";
    struct json_t *root = NULL;
    (void)service;
    if (open_call(request, true) || texts_open(request, &root, known, 0))
        goto out;
    struct ranking *state = request->state;
    if (texts_name(request, root, "model", LIMIT_MODEL_NAME_BYTES, &request->call.model) ||
        doc_get_bool(root, "$", "raw_scores", &state->wants_logits, &request->err) ||
        doc_get_bool(root, "$", "return_text", &state->returns_texts, &request->err) ||
        texts_truncation(request, root))
        goto out;
    if (!texts_items(request, doc_member(root, "texts"), "texts", texts_source))
        pair_up(request, root);
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
    *text = memory_sum(*text, request->call.item_count * (sizeof(unsigned) + sizeof(float)));
    return memory_sum(*text, memory_sum(memory_product(largest, TEXT_COPIES),
                                        sizeof((struct err *)0)->text * MESSAGE_COPIES));
}

/* Sorts the rows before the first. */
static struct writing *begin(struct request *request)
{
    struct ranking *state = request->state;
    const unsigned count = request->call.item_count;
    struct arena *arena = &request->exchange->arena;
    if (state->order == NULL) {
        state->order = arena_alloc_array(arena, count, sizeof *state->order);
        state->scores = arena_alloc_array(arena, count, sizeof *state->scores);
        if (state->order == NULL || state->scores == NULL)
            return NULL;
        for (unsigned i = 0; i < count; i++) {
            const struct engine_result *result = &request->rows[i].answer.result;
            state->scores[i] = state->wants_logits ? result->logits[0] : result->scores[0];
        }
        writing_rank(state->order, state->scores, count);
        state->top_n = count < state->top_n ? count : state->top_n;
    }
    return writing_begin(request, state->is_tei ? "[" : "{\"results\":[");
}

static unsigned encode_row(struct request *request)
{
    struct writing *writing = begin(request);
    const struct ranking *state = request->state;
    if (writing == NULL || writing->encoded == state->top_n)
        return 0;
    const unsigned index = state->order[writing->encoded];
    struct codec_text *text = &writing->text;
    char head[ROW_BYTES];
    snprintf(head, sizeof head, "%s{\"index\":%u,\"%s\":", writing->encoded > 0 ? "," : "", index,
             state->is_tei ? "score" : "relevance_score");
    codec_text_add(text, head);
    writing_number(text, state->scores[index]);
    if (state->returns_texts) {
        codec_text_add(text, state->is_tei ? ",\"text\":" : ",\"document\":{\"text\":");
        codec_text_string(text, request->call.items[index].source.pair);
        codec_text_add(text, state->is_tei ? "" : "}");
    }
    codec_text_add(text, "}");
    return state->top_n - ++writing->encoded;
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
    .problem = texts_tei_problem,
    .head = tei_head,
    .reply_type = "application/json",
    .problem_type = "application/json",
};
