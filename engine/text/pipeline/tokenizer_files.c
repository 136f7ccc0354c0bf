/* tokenizer_files.c - see tokenizer_files.h. Older files become the text of a tokenizer.json, which
 * is parsed, so that one reader of vocabularies, merges and steps, with one set of limits, is
 * enough. */
#include "engine/text/pipeline/tokenizer_files.h"

#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/file.h"
#include "engine/base/memory_file.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

static const char json_name[] = "tokenizer.json", config_name[] = "tokenizer_config.json";
static const char words_name[] = "vocab.txt";
static const char vocab_name[] = "vocab.json", merges_name[] = "merges.txt";

const char *tokenizer_files_name(const struct tokenizer_files *files)
{
    return files->older == OLDER_VOCAB_TXT ? words_name
           : files->older == OLDER_BPE     ? "vocab.json and merges.txt, as a tokenizer.json"
           : files->older == OLDER_PIECES  ? files->pieces_name
                                           : json_name;
}

const struct json_t *tokenizer_files_special(const struct tokenizer_files *files, const char *key,
                                             bool *is_said)
{
    const struct json_t *const trees[] = {files->special_map, files->config};
    for (size_t i = 0; i < 2; i++) {
        const struct json_t *value = doc_member(trees[i], key);
        *is_said = value != NULL || doc_has_null(trees[i], key);
        if (*is_said)
            return value;
    }
    return NULL;
}

const char *tokenizer_files_usual(const struct tokenizer_files *files, enum special_name which)
{
    const char *usual = files->class->specials[which];
    const struct json_t *padding = doc_member(files->root, "padding");
    return usual == NULL && which == PAD ? doc_as_string(doc_member(padding, "pad_token")) : usual;
}

const char *tokenizer_files_content(const struct tokenizer_files *files, enum special_name which)
{
    bool is_said;
    const struct json_t *value = tokenizer_files_special(files, special_keys[which], &is_said);
    const struct json_t *content = doc_member(value, "content");
    return is_said ? doc_as_string(content != NULL ? content : value)
                   : tokenizer_files_usual(files, which);
}

static enum err_code is_there(bool *out, const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX];
    return file_path(path, dir, name, err) ? err->code : file_exists(path, out, err);
}

/* Parses a file; *out is NULL if it is absent. */
static enum err_code parse(struct json_t **out, const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX];
    bool exists = false;
    *out = NULL;
    if (file_path(path, dir, name, err) || file_exists(path, &exists, err))
        return err->code;
    if (exists && doc_read_object(out, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", name);
    return ERR_OK;
}

/* ---- the class ---- */

static enum err_code find_named(struct tokenizer_files *files, const struct json_t *json,
                                const char *file_name, struct err *err)
{
    const char *name = NULL;
    if (doc_get_string(json, "$", "tokenizer_class", &name, err) ||
        (name != NULL && tokenizer_class_find(&files->class, name, err)))
        return err_prefix(err, "%s: ", file_name);
    return ERR_OK;
}

static enum err_code find_class(struct tokenizer_files *files, const char *dir, struct err *err)
{
    struct json_t *model = NULL;
    if (find_named(files, files->config, config_name, err) || files->class != NULL)
        return err->code;
    if (parse(&model, dir, "config.json", err))
        return err->code;
    const char *type = doc_as_string(doc_member(model, "model_type"));
    if (!find_named(files, model, "config.json", err) && files->class == NULL && type != NULL)
        files->class = tokenizer_class_of_model(type);
    doc_free(model);
    return err->code;
}

/* Chooses the class by the files that exist, because nothing names a class. */
static enum err_code choose_class(struct tokenizer_files *files, const char *dir, bool has_json,
                                  struct err *err)
{
    bool has_words = false, has_vocab = false;
    if (is_there(&has_words, dir, words_name, err) || is_there(&has_vocab, dir, vocab_name, err))
        return err->code;
    if (!has_json && !has_words && !has_vocab)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: missing, and there is no %s either: with transformers, "
                       "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) makes one of what "
                       "the checkpoint has (spm.model, sentencepiece.bpe.model)",
                       words_name, json_name);
    files->class = has_json    ? tokenizer_class_plain()
                   : has_words ? tokenizer_class_of_model("bert")
                               : tokenizer_class_of_model("roberta");
    return ERR_OK;
}

