/* spec.c - see spec.h: attnd.json, and the two files together. */
#include "engine/model/spec.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/format/directory.h"
#include "engine/format/head_file.h"
#include "engine/model/config/candidates.h"
#include "engine/model/spec_config.h"

#include <limits.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

/* ---- attnd.json ---- */

static enum err_code check_attnd_key(void *context, const char *key, const struct json_t *value,
                                     struct err *err)
{
    static const char *const known[] = {"version",
                                        "temperature",
                                        "grey16",
                                        "target_precision",
                                        "purity", /* in older files */
                                        "thresholds",
                                        "truncation",
                                        "uncalibrated",
                                        "class_codes",
                                        "ood",
                                        "reference",
                                        "long_text",
                                        "window_stride",
                                        "window_pooling",
                                        "views",
                                        "reduction",
                                        "token_pruning",
                                        "candidate_labels",
                                        "hypothesis_template",
                                        "head",
                                        "fitted_prior",
                                        "class_prior",
                                        "colours",
                                        "dtype",
                                        "agreement"};
    (void)context;
    (void)value;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], key) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.%s is not supported (supported: version, temperature, grey16, "
                   "target_precision, thresholds, truncation, uncalibrated, class_codes, ood, "
                   "reference, long_text, window_stride, window_pooling, views, reduction, "
                   "token_pruning, candidate_labels, hypothesis_template, head, fitted_prior, "
                   "class_prior, colours, dtype, agreement)",
                   key);
}

static void set_defaults(struct spec *spec)
{
    spec->version = "1";
    spec->temperature = 1;
    spec->grey16_minmax = false;
    if (spec->family->is_zero_shot) {
        spec->labels = NULL;
        spec->label_count = 0;
        spec->hypothesis = CANDIDATES_HYPOTHESIS;
    }
    spec->long_text = (struct long_text){0};
    spec->image_reading = image_reading_default;
    spec->token_pruning = (struct token_pruning){0};
    spec->class_codes = NULL;
    spec->class_prior = (struct class_prior){0};
    spec->reference = NULL;
    spec->head_file = NULL;
    spec->precisions = (struct precision_record){0};
    spec->policy = policy_default(spec->scores, spec->label_count, spec_features(spec));
}

/* Reads the name of the head's file, which must be in the directory itself. */
static enum err_code read_head_file(struct spec *spec, const struct json_t *object,
                                    struct arena *arena, struct err *err)
{
    const char *name = NULL;
    if (doc_get_string(object, "$", "head", &name, err) || name == NULL)
        return err->code;
    if (strcmp(name, HEAD_FILE_NAME) != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.head must be \"%s\"", HEAD_FILE_NAME);
    if (spec->family->is_zero_shot)
        return err_set(err, ERR_UNSUPPORTED, "$.head is of fixed labels; this model is zero-shot");
    spec->head_file = arena_copy(arena, name, strlen(name));
    return spec->head_file != NULL ? ERR_OK : err_no_memory(err, strlen(name));
}

/* Reads the labels of a zero-shot model, to which thresholds, codes and references refer. */
static enum err_code read_candidates(struct spec *spec, const struct json_t *object,
                                     struct arena *arena, struct err *err)
{
    struct candidates candidates;
    if (candidates_read(&candidates, object, spec->family->is_zero_shot, arena, err))
        return err->code;
    if (spec->family->is_zero_shot) {
        spec->labels = candidates.labels;
        spec->label_count = candidates.count;
        spec->hypothesis = candidates.hypothesis;
        spec->policy = policy_default(spec->scores, spec->label_count, spec_features(spec));
    }
    return ERR_OK;
}

static enum err_code read_reference(struct spec *spec, const struct json_t *object,
                                    struct arena *arena, struct err *err)
{
    const struct json_t *reference = doc_member(object, "reference");
    if (reference == NULL)
        return ERR_OK;
    if (spec->scores == SCORES_NONE && spec->label_count > 1)
        return err_set(err, ERR_UNSUPPORTED, "$.reference is of one number; this model answers %u",
                       spec->label_count);
    return drift_reference_read(&spec->reference, reference, spec->labels,
                                spec->scores != SCORES_NONE ? spec->label_count : 0, arena, err);
}

/* Views are pooled for one classifier of the model's own labels; other models are refused. */
enum err_code spec_check_image_reading(const struct spec *spec, struct err *err)
{
    const struct image_reading *reading = &spec->image_reading;
    const char *family = spec->family->name;
    if (spec->family->kind == ENGINE_TEXT && !image_reading_is_default(reading))
        return err_set(err, ERR_UNSUPPORTED, "views and reduction are for images, not for '%s'",
                       family);
    if (reading->views > 1 && (spec->family->is_zero_shot || spec_head_tokens(spec) > 1))
        return err_set(err, ERR_UNSUPPORTED, "'%s' has no views: it reads an image once", family);
    return ERR_OK;
}

