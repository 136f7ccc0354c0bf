#include "tools/stream/message.h"

#include "engine/base/sha256.h"
#include "engine/vision/input_formats.h"
#include "wire/codec.h"
#include "wire/codec_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum message_kind { MESSAGE_TEXT, MESSAGE_IMAGE, MESSAGE_JSON };

/* ---- what it is ---- */

static bool is_type(const char *value, const char *type)
{
    size_t len = strlen(type);
    return strncasecmp(value, type, len) == 0 && strchr("; \t", value[len]) != NULL;
}

static enum err_code find_kind(const struct message *message, bool model_takes_images,
                               enum message_kind *out, struct err *err)
{
    const char *type = message->content_type;
    if (type == NULL)
        *out = message->is_json ? MESSAGE_JSON : model_takes_images ? MESSAGE_IMAGE : MESSAGE_TEXT;
    else if (is_type(type, "application/json"))
        *out = MESSAGE_JSON;
    else if (input_format_of_media_type(type, strcspn(type, "; \t")) != NULL)
        *out = MESSAGE_IMAGE;
    else if (is_type(type, "text/plain"))
        *out = MESSAGE_TEXT;
    else
        return err_set(err, ERR_MEDIA_TYPE,
                       "content-type: expected text/plain, " INPUT_FORMATS_MEDIA_TYPES
                       " or application/json");
    return ERR_OK;
}

/* ---- prepare ---- */

static enum err_code prepare(const struct message *message, const struct engine_model *engine,
                             struct engine_source *source, struct arena *arena,
                             struct message_input *out, struct err *err)
{
    const struct engine_question own = source->question;
    source->pixels_max = MESSAGE_PIXELS_MAX;
    source->prompt_name = message->prompt_name;
    source->writing = message->asking.write.is_given ? &message->asking.write.writing : NULL;
    if (source->kind == ENGINE_TEXT) {
        out->text = source->bytes;
        out->text_len = source->len;
        source->reading.aggregation = message->asking.aggregation;
        source->reading.vectors = message->asking.vector.chunks;
        source->question = message->asking.question;
    }
    if (own.text != NULL) {
        source->question.text = own.text;
        source->question.len = own.len;
    }
    return engine_prepare(engine, source, NULL, arena, &out->prepared, err);
}

/* ---- all ---- */

enum err_code message_prepare(const struct message *message, const struct engine_model *engine,
                              struct arena *arena, struct message_input *out, struct err *err)
{
    const struct engine_info *info = engine_describe(engine);
    const bool takes_images = info->kind == ENGINE_IMAGE;
    enum message_kind kind = MESSAGE_TEXT;
    *out = (struct message_input){0};
    if (message->value == NULL)
        return err_set(err, ERR_UNUSABLE, "the message has no value");
    if (message->len > message->bytes_max)
        return err_set(err, ERR_TOO_LARGE, "the message has %zu bytes, the limit is %zu",
                       message->len, message->bytes_max);
    if (find_kind(message, takes_images, &kind, err))
        return err->code;
    if (kind == MESSAGE_JSON) {
        /* as POST /predict reads one input; the configuration sets all other members */
        const struct codec_limits limits = {.inputs_max = 1, .members = &codec_names_item};
        struct predict_call call;
        codec_parse_json(&call, message->value, message->len, &limits, arena, err);
        if (call.id != NULL && !message_id_is_plain(call.id))
            return err_set(err, ERR_UNUSABLE, "$.id: expected printable ASCII of at most %d bytes",
                           MESSAGE_ID_BYTES_MAX);
        out->id = call.id;
        out->context = call.context;
        if (err->code != ERR_OK)
            return err->code;
        struct engine_source source = call.items[0].source;
        if (!engine_reads(info, source.kind))
            return err_set(err, ERR_UNUSABLE, "the model takes %s",
                           takes_images ? "images" : "texts");
        return prepare(message, engine, &source, arena, out, err);
    }
    struct engine_source source = {.kind = kind == MESSAGE_IMAGE ? ENGINE_IMAGE : ENGINE_TEXT,
                                   .bytes = message->value,
                                   .len = message->len};
    return prepare(message, engine, &source, arena, out, err);
}

void message_make_id(char out[MESSAGE_OWN_ID_BYTES], const char *topic, int partition,
                     int64_t offset)
{
    char place[400], digest[SHA256_HEX_BYTES];
    int len = snprintf(place, sizeof place, "%.249s/%d/%lld", topic, partition, (long long)offset);
    sha256_hex(place, (size_t)len, digest);
    memcpy(out, digest, MESSAGE_OWN_ID_BYTES - 1);
    out[MESSAGE_OWN_ID_BYTES - 1] = '\0';
}

bool message_id_is_plain(const char *id)
{
    size_t len = strnlen(id, MESSAGE_ID_BYTES_MAX + 1);
    if (len == 0 || len > MESSAGE_ID_BYTES_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if (id[i] < 0x21 || id[i] > 0x7E)
            return false;
    return true;
}
