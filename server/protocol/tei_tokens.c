/* tei_tokens.c - text-embeddings-inference's tokenizer: POST /tokenize, POST /decode. No model
 * computes; a model's name chooses the tokenizer.
 *
 *     {"inputs": "text" | ["text", ...], "add_special_tokens": true, "prompt_name": "query"}
 *                              [[{"id": 5, "text": "die", "special": false, "start": 0, "stop": 3},
 *                                ...], ...]
 *     {"ids": [1, 2] | [[1, 2], ...], "skip_special_tokens": true}               ["text", ...]
 *
 * start and stop count bytes of the text, with its prompt; both are null of a special token around
 * it. All of a text is cut, also what a model would not read.
 *
 * Source: router/src/http/server.rs and core/src/tokenization.rs of text-embeddings-inference
 * 1.8. */
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"
#include "engine/text/decoder.h"
#include "wire/limits.h"

#include <stdio.h>
#include <string.h>

enum {
    TOKEN_BYTES = 128, /* {"id":4294967295,"text":"","special":false,"start":...,"stop":...}, */
    LETTER_BYTES = 6,  /* of a character in JSON */
};

/* Ids of one text. */
struct ids {
    const int32_t *ids; /* [count] */
    unsigned count;
    size_t bytes; /* of their strings */
};

/* The options of a call; request->state. */
struct tokens_call {
    bool has_specials;
    const struct engine_model *engine; /* of ids */
    struct ids *lists;                 /* [item_count] */
};

/* ---- the call ---- */

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    const char *name = call->wish == WISH_TOKENS ? "inputs" : "ids";
    if (call->item_count == 1)
        snprintf(out, CALL_PLACE_BYTES, "%s", name);
    else
        snprintf(out, CALL_PLACE_BYTES, "%s[%u]", name, index);
}

static enum err_code open_call(struct request *request, enum predict_wish wish, const char *known,
                               size_t more, struct json_t **root)
{
    struct tokens_call *state = arena_alloc_array(&request->exchange->arena, 1, sizeof *state);
    *root = NULL;
    request->call = (struct predict_call){.place = place, .model_place = "model", .wish = wish};
    request->state = state;
    if (state == NULL)
        return err_no_memory(&request->err, sizeof *state);
    state->has_specials = wish == WISH_TOKENS;
    if (texts_open(request, root, known, more))
        return request->err.code;
    return texts_name(request, *root, "$", "model", LIMIT_MODEL_NAME_BYTES, &request->call.model);
}

static enum err_code parse_texts(struct request *request)
{
    struct json_t *root;
    if (!open_call(request, WISH_TOKENS, "inputs, add_special_tokens, prompt_name, model", 0,
                   &root)) {
        struct tokens_call *state = request->state;
        if (!doc_get_bool(root, "$", "add_special_tokens", &state->has_specials, &request->err) &&
            !texts_name(request, root, "$", "prompt_name", LIMIT_ID_BYTES,
                        &request->call.prompt_name))
            texts_items(request, doc_member(root, "inputs"), "inputs", texts_source);
    }
    doc_free(root);
    return request->err.code;
}

