#include "engine/model/decoder/pair_spec.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/format/directory.h"
#include "engine/model/config/config_parts.h"
#include "engine/model/spec_config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024, VOCAB_LIMIT = 16 * 1024 * 1024 };

static const char image_type[] = "vision-encoder-decoder";

/* Sets what the words of both sides, and the decoder's output, are made of. */
static enum err_code read_words(struct spec *source, struct spec *target,
                                const struct family_pair *pair, const struct json_t *config,
                                struct err *err)
{
    bool shares = true, is_tied = !pair->is_untied;
    long long words = target->vocab_size;
    if (doc_get_bool(config, "$", "tie_word_embeddings", &is_tied, err))
        return err->code;
    if (pair->key_sharing != NULL) {
        doc_get_bool(config, "$", pair->key_sharing, &shares, err);
        doc_get_integer(config, "$", "decoder_vocab_size", 1, VOCAB_LIMIT, &words, err);
        if (err->code != ERR_OK)
            return err->code;
    }
    source->has_own_words = target->has_own_words = !shares;
    target->vocab_size = shares ? source->vocab_size : (unsigned)words;
    target->absent[TENSOR_WORD] = shares;
    target->absent[TENSOR_OUTPUT] = is_tied;
    target->output_scale = is_tied && pair->scales_output ? 1 / sqrtf((float)target->hidden) : 0;
    return ERR_OK;
}

static enum err_code read_texts(struct spec *source, struct spec *target,
                                const struct family_pair *pair, const struct json_t *config,
                                struct err *err)
{
    source->family = pair->source;
    target->family = pair->target;
    if (spec_config_read_sizes(source, config, err) || spec_config_read_sizes(target, config, err))
        return err->code;
    if (pair->has_as_many_layers && doc_member(config, target->family->key_layers) == NULL)
        target->layers = source->layers;
    return read_words(source, target, pair, config, err);
}

/* Returns a member that is an object. */
static enum err_code get_object(const struct json_t *config, const char *key,
                                const struct json_t **out, struct err *err)
{
    *out = doc_member(config, key);
    if (*out != NULL && strcmp(doc_type_name(*out), "an object") == 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "$.%s: expected an object, found %s", key,
                   *out != NULL ? doc_type_name(*out) : "nothing");
}

static enum err_code read_image_encoder(struct spec *source, const struct json_t *config,
                                        struct err *err)
{
    const char *model_type = "";
    if (doc_get_string(config, "$", "model_type", &model_type, err))
        return err->code;
    source->family = family_find(model_type, NULL);
    if (source->family == NULL ||
        (strcmp(model_type, "vit") != 0 && strcmp(model_type, "deit") != 0 &&
         strcmp(model_type, "beit") != 0))
        return err_set(err, ERR_UNSUPPORTED,
                       "model_type '%s' is not supported (supported: vit, deit, beit)",
                       printable_name(model_type).text);
    source->root = "encoder.";
    return refused_members(config, false, err) ? err->code
                                               : spec_config_read_sizes(source, config, err);
}

/* Reads TrOCR's decoder. Without cross_attention_hidden_size states of another width are projected
 * to its own. */
static enum err_code read_image_decoder(struct spec *target, const struct spec *source,
                                        const struct json_t *config, struct err *err)
{
    const char *model_type = "";
    bool is_tied = true, is_learnt = true;
    long long source_width = 0;
    if (doc_get_string(config, "$", "model_type", &model_type, err))
        return err->code;
    if (strcmp(model_type, "trocr") != 0)
        return err_set(err, ERR_UNSUPPORTED, "model_type '%s' is not supported (supported: trocr)",
                       printable_name(model_type).text);
    doc_get_bool(config, "$", "tie_word_embeddings", &is_tied, err);
    doc_get_bool(config, "$", "use_learned_position_embeddings", &is_learnt, err);
    if (doc_get_integer(config, "$", "cross_attention_hidden_size", 1, INT_MAX, &source_width, err))
        return err->code;
    target->family = family_trocr(is_learnt);
    target->absent[TENSOR_OUTPUT] = is_tied;
    target->has_own_words = true;
    if (spec_config_read_sizes(target, config, err))
        return err->code;
    target->projects_states = source_width == 0 && target->hidden != source->hidden;
    if (source_width != 0 && source_width != source->hidden)
        return err_set(err, ERR_UNSUPPORTED,
                       "cross_attention_hidden_size %lld is not supported (supported: null, and "
                       "%u, the encoder's hidden_size)",
                       source_width, source->hidden);
    return ERR_OK;
}

static enum err_code read_images(struct spec *source, struct spec *target,
                                 const struct json_t *config, struct err *err)
{
    const struct json_t *encoder, *decoder;
    if (get_object(config, "encoder", &encoder, err) ||
        get_object(config, "decoder", &decoder, err))
        return err->code;
    if (read_image_encoder(source, encoder, err))
        return err_prefix(err, "encoder: ");
    if (read_image_decoder(target, source, decoder, err))
        return err_prefix(err, "decoder: ");
    return ERR_OK;
}

static enum err_code read_pair(struct spec *source, struct spec *target,
                               const struct json_t *config, struct err *err)
{
    const char *model_type = NULL;
    char known[256];
    if (doc_get_string(config, "$", "model_type", &model_type, err) ||
        refused_members(config, false, err))
        return err->code;
    const struct family_pair *pair = family_pair_find(model_type);
    if (pair != NULL)
        return read_texts(source, target, pair, config, err);
    if (model_type != NULL && strcmp(model_type, image_type) == 0)
        return read_images(source, target, config, err);
    family_pair_types(known, sizeof known);
    return refused_type(model_type, known, err);
}

