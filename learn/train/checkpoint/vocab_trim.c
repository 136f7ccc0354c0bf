/* vocab_trim.c - see vocab_trim.h. The weights are not read through network/parameters.h: a trimmed
 * checkpoint keeps every tensor, also those of heads that cannot be trained here. New ids keep the
 * order of the old ones, so the sorted list of kept ids is also the map from old ids to new. */
#include "learn/train/checkpoint/vocab_trim.h"

#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/format/checkpoint.h"
#include "engine/format/head_file.h"
#include "engine/format/safetensors_write.h"
#include "learn/train/checkpoint/export_files.h"
#include "learn/train/checkpoint/vocab_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NO_ID = -1 };

/* The new id of an old one, or NO_ID. */
static long long new_id(const struct vocab_trim *what, long long old)
{
    size_t low = 0, high = what->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (what->ids[middle] < old)
            low = middle + 1;
        else
            high = middle;
    }
    return low < what->count && what->ids[low] == old ? (long long)low : NO_ID;
}

/* ---- files ---- */

static enum err_code edit_config(struct json_t *config, const struct vocab_trim *what,
                                 struct err *err)
{
    static const char *const keys[] = {"pad_token_id",  "cls_token_id", "sep_token_id",
                                       "mask_token_id", "bos_token_id", "eos_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        long long old;
        if (!doc_as_integer(doc_member(config, keys[i]), &old))
            continue;
        long long id = new_id(what, old);
        if (id == NO_ID)
            doc_edit_remove(config, keys[i]);
        else if (doc_edit_integer(config, keys[i], id, err))
            return err->code;
    }
    return doc_edit_integer(config, "vocab_size", (long long)what->count, err);
}

/* Renames keys in ascending order. A new id is never above the old one, so no key is overwritten
 * before it is moved. */
static enum err_code edit_tokenizer(struct json_t *root, const struct vocab_trim *what,
                                    struct err *err)
{
    struct json_t *added = doc_edit_member(root, "added_tokens_decoder");
    for (size_t i = 0; added != NULL && i < what->count; i++) {
        char old[24], id[24];
        snprintf(old, sizeof old, "%d", (int)what->ids[i]);
        snprintf(id, sizeof id, "%zu", i);
        if (strcmp(old, id) != 0 && doc_edit_rename(added, old, id, err))
            return err->code;
    }
    return ERR_OK;
}

/* added_tokens.json: {piece: id}. */
static enum err_code edit_added(struct json_t *root, const struct vocab_trim *what, struct err *err)
{
    for (size_t i = 0; i < what->count; i++) {
        const char *piece = vocab_use_piece(what->use, (size_t)what->ids[i]);
        if (doc_member(root, piece) != NULL && doc_edit_integer(root, piece, (long long)i, err))
            return err->code;
    }
    return ERR_OK;
}

static enum err_code write_json(const char *dir, const struct vocab_trim *what, const char *name,
                                enum err_code (*edit)(struct json_t *, const struct vocab_trim *,
                                                      struct err *),
                                struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct json_t *root = NULL;
    bool exists;
    if (file_path(from, what->source_dir, name, err) || file_path(to, dir, name, err) ||
        file_exists(from, &exists, err))
        return err->code;
    if (!exists) /* copying an absent file removes the target */
        return export_files_copy(dir, what->source_dir, name, NULL, err);
    if (!doc_edit_open(&root, from, err) && !edit(root, what, err))
        doc_edit_save(root, to, err);
    doc_free(root);
    return err->code;
}

/* ---- weights ---- */

static bool ends_in(const char *text, const char *suffix)
{
    size_t len = strlen(text), tail = strlen(suffix);
    return len >= tail && strcmp(text + len - tail, suffix) == 0;
}

static bool is_word_embedding(const char *name)
{
    return ends_in(name, "word_embeddings.weight");
}

/* True for tensors with a row for each piece: the word embedding and tensors of BERT's and
 * DistilBERT's language-model heads. */