/* ---- the files ---- */

/* Refuses members that would make the reference read other files. */
static enum err_code check_config(const struct tokenizer_files *files, bool *has_json,
                                  struct err *err)
{
    static const char *const paths[] = {"vocab_file",       "merges_file", "source_spm",
                                        "target_spm",       "vocab",       "spm_file",
                                        "target_vocab_file"};
    const struct json_t *config = files->config;
    bool is_slow = false;
    if (doc_get_bool(config, "$", "from_slow", &is_slow, err))
        return err->code;
    if (is_slow || doc_array_count(doc_member(config, "init_inputs")) > 0)
        return err_set(err, ERR_UNSUPPORTED, "$.%s is not supported",
                       is_slow ? "from_slow" : "init_inputs");
    if (*has_json && doc_member(config, "tokenizer_file") != NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.tokenizer_file: another file than the directory's %s is not supported; "
                       "remove the member",
                       json_name);
    if (*has_json && files->class != NULL && files->class->pieces == PIECES_T5 &&
        doc_member(config, "add_prefix_space") != NULL)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.add_prefix_space: transformers then reads another file than %s, which is "
                       "not supported; remove the member",
                       json_name);
    /* transformers then converts NLLB's and mBART's model, of which tokenizer.json was made */
    const bool is_converted = files->class != NULL && files->class->pieces >= PIECES_NLLB;
    if (doc_has_null(config, "tokenizer_file") && !is_converted)
        *has_json = false;
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !*has_json; i++)
        if (doc_member(config, paths[i]) != NULL || doc_has_null(config, paths[i]))
            return err_set(err, ERR_UNSUPPORTED,
                           "$.%s: another file than the directory's own is not supported; remove "
                           "the member",
                           paths[i]);
    return ERR_OK;
}

/* Ends the stream and parses the text written to it. */
static enum err_code parse_written(struct json_t **out, struct memory_file *written,
                                   struct err *err)
{
    if (!memory_file_close(written, err))
        doc_parse(out, written->bytes, written->len, &doc_limits_file, err);
    free(written->bytes);
    return err->code;
}

/* ---- vocab.txt ---- */

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

/* Writes the steps that the reference makes from vocab.txt and tokenizer_config.json. */
static enum err_code write_words_steps(FILE *file, const struct tokenizer_files *files,
                                       struct err *err)
{
    bool lower_case = true, spaces_chinese = true, is_basic = true, strips = false;
    const struct json_t *config = files->config;
    const char *unknown = tokenizer_files_content(files, UNK);
    if (doc_get_bool(config, "$", "do_lower_case", &lower_case, err) ||
        doc_get_bool(config, "$", "tokenize_chinese_chars", &spaces_chinese, err) ||
        doc_get_bool(config, "$", "strip_accents", &strips, err) ||
        doc_get_bool(config, "$", "do_basic_tokenize", &is_basic, err))
        return err_prefix(err, "%s: ", config_name);
    if (doc_member(config, "strip_accents") == NULL)
        strips = lower_case;
    fprintf(file,
            "{\"normalizer\":{\"type\":\"BertNormalizer\",\"handle_chinese_chars\":%s,"
            "\"lowercase\":%s,\"strip_accents\":%s},\"pre_tokenizer\":{\"type\":"
            "\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"unk_token\":",
            truth(is_basic && spaces_chinese), truth(is_basic && lower_case),
            truth(is_basic && strips));
    doc_string_write(file, unknown != NULL ? unknown : "", unknown != NULL ? strlen(unknown) : 0);
    fprintf(file, "}}");
    return ERR_OK;
}