/* The ids of one text. */
static enum err_code read_ids(struct request *request, const struct json_t *list, const char *where,
                              struct ids *out)
{
    const size_t count = doc_array_count(list);
    if (!texts_is_array(list) || count == 0)
        return err_set(&request->err, ERR_UNUSABLE, "%s: expected a list of token ids, found %s",
                       where, texts_is_array(list) ? "an empty one" : doc_type_name(list));
    int32_t *ids = arena_alloc_array(&request->exchange->arena, count, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(&request->err, count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        double id;
        if (!doc_as_number(doc_array_item(list, i), &id) || !(id >= 0 && id < INT32_MAX) ||
            id != (double)(int32_t)id)
            return err_set(&request->err, ERR_UNUSABLE, "%s[%zu]: expected the id of a token",
                           where, i);
        ids[i] = (int32_t)id;
    }
    *out = (struct ids){.ids = ids, .count = (unsigned)count};
    return ERR_OK;
}

/* Every id is that of a token. */
static enum err_code check_ids(struct request *request, const char *where, struct ids *list)
{
    const struct tokens_call *state = request->state;
    for (unsigned i = 0; i < list->count; i++) {
        size_t len;
        bool is_special;
        if (engine_token(state->engine, list->ids[i], &len, &is_special) == NULL)
            return err_set(&request->err, ERR_UNUSABLE, "%s[%u]: the model has no token %d", where,
                           i, list->ids[i]);
        list->bytes += len;
    }
    return ERR_OK;
}

/* The tokenizer that ids belong to: of the model that is named, or of the first that reads
 * texts. */
static enum err_code choose(struct request *request)
{
    struct tokens_call *state = request->state;
    const char *name = request->call.model;
    const struct served_model *model = name != NULL
                                           ? snapshot_find(request->snapshot, name)
                                           : snapshot_default(request->snapshot, ENGINE_TEXT);
    if (model == NULL)
        return name != NULL
                   ? err_set(&request->err, ERR_NOT_FOUND,
                             "model: no model of this name is served; GET /models lists "
                             "them")
                   : err_set(&request->err, ERR_UNUSABLE, "no model that reads texts is served");
    const struct decoder *decoder = engine_decoder(model->engine);
    state->engine = model->engine;
    if (model->info->task == ENGINE_GENERATE)
        return err_set(&request->err, ERR_UNUSABLE,
                       "the model %s writes texts, and answers no ids to decode: POST /generate",
                       model->name);
    if (decoder == NULL)
        return err_set(&request->err, ERR_UNUSABLE, "the model %s does not read texts",
                       model->name);
    return decoder_check(decoder, &request->err) ? (request->err.code = ERR_UNUSABLE) : ERR_OK;
}

/* The place of a list of ids: ids, or of a list of lists ids[index], whatever their number is. */
static void place_of_list(bool is_batch, unsigned index, char out[CALL_PLACE_BYTES])
{
    snprintf(out, CALL_PLACE_BYTES, is_batch ? "ids[%u]" : "ids", index);
}

static enum err_code read_lists(struct request *request, const struct json_t *value)
{
    struct tokens_call *state = request->state;
    struct predict_call *call = &request->call;
    const bool is_batch = texts_is_array(doc_array_item(value, 0));
    char where[CALL_PLACE_BYTES];
    if (value == NULL)
        return err_set(&request->err, ERR_UNUSABLE, "ids: it is missing");
    if (texts_room(request, is_batch ? doc_array_count(value) : 1, "ids"))
        return request->err.code;
    state->lists =
        arena_alloc_array(&request->exchange->arena, call->item_count, sizeof *state->lists);
    if (state->lists == NULL)
        return err_no_memory(&request->err, call->item_count * sizeof *state->lists);
    for (unsigned i = 0; i < call->item_count; i++) {
        call->items[i].source = (struct engine_source){.kind = ENGINE_TEXT, .is_utf8 = true};
        place_of_list(is_batch, i, where);
        if (read_ids(request, is_batch ? doc_array_item(value, i) : value, where, &state->lists[i]))
            return request->err.code;
    }
    if (choose(request))
        return request->err.code;
    for (unsigned i = 0; i < call->item_count; i++) {
        place_of_list(is_batch, i, where);
        if (check_ids(request, where, &state->lists[i]))
            return request->err.code;
    }
    return ERR_OK;
}

static size_t ids_more(const struct request *request)
{
    return 2 * (size_t)request->snapshot->config.text_tokens_max; /* an id and its comma */
}

/* An id of a body has at least two bytes of it, and four of ours. */
static size_t ids_parse_bytes(struct request *request)
{
    const size_t lists = request->snapshot->config.inputs_max;
    return memory_sum(texts_parse_bytes_more(request, ids_more(request)),
                      memory_sum(ids_more(request) * sizeof(int32_t),
                                 lists * (sizeof(struct ids) + 2 * ARENA_ALIGNMENT)));
}

static enum err_code parse_ids(struct request *request)
{
    bool skips = true;
    struct json_t *root;
    if (!open_call(request, WISH_NOTHING, "ids, skip_special_tokens, model", ids_more(request),
                   &root) &&
        !doc_get_bool(root, "$", "skip_special_tokens", &skips, &request->err)) {
        ((struct tokens_call *)request->state)->has_specials = !skips;
        read_lists(request, doc_member(root, "ids"));
    }
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static size_t tokens_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const size_t string = TOKEN_BYTES + row_info(row)->string_bytes_max;
    size_t tokens;
    (void)work;
    engine_tokenize_bytes(row_engine(row), &source, &tokens);
    /* parts of a text may share a character */
    return memory_sum(memory_product(tokens, string + UTF8_BYTES_MAX),
                      memory_product(LETTER_BYTES, source.len));
}

static unsigned tokens_row(struct request *request)
{
    struct writing *writing = writing_next(request, "[", request->call.item_count);
    const struct tokens_call *state = request->state;
    if (writing == NULL)
        return 0;
    const struct row *row = &request->rows[writing->encoded];
    const struct engine_tokens *tokens = &row->tokens;
    struct codec_text *text = &writing->text;
    struct utf8_place place = {0, 0};
    bool is_first = true;
    codec_text_add(text, "[");
    for (unsigned t = 0; t < tokens->count; t++) {
        char member[TOKEN_BYTES];
        size_t len = 0;
        bool is_special;
        const bool is_around = tokens->ends[t] == 0;
        const char *string = engine_token(row_engine(row), tokens->ids[t], &len, &is_special);
        if (is_around && !state->has_specials)
            continue;
        snprintf(member, sizeof member, "%s{\"id\":%d,\"text\":", is_first ? "" : ",",
                 tokens->ids[t]);
        codec_text_add(text, member);
        is_first = false;
        if (is_around) {
            codec_text_string_of(text, string != NULL ? string : "", len);
            codec_text_add(text, ",\"special\":true,\"start\":null,\"stop\":null}");
            continue;
        }
        const size_t start = utf8_move(&place, tokens->text, tokens->len, tokens->starts[t]);
        const size_t stop = utf8_move(&place, tokens->text, tokens->len, tokens->ends[t]);
        codec_text_string_of(text, tokens->text + start, stop > start ? stop - start : 0);
        snprintf(member, sizeof member, ",\"special\":false,\"start\":%zu,\"stop\":%zu}", start,
                 stop);
        codec_text_add(text, member);
    }
    codec_text_add(text, "]");
    return writing_done(writing, "]");
}

static size_t ids_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct tokens_call *state = request->state;
    const struct ids *list = &state->lists[row - request->rows];
    const size_t room = decoder_room(list->bytes, list->count);
    *work = memory_sum(*work, room + ARENA_ALIGNMENT);
    return memory_product(LETTER_BYTES, room);
}