/* Returns the reason why every layer needs all tokens; NULL: none. */
static const char *needs_tokens(const struct spec *spec)
{
    const char *const *tensors = spec->family->tensors;
    if (spec->stages != NULL)
        return "its attention has windows";
    if (spec->reaches != NULL)
        return "its attention is local";
    if (spec->family->is_rotary || spec->buckets > 0 || tensors[TENSOR_RELATIVE_PLACES] != NULL ||
        tensors[TENSOR_WINDOW_BIAS] != NULL)
        return "its attention depends on the distance between tokens";
    return spec_pooling(spec) != POOLING_FIRST ? "its head does not read the first token alone"
                                               : NULL;
}

static enum err_code check_token_pruning(const struct spec *spec, struct err *err)
{
    const unsigned full_layers = spec->token_pruning.full_layers;
    const char *reason = needs_tokens(spec);
    if (full_layers == 0)
        return ERR_OK;
    if (reason != NULL)
        return err_set(err, ERR_UNSUPPORTED, "token_pruning is not supported for '%s': %s",
                       spec->family->name, reason);
    if (spec->layers < 2 || full_layers > spec->layers - 2)
        return err_set(err, ERR_UNSUPPORTED,
                       "token_pruning: %u full layers of %u leave nothing to save; at most %u",
                       full_layers, spec->layers, spec->layers > 2 ? spec->layers - 2 : 0);
    return ERR_OK;
}

enum err_code spec_choose_token_pruning(struct spec *spec, const char *choice, struct err *err)
{
    const unsigned before = spec->token_pruning.full_layers;
    if (token_pruning_parse(&spec->token_pruning, choice, err))
        return err->code;
    if (spec->token_pruning.full_layers != before && spec->policy.ood.method == OOD_NEIGHBOURS)
        spec->policy.ood.method = OOD_NONE;
    return check_token_pruning(spec, err);
}

static bool has_prior(const struct spec *spec)
{
    return spec->scores == SCORES_SOFTMAX && !spec->family->is_zero_shot;
}

static enum err_code refuse_prior(const char *member, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "%s is for classifiers that give one of several fixed labels (softmax)", member);
}

static enum err_code read_prior(struct spec *spec, const struct json_t *object, struct arena *arena,
                                struct err *err)
{
    const struct class_prior_labels labels = {spec->labels, spec->label_count};
    if (has_prior(spec))
        return class_prior_read(&spec->class_prior, object, &labels, arena, err);
    if (doc_member(object, "fitted_prior") != NULL)
        return refuse_prior("$.fitted_prior", err);
    return doc_member(object, "class_prior") != NULL ? refuse_prior("$.class_prior", err) : ERR_OK;
}

enum err_code spec_choose_prior(struct spec *spec, const char *choice, struct arena *arena,
                                struct err *err)
{
    const struct class_prior_labels labels = {spec->labels, spec->label_count};
    if (!has_prior(spec))
        return strcmp(choice, "natural") == 0 ? ERR_OK : refuse_prior("class_prior", err);
    return class_prior_choose(&spec->class_prior, choice, &labels, arena, err);
}

