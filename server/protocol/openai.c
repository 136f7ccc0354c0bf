/* openai.c - OpenAI's embeddings: POST /v1/embeddings, as their clients send it.
 *
 *     {"model": "e5", "input": ["text", ...], "encoding_format": "float" | "base64",
 *      "dimensions": 256, "user": "..."}
 *     {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [...]}],
 *      "model": "e5", "usage": {"prompt_tokens": 8, "total_tokens": 8}}
 *
 * `dimensions` keeps the first numbers of a vector and scales them to length 1. base64 is of 32-bit
 * floats, the lowest byte first. One text that cannot be used refuses the whole call, and so does
 * one that would be cut, unless `truncate` is true. `prompt_name`, `truncate` and the encodings in
 * integers (wire/vector_form.h) are ours. Token ids in place of texts are refused: they are of
 * OpenAI's tokenizer.
 *
 * Source: OpenAI API reference, Create embeddings, and the client openai-python 1.x. */
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "wire/limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ROW_BYTES = 128 }; /* of an element of `data`, beside its numbers */

/* ---- the call ---- */

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    if (call->item_count == 1)
        snprintf(out, CALL_PLACE_BYTES, "input");
    else
        snprintf(out, CALL_PLACE_BYTES, "input[%u]", index);
}

static enum err_code read_options(struct request *request, const struct json_t *root)
{
    struct predict_call *call = &request->call;
    const char *format = vector_encoding_name(VECTOR_FLOAT);
    bool truncates = false;
    long long dimensions = 0;
    if (texts_name(request, root, "$", "model", LIMIT_MODEL_NAME_BYTES, &call->model) ||
        texts_name(request, root, "$", "prompt_name", LIMIT_ID_BYTES, &call->prompt_name) ||
        doc_get_integer(root, "$", "dimensions", 1, INT_MAX, &dimensions, &request->err) ||
        doc_get_bool(root, "$", "truncate", &truncates, &request->err) ||
        doc_get_string(root, "$", "encoding_format", &format, &request->err))
        return request->err.code;
    call->vector.dimensions = (unsigned)dimensions;
    call->vector.is_scaled = dimensions > 0;
    call->refuses_cut = !truncates;
    if (!vector_encoding_find(format, strlen(format), &call->vector.encoding))
        return err_set(&request->err, ERR_UNUSABLE,
                       "encoding_format: expected " VECTOR_ENCODING_NAMES);
    if (dimensions > 0 &&
        (call->vector.encoding == VECTOR_INT8 || call->vector.encoding == VECTOR_UINT8))
        return err_set(&request->err, ERR_UNUSABLE,
                       "encoding_format: the ranges for %s are not of vectors that dimensions cut "
                       "and scale",
                       format);
    return ERR_OK;
}

static enum err_code parse(struct request *request)
{
    static const char known[] =
        "input, model, encoding_format, dimensions, user, prompt_name, truncate";
    struct json_t *root;
    request->call = (struct predict_call){
        .place = place, .model_place = "model", .keep = true, .wish = WISH_VECTOR};
    if (!texts_open(request, &root, known, 0) && !read_options(request, root))
        texts_items(request, doc_member(root, "input"), "input", texts_source);
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    (void)work;
    return memory_sum(ROW_BYTES,
                      memory_product(writing_vector_size(request, row), WRITING_NUMBER_BYTES));
}

/* Encodes pieces of a multiple of three bytes, so that padding stands at the end alone. */
static void add_base64(struct codec_text *text, const float *vector, unsigned size)
{
    enum { PIECE = 3 * 12 };
    char out[PIECE * sizeof *vector / 3 * 4 + 1];
    codec_text_add(text, "\"");
    for (unsigned i = 0; i < size; i += PIECE) {
        const unsigned count = size - i < PIECE ? size - i : PIECE;
        base64_encode(out, (const char *)(vector + i), count * sizeof *vector);
        codec_text_add(text, out);
    }
    codec_text_add(text, "\"");
}

static void add_integers(struct codec_text *text, const struct vector_form *form,
                         const struct engine_info *info, const float *vector)
{
    const unsigned count = vector_form_count(form, info);
    for (unsigned i = 0; i < count; i++) {
        char number[16];
        snprintf(number, sizeof number, "%s%d", i == 0 ? "[" : ",",
                 vector_form_integer(form, info, vector, i));
        codec_text_add(text, number);
    }
    codec_text_add(text, "]");
}

static unsigned encode_row(struct request *request)
{
    const unsigned count = request->call.item_count;
    struct writing *writing = writing_next(request, "{\"object\":\"list\",\"data\":[", count);
    if (writing == NULL)
        return 0;
    struct codec_text *text = &writing->text;
    const struct row *row = &request->rows[writing->encoded];
    const struct vector_form *form = &request->call.vector;
    const float *vector = row->answer.result.vector;
    const unsigned size = writing_vector_size(request, row);
    unsigned long tokens = 0;
    char part[ROW_BYTES];
    snprintf(part, sizeof part,
             "{\"object\":\"embedding\",\"index\":%u,\"embedding\":", writing->encoded);
    codec_text_add(text, part);
    if (form->encoding == VECTOR_BASE64)
        add_base64(text, vector, size);
    else if (form->encoding == VECTOR_FLOAT)
        writing_numbers(text, vector, size);
    else
        add_integers(text, form, row_info(row), vector);
    codec_text_add(text, "}");
    if (writing->encoded + 1 < count)
        return writing_done(writing, "");
    for (unsigned i = 0; i < count; i++)
        tokens += request->rows[i].answer.result.tokens;
    codec_text_add(text, "],\"model\":");
    codec_text_string(text, request->rows[0].answer.model_name);
    snprintf(part, sizeof part, ",\"usage\":{\"prompt_tokens\":%lu,\"total_tokens\":%lu}}", tokens,
             tokens);
    return writing_done(writing, part);
}

const struct protocol protocol_openai = {
    .name = "openai",
    .parse = parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = texts_problem,
    TEXTS_PROTOCOL,
    WRITING_PROTOCOL,
};
