/* export.c - see export.h.
 *
 * config.json is edited rather than written from scratch: a later version of transformers may have
 * members that are unknown here, and the encoder's sizes were read from it. Everything that
 * training decided is in parameters->spec, so tensors and configuration cannot disagree.
 *
 * The weights are written last. A kill before leaves a directory without weights, or, if an older
 * export is overwritten, with the older ones: the same tensors of an earlier epoch.
 */
#include "learn/train/checkpoint/export.h"

#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "engine/format/safetensors_write.h"
#include "engine/vision/preprocess.h"
#include "learn/train/checkpoint/export_files.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_SIZE_DEFAULT = 224, /* of ViTConfig and DeiTConfig */
    ARCHITECTURE_BYTES = 64
};

/* ---- config.json ---- */

static enum err_code put_architecture(struct json_t *config, const struct parameters *parameters,
                                      struct err *err)
{
    const struct family *family = parameters->spec.family;
    if (parameters->head == HEAD_EMBEDDING) {
        /* An encoder alone: BertModel, of BertForSequenceClassification. */
        const char *class = family->architectures[HEAD_CLASSIFIER];
        char name[ARCHITECTURE_BYTES];
        const char *bare = name;
        snprintf(name, sizeof name, "%.*sModel", (int)(strstr(class, "For") - class), class);
        if (doc_edit_text(config, "model_type", family->model_type, err))
            return err->code;
        return doc_edit_texts(config, "architectures", &bare, 1, err);
    }
    if (family->architectures[parameters->head] == NULL)
        return err_set(err, ERR_UNSUPPORTED, "a %s model with this head cannot be written",
                       family->name);
    if (doc_edit_text(config, "model_type", family->model_type, err))
        return err->code;
    return doc_edit_texts(config, "architectures", &family->architectures[parameters->head], 1,
                          err);
}

/* Removes num_labels, which could contradict id2label. A model of tags has no problem_type. */
static enum err_code put_labels(struct json_t *config, const struct parameters *parameters,
                                struct err *err)
{
    const struct spec *spec = &parameters->spec;
    static const char *const problems[] = {[SCORES_SOFTMAX] = "single_label_classification",
                                           [SCORES_SIGMOID] = "multi_label_classification",
                                           [SCORES_NONE] = "regression"};
    struct json_t *id2label, *label2id;
    doc_edit_remove(config, "num_labels");
    if (doc_edit_object(config, "id2label", &id2label, err) ||
        doc_edit_object(config, "label2id", &label2id, err))
        return err->code;
    for (unsigned i = 0; i < spec->label_count; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", i);
        if (doc_edit_text(id2label, key, spec->labels[i], err) ||
            doc_edit_integer(label2id, spec->labels[i], i, err))
            return err->code;
    }
    if (parameters->head == HEAD_CLASSIFIER)
        return doc_edit_text(config, "problem_type", problems[spec->scores], err);
    doc_edit_remove(config, "problem_type");
    return ERR_OK;
}

/* Writes pruned_heads if layers lack heads; else leaves the member as it was. */
static enum err_code put_pruned(struct json_t *config, const struct spec *spec, struct err *err)
{
    struct json_t *layers;
    if (spec->pruned.is_gone == NULL || doc_edit_object(config, "pruned_heads", &layers, err))
        return err->code;
    long long *gone = calloc(spec->heads, sizeof *gone);
    if (gone == NULL)
        return err_no_memory(err, spec->heads * sizeof *gone);
    for (unsigned layer = 0; layer < spec->layers && err->code == ERR_OK; layer++) {
        const bool *is_gone = spec->pruned.is_gone + (size_t)layer * spec->heads;
        char key[16];
        size_t count = 0;
        for (unsigned h = 0; h < spec->heads; h++)
            if (is_gone[h])
                gone[count++] = h;
        snprintf(key, sizeof key, "%u", layer);
        if (count > 0)
            doc_edit_integers(layers, key, gone, count, err);
    }
    free(gone);
    return err->code;
}

