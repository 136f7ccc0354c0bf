#include "learn/train/checkpoint/export_sentence.h"

#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/base/memory_file.h"
#include "learn/train/checkpoint/export_files.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>

static const char pooling_dir[] = "1_Pooling";

static void put_module(FILE *file, unsigned number, const char *path, const char *type)
{
    fprintf(file,
            "%s  {\n    \"idx\": %u,\n    \"name\": \"%u\",\n    \"path\": \"%s\",\n"
            "    \"type\": \"sentence_transformers.models.%s\"\n  }",
            number == 0 ? "[\n" : ",\n", number, number, path, type);
}

/* modules.json is an array, whose names are ours. */
static enum err_code write_modules(const char *dir, const struct sentence_modules *modules,
                                   struct err *err)
{
    char path[PATH_MAX], normalize[32];
    struct memory_file text;
    if (file_path(path, dir, "modules.json", err) || memory_file_open(&text, err))
        return err->code;
    put_module(text.stream, 0, "", "Transformer");
    put_module(text.stream, 1, pooling_dir, "Pooling");
    for (unsigned i = 0; i < modules->step_count; i++) {
        assert(modules->steps[i].kind == SENTENCE_NORMALIZE);
        snprintf(normalize, sizeof normalize, "%u_Normalize", i + 2);
        put_module(text.stream, i + 2, normalize, "Normalize");
    }
    fputs("\n]\n", text.stream);
    return memory_file_save(&text, path, err);
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

enum err_code export_sentence(const char *dir, const char *source, const struct spec *spec,
                              unsigned tokens_max, struct err *err)
{
    const unsigned most = spec_tokens_max(spec);
    if (write_pooling(dir, spec->sentence, err) || write_options(dir, source, err) ||
        write_limits(dir, tokens_max > 0 && tokens_max < most ? tokens_max : most, err))
        return err->code;
    return write_modules(dir, spec->sentence, err);
}
