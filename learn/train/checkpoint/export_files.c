#include "learn/train/checkpoint/export_files.h"

#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "engine/vision/preprocess.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

enum err_code export_files_make_dir(const char *dir, struct err *err)
{
    struct stat status;
    if (mkdir(dir, 0777) == 0 ||
        (errno == EEXIST && stat(dir, &status) == 0 && S_ISDIR(status.st_mode)))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s: cannot be made a directory: %s", dir, strerror(errno));
}

/* ---- copies ---- */

static enum err_code copy(const char *from, const char *to, struct err *err)
{
    char *bytes;
    size_t len;
    struct stat left, right;
    if (stat(from, &left) == 0 && stat(to, &right) == 0 && left.st_dev == right.st_dev &&
        left.st_ino == right.st_ino)
        return ERR_OK; /* the same file */
    if (file_read(&bytes, &len, from, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", from);
    replace_file(to, bytes, len, err);
    free(bytes);
    return err->code;
}

enum err_code export_files_copy(const char *dir, const char *source, const char *name, bool *found,
                                struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    bool exists;
    if (file_path(from, source, name, err) || file_path(to, dir, name, err) ||
        file_exists(from, &exists, err))
        return err->code;
    if (found != NULL)
        *found = exists;
    return exists ? copy(from, to, err) : file_remove(to, err);
}

/* Texts are served at the length at which they were trained, no more than the source reads. */
static enum err_code put_length(const char *dir, unsigned tokens_max, struct err *err)
{
    static const char key[] = "model_max_length";
    struct json_t *root = NULL;
    char path[PATH_MAX];
    double most = tokens_max;
    bool exists;
    if (file_path(path, dir, "tokenizer_config.json", err) || file_exists(path, &exists, err))
        return err->code;
    if (!(exists ? doc_edit_open(&root, path, err) : doc_edit_new(&root, err)) &&
        !doc_get_number(root, "$", key, &most, err) && !(most < tokens_max) &&
        !doc_edit_integer(root, key, tokens_max, err))
        doc_edit_save(root, path, err);
    doc_free(root);
    return err->code;
}

enum err_code export_files_tokenizer(const char *dir, const char *source, unsigned tokens_max,
                                     struct err *err)
{
    enum { VOCABULARIES = 6 }; /* one of the first must be there */
    static const char *const names[] = {"vocab.txt",
                                        "tokenizer.json",
                                        "vocab.json",
                                        "spiece.model",
                                        "sentencepiece.bpe.model",
                                        "source.spm",
                                        "target.spm",
                                        "target_vocab.json",
                                        "merges.txt",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json"};
    char path[PATH_MAX];
    bool found = false;
    for (size_t i = 0; i < VOCABULARIES && !found; i++)
        if (file_path(path, source, names[i], err) || file_exists(path, &found, err))
            return err->code;
    if (!found)
        return err_set(err, ERR_UNSUPPORTED, "%s: there is neither a %s nor a %s nor a %s", source,
                       names[0], names[1], names[2]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (export_files_copy(dir, source, names[i], &found, err))
            return err->code;
    return tokens_max > 0 ? put_length(dir, tokens_max, err) : ERR_OK;
}

/* ---- preprocessor_config.json ---- */

static enum err_code put_extent(struct json_t *root, const char *key, struct extent extent,
                                struct err *err)
{
    struct json_t *size;
    if (doc_edit_object(root, key, &size, err) ||
        doc_edit_integer(size, "height", extent.height, err))
        return err->code;
    return doc_edit_integer(size, "width", extent.width, err);
}

/* A side keeps its proportion to the crop. */
static unsigned scaled(unsigned side, unsigned from, unsigned to)
{
    return (unsigned)(((unsigned long long)side * to + from / 2) / from);
}

static enum err_code put_sizes(struct json_t *root, const struct preprocess *was,
                               struct extent from, struct extent to, struct err *err)
{
    const struct extent resized = {scaled(was->resize_height, from.height, to.height),
                                   scaled(was->resize_width, from.width, to.width)};
    if (!was->do_center_crop)
        return put_extent(root, "size", to, err);
    if (put_extent(root, "crop_size", to, err))
        return err->code;
    if (was->shortest_edge != 0) {
        struct json_t *size;
        if (doc_edit_object(root, "size", &size, err))
            return err->code;
        return doc_edit_integer(size, "shortest_edge",
                                scaled(was->shortest_edge, from.height, to.height), err);
    }
    return put_extent(root, "size", resized, err);
}

enum err_code export_files_preprocessor(const char *dir, const char *source,
                                        const char *family_class, struct extent source_size,
                                        struct extent image_size, struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct json_t *root = NULL;
    struct preprocess was, is;
    struct err misfit = {0};
    const char *name;
    const bool fits = preprocess_open(&is, source, family_class, image_size, &misfit) == ERR_OK;
    if (err_is_of_system(misfit.code))
        return err_set(err, misfit.code, "%s: %s", source, misfit.text);
    if (!fits && preprocess_open(&was, source, family_class, source_size, err))
        return err_prefix(err, "%s: ", source);
    if (preprocess_file(source, &name, err) || file_path(from, source, name, err) ||
        file_path(to, dir, name, err))
        return err->code;
    if (fits)
        return copy(from, to, err);
    if (!doc_edit_open(&root, from, err)) {
        /* the steps are at the file's root or in this member */
        struct json_t *nested = doc_edit_member(root, "image_processor");
        if (!put_sizes(nested != NULL ? nested : root, &was, source_size, image_size, err))
            doc_edit_save(root, to, err);
    }
    doc_free(root);
    return err->code;
}