enum err_code spec_read_attnd(struct spec *spec, const struct json_t *object, struct arena *arena,
                              struct err *err)
{
    set_defaults(spec);
    const char *version = spec->version, *grey16 = "range";
    if (doc_each_member(object, check_attnd_key, NULL, err) ||
        doc_get_string(object, "$", "version", &version, err) ||
        doc_get_number(object, "$", "temperature", &spec->temperature, err) ||
        doc_get_string(object, "$", "grey16", &grey16, err))
        return err->code;
    if (!(spec->temperature >= 0.001 && spec->temperature <= 1000))
        return err_set(err, ERR_UNSUPPORTED, "$.temperature must be from 0.001 to 1000");
    if (spec->head == HEAD_EMBEDDING && doc_member(object, "long_text") != NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.long_text: a text has one vector, without windows");
    if (long_text_read(&spec->long_text, object, err) ||
        image_reading_read(&spec->image_reading, object, err) ||
        precision_record_read(&spec->precisions, object, err) ||
        spec_check_image_reading(spec, err) ||
        token_pruning_read(&spec->token_pruning, object, err) || check_token_pruning(spec, err))
        return err->code;
    spec->grey16_minmax = strcmp(grey16, "minmax") == 0;
    if (!spec->grey16_minmax && strcmp(grey16, "range") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.grey16 must be \"range\" or \"minmax\"");
    spec->version = arena_copy(arena, version, strlen(version));
    if (spec->version == NULL)
        return err_no_memory(err, strlen(version));
    if (read_candidates(spec, object, arena, err) || read_head_file(spec, object, arena, err))
        return err->code;
    if (class_codes_read(&spec->class_codes, object, spec->labels, spec->label_count, arena, err))
        return err->code;
    if (read_prior(spec, object, arena, err) ||
        policy_read(&spec->policy, object, spec->labels, arena, err))
        return err->code;
    if (spec->policy.learnt_grey && spec->family->kind == ENGINE_TEXT)
        return err_set(err, ERR_UNSUPPORTED, "$.colours is for images, not for '%s'",
                       spec->family->name);
    if (spec->policy.ood.method == OOD_NEIGHBOURS && spec->head_file == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.ood.method \"neighbours\" needs the examples of $.head");
    return read_reference(spec, object, arena, err);
}

/* ---- sentence-transformers ---- */

/* Reads modules.json and its directories, if the checkpoint has them: it answers vectors then. */
static enum err_code read_sentence(struct spec *spec, const char *dir, struct arena *arena,
                                   struct err *err)
{
    char path[PATH_MAX];
    bool found;
    if (file_path(path, dir, "modules.json", err) || file_exists(path, &found, err) || !found)
        return err->code;
    struct sentence_modules *modules = arena_alloc(arena, sizeof *modules);
    if (modules == NULL)
        return err_no_memory(err, sizeof *modules);
    if (sentence_modules_read(modules, dir, arena, err))
        return err->code;
    if (modules->transformer_path[0] != '\0')
        return err_set(err, ERR_UNSUPPORTED,
                       "modules.json: the encoder is in '%.100s': give that directory's files and "
                       "modules.json in one directory",
                       modules->transformer_path);
    if (spec->family->kind != ENGINE_TEXT || spec->family->part != NULL)
        return err_set(err, ERR_UNSUPPORTED, "modules.json: embeddings of '%s' are not supported",
                       spec->family->name);
    if (modules->options.lower_case)
        return err_set(err, ERR_UNSUPPORTED,
                       "sentence_bert_config.json: do_lower_case true is not supported");
    if (modules->hidden != spec->hidden)
        return err_set(err, ERR_UNSUPPORTED,
                       "modules.json: its pooling reads %u numbers a token, the encoder gives %u",
                       modules->hidden, spec->hidden);
    spec->head = HEAD_EMBEDDING;
    spec->sentence = modules;
    spec->labels = NULL;
    spec->label_count = 0;
    spec->scores = SCORES_NONE;
    return ERR_OK;
}

/* ---- both files ---- */

/* Parses DIR/NAME; the tree is NULL if the file is optional and absent. */
static enum err_code parse_file(struct json_t **out, const char *dir, const char *name,
                                bool optional, struct err *err)
{
    char path[PATH_MAX];
    bool found;
    *out = NULL;
    if (file_path(path, dir, name, err) || (optional && (file_exists(path, &found, err) || !found)))
        return err->code;
    if (doc_parse_file(out, path, FILE_BYTES_MAX, err))
        return err->code;
    if (strcmp(doc_type_name(*out), "an object") == 0)
        return ERR_OK;
    err_set(err, ERR_UNSUPPORTED, "expected an object, found %s", doc_type_name(*out));
    doc_free(*out);
    *out = NULL;
    return err->code;
}

/* Every unsupported feature in a file has the same error code, however it was detected. */
static enum err_code in_file(const char *name, struct err *err)
{
    if (err->code == ERR_UNUSABLE || err->code == ERR_MALFORMED || err->code == ERR_TOO_LARGE)
        err->code = ERR_UNSUPPORTED;
    return err_prefix(err, "%s: ", name);
}

enum err_code spec_read_config(struct spec *out, const char *dir, struct arena *arena,
                               struct err *err)
{
    struct json_t *config;
    *out = (struct spec){0};
    if (directory_check(dir, err))
        return err->code;
    if (parse_file(&config, dir, "config.json", false, err) ||
        spec_config_read(out, config, arena, err))
        in_file("config.json", err);
    else if (!read_sentence(out, dir, arena, err))
        set_defaults(out);
    doc_free(config);
    return err->code;
}

enum err_code spec_read_labels(struct spec *out, const char *dir, struct err *err)
{
    struct json_t *config;
    *out = (struct spec){0};
    if (parse_file(&config, dir, "config.json", false, err) ||
        spec_config_read_labels(out, config, err))
        in_file("config.json", err);
    else
        set_defaults(out);
    doc_free(config);
    return err->code;
}

enum err_code spec_read(struct spec *out, const char *dir, struct arena *arena, struct err *err)
{
    struct json_t *extra;
    if (spec_read_config(out, dir, arena, err))
        return err->code;
    if (parse_file(&extra, dir, "attnd.json", true, err) ||
        (extra != NULL && spec_read_attnd(out, extra, arena, err)))
        in_file("attnd.json", err);
    doc_free(extra);
    return err->code;
}
