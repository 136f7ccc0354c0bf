/* bpe_files.c - see bpe_files.h. The text of a tokenizer.json is written and parsed: so there is
 * one reader of vocabularies and merges, with one set of limits. */
#include "engine/text/pipeline/bpe_files.h"

#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/file.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

static const char vocab_name[] = "vocab.json", merges_name[] = "merges.txt";

/* RoBERTa's special tokens, where tokenizer_config.json names no others. */
static const struct {
    const char *key, *content;
    bool takes_space; /* the white space before it belongs to it */
} specials[] = {{"cls_token", "<s>", false},
                {"pad_token", "<pad>", false},
                {"sep_token", "</s>", false},
                {"unk_token", "<unk>", false},
                {"mask_token", "<mask>", true}};
enum { CLS, PAD, SEP, UNK, MASK, SPECIALS };

struct writing {
    FILE *file;
    const struct json_t *vocab;
    const char *special[SPECIALS];
    long long ids[SPECIALS];
    bool adds_space, trims;
    bool is_first; /* of a list */
};

enum err_code bpe_files_exist(const char *dir, bool *out, struct err *err)
{
    char path[PATH_MAX];
    *out = false;
    if (file_path(path, dir, vocab_name, err) || file_exists(path, out, err) || !*out)
        return err->code;
    return file_path(path, dir, merges_name, err) || file_exists(path, out, err) ? err->code
                                                                                 : ERR_OK;
}

/* A file's numbers are reals. */
static bool as_id(const struct json_t *value, long long *out)
{
    double number;
    if (!doc_as_number(value, &number) || !(number >= 0 && number <= INT32_MAX) ||
        number != floor(number))
        return false;
    *out = (long long)number;
    return true;
}

/* ---- what tokenizer_config.json says ---- */

static enum err_code check_class(const struct json_t *config, struct err *err)
{
    const char *class = "RobertaTokenizer";
    if (doc_get_string(config, "$", "tokenizer_class", &class, err))
        return err->code;
    if (strncmp(class, "Roberta", 7) == 0 || strncmp(class, "Longformer", 10) == 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.tokenizer_class: of %.60s, %s and %s do not say all: save it with a "
                   "tokenizer.json (AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR))",
                   class, vocab_name, merges_name);
}

/* A special token is written as a text, or as an object with its content. */
static enum err_code read_special(struct writing *writing, const struct json_t *config,
                                  unsigned which, struct err *err)
{
    const char *key = specials[which].key, *content = specials[which].content;
    const struct json_t *member = doc_member(config, key);
    if (doc_object_count(member) > 0 ? doc_get_string(member, "$", "content", &content, err)
                                     : doc_get_string(config, "$", key, &content, err))
        return err->code;
    writing->special[which] = content;
    return ERR_OK;
}

static enum err_code read_config(struct writing *writing, const struct json_t *config,
                                 struct err *err)
{
    if (check_class(config, err) ||
        doc_get_bool(config, "$", "add_prefix_space", &writing->adds_space, err) ||
        doc_get_bool(config, "$", "trim_offsets", &writing->trims, err))
        return err_prefix(err, "tokenizer_config.json: ");
    for (unsigned i = 0; i < SPECIALS; i++)
        if (read_special(writing, config, i, err))
            return err_prefix(err, "tokenizer_config.json: ");
    return ERR_OK;
}

static enum err_code find_ids(struct writing *writing, struct err *err)
{
    for (unsigned i = 0; i < SPECIALS; i++) {
        const struct json_t *id = doc_member(writing->vocab, writing->special[i]);
        writing->ids[i] = -1;
        if (id != NULL && !as_id(id, &writing->ids[i]))
            return err_set(err, ERR_UNSUPPORTED,
                           "%s: the id of a special token is not a whole number", vocab_name);
        if (id == NULL && (i == CLS || i == SEP))
            return err_set(err, ERR_UNSUPPORTED, "%s: has no '%.60s', the %s", vocab_name,
                           writing->special[i], specials[i].key);
    }
    return ERR_OK;
}

/* ---- what tokenizer.json would say ---- */

static void write_comma(struct writing *writing)
{
    if (!writing->is_first)
        fputc(',', writing->file);
    writing->is_first = false;
}

static void write_text(const struct writing *writing, const char *text)
{
    doc_string_write(writing->file, text, strlen(text));
}