/* Writes the size of texts or of images; images that are no squares keep the source's. */
static enum err_code put_size(struct json_t *config, const struct spec *spec, struct err *err)
{
    if (spec->family->kind == ENGINE_TEXT)
        return doc_edit_integer(config, "vocab_size", spec->vocab_size, err);
    return extent_is_square(spec->image_size)
               ? doc_edit_integer(config, "image_size", spec->image_size.height, err)
               : ERR_OK;
}

/* transformers converts all weights to the dtype: for a regression it is F32, as its classifier
 * needs, and for an embedding, whose vectors would lose digits. transformers has called torch_dtype
 * "dtype" since 4.56. If both are there it takes "dtype". An MLP width that follows from another
 * member (no key of its own) is not written. Training decides no other member of a pair. */
static enum err_code edit_config(struct json_t *config, const struct export *what, struct err *err)
{
    const struct spec *spec = &what->parameters->spec;
    const bool is_f16 = what->dtype == DTYPE_F16 && spec->scores != SCORES_NONE;
    const char *width = spec->family->key_intermediate;
    doc_edit_remove(config, "torch_dtype");
    if (what->parameters->target != NULL)
        return doc_edit_text(config, "dtype", what->dtype == DTYPE_F16 ? "float16" : "float32",
                             err);
    if (put_architecture(config, what->parameters, err) ||
        doc_edit_text(config, "dtype", is_f16 ? "float16" : "float32", err) ||
        put_size(config, spec, err) ||
        (width != NULL && doc_edit_integer(config, width, spec->intermediate, err)) ||
        put_pruned(config, spec, err))
        return err->code;
    if (what->parameters->head == HEAD_CLASSIFIER || what->parameters->head == HEAD_TAGS)
        return put_labels(config, what->parameters, err);
    doc_edit_remove(config, "problem_type");
    return ERR_OK;
}

/* Makes the configuration to write and reads the source's image size, a number or [height, width].
 * The caller frees *out. */
static enum err_code make_config(struct json_t **out, struct extent *image_size,
                                 const struct export *what, struct err *err)
{
    char path[PATH_MAX];
    double height, width;
    long long edge = IMAGE_SIZE_DEFAULT;
    if (file_path(path, what->source_dir, "config.json", err) || doc_edit_open(out, path, err))
        return err->code;
    *image_size = what->parameters->spec.image_size;
    if (what->parameters->target != NULL)
        return edit_config(*out, what, err);
    const struct json_t *sides = doc_member(*out, "image_size");
    const bool is_pair = doc_as_number(doc_array_item(sides, 0), &height) &&
                         doc_as_number(doc_array_item(sides, 1), &width);
    if ((!is_pair && doc_get_integer(*out, "$", "image_size", 1, 65536, &edge, err)) ||
        edit_config(*out, what, err))
        return err_prefix(err, "%s: ", path);
    *image_size = is_pair ? (struct extent){(unsigned)height, (unsigned)width}
                          : extent_square((unsigned)edge);
    /* Without a fixed size the preprocessor's own is the one that its steps are scaled from. */
    if (what->parameters->spec.family->takes_any_size)
        return preprocess_size(what->source_dir, what->parameters->spec.family->image_processor,
                               image_size, err);
    return ERR_OK;
}

/* ---- model.safetensors ---- */

/* A regression's bias is about the mean of its numbers, in their unit: F16 would round 20000 to a
 * multiple of 16, and cannot hold 70000. */
static enum dtype dtype_of(const struct parameter *parameter, const struct export *what)
{
    const bool is_classifier = parameter->row.field == TENSOR_CLASSIFIER ||
                               parameter->row.field == TENSOR_DISTILLATION_CLASSIFIER;
    return is_classifier && what->parameters->spec.scores == SCORES_NONE ? DTYPE_F32 : what->dtype;
}

