/* tf.c - TensorFlow Serving's POST /v1/models/{model}:predict, also of a version.
 *
 *     {"instances": ["text", {"text": "text", "text_pair": "text"}, {"b64": "<base64>"},
 *                    {"image": {"b64": "<base64 of a picture>"}}],
 *      "signature_name": "serving_default"}
 *     {"predictions": [{"label": "scan", "score": 0.9, "scores": [...], "logits": [...]}, ...]}
 *     {"predictions": [[0.1, ...], ...]}        of a model of vectors
 *     {"predictions": [{"output": "...", "score": -0.7}, ...]}    of a model that writes texts
 *
 * Each of `instances` is a row. `inputs`, the columnar form, is refused by name. A text that is too
 * long is refused.
 *
 * Source: TensorFlow Serving's RESTful API. */
#include "server/protocol/protocol.h"
#include "server/protocol/texts.h"
#include "server/protocol/writing.h"

#include "engine/base/doc.h"

#include <stdio.h>
#include <string.h>

enum { ROW_BYTES = 128 }; /* of a prediction, beside its labels and numbers */

/* ---- the call ---- */

static void place(const struct predict_call *call, unsigned index, char out[CALL_PLACE_BYTES])
{
    (void)call;
    snprintf(out, CALL_PLACE_BYTES, "instances[%u]", index);
}

static enum err_code read_instance(struct request *request, const struct json_t *value,
                                   const char *where, struct engine_source *out)
{
    const struct json_t *image = doc_member(value, "image"), *pair = doc_member(value, "text_pair");
    const struct json_t *file = image != NULL ? image : value;
    image = doc_member(file, "b64");
    if (image != NULL && doc_object_count(value) == 1 && doc_object_count(file) == 1)
        return texts_image(request, image, where, out);
    if (doc_object_count(value) == 0)
        return texts_source(request, value, where, out);
    if (image == NULL && file != value && doc_object_count(value) == 1)
        return err_set(&request->err, ERR_UNUSABLE, "%s.image: expected {\"b64\": \"...\"}", where);
    if (doc_check_members(value, where, "text, text_pair, or image, or b64 alone", &request->err))
        return request->err.code = ERR_UNUSABLE;
    if (texts_source(request, doc_member(value, "text"), where, out) || pair == NULL)
        return request->err.code;
    return texts_text(request, pair, where, &out->pair, &out->pair_len);
}

static enum err_code parse(struct request *request)
{
    struct predict_call *call = &request->call;
    struct json_t *root = NULL;
    const char *signature = "serving_default";
    *call = (struct predict_call){.place = place,
                                  .model_place = "model",
                                  .keep = true,
                                  .top_k = TOP_K_ALL,
                                  .wish = WISH_WHOLE,
                                  .refuses_cut = true,
                                  .cut_advice = "send less"};
    call->model = request_value(request, "model");
    if (strstr(request->pattern, "{version}") != NULL)
        call->version = request_value(request, "version");
    if (call->model == NULL)
        return err_no_memory(&request->err, strlen(request->exchange->path));
    if (texts_open(request, &root, "instances, signature_name", 0) ||
        doc_get_string(root, "$", "signature_name", &signature, &request->err))
        goto out;
    if (strcmp(signature, "serving_default") != 0)
        err_set(&request->err, ERR_UNUSABLE, "signature_name: expected serving_default");
    else if (!texts_is_array(doc_member(root, "instances")))
        err_set(&request->err, ERR_UNUSABLE, "instances: expected a list");
    else
        texts_items(request, doc_member(root, "instances"), "instances", read_instance);
out:
    doc_free(root);
    return request->err.code;
}

/* ---- the answer ---- */

static size_t row_bytes(const struct request *request, const struct row *row, size_t *work)
{
    const struct engine_info *info = row_info(row);
    const struct engine_source source = request_source(request, (unsigned)(row - request->rows));
    const size_t numbers = 2 * (size_t)info->label_count + info->vector_size + 1;
    const size_t bytes = ROW_BYTES + numbers * WRITING_NUMBER_BYTES + writing_labels_bytes(row);
    (void)work;
    return info->task == ENGINE_GENERATE
               ? memory_sum(bytes, memory_product(6, engine_need(row_engine(row), &source).written))
               : bytes;
}

static unsigned encode_row(struct request *request)
{
    struct writing *writing = writing_next(request, "{\"predictions\":[", request->call.item_count);
    if (writing == NULL)
        return 0;
    const struct row *row = &request->rows[writing->encoded];
    const struct engine_info *info = row_info(row);
    const struct engine_result *result = &row->answer.result;
    struct codec_text *text = &writing->text;
    if (info->task == ENGINE_EMBED)
        writing_numbers(text, result->vector, info->vector_size);
    else if (info->task == ENGINE_GENERATE) {
        codec_text_add(text, "{\"output\":");
        codec_text_string_of(text, result->texts[0].text, result->texts[0].len);
        codec_text_add(text, ",\"score\":");
        writing_number(text, result->number);
        codec_text_add(text, "}");
    } else {
        codec_text_add(text, "{\"label\":");
        codec_text_string(text, info->labels[result->label]);
        codec_text_add(text, ",\"score\":");
        writing_number(text, result->number);
        codec_text_add(text, ",\"scores\":");
        writing_numbers(text, result->scores, info->label_count);
        codec_text_add(text, ",\"logits\":");
        writing_numbers(text, result->logits, info->label_count);
        codec_text_add(text, "}");
    }
    return writing_done(writing, "]}");
}

const struct protocol protocol_tf = {
    .name = "tf",
    .parse = parse,
    .row_bytes = row_bytes,
    .encode_row = encode_row,
    .problem = texts_tei_problem,
    TEXTS_PROTOCOL,
    WRITING_PROTOCOL,
};