static enum err_code write_piece(void *context, const char *key, const struct json_t *value,
                                 struct err *err)
{
    struct writing *writing = context;
    long long id;
    if (!as_id(value, &id))
        return err_set(err, ERR_UNSUPPORTED, "%s: an id is %s, not a whole number", vocab_name,
                       doc_type_name(value));
    write_comma(writing);
    write_text(writing, key);
    fprintf(writing->file, ":%lld", id);
    return ERR_OK;
}

/* Each line is a pair; the first may be a comment with the version. */
static void write_merges(struct writing *writing, const char *merges)
{
    writing->is_first = true;
    for (size_t len; *merges != '\0'; merges += len + (merges[len] != '\0')) {
        len = strcspn(merges, "\n");
        size_t kept = len > 0 && merges[len - 1] == '\r' ? len - 1 : len;
        if (kept == 0 || strncmp(merges, "#version", 8) == 0)
            continue;
        write_comma(writing);
        doc_string_write(writing->file, merges, kept);
    }
}

static const char *bool_name(bool value)
{
    return value ? "true" : "false";
}

/* In a text it becomes its id. What tokenizer_config.json says of added tokens, steps.c adds. */
static void write_special(struct writing *writing, unsigned which)
{
    write_comma(writing);
    fprintf(writing->file, "{\"id\":%lld,\"content\":", writing->ids[which]);
    write_text(writing, writing->special[which]);
    fprintf(writing->file,
            ",\"single_word\":false,\"lstrip\":%s,\"rstrip\":false,\"normalized\":false,"
            "\"special\":true}",
            bool_name(specials[which].takes_space));
}

static void write_steps(struct writing *writing)
{
    FILE *file = writing->file;
    fprintf(file,
            "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\","
            "\"add_prefix_space\":%s,\"trim_offsets\":true,\"use_regex\":true},",
            bool_name(writing->adds_space));
    fprintf(file, "\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[");
    write_text(writing, writing->special[SEP]);
    fprintf(file, ",%lld],\"cls\":[", writing->ids[SEP]);
    write_text(writing, writing->special[CLS]);
    fprintf(file, ",%lld],\"trim_offsets\":%s,\"add_prefix_space\":%s},\"added_tokens\":[",
            writing->ids[CLS], bool_name(writing->trims), bool_name(writing->adds_space));
}

static enum err_code write_all(struct writing *writing, const char *merges, struct err *err)
{
    fprintf(writing->file, "{");
    write_steps(writing);
    writing->is_first = true;
    for (unsigned i = 0; i < SPECIALS; i++)
        if (writing->ids[i] >= 0)
            write_special(writing, i);
    fprintf(writing->file, "],\"model\":{\"type\":\"BPE\",\"vocab\":{");
    writing->is_first = true;
    if (doc_each_member(writing->vocab, write_piece, writing, err))
        return err->code;
    fprintf(writing->file, "},\"merges\":[");
    write_merges(writing, merges);
    fprintf(writing->file, "]}}");
    return ERR_OK;
}

static enum err_code compose(struct json_t **out, struct writing *writing, const char *merges,
                             struct err *err)
{
    char *text = NULL;
    size_t len = 0;
    writing->file = open_memstream(&text, &len);
    if (writing->file == NULL)
        return err_no_memory(err, FILE_BYTES_MAX);
    write_all(writing, merges, err);
    bool failed = ferror(writing->file) != 0;
    if ((fclose(writing->file) != 0 || failed) && err->code == ERR_OK)
        err_no_memory(err, len);
    if (err->code == ERR_OK && doc_parse(out, text, len, &doc_limits_file, err))
        err_prefix(err, "%s: ", merges_name);
    free(text);
    return err->code;
}

static enum err_code read_merges(char **out, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    size_t len;
    if (file_path(path, dir, merges_name, err) || file_read(out, &len, path, FILE_BYTES_MAX, err))
        return err->code;
    if (strlen(*out) == len)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s: a NUL at byte %zu", merges_name, strlen(*out));
}

enum err_code bpe_files_read(struct json_t **out, const char *dir, const struct json_t *config,
                             struct err *err)
{
    struct writing writing = {.trims = true};
    struct json_t *vocab = NULL;
    char path[PATH_MAX], *merges = NULL;
    *out = NULL;
    if (read_config(&writing, config, err) || file_path(path, dir, vocab_name, err))
        return err->code;
    if (doc_parse_file(&vocab, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", vocab_name);
    writing.vocab = vocab;
    if (!find_ids(&writing, err) && !read_merges(&merges, dir, err))
        compose(out, &writing, merges, err);
    free(merges);
    doc_free(vocab);
    return err->code;
}