static unsigned ids_row(struct request *request)
{
    struct writing *writing = writing_next(request, "[", request->call.item_count);
    const struct tokens_call *state = request->state;
    struct decoding decoding;
    if (writing == NULL)
        return 0;
    const struct ids *list = &state->lists[writing->encoded];
    const size_t bytes = decoder_room(list->bytes, list->count);
    char *room = arena_alloc(&request->exchange->arena, bytes);
    if (room == NULL) {
        writing->text.has_failed = true;
        return 0;
    }
    decoding_begin(&decoding, engine_decoder(state->engine), room, bytes);
    for (unsigned i = 0; i < list->count; i++) {
        size_t len = 0;
        bool is_special = false;
        const char *string = engine_token(state->engine, list->ids[i], &len, &is_special);
        if (string != NULL && (state->has_specials || !is_special))
            decoding_add(&decoding, string, len);
    }
    size_t len;
    const char *text = decoding_end(&decoding, &len);
    codec_text_string_of(&writing->text, text, len);
    return writing_done(writing, "]");
}

const struct protocol protocol_tei_tokenize = {
    .name = "tei_tokenize",
    .parse = parse_texts,
    .row_bytes = tokens_bytes,
    .encode_row = tokens_row,
    .problem = texts_tei_problem,
    TEXTS_PROTOCOL,
    WRITING_PROTOCOL,
};

const struct protocol protocol_tei_decode = {
    .name = "tei_decode",
    .accept = texts_accept,
    .parse_bytes = ids_parse_bytes,
    .parse = parse_ids,
    .row_bytes = ids_bytes,
    .encode_row = ids_row,
    .problem = texts_tei_problem,
    WRITING_PROTOCOL,
};