static enum err_code write_weights(const char *dir, const struct export *what, struct err *err)
{
    const struct parameters *parameters = what->parameters;
    const struct family *family = parameters->spec.family;
    const size_t root = family_root(family); /* an encoder that is saved alone has no root's name */
    char path[PATH_MAX];
    if (file_path(path, dir, "model.safetensors", err))
        return err->code;
    struct tensor_out *tensors = calloc(parameters->count + 1u, sizeof *tensors);
    if (tensors == NULL)
        return err_no_memory(err, parameters->count * sizeof *tensors);
    for (unsigned i = 0; i < parameters->count; i++) {
        const struct parameter *parameter = &parameters->list[i];
        const char *name = parameter->row.name;
        const bool is_bare = parameters->head == HEAD_EMBEDDING &&
                             strncmp(name, family->tensors[TENSOR_ATTENTION_OUT], root) == 0;
        tensors[i] = (struct tensor_out){.name = name + (is_bare ? root : 0),
                                         .dtype = dtype_of(parameter, what),
                                         .rank = parameter->row.rank,
                                         .values = what->values + parameter->offset};
        for (unsigned k = 0; k < parameter->row.rank; k++)
            tensors[i].shape[k] = parameter->row.shape[k];
    }
    safetensors_write(path, tensors, parameters->count, "pt", err);
    free(tensors);
    return err->code;
}

/* ---- a directory of sentence-transformers ---- */

static const char pooling_dir[] = "1_Pooling";

static void put_module(FILE *file, unsigned number, const char *path, const char *type)
{
    fprintf(file,
            "%s  {\n    \"idx\": %u,\n    \"name\": \"%u\",\n    \"path\": \"%s\",\n"
            "    \"type\": \"sentence_transformers.models.%s\"\n  }",
            number == 0 ? "[\n" : ",\n", number, number, path, type);
}

static enum err_code write_pooling(const char *dir, const struct sentence_modules *modules,
                                   struct err *err)
{
    static const char *const members[SENTENCE_MODES] = {
        [SENTENCE_CLS] = "pooling_mode_cls_token",
        [SENTENCE_MAX] = "pooling_mode_max_tokens",
        [SENTENCE_MEAN] = "pooling_mode_mean_tokens",
        [SENTENCE_MEAN_SQRT_LENGTH] = "pooling_mode_mean_sqrt_len_tokens",
        [SENTENCE_WEIGHTED_MEAN] = "pooling_mode_weightedmean_tokens",
        [SENTENCE_LAST_TOKEN] = "pooling_mode_lasttoken"};
    const struct sentence_pooling *pooling = &modules->pooling;
    bool is_in[SENTENCE_MODES] = {false};
    char folder[PATH_MAX], path[PATH_MAX];
    struct json_t *root = NULL;
    for (unsigned i = 0; i < pooling->count; i++)
        is_in[pooling->modes[i]] = true;
    if (file_path(folder, dir, pooling_dir, err) || export_files_make_dir(folder, err) ||
        file_path(path, folder, "config.json", err) || doc_edit_new(&root, err))
        return err->code;
    doc_edit_integer(root, "word_embedding_dimension", modules->hidden, err);
    for (unsigned mode = 0; mode < SENTENCE_MODES && err->code == ERR_OK; mode++)
        doc_edit_bool(root, members[mode], is_in[mode], err);
    if (err->code == ERR_OK && !doc_edit_bool(root, "include_prompt", pooling->include_prompt, err))
        doc_edit_save(root, path, err);
    doc_free(root);
    return err->code;
}

static enum err_code write_limits(const char *dir, unsigned tokens_max, struct err *err)
{
    char path[PATH_MAX];
    struct json_t *root = NULL;
    if (file_path(path, dir, "sentence_bert_config.json", err) || doc_edit_new(&root, err))
        return err->code;
    if (!doc_edit_integer(root, "max_seq_length", tokens_max, err) &&
        !doc_edit_bool(root, "do_lower_case", false, err))
        doc_edit_save(root, path, err);
    doc_free(root);
    return err->code;
}

static enum err_code write_options(const char *dir, const char *source, struct err *err)
{
    static const char name[] = "config_sentence_transformers.json";
    char path[PATH_MAX];
    struct json_t *root = NULL;
    bool found;
    if (export_files_copy(dir, source, name, &found, err) || found)
        return err->code;
    if (file_path(path, dir, name, err) || doc_edit_new(&root, err))
        return err->code;
    if (!doc_edit_text(root, "model_type", "SentenceTransformer", err) &&
        !doc_edit_text(root, "similarity_fn_name", "cosine", err))
        doc_edit_save(root, path, err);
    doc_free(root);
    return err->code;
}

