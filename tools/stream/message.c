#include "tools/stream/message.h"

#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "engine/base/doc_edit.h"
#include "engine/base/nearest.h"
#include "engine/base/sha256.h"
#include "server/protocol/codec_context.h"

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
    else if (is_type(type, "image/png") || is_type(type, "image/jpeg"))
        *out = MESSAGE_IMAGE;
    else if (is_type(type, "text/plain"))
        *out = MESSAGE_TEXT;
    else
        return err_set(err, ERR_MEDIA_TYPE,
                       "content-type: expected text/plain, image/png, image/jpeg or "
                       "application/json");
    return ERR_OK;
}

static enum err_code check_kind(bool is_image, bool model_takes_images, struct err *err)
{
    if (is_image == model_takes_images)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "the model takes %s",
                   model_takes_images ? "images" : "texts");
}

/* ---- prepare ---- */

static enum err_code prepare(const struct engine_model *engine, const struct engine_source *source,
                             struct arena *arena, struct message_input *out, struct err *err)
{
    if (source->kind == ENGINE_TEXT) {
        out->text = source->bytes;
        out->text_len = source->len;
    }
    return engine_prepare(engine, source, NULL, arena, &out->prepared, err);
}

/* ---- the JSON body ---- */

static enum err_code check_member(void *context, const char *key, const struct json_t *value,
                                  struct err *err)
{
    static const char *const known[] = {"text", "text_pair", "image", "id", "context"};
    enum { KNOWN = sizeof known / sizeof *known };
    (void)context;
    (void)value;
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(key, known[i]) == 0)
            return ERR_OK;
    const char *nearest = nearest_name(key, known, KNOWN);
    return err_set(err, ERR_UNUSABLE,
                   "unknown member%s%s%s: a message has text, text_pair, image, "
                   "id and context; all else is the configuration's",
                   nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "\"?" : "");
}

/* NULL if absent; a copy that outlives the tree. An id may be a number. */
static const char *take_text(const struct json_t *root, const char *key, size_t *len,
                             struct arena *arena, struct err *err)
{
    char digits[DOC_NUMBER_BYTES];
    const struct json_t *value = doc_member(root, key);
    const char *text = value != NULL ? doc_text(value, len) : NULL;
    if (text == NULL && strcmp(key, "id") == 0 && doc_number_text(value, digits)) {
        text = digits;
        *len = strlen(digits);
    }
    if (value != NULL && text == NULL)
        err_set(err, ERR_UNUSABLE, "$.%s: expected a string, found %s", key, doc_type_name(value));
    if (text == NULL)
        return NULL;
    const char *copy = arena_copy(arena, text, *len);
    if (copy == NULL)
        err_no_memory(err, *len);
    return copy;
}

/* Reads the context as of an item of POST /predict. No string was cut out of this tree. */
static enum err_code take_context(struct json_t *root, struct arena *arena,
                                  struct message_input *out, struct err *err)
{
    static const struct elided none;
    const char *lot = NULL;
    const struct json_t *given = doc_member(root, "context");
    struct json_t *context = doc_edit_member(root, "context");
    if (given != NULL && context == NULL)
        return err_set(err, ERR_UNUSABLE, "$.context: expected an object, found %s",
                       doc_type_name(given));
    return codec_context_read(context, "$", &none, CODEC_CONTEXT_OF_ITEM, arena, &out->context,
                              &lot, err);
}

static enum err_code prepare_base64(const struct engine_model *engine, const char *text, size_t len,
                                    struct arena *arena, struct message_input *out, struct err *err)
{
    struct engine_source source = {.kind = ENGINE_IMAGE, .pixels_max = MESSAGE_PIXELS_MAX};
    const char *comma =
        len > 5 && strncasecmp(text, "data:", 5) == 0 ? memchr(text, ',', len) : NULL;
    size_t prefix = comma != NULL ? (size_t)(comma - text) + 1 : 0;
    char *bytes = arena_alloc(arena, base64_sent_size(len - prefix));
    if (bytes == NULL)
        return err_no_memory(err, len);
    if (base64_decode_sent(bytes, &source.len, text + prefix, len - prefix, prefix, NULL, err))
        return err_prefix(err, "$.image: ");
    source.bytes = bytes;
    return prepare(engine, &source, arena, out, err);
}

static enum err_code prepare_members(struct json_t *root, const struct engine_model *engine,
                                     struct arena *arena, struct message_input *out,
                                     struct err *err)
{
    bool takes_images = engine_describe(engine)->kind == ENGINE_IMAGE;
    struct engine_source source = {.kind = ENGINE_TEXT, .is_utf8 = true};
    size_t id_len = 0, image_len = 0;
    if (strcmp(doc_type_name(root), "an object") != 0)
        return err_set(err, ERR_UNUSABLE, "$: expected an object, found %s", doc_type_name(root));
    out->id = take_text(root, "id", &id_len, arena, err);
    if (out->id != NULL && !message_id_is_plain(out->id)) {
        out->id = NULL;
        return err_set(err, ERR_UNUSABLE, "$.id: expected printable ASCII of at most %d bytes",
                       MESSAGE_ID_BYTES_MAX);
    }
    source.bytes = take_text(root, "text", &source.len, arena, err);
    source.pair = take_text(root, "text_pair", &source.pair_len, arena, err);
    const char *image = take_text(root, "image", &image_len, arena, err);
    if (err->code || doc_each_member(root, check_member, NULL, err) ||
        take_context(root, arena, out, err))
        return err->code;
    if ((source.bytes == NULL) == (image == NULL) || (source.pair != NULL && source.bytes == NULL))
        return err_set(err, ERR_UNUSABLE, "$: expected exactly one of text and image");
    if (check_kind(image != NULL, takes_images, err))
        return err->code;
    return image != NULL ? prepare_base64(engine, image, image_len, arena, out, err)
                         : prepare(engine, &source, arena, out, err);
}

static enum err_code prepare_json(const struct message *message, const struct engine_model *engine,
                                  struct arena *arena, struct message_input *out, struct err *err)
{
    static const struct doc_limits limits = {.depth_max = 16, .tokens_max = 256};
    struct json_t *root = NULL;
    if (doc_parse(&root, message->value, message->len, &limits, err) == ERR_OK)
        prepare_members(root, engine, arena, out, err);
    doc_free(root);
    return err->code;
}

/* ---- all ---- */

enum err_code message_prepare(const struct message *message, const struct engine_model *engine,
                              struct arena *arena, struct message_input *out, struct err *err)
{
    bool takes_images = engine_describe(engine)->kind == ENGINE_IMAGE;
    enum message_kind kind = MESSAGE_TEXT;
    *out = (struct message_input){0};
    if (message->value == NULL)
        return err_set(err, ERR_UNUSABLE, "the message has no value");
    if (message->len > message->bytes_max)
        return err_set(err, ERR_TOO_LARGE, "the message has %zu bytes, the limit is %zu",
                       message->len, message->bytes_max);
    if (find_kind(message, takes_images, &kind, err))
        return err->code;
    if (kind == MESSAGE_JSON)
        return prepare_json(message, engine, arena, out, err);
    const struct engine_source source = {.kind = kind == MESSAGE_IMAGE ? ENGINE_IMAGE : ENGINE_TEXT,
                                         .bytes = message->value,
                                         .len = message->len,
                                         .pixels_max = MESSAGE_PIXELS_MAX};
    return prepare(engine, &source, arena, out, err);
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