static bool has_row_per_piece(const char *name)
{
    static const char *const heads[] = {"cls.predictions.bias", "cls.predictions.decoder.weight",
                                        "cls.predictions.decoder.bias", "vocab_projector.weight",
                                        "vocab_projector.bias"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (ends_in(name, heads[i]))
            return true;
    return is_word_embedding(name);
}

/* Moves the kept rows towards the beginning. Ids ascend, so no row is overwritten before it is
 * moved. */
static enum err_code keep_rows(struct tensor_out *tensor, float *values,
                               const struct vocab_trim *what, struct err *err)
{
    size_t row = 1, rows = tensor->rank > 0 ? tensor->shape[0] : 0;
    for (unsigned i = 1; i < tensor->rank; i++)
        row *= tensor->shape[i];
    if (what->count == 0 || rows <= (size_t)what->ids[what->count - 1])
        return err_set(err, ERR_UNSUPPORTED, "tensor '%s': %zu rows, but a piece %d is kept",
                       printable_name(tensor->name).text, rows,
                       what->count > 0 ? (int)what->ids[what->count - 1] : NO_ID);
    for (size_t i = 0; i < what->count; i++)
        memmove(values + i * row, values + (size_t)what->ids[i] * row, row * sizeof *values);
    tensor->shape[0] = what->count;
    return ERR_OK;
}

/* The caller frees out->values, also after a failure. */
static enum err_code read_tensor(struct tensor_out *out, const struct checkpoint *checkpoint,
                                 const struct tensor_info *info, const struct vocab_trim *what,
                                 struct err *err)
{
    float *values = calloc(info->count + 1, sizeof *values);
    *out = (struct tensor_out){.name = info->name,
                               .dtype = info->dtype == DTYPE_F16 ? DTYPE_F16 : DTYPE_F32,
                               .rank = info->rank,
                               .values = values};
    if (values == NULL)
        return err_no_memory(err, info->count * sizeof *values);
    memcpy(out->shape, info->shape, sizeof out->shape);
    if (checkpoint_read_f32(checkpoint, info, 0, info->count, values, err))
        return err->code;
    return has_row_per_piece(info->name) ? keep_rows(out, values, what, err) : ERR_OK;
}

/* Integer tensors, such as position ids, are buffers of the model's code and not weights. */
static enum err_code read_tensors(struct tensor_out *tensors, size_t *count,
                                  const struct checkpoint *checkpoint,
                                  const struct vocab_trim *what, struct vocab_trimmed *trimmed,
                                  struct err *err)
{
    bool found = false;
    for (size_t i = 0; i < checkpoint_count(checkpoint); i++) {
        const struct tensor_info *info = checkpoint_at(checkpoint, i);
        if (info->dtype == DTYPE_I64 || info->dtype == DTYPE_I32 || info->dtype == DTYPE_U8 ||
            info->dtype == DTYPE_BOOL)
            continue;
        struct tensor_out *tensor = &tensors[(*count)++];
        if (read_tensor(tensor, checkpoint, info, what, err))
            return err->code;
        trimmed->numbers_before += info->count;
        size_t numbers = 1;
        for (unsigned k = 0; k < tensor->rank; k++)
            numbers *= tensor->shape[k];
        trimmed->numbers_after += numbers;
        found = found || is_word_embedding(info->name);
    }
    return found ? ERR_OK : err_set(err, ERR_UNSUPPORTED, "no tensor is a word embedding");
}

static enum err_code write_tensors(const char *dir, const struct checkpoint *checkpoint,
                                   const struct vocab_trim *what, struct vocab_trimmed *trimmed,
                                   struct err *err)
{
    char path[PATH_MAX];
    size_t count = 0;
    if (file_path(path, dir, "model.safetensors", err))
        return err->code;
    struct tensor_out *tensors = calloc(checkpoint_count(checkpoint) + 1, sizeof *tensors);
    if (tensors == NULL)
        return err_no_memory(err, checkpoint_count(checkpoint) * sizeof *tensors);
    if (read_tensors(tensors, &count, checkpoint, what, trimmed, err))
        err_prefix(err, "%s: ", what->source_dir);
    else
        safetensors_write(path, tensors, count, "pt", err);
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)tensors[i].values);
    free(tensors);
    return err->code;
}

/* ---- all ---- */

static enum err_code check_elsewhere(const char *dir, const char *source, struct err *err)
{
    struct stat left, right;
    if (stat(source, &right) != 0)
        return err_set(err, ERR_IO, "%s: cannot be looked at: %s", source, strerror(errno));
    if (stat(dir, &left) != 0)
        return errno == ENOENT
                   ? ERR_OK
                   : err_set(err, ERR_IO, "%s: cannot be looked at: %s", dir, strerror(errno));
    if (left.st_dev != right.st_dev || left.st_ino != right.st_ino)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s: is the model itself; write to another directory", dir);
}

static enum err_code write_files(const char *dir, const struct vocab_trim *what, struct err *err)
{
    static const char *const copied[] = {"special_tokens_map.json", "attnd.json", HEAD_FILE_NAME};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        if (export_files_copy(dir, what->source_dir, copied[i], NULL, err))
            return err->code;
    if (file_path(path, dir, "tokenizer.json", err))
        return err->code;
    unlink(path);
    if (write_json(dir, what, "tokenizer_config.json", edit_tokenizer, err) ||
        write_json(dir, what, "added_tokens.json", edit_added, err) ||
        write_json(dir, what, "config.json", edit_config, err))
        return err->code;
    const char **pieces = calloc(what->count + 1, sizeof *pieces);
    if (pieces == NULL)
        return err_no_memory(err, what->count * sizeof *pieces);
    for (size_t i = 0; i < what->count; i++)
        pieces[i] = vocab_use_piece(what->use, (size_t)what->ids[i]);
    vocab_files_write_pieces(dir, pieces, what->count, err);
    free(pieces);
    return err->code;
}

enum err_code vocab_trim_write(const char *dir, const struct vocab_trim *what,
                               struct vocab_trimmed *trimmed, struct err *err)
{
    struct checkpoint *checkpoint;
    *trimmed = (struct vocab_trimmed){0};
    if (check_elsewhere(dir, what->source_dir, err))
        return err->code;
    if (checkpoint_open(&checkpoint, what->source_dir, err))
        return err_prefix(err, "%s: ", what->source_dir);
    if (!export_files_make_dir(dir, err) && !write_files(dir, what, err))
        write_tensors(dir, checkpoint, what, trimmed, err);
    checkpoint_close(checkpoint);
    return err->code;
}