/* Writes what makes the directory one of sentence-transformers: the modules of spec->sentence,
 * without Dense, which training refuses. Prompts and similarity are copied from `source`, if it has
 * config_sentence_transformers.json. tokens_max: the longest text; 0: as many tokens as the spec
 * reads. */
static enum err_code export_sentence(const char *dir, const char *source, const struct spec *spec,
                                     unsigned tokens_max, struct err *err)
{
    const unsigned most = spec_tokens_max(spec);
    if (write_pooling(dir, spec->sentence, err) || write_options(dir, source, err) ||
        write_limits(dir, tokens_max > 0 && tokens_max < most ? tokens_max : most, err))
        return err->code;
    /* modules.json is an array, whose names are ours. */
    char path[PATH_MAX], normalize[32];
    struct memory_file text;
    if (file_path(path, dir, "modules.json", err) || memory_file_open(&text, err))
        return err->code;
    put_module(text.stream, 0, "", "Transformer");
    put_module(text.stream, 1, pooling_dir, "Pooling");
    for (unsigned i = 0; i < spec->sentence->step_count; i++) {
        assert(spec->sentence->steps[i].kind == SENTENCE_NORMALIZE);
        snprintf(normalize, sizeof normalize, "%u_Normalize", i + 2);
        put_module(text.stream, i + 2, normalize, "Normalize");
    }
    fputs("\n]\n", text.stream);
    return memory_file_save(&text, path, err);
}

/* ---- all ---- */

/* Without an embedding's head a modules.json of an earlier run would be read as one. */
static enum err_code write_sentence(const char *dir, const struct export *what, struct err *err)
{
    const struct spec *spec = &what->parameters->spec;
    char path[PATH_MAX];
    if (what->parameters->head == HEAD_EMBEDDING)
        return export_sentence(dir, what->source_dir, spec, what->tokens_max, err);
    return file_path(path, dir, "modules.json", err) ? err->code : file_remove(path, err);
}

/* The files of the texts that a pair writes, and how it writes them. */
static enum err_code write_target(const char *dir, const struct export *what, const char *tokenizer,
                                  struct err *err)
{
    const bool is_read = what->parameters->spec.family->kind == ENGINE_TEXT;
    if (what->parameters->target == NULL ||
        export_files_copy(dir, what->source_dir, "generation_config.json", NULL, err) || is_read)
        return err->code;
    return export_files_tokenizer(dir, tokenizer, 0, err);
}

/* config.json is written after the preprocessor's file, so that a directory that is saved onto
 * itself can still be read after a kill between the two. */
static enum err_code write_files(const char *dir, const struct export *what,
                                 const struct json_t *config, struct extent source_size,
                                 struct err *err)
{
    const struct spec *spec = &what->parameters->spec;
    const char *tokenizer = what->tokenizer_dir != NULL ? what->tokenizer_dir : what->source_dir;
    char path[PATH_MAX];
    if (export_files_make_dir(dir, err) || file_path(path, dir, "config.json", err))
        return err->code;
    if (spec->family->kind == ENGINE_TEXT)
        export_files_tokenizer(dir, tokenizer, what->tokens_max, err);
    else
        export_files_preprocessor(dir, what->source_dir, spec->family->image_processor, source_size,
                                  spec->image_size, err);
    if (err->code != ERR_OK || write_target(dir, what, tokenizer, err) ||
        write_sentence(dir, what, err) || doc_edit_save(config, path, err))
        return err->code;
    return write_weights(dir, what, err);
}

enum err_code export_checkpoint(const char *dir, const struct export *what, struct err *err)
{
    struct json_t *config = NULL;
    struct extent source_size;
    assert(what->dtype == DTYPE_F32 || what->dtype == DTYPE_F16);
    if (!make_config(&config, &source_size, what, err))
        write_files(dir, what, config, source_size, err);
    doc_free(config);
    return err->code;
}
