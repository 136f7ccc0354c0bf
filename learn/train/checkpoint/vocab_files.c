#include "learn/train/checkpoint/vocab_files.h"

#include "engine/base/doc_edit.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "learn/train/checkpoint/export_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum err_code write_lines(struct replacement *file, const char *const *pieces, size_t count,
                                 struct err *err)
{
    char lines[8192];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(pieces[i]);
        if (len >= sizeof lines)
            return err_set(err, ERR_UNSUPPORTED, "%s: piece %zu has %zu bytes", file->path, i, len);
        if (used + len + 1 > sizeof lines) {
            if (replace_write(file, lines, used, err))
                return err->code;
            used = 0;
        }
        memcpy(lines + used, pieces[i], len);
        lines[used + len] = '\n';
        used += len + 1;
    }
    return replace_write(file, lines, used, err);
}

enum err_code vocab_files_write_pieces(const char *dir, const char *const *pieces, size_t count,
                                       struct err *err)
{
    char path[PATH_MAX];
    struct replacement file;
    if (file_path(path, dir, "vocab.txt", err))
        return err->code;
    if (replace_open(&file, path, err) || write_lines(&file, pieces, count, err)) {
        replace_abandon(&file);
        return err->code;
    }
    return replace_commit(&file, err);
}

/* strip_accents defaults to do_lower_case; here it is written explicitly. */
static enum err_code write_json(const char *dir, const char *name, bool is_config, bool cased,
                                struct err *err)
{
    static const char *const specials[][2] = {{"cls_token", "[CLS]"},
                                              {"mask_token", "[MASK]"},
                                              {"pad_token", "[PAD]"},
                                              {"sep_token", "[SEP]"},
                                              {"unk_token", "[UNK]"}};
    char path[PATH_MAX];
    struct json_t *root = NULL;
    if (file_path(path, dir, name, err) || doc_edit_new(&root, err))
        return err->code;
    if (is_config && (doc_edit_text(root, "tokenizer_class", "BertTokenizer", err) ||
                      doc_edit_bool(root, "do_lower_case", !cased, err) ||
                      doc_edit_bool(root, "strip_accents", !cased, err) ||
                      doc_edit_bool(root, "tokenize_chinese_chars", true, err)))
        goto out;
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++)
        if (doc_edit_text(root, specials[i][0], specials[i][1], err))
            goto out;
    doc_edit_save(root, path, err);
out:
    doc_free(root);
    return err->code;
}

static enum err_code drop(const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX];
    if (file_path(path, dir, name, err))
        return err->code;
    return file_remove(path, err);
}

enum err_code vocab_files_write(const char *dir, const char *const *pieces, size_t count,
                                bool cased, struct err *err)
{
    if (export_files_make_dir(dir, err) || drop(dir, "tokenizer.json", err) ||
        drop(dir, "added_tokens.json", err) ||
        write_json(dir, "tokenizer_config.json", true, cased, err) ||
        write_json(dir, "special_tokens_map.json", false, cased, err))
        return err->code;
    return vocab_files_write_pieces(dir, pieces, count, err);
}
