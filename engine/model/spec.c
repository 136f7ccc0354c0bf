/* spec.c - see spec.h: attnd.json, and the two files together. */
#include "engine/model/spec.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/format/checkpoint.h"
#include "engine/format/directory.h"
#include "engine/format/head_file.h"
#include "engine/model/config/candidates.h"
#include "engine/model/config/encoder_vector.h"
#include "engine/model/spec_config.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 64 * 1024 * 1024,
    /* of an attnd.json that tells of vectors: it is read to know the head, as config.json is */
    VECTOR_FILE_BYTES_MAX = 1024 * 1024,
};

/* ---- a file ---- */

/* Parses DIR/NAME; the tree is NULL if the file is optional and absent. */
static enum err_code parse_file(struct json_t **out, const char *dir, const char *name,
                                bool optional, size_t bytes_max, struct err *err)
{
    char path[PATH_MAX];
    bool found;
    *out = NULL;
    if (file_path(path, dir, name, err) || (optional && (file_exists(path, &found, err) || !found)))
        return err->code;
    return doc_read_object(out, path, bytes_max, err);
}

/* Every unsupported feature in a file has the same error code, however it was detected. */
static enum err_code in_file(const char *name, struct err *err)
{
    if (err->code == ERR_UNUSABLE || err->code == ERR_MALFORMED || err->code == ERR_TOO_LARGE)
        err->code = ERR_UNSUPPORTED;
    return err_prefix(err, "%s: ", name);
}

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
                                        "aggregation",
                                        "transitions",
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
                                        "agreement",
                                        "task",
                                        "pooling",
                                        "normalize",
                                        "ranges"};
    (void)context;
    (void)value;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], key) == 0)
            return ERR_OK;
    return err_set(
        err, ERR_UNSUPPORTED,
        "$.%s is not supported (supported: version, temperature, grey16, "
        "target_precision, thresholds, truncation, aggregation, transitions, "
        "uncalibrated, class_codes, ood, reference, long_text, window_stride, window_pooling, "
        "views, reduction, token_pruning, candidate_labels, hypothesis_template, head, "
        "fitted_prior, class_prior, colours, dtype, agreement, task, pooling, normalize, "
        "ranges)",
        key);
}

void spec_set_defaults(struct spec *spec)
{
    spec->version = "1";
    spec->temperature = 1;
    spec->grey16_minmax = false;
    if (spec_is_zero_shot(spec)) {
        spec->labels = NULL;
        spec->label_count = 0;
        spec->hypothesis = CANDIDATES_HYPOTHESIS;
    }
    spec->aggregation = AGGREGATION_SIMPLE;
    spec->pairs = (struct tag_pairs){0};
    spec->long_text = (struct long_text){0};
    spec->image_reading = image_reading_default;
    spec->token_pruning = (struct token_pruning){0};
    spec->class_codes = NULL;
    spec->class_prior = (struct class_prior){0};
    spec->reference = NULL;
    spec->head_file = NULL;
    spec->vector_ranges = NULL;
    spec->precisions = (struct precision_record){0};
    spec->policy = policy_default(spec->scores, spec->label_count, spec_features(spec));
    if (spec_row_size(spec) > 0) {
        spec->policy.ood.method = OOD_NONE;
        spec->long_text.in_windows = spec->head != HEAD_FILL && spec->head != HEAD_SPARSE;
    }
}