static enum err_code read_words(struct tokenizer_files *files, const char *dir, struct err *err)
{
    struct memory_file written;
    char path[PATH_MAX];
    if (file_path(path, dir, words_name, err) ||
        file_read(&files->words, &files->words_len, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", words_name);
    if (memory_file_open(&written, err))
        return err->code;
    write_words_steps(written.stream, files, err);
    return parse_written(&files->root, &written, err);
}

/* ---- vocab.json and merges.txt ---- */

struct writing {
    FILE *file;
    bool is_first; /* the next item is the first of its list */
};

static void write_comma(struct writing *writing)
{
    if (!writing->is_first)
        fputc(',', writing->file);
    writing->is_first = false;
}

/* Writes a piece and its id. Numbers of a file are reals. */
static enum err_code write_piece(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    struct writing *writing = context;
    double id;
    if (!doc_as_number(value, &id) || !(id >= 0 && id <= INT32_MAX) || id != floor(id))
        return err_set(err, ERR_UNSUPPORTED, "%s: an id is %s, not a whole number", vocab_name,
                       doc_type_name(value));
    write_comma(writing);
    doc_string_write(writing->file, key, strlen(key));
    fprintf(writing->file, ":%.0f", id);
    return ERR_OK;
}

/* Writes the pieces, and the merges: each line of merges.txt except the first is a pair. */
static enum err_code write_bpe(struct writing *writing, const struct json_t *vocab,
                               const char *merges, struct err *err)
{
    fprintf(writing->file, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
                           "\"model\":{\"type\":\"BPE\",\"vocab\":{");
    writing->is_first = true;
    if (doc_each_member(vocab, write_piece, writing, err))
        return err->code;
    fprintf(writing->file, "},\"merges\":[");
    writing->is_first = true;
    merges += strcspn(merges, "\n");
    for (const char *end; *merges != '\0' && (end = strchr(++merges, '\n')) != NULL; merges = end) {
        size_t len = (size_t)(end - merges);
        write_comma(writing);
        doc_string_write(writing->file, merges, len > 0 && end[-1] == '\r' ? len - 1 : len);
    }
    fprintf(writing->file, "]}}");
    return ERR_OK;
}

static enum err_code read_merges(char **out, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    size_t len;
    if (file_path(path, dir, merges_name, err) || file_read(out, &len, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", merges_name);
    if (strlen(*out) == len)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s: a NUL at byte %zu", merges_name, strlen(*out));
}

/* Makes a tree like that of tokenizer.json, without special tokens: the class of tokenizer adds
 * those (tokenizer_class.c). As in the reference, the first line of merges.txt, a comment with the
 * version, and all after its last line end are ignored. */
static enum err_code read_bpe(struct json_t **out, const char *dir, struct err *err)
{
    struct json_t *vocab = NULL;
    struct memory_file written;
    struct writing writing;
    char *merges = NULL;
    if (parse(&vocab, dir, vocab_name, err) || read_merges(&merges, dir, err) ||
        memory_file_open(&written, err))
        goto out;
    writing = (struct writing){.file = written.stream};
    if (write_bpe(&writing, vocab, merges, err))
        parse_written(out, &written, err);
    else if (parse_written(out, &written, err))
        err_prefix(err, "%s: ", merges_name);
out:
    free(merges);
    doc_free(vocab);
    return err->code;
}

/* ---- a SentencePiece model ---- */

static const char *name_pieces(const struct tokenizer_files *files)
{
    switch (files->class->pieces) {
    case PIECES_MARIAN:
        return files->is_target ? "target.spm" : "source.spm";
    case PIECES_M2M100:
    case PIECES_NLLB:
    case PIECES_MBART:
    case PIECES_MBART50:
        return "sentencepiece.bpe.model";
    case PIECES_T5:
    case PIECES_PEGASUS:
        break;
    }
    return "spiece.model";
}

static enum err_code parse_ids(struct json_t **out, const char *dir, const char *name,
                               struct err *err)
{
    if (parse(out, dir, name, err) || *out != NULL)
        return err->code;
    return err_set(err, ERR_UNSUPPORTED, "%s: missing, which has the ids of the pieces", name);
}

static enum err_code read_pieces(struct tokenizer_files *files, const char *dir, struct err *err)
{
    static const char target_name[] = "target_vocab.json";
    const enum piece_class class = files->class->pieces;
    bool is_separate = false;
    char path[PATH_MAX];
    files->pieces_name = name_pieces(files);
    if (file_path(path, dir, files->pieces_name, err) ||
        file_read(&files->pieces, &files->pieces_len, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", files->pieces_name);
    if (class != PIECES_MARIAN && class != PIECES_M2M100)
        return ERR_OK;
    if (class == PIECES_MARIAN &&
        doc_get_bool(files->config, "$", "separate_vocabs", &is_separate, err))
        return err_prefix(err, "%s: ", config_name);
    if (!is_separate || !files->is_target)
        return parse_ids(&files->ids, dir, vocab_name, err);
    return parse_ids(&files->source_ids, dir, vocab_name, err)
               ? err->code
               : parse_ids(&files->ids, dir, target_name, err);
}

/* ---- all of them ---- */

static enum err_code read_older(struct tokenizer_files *files, const char *dir, struct err *err)
{
    bool exists = false;
    const char *name = files->class->older == OLDER_VOCAB_TXT ? words_name
                       : files->class->older == OLDER_BPE     ? vocab_name
                       : files->class->older == OLDER_PIECES  ? name_pieces(files)
                                                              : NULL;
    if (name != NULL && is_there(&exists, dir, name, err))
        return err->code;
    if (!exists)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: missing, which %sTokenizer needs%s%s: with transformers, "
                       "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) makes one of what "
                       "the checkpoint has",
                       json_name, files->class->name, name != NULL ? ", and there is no " : "",
                       name != NULL ? name : "");
    files->older = files->class->older;
    return files->older == OLDER_VOCAB_TXT ? read_words(files, dir, err)
           : files->older == OLDER_PIECES  ? read_pieces(files, dir, err)
                                           : read_bpe(&files->root, dir, err);
}

enum err_code tokenizer_files_open(struct tokenizer_files *out, const char *dir,
                                   enum tokenizer_json_use use, struct err *err)
{
    static const char decoder[] = "added_tokens_decoder";
    bool has_json = false;
    *out = (struct tokenizer_files){.is_target = use == TOKENIZER_OF_TARGET};
    if (parse(&out->config, dir, config_name, err) || find_class(out, dir, err) ||
        is_there(&has_json, dir, json_name, err))
        return err->code;
    has_json = has_json && use != TOKENIZER_JSON_IGNORED;
    if (check_config(out, &has_json, err))
        return err_prefix(err, "%s: ", config_name);
    if (out->class == NULL && choose_class(out, dir, has_json, err))
        return err->code;
    /* The older files, from before tokenizer_config.json listed added tokens. */
    if (doc_member(out->config, decoder) == NULL && !doc_has_null(out->config, decoder) &&
        (parse(&out->special_map, dir, "special_tokens_map.json", err) ||
         parse(&out->added, dir, "added_tokens.json", err)))
        return err->code;
    return has_json ? parse(&out->root, dir, json_name, err) : read_older(out, dir, err);
}

void tokenizer_files_close(struct tokenizer_files *files)
{
    doc_free(files->root);
    doc_free(files->config);
    doc_free(files->special_map);
    doc_free(files->added);
    doc_free(files->ids);
    doc_free(files->source_ids);
    free(files->words);
    free(files->pieces);
}
