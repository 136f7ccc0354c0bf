/* rerank.c - documents by how well they fit a query: POST /v1/rerank, as clients of Cohere and Jina
 * send it (Cohere's second client sends it to /v2/rerank), and POST /rerank, as those of
 * text-embeddings-inference do.
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
        6 * 3, /* of a document: a character takes six, in a tree, its dump and the text */
};

/* The options of a call; request->state. */
struct ranking {
    bool is_tei, returns_texts, wants_logits;
    unsigned top_n;
    unsigned *order; /* [item_count] rows, best first */
    float *scores;   /* [item_count]; NULL: not sorted yet */
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

static enum err_code parse(struct request *request)
{
    static const char known[] = "query, documents, model, top_n, return_documents";
    struct json_t *root = NULL;
    long long top_n = UINT_MAX;
    if (open_call(request, false) || texts_open(request, &root, known, 0))
        goto out;
    struct ranking *state = request->state;
    if (texts_name(request, root, "$", "model", LIMIT_MODEL_NAME_BYTES, &request->call.model) ||
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

static enum err_code tei_parse(struct request *request)
{
    static const char known[] =
        "query, texts, raw_scores, return_text, truncate, truncation_direction, model";
    struct json_t *root = NULL;
    if (open_call(request, true) || texts_open(request, &root, known, 0))
        goto out;
    struct ranking *state = request->state;
    if (texts_name(request, root, "$", "model", LIMIT_MODEL_NAME_BYTES, &request->call.model) ||
        doc_get_bool(root, "$", "raw_scores", &state->wants_logits, &request->err) ||
        doc_get_bool(root, "$", "return_text", &state->returns_texts, &request->err) ||
        texts_truncation(request, root, "$"))
        goto out;
    if (!texts_items(request, doc_member(root, "texts"), "texts", texts_source))
        pair_up(request, root);
out:
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

/* With its place in the order; a tree is of one text at a time. */
static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct ranking *state = request->state;
    const struct engine_source *source = &request->call.items[row - request->rows].source;
    const size_t len = state->returns_texts ? source->pair_len : 0;
    const size_t tree = memory_product(len, TEXT_COPIES);
    *work = tree > *work ? tree : *work;
    return memory_sum(ROW_BYTES + sizeof(unsigned) + sizeof(float), memory_product(len, 6));
}

/* Sorts the rows before the first. */
static enum err_code sort(struct request *request)
{
    struct ranking *state = request->state;
    const unsigned count = request->call.item_count;
    struct arena *arena = &request->exchange->arena;
    state->order = arena_alloc_array(arena, count, sizeof *state->order);
    if (state->order != NULL)
        state->scores = arena_alloc_array(arena, count, sizeof *state->scores);
    if (state->scores == NULL)
        return ERR_NO_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        const struct engine_result *result = &request->rows[i].answer.result;
        state->scores[i] = state->wants_logits ? result->logits[0] : result->scores[0];
    }
    writing_rank(state->order, state->scores, count);
    state->top_n = count < state->top_n ? count : state->top_n;
    return ERR_OK;
}

static unsigned encode_row(struct request *request)
{
    const struct ranking *state = request->state;
    if (state->scores == NULL && sort(request))
        return 0;
    struct writing *writing =
        writing_next(request, state->is_tei ? "[" : "{\"results\":[", state->top_n);
    if (writing == NULL)
        return 0;
    const unsigned index = state->order[writing->encoded];
    const struct engine_source *source = &request->call.items[index].source;
    struct codec_text *text = &writing->text;
    unsigned long tokens = 0;
    char part[2 * ROW_BYTES];
    snprintf(part, sizeof part, "{\"index\":%u,\"%s\":", index,
             state->is_tei ? "score" : "relevance_score");
    codec_text_add(text, part);
    writing_number(text, state->scores[index]);
    if (state->returns_texts) {
        codec_text_add(text, state->is_tei ? ",\"text\":" : ",\"document\":{\"text\":");
        codec_text_string_of(text, source->pair, source->pair_len);
        codec_text_add(text, state->is_tei ? "" : "}");
    }
    codec_text_add(text, "}");
    if (state->is_tei || writing->encoded + 1 < state->top_n)
        return writing_done(writing, "]");
    for (unsigned i = 0; i < request->call.item_count; i++)
        tokens += request->rows[i].answer.result.tokens;
    codec_text_add(text, "],\"id\":");
    codec_text_string(text, request->id);
    codec_text_add(text, ",\"model\":");
    codec_text_string(text, request->rows[0].answer.model_name);
    snprintf(part, sizeof part,
             ",\"usage\":{\"total_tokens\":%lu},\"meta\":{\"api_version\":{\"version\":\"1\"}}}",
             tokens);
    return writing_done(writing, part);
}

const struct protocol protocol_rerank = {
    .name = "rerank",
    .parse = parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = texts_problem,
    TEXTS_PROTOCOL,
    WRITING_PROTOCOL,
};

const struct protocol protocol_tei_rerank = {
    .name = "tei_rerank",
    .parse = tei_parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = texts_tei_problem,
    .head = tei_head,
    TEXTS_PROTOCOL,
    WRITING_PROTOCOL,
};
