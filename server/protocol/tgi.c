/* tgi.c - text-generation-inference's POST /generate and POST /generate_stream, by a model that
 * writes texts. Its clients that know an address alone send the same to it: hf.c.
 *
 *     {"inputs": "text", "parameters": {"max_new_tokens": 20, "details": true}, "stream": false}
 *     {"generated_text": "...", "details": {"finish_reason", ..., "tokens": [...]}}
 *
 * written.h has the parameters, and the events of a stream. `model` is ours.
 *
 * Source: text-generation-inference 3.3, its OpenAPI document and its client 0.7. */
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"
#include "server/protocol/written.h"

#include "engine/base/doc.h"
#include "wire/limits.h"

#include <string.h>

static enum err_code read_call(struct request *request, const struct json_t *root,
                               struct written_how *how)
{
    static const char known[] =
        WRITTEN_TASKS ", " WRITTEN_GENERATION ", " WRITTEN_GENERATE ", truncate";
    const struct json_t *parameters;
    struct predict_call *call = &request->call;
    const bool only_streams = strcmp(request->pattern, "/generate_stream") == 0;
    call->stream = only_streams;
    if (texts_parameters(request, root, "$.parameters", known, &parameters) ||
        texts_name(request, root, "$", "model", LIMIT_MODEL_NAME_BYTES, &call->model) ||
        written_read(request, parameters, how) || written_read_top(request, parameters) ||
        doc_get_bool(root, "$", "stream", &call->stream, &request->err))
        return request->err.code;
    if (doc_member(parameters, "truncate") != NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "truncate: it would keep the end of a text; `truncation` longest_first "
                       "keeps the beginning");
    if (only_streams && !call->stream)
        return err_set(&request->err, ERR_UNUSABLE,
                       "stream: this route answers streams, POST /generate whole texts");
    if (call->writing != NULL && call->writing->asked.num_return_sequences > 1)
        return err_set(&request->err, ERR_UNUSABLE,
                       "num_return_sequences: this route answers one text");
    if (texts_room(request, 1, "inputs"))
        return request->err.code;
    return texts_source(request, doc_member(root, "inputs"), "inputs", &call->items[0].source);
}

static enum err_code parse(struct request *request)
{
    struct written_how *how = arena_alloc_array(&request->exchange->arena, 1, sizeof *how);
    struct json_t *root = NULL;
    request->call =
        (struct predict_call){.place = texts_place,
                              .model_place = "model",
                              .keep = true,
                              .wish = WISH_TEXT,
                              .refuses_cut = true,
                              .cut_advice = "send less, or \"truncation\": \"longest_first\""};
    request->state = how;
    if (how == NULL)
        return err_no_memory(&request->err, sizeof *how);
    *how = (struct written_how){.form = WRITTEN_TEXT, .is_generation = true};
    if (!texts_open(request, &root, "inputs, parameters, stream, model", 0))
        read_call(request, root, how);
    doc_free(root);
    return request->err.code;
}

static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    return written_bytes(request, row, request->state, work);
}

static unsigned encode_row(struct request *request)
{
    struct writing *writing = writing_next(request, "", 1);
    if (writing == NULL)
        return 0;
    written_row(&writing->text, request, &request->rows[0], request->state);
    return writing_done(writing, "");
}

const struct protocol protocol_tgi = {
    .name = "tgi",
    .parse = parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = texts_tgi_problem,
    .head = tei_head,
    .event = written_event,
    TEXTS_PROTOCOL,
    WRITING_PROTOCOL,
};