bool pair_spec_is(const char *dir)
{
    static const char *const classes[] = {"ForConditionalGeneration", "MTModel",
                                          "EncoderDecoderModel"};
    char path[PATH_MAX];
    struct json_t *config = NULL;
    struct err err = {0};
    bool is_pair = false;
    if (file_path(path, dir, "config.json", &err) ||
        doc_parse_file(&config, path, FILE_BYTES_MAX, &err))
        goto out;
    const char *type = doc_as_string(doc_member(config, "model_type"));
    const char *class = doc_as_string(doc_array_item(doc_member(config, "architectures"), 0));
    for (size_t i = 0; class != NULL && i < sizeof classes / sizeof *classes; i++)
        is_pair = is_pair || strstr(class, classes[i]) != NULL;
    is_pair = (is_pair || class == NULL) && type != NULL &&
              (family_pair_find(type) != NULL || strcmp(type, image_type) == 0);
out:
    doc_free(config);
    return is_pair;
}

enum err_code pair_spec_read(struct spec *source, struct spec *target, const char *dir,
                             struct err *err)
{
    char path[PATH_MAX];
    struct json_t *config = NULL;
    *source = *target = (struct spec){0};
    if (directory_check(dir, err) || file_path(path, dir, "config.json", err))
        return err->code;
    if (doc_read_object(&config, path, FILE_BYTES_MAX, err) ||
        read_pair(source, target, config, err)) {
        if (err->code == ERR_UNUSABLE || err->code == ERR_MALFORMED || err->code == ERR_TOO_LARGE)
            err->code = ERR_UNSUPPORTED; /* the checkpoint's fault, as in spec.c */
        err_prefix(err, "config.json: ");
    } else {
        target->source = source->hidden;
        source->head = HEAD_STATES;
        target->head = HEAD_WORDS;
        spec_set_defaults(source);
        spec_set_defaults(target);
    }
    doc_free(config);
    return err->code;
}

/* ---- attnd.json ---- */

static enum err_code check_setting(void *context, const char *key, const struct json_t *value,
                                   struct err *err)
{
    static const char *const known[] = {"version",    "target_precision", "thresholds",
                                        "truncation", "uncalibrated",     "colours",
                                        "confidence", "checksum",         "views"};
    (void)context, (void)value;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], key) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.%s is not supported for a model that writes texts (supported: version, "
                   "target_precision, thresholds, truncation, uncalibrated, colours, confidence, "
                   "checksum, views)",
                   key);
}

static enum err_code read_confidence(struct policy *policy, const struct json_t *object,
                                     struct err *err)
{
    const struct json_t *member;
    double scale = 1, shift = 0;
    if (doc_member(object, "confidence") == NULL)
        return ERR_OK;
    if (get_object(object, "confidence", &member, err) ||
        doc_check_members(member, "$.confidence", "scale, shift", err) ||
        doc_get_number(member, "$.confidence", "scale", &scale, err) ||
        doc_get_number(member, "$.confidence", "shift", &shift, err))
        return err->code;
    if (!((float)scale > 0 && scale <= PAIR_CONFIDENCE_MAX && fabs(shift) <= PAIR_CONFIDENCE_MAX))
        return err_set(err, ERR_UNSUPPORTED,
                       "$.confidence: scale is above 0 and at most %d, shift from -%d to %d",
                       PAIR_CONFIDENCE_MAX, PAIR_CONFIDENCE_MAX, PAIR_CONFIDENCE_MAX);
    policy->confidence = (struct confidence){(float)scale, (float)shift};
    return ERR_OK;
}

enum err_code pair_spec_read_attnd(struct spec *source, const struct json_t *object,
                                   struct arena *arena, struct err *err)
{
    static const char *const labels[] = {"text"};
    const char *version = source->version, *checksum = NULL;
    if (doc_each_member(object, check_setting, NULL, err) ||
        doc_get_string(object, "$", "version", &version, err) ||
        doc_get_string(object, "$", "checksum", &checksum, err) ||
        image_reading_read(&source->image_reading, object, err) ||
        spec_check_image_reading(source, err) ||
        policy_read(&source->policy, object, labels, arena, err) ||
        read_confidence(&source->policy, object, err))
        return err->code;
    source->version = arena_copy(arena, version, strlen(version));
    if (checksum != NULL)
        source->text_checksum = arena_copy(arena, checksum, strlen(checksum));
    if (source->version == NULL || (checksum != NULL && source->text_checksum == NULL))
        return err_no_memory(err, strlen(version));
    return ERR_OK;
}

enum err_code pair_spec_read_settings(struct spec *source, const char *dir, struct arena *arena,
                                      struct err *err)
{
    char path[PATH_MAX];
    struct json_t *object = NULL;
    bool is_there;
    source->policy = policy_default(SCORES_SOFTMAX, 1, 0);
    source->policy.ood.method = OOD_NONE;
    if (file_path(path, dir, "attnd.json", err) || file_exists(path, &is_there, err) || !is_there)
        return err->code;
    if (!doc_read_object(&object, path, FILE_BYTES_MAX, err))
        pair_spec_read_attnd(source, object, arena, err);
    if (err->code == ERR_UNUSABLE || err->code == ERR_MALFORMED || err->code == ERR_TOO_LARGE)
        err->code = ERR_UNSUPPORTED;
    doc_free(object);
    return err->code != ERR_OK ? err_prefix(err, "attnd.json: ") : ERR_OK;
}