static enum err_code read_transitions(struct spec *spec, const struct json_t *object,
                                      struct arena *arena, struct err *err)
{
    if (spec->head != HEAD_TAGS && doc_member(object, "transitions") != NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.transitions is for models that tag tokens");
    return tag_pairs_read(&spec->pairs, object, spec->labels, spec->insides, spec->label_count,
                          arena, err);
}

static enum err_code read_aggregation(struct spec *spec, const struct json_t *object,
                                      struct err *err)
{
    const char *name = aggregation_name(spec->aggregation);
    if (doc_member(object, "aggregation") == NULL)
        return ERR_OK;
    if (spec->head != HEAD_TAGS)
        return err_set(err, ERR_UNSUPPORTED, "$.aggregation is for models that tag tokens");
    if (doc_get_string(object, "$", "aggregation", &name, err))
        return err->code;
    return aggregation_find(name, strlen(name), &spec->aggregation)
               ? ERR_OK
               : err_set(err, ERR_UNSUPPORTED, "$.aggregation must be " AGGREGATION_NAMES);
}

/* Refuses members that are of one answer for the whole text, if each token is answered. */
static enum err_code check_token_members(const struct spec *spec, const struct json_t *object,
                                         struct err *err)
{
    static const char *const members[] = {"class_codes", "class_prior",         "fitted_prior",
                                          "head",        "hypothesis_template", "ood",
                                          "reference",   "window_pooling",      "token_pruning"};
    const char *const windows[] = {"long_text", "window_stride"};
    for (size_t i = 0; spec->head == HEAD_ANSWERS && i < 2; i++)
        if (doc_member(object, windows[i]) != NULL)
            return err_set(err, ERR_UNSUPPORTED,
                           "$.%s: a question is always asked of all the text; a request says how "
                           "(max_seq_len, doc_stride)",
                           windows[i]);
    for (size_t i = 0; spec_row_size(spec) > 0 && i < sizeof members / sizeof *members; i++)
        if (doc_member(object, members[i]) != NULL)
            return err_set(err, ERR_UNSUPPORTED,
                           "$.%s is for models that give a text one answer; %s answers each token",
                           members[i], spec->architecture);
    return ERR_OK;
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
    if (spec_is_zero_shot(spec))
        return err_set(err, ERR_UNSUPPORTED, "$.head is of fixed labels; this model is zero-shot");
    spec->head_file = arena_copy(arena, name, strlen(name));
    return spec->head_file != NULL ? ERR_OK : err_no_memory(err, strlen(name));
}

/* Reads the labels of a zero-shot model, to which thresholds, codes and references refer. */
static enum err_code read_candidates(struct spec *spec, const struct json_t *object,
                                     struct arena *arena, struct err *err)
{
    struct candidates candidates;
    if (candidates_read(&candidates, object, spec_is_zero_shot(spec), arena, err))
        return err->code;
    if (spec_is_zero_shot(spec)) {
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
    if (reading->views > 1 && spec->head == HEAD_EMBEDDING)
        return err_set(err, ERR_UNSUPPORTED, "views: an image has one vector, of one view");
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
    return spec->scores == SCORES_SOFTMAX && !spec_is_zero_shot(spec);
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

/* Reads the ranges of a vector's numbers, as quantize_embeddings of sentence-transformers takes
 * them: [[least, ...], [largest, ...]]. */
static enum err_code read_ranges(struct spec *spec, const struct json_t *object,
                                 struct arena *arena, struct err *err)
{
    const struct json_t *ranges = doc_member(object, "ranges");
    const unsigned width = spec->head == HEAD_EMBEDDING ? spec->sentence->width : 0;
    if (ranges == NULL)
        return ERR_OK;
    if (width == 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.ranges is of vectors, which the model does not give");
    float *numbers = arena_alloc_array(arena, 2 * (size_t)width, sizeof *numbers);
    if (numbers == NULL)
        return err_no_memory(err, 2 * width * sizeof *numbers);
    for (unsigned i = 0; i < 2 * width; i++) {
        const struct json_t *row = doc_array_item(ranges, i / width);
        double number = 0;
        if (doc_array_count(ranges) != 2 || doc_array_count(row) != width ||
            !doc_as_number(doc_array_item(row, i % width), &number) || !(fabs(number) <= FLT_MAX))
            return err_set(err, ERR_UNSUPPORTED,
                           "$.ranges must be two lists of %u numbers: the least, and the largest",
                           width);
        numbers[i] = (float)number;
        if (i >= width && numbers[i] < numbers[i - width])
            return err_set(err, ERR_UNSUPPORTED,
                           "$.ranges[1][%u] is less than the least of that number", i - width);
    }
    spec->vector_ranges = numbers;
    return ERR_OK;
}

enum err_code spec_read_attnd(struct spec *spec, const struct json_t *object, struct arena *arena,
                              struct err *err)
{
    spec_set_defaults(spec);
    const char *version = spec->version, *grey16 = "range";
    if (doc_each_member(object, check_attnd_key, NULL, err) ||
        check_token_members(spec, object, err) ||
        doc_get_string(object, "$", "version", &version, err) ||
        doc_get_number(object, "$", "temperature", &spec->temperature, err) ||
        doc_get_string(object, "$", "grey16", &grey16, err))
        return err->code;
    if (!(spec->temperature >= 0.001 && spec->temperature <= 1000))
        return err_set(err, ERR_UNSUPPORTED, "$.temperature must be from 0.001 to 1000");
    struct encoder_vector told;
    if (encoder_vector_read(&told, object, err))
        return err->code;
    if (told.is_asked && spec->head != HEAD_EMBEDDING)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.task, $.pooling and $.normalize are read from a file of at most %d bytes",
                       VECTOR_FILE_BYTES_MAX);
    if (told.is_asked && spec->sentence->transformer_dir[0] != '\0')
        return err_set(err, ERR_UNSUPPORTED,
                       "$.task, $.pooling and $.normalize: modules.json tells of vectors");
    if (read_ranges(spec, object, arena, err))
        return err->code;
    if ((spec->sentence != NULL || spec->head == HEAD_FILL) &&
        doc_member(object, "long_text") != NULL)
        return err_set(err, ERR_UNSUPPORTED, "$.long_text: a text is read once, without windows");
    if (read_aggregation(spec, object, err) || read_transitions(spec, object, arena, err) ||
        long_text_read(&spec->long_text, object, err) ||
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

static void answer_vectors(struct spec *spec, struct sentence_modules *modules)
{
    spec->head = HEAD_EMBEDDING;
    spec->sentence = modules;
    spec->labels = NULL;
    spec->label_count = 0;
    spec->scores = SCORES_NONE;
}

/* Reads modules.json and its directories. */
static enum err_code read_sentence(struct spec *spec, struct sentence_modules *modules,
                                   const char *dir, struct arena *arena, struct err *err)
{
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
    if (modules->is_sparse && spec->family->tensors[TENSOR_MLM_BIAS] == NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "modules.json: MLMTransformer of '%s' is not supported (supported: bert, "
                       "roberta)",
                       spec->family->name);
    if (modules->is_sparse) {
        answer_vectors(spec, modules);
        spec->head = HEAD_SPARSE;
        return ERR_OK;
    }
    if (modules->hidden != spec->hidden)
        return err_set(err, ERR_UNSUPPORTED,
                       "modules.json: its pooling reads %u numbers a token, the encoder gives %u",
                       modules->hidden, spec->hidden);
    answer_vectors(spec, modules);
    return ERR_OK;
}

/* ---- vectors of a checkpoint without modules.json ---- */

/* True for an image encoder that was saved alone, as ViTModel. */
static bool is_bare_image_encoder(const struct spec *spec)
{
    static const char tail[] = "Model";
    const size_t len = strlen(spec->architecture);
    return spec->family->kind == ENGINE_IMAGE && !spec->family->is_zero_shot &&
           len >= sizeof tail - 1 &&
           strcmp(spec->architecture + len - (sizeof tail - 1), tail) == 0;
}

/* True if the directory's weights have the field's; false also if they cannot be read, which the
 * caller's caller finds out. */
static bool has_weight(const struct family *family, enum tensor_field field, const char *dir)
{
    const char *base = family->tensors[field];
    const size_t root = family_root(family);
    struct checkpoint *checkpoint;
    char name[256];
    if (base == NULL || checkpoint_open(&checkpoint, dir, &(struct err){0}))
        return false;
    snprintf(name, sizeof name, "%s.weight", base);
    bool found = checkpoint_find(checkpoint, name) != NULL;
    if (!found && strncmp(base, family->tensors[TENSOR_ATTENTION_OUT], root) == 0)
        found = checkpoint_find(checkpoint, name + root) != NULL;
    checkpoint_close(checkpoint);
    return found;
}

/* Chooses transformers' pooler_output: a pooler, or what the class gives in its place. A count of 0
 * stands for the family's own pooling. */
static enum err_code choose_pooler(const struct spec *spec, const struct json_t *config,
                                   struct sentence_pooling *out, struct err *err)
{
    const struct family *family = spec->family;
    out->count = 0;
    if (family->pooling == POOLING_PATCHES)
        return ERR_OK;
    if (family->pooling == POOLING_FIRST_AND_PATCHES) {
        out->modes[out->count++] = SENTENCE_CLS;
        return ERR_OK;
    }
    if (family->tensors[TENSOR_BARE_POOLER] == NULL)
        return err_set(err, ERR_UNSUPPORTED, "attnd.json: $.pooling: '%s' has no pooler",
                       family->name);
    return doc_expect_string(config, "$", "pooler_act", "tanh", err)
               ? err_prefix(err, "config.json: ")
               : ERR_OK;
}

/* Checks modes that were asked for. */
static enum err_code check_modes(const struct spec *spec, const struct sentence_pooling *pooling,
                                 struct err *err)
{
    for (unsigned i = 0; i < pooling->count && spec->family->kind == ENGINE_IMAGE; i++) {
        const enum sentence_mode mode = pooling->modes[i];
        if (mode != SENTENCE_CLS && mode != SENTENCE_MEAN && mode != SENTENCE_MAX)
            return err_set(err, ERR_UNSUPPORTED,
                           "attnd.json: $.pooling: an image has cls, mean, max or pooler");
        if (mode == SENTENCE_CLS && spec->family->image_specials == 0)
            return err_set(err, ERR_UNSUPPORTED, "attnd.json: $.pooling: '%s' has no class token",
                           spec->family->name);
    }
    return ERR_OK;
}

/* Chooses how tokens become a vector. What nobody has told is, for an image, its class's
 * pooler_output; for a text it is not guessed, since a wrong pooling gives vectors that look right.
 */
static enum err_code choose_pooling(const struct spec *spec, const struct encoder_vector *told,
                                    const struct json_t *config, const char *dir,
                                    struct sentence_pooling *out, struct err *err)
{
    const bool is_told = told->is_pooler || told->pooling.count > 0;
    *out = told->pooling;
    if (spec->family->part != NULL)
        return !is_told ? ERR_OK
                        : err_set(err, ERR_UNSUPPORTED,
                                  "attnd.json: $.pooling: the vectors of '%s' are its projections",
                                  spec->family->name);
    if (told->is_pooler)
        return choose_pooler(spec, config, out, err);
    if (is_told)
        return check_modes(spec, out, err);
    if (spec->family->kind == ENGINE_TEXT)
        return err_set(
            err, ERR_UNSUPPORTED,
            "attnd.json: $.pooling is missing: take the one that the encoder was trained "
            "with (cls, mean, ...)");
    if (spec->family->pooling != POOLING_FIRST || has_weight(spec->family, TENSOR_BARE_POOLER, dir))
        return choose_pooler(spec, config, out, err);
    out->modes[out->count++] = SENTENCE_CLS;
    return ERR_OK;
}

/* Reads what a small attnd.json says of vectors; spec_read_attnd refuses it in a larger one. */
static enum err_code read_told(struct encoder_vector *out, const char *dir, struct err *err)
{
    struct json_t *object;
    struct err large = {0};
    *out = (struct encoder_vector){.pooling.include_prompt = true};
    if (parse_file(&object, dir, "attnd.json", true, VECTOR_FILE_BYTES_MAX, &large)) {
        if (large.code != ERR_TOO_LARGE)
            *err = large;
    } else if (object != NULL)
        encoder_vector_read(out, object, err);
    doc_free(object);
    return err->code != ERR_OK ? in_file("attnd.json", err) : ERR_OK;
}

/* Reads how the checkpoint answers vectors, if it does: by modules.json, by attnd.json, or as an
 * image encoder without a classifier. */
static enum err_code read_vectors(struct spec *spec, const struct json_t *config, const char *dir,
                                  struct arena *arena, struct err *err)
{
    char path[PATH_MAX];
    bool found;
    struct encoder_vector told;
    struct sentence_pooling pooling;
    if (file_path(path, dir, "modules.json", err) || file_exists(path, &found, err) ||
        (!found && read_told(&told, dir, err)))
        return err->code;
    if (!found && !told.is_asked &&
        (!is_bare_image_encoder(spec) || has_weight(spec->family, TENSOR_CLASSIFIER, dir)))
        return ERR_OK;
    struct sentence_modules *modules = arena_alloc(arena, sizeof *modules);
    if (modules == NULL)
        return err_no_memory(err, sizeof *modules);
    if (found)
        return read_sentence(spec, modules, dir, arena, err);
    if (choose_pooling(spec, &told, config, dir, &pooling, err))
        return err->code;
    const unsigned own = spec->projection > 0 ? spec->projection : spec->hidden;
    encoder_vector_make(modules, &pooling,
                        told.is_normalized_told ? told.is_normalized : spec->family->part != NULL,
                        spec->hidden, pooling.count > 0 ? pooling.count * spec->hidden : own);
    answer_vectors(spec, modules);
    return ERR_OK;
}

/* ---- heads of tokens ---- */

static bool has_class(const struct spec *spec, enum family_head head)
{
    const char *name = spec->family->architectures[head];
    return spec->head == HEAD_CLASSIFIER && name != NULL && strcmp(spec->architecture, name) == 0;
}

/* Finds a class of config.json that answers each token, or fills in masked ones; spec->head is a
 * classifier of texts until here. Scores are those of transformers' pipelines, whatever
 * problem_type says. Of answers the two labels of config.json, of start and end, are none of
 * attnd.json's thresholds: "answer" is. */
static enum err_code read_token_head(struct spec *spec, const struct json_t *config,
                                     struct arena *arena, struct err *err)
{
    static const char *answer[] = {"answer"};
    if (has_class(spec, HEAD_FILL)) {
        spec->head = HEAD_FILL;
        spec->labels = NULL;
        spec->label_count = 0;
        spec->scores = SCORES_NONE;
    }
    if (spec->head == HEAD_FILL || spec->head == HEAD_SPARSE) {
        /* The decoder must be the word embedding: no other is read. */
        bool is_tied = true;
        if (doc_get_bool(config, "$", "tie_word_embeddings", &is_tied, err) || is_tied)
            return err->code != ERR_OK ? err_prefix(err, "config.json: ") : ERR_OK;
        return err_set(err, ERR_UNSUPPORTED,
                       "config.json: tie_word_embeddings false is not supported (supported: true)");
    }
    const bool tags = has_class(spec, HEAD_TAGS), answers = has_class(spec, HEAD_ANSWERS);
    if (!tags && !answers)
        return ERR_OK;
    spec->head = tags ? HEAD_TAGS : HEAD_ANSWERS;
    spec->scores = SCORES_SOFTMAX;
    if (answers) {
        spec->labels = answer;
        spec->label_count = 1;
        return ERR_OK;
    }
    spec->insides = tag_insides(spec->labels, spec->label_count, arena);
    return spec->insides != NULL ? ERR_OK
                                 : err_no_memory(err, spec->label_count * sizeof *spec->insides);
}

/* ---- both files ---- */

enum err_code spec_read_config(struct spec *out, const char *dir, struct arena *arena,
                               struct err *err)
{
    struct json_t *config;
    *out = (struct spec){0};
    if (directory_check(dir, err))
        return err->code;
    if (parse_file(&config, dir, "config.json", false, FILE_BYTES_MAX, err) ||
        spec_config_read(out, config, arena, err))
        in_file("config.json", err);
    else if (!read_vectors(out, config, dir, arena, err) &&
             !read_token_head(out, config, arena, err))
        spec_set_defaults(out);
    doc_free(config);
    return err->code;
}

enum err_code spec_read_texts(struct spec *out, const struct spec *images, const char *dir,
                              struct err *err)
{
    struct json_t *config;
    *out = (struct spec){0};
    if (parse_file(&config, dir, "config.json", false, FILE_BYTES_MAX, err) ||
        spec_config_read_labels(out, config, err))
        in_file("config.json", err);
    else {
        if (images->head == HEAD_EMBEDDING)
            answer_vectors(out, images->sentence);
        spec_set_defaults(out);
    }
    doc_free(config);
    return err->code;
}

enum err_code spec_read(struct spec *out, const char *dir, struct arena *arena, struct err *err)
{
    struct json_t *extra;
    if (spec_read_config(out, dir, arena, err))
        return err->code;
    if (parse_file(&extra, dir, "attnd.json", true, FILE_BYTES_MAX, err) ||
        (extra != NULL && spec_read_attnd(out, extra, arena, err)))
        in_file("attnd.json", err);
    doc_free(extra);
    return err->code;
}
