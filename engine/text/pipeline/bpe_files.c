/* bpe_files.c - see bpe_files.h. The text of a tokenizer.json is written and parsed, so that one
 * reader of vocabularies and merges, with one set of limits, is enough. */
#include "engine/text/pipeline/bpe_files.h"

#include "engine/base/doc.h"
#include "engine/base/doc_string.h"
#include "engine/base/file.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 * 1024 * 1024 };

static const char vocab_name[] = "vocab.json", merges_name[] = "merges.txt";

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

/* Writes the merges: each line except the first is a pair. */
static void write_merges(struct writing *writing, const char *merges)
{
    writing->is_first = true;
    merges += strcspn(merges, "\n");
    for (const char *end; *merges != '\0' && (end = strchr(++merges, '\n')) != NULL; merges = end) {
        size_t len = (size_t)(end - merges);
        write_comma(writing);
        doc_string_write(writing->file, merges, len > 0 && end[-1] == '\r' ? len - 1 : len);
    }
}

static enum err_code write_all(struct writing *writing, const struct json_t *vocab,
                               const char *merges, struct err *err)
{
    fprintf(writing->file, "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
                           "\"model\":{\"type\":\"BPE\",\"vocab\":{");
    writing->is_first = true;
    if (doc_each_member(vocab, write_piece, writing, err))
        return err->code;
    fprintf(writing->file, "},\"merges\":[");
    write_merges(writing, merges);
    fprintf(writing->file, "]}}");
    return ERR_OK;
}

static enum err_code compose(struct json_t **out, const struct json_t *vocab, const char *merges,
                             struct err *err)
{
    char *text = NULL;
    size_t len = 0;
    struct writing writing = {.file = open_memstream(&text, &len)};
    if (writing.file == NULL)
        return err_no_memory(err, FILE_BYTES_MAX);
    write_all(&writing, vocab, merges, err);
    bool failed = ferror(writing.file) != 0;
    if ((fclose(writing.file) != 0 || failed || text == NULL) && err->code == ERR_OK)
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
        return err_prefix(err, "%s: ", merges_name);
    if (strlen(*out) == len)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s: a NUL at byte %zu", merges_name, strlen(*out));
}

enum err_code bpe_files_read(struct json_t **out, const char *dir, struct err *err)
{
    struct json_t *vocab = NULL;
    char path[PATH_MAX], *merges = NULL;
    *out = NULL;
    if (file_path(path, dir, vocab_name, err))
        return err->code;
    if (doc_parse_file(&vocab, path, FILE_BYTES_MAX, err))
        return err_prefix(err, "%s: ", vocab_name);
    if (!read_merges(&merges, dir, err))
        compose(out, vocab, merges, err);
    free(merges);
    doc_free(vocab);
    return err->code;
}
