#include "server/review/kept_file.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "engine/base/sha256.h"
#include "engine/vision/input_formats.h"
#include "server/observe/json_line.h"
#include "server/serve/likeness.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

enum { PREFIX = 5, DIGITS = 16 };

static enum err_code path_of(char out[PATH_MAX], const char *dir, uint64_t number, struct err *err)
{
    char name[KEPT_FILE_NAME_BYTES];
    snprintf(name, sizeof name, "kept-%016llx.input", (unsigned long long)number);
    return file_path(out, dir, name, err);
}

enum kept_file_kind kept_file_kind_of(const char *name, uint64_t *number)
{
    char digits[DIGITS + 1] = "";
    if (strncmp(name, "kept-", PREFIX) != 0 || strspn(name + PREFIX, "0123456789abcdef") != DIGITS)
        return KEPT_FILE_FOREIGN;
    memcpy(digits, name + PREFIX, DIGITS);
    *number = strtoull(digits, NULL, 16);
    const char *rest = name + PREFIX + DIGITS;
    return strcmp(rest, ".input") == 0           ? KEPT_FILE_WHOLE
           : strcmp(rest, ".input.partial") == 0 ? KEPT_FILE_PARTIAL
                                                 : KEPT_FILE_FOREIGN;
}

/* ---- writing ---- */

bool kept_file_head(const struct kept_input *input, char out[KEPT_FILE_HEAD_BYTES], size_t *len)
{
    /* Leaves room for the bytes that the writer adds. */
    struct json_line line = {.bytes = out, .size = KEPT_FILE_HEAD_BYTES - KEPT_FILE_TAIL_BYTES};
    json_line_number(&line, "format",
                     input->label != NULL ? KEPT_FILE_FORMAT : KEPT_FILE_FORMAT_TEXT);
    json_line_text(&line, "id", input->id);
    json_line_number(&line, "index", input->index);
    json_line_text(&line, "time", input->time);
    json_line_text(&line, "model", input->model);
    json_line_text(&line, "version", input->version);
    if (input->label != NULL) {
        json_line_text(&line, "label", input->label);
        json_line_number(&line, "score", input->score);
    } else {
        json_line_text(&line, "output", input->output);
        json_line_number(&line, "confidence", input->score);
    }
    if (input->rejected != NULL)
        json_line_text(&line, "rejected", input->rejected);
    json_line_text(&line, "decision", decision_name(input->decision));
    if (input->reason != NULL)
        json_line_text(&line, "reason", input->reason);
    json_line_json(&line, "sampled", input->is_sampled ? "true" : "false");
    json_line_text(&line, "media_type", input->media_type);
    json_line_number(&line, "likeness", input->likeness_size);
    if (input->context != NULL)
        json_line_json(&line, "context", input->context);
    *len = line.len;
    return !line.is_cut;
}

enum err_code kept_file_write(const char *dir, uint64_t number, const struct kept_parts *parts,
                              size_t *size, struct err *err)
{
    char path[PATH_MAX], tail[KEPT_FILE_TAIL_BYTES], hash[SHA256_HEX_BYTES];
    struct replacement file;
    sha256_hex(parts->bytes, parts->len, hash);
    int tail_len =
        snprintf(tail, sizeof tail, ",\"digest\":\"sha256:%s\",\"bytes\":%zu}\n", hash, parts->len);
    *size = parts->head_len + (size_t)tail_len + parts->likeness_size + parts->len;
    if (path_of(path, dir, number, err))
        return err->code;
    if (replace_open(&file, path, err) || replace_write(&file, parts->head, parts->head_len, err) ||
        replace_write(&file, tail, (size_t)tail_len, err) ||
        replace_write(&file, parts->likeness, parts->likeness_size, err) ||
        replace_write(&file, parts->bytes, parts->len, err)) {
        replace_abandon(&file);
        return err->code;
    }
    return replace_commit(&file, err);
}

enum err_code kept_file_remove(const char *dir, uint64_t number, struct err *err)
{
    char path[PATH_MAX];
    return path_of(path, dir, number, err) ? err->code : file_remove(path, err);
}

/* ---- reading ---- */

struct reader {
    const struct json_t *root;
    struct arena *arena;
    struct err *err;
};

/* NULL: the line has none, or *err is set. */
static const char *find_text(const struct reader *reader, const char *key)
{
    const char *text = doc_as_string(doc_member(reader->root, key));
    const char *copy = text != NULL ? arena_copy(reader->arena, text, strlen(text)) : NULL;
    if (text != NULL && copy == NULL)
        err_no_memory(reader->err, strlen(text));
    return copy;
}

static const char *copy_text(const struct reader *reader, const char *key)
{
    const char *copy = find_text(reader, key);
    if (copy == NULL)
        err_set(reader->err, ERR_UNUSABLE, "has no \"%s\"", key);
    return copy;
}

static void read_decision(const struct reader *reader, enum decision *out)
{
    const char *word = doc_as_string(doc_member(reader->root, "decision"));
    for (unsigned i = 0; word != NULL && i < DECISION_COUNT; i++)
        if (strcmp(word, decision_name((enum decision)i)) == 0) {
            *out = (enum decision)i;
            return;
        }
    err_set(reader->err, ERR_UNUSABLE, "has no \"decision\"");
}

/* Sent to browsers, so it is one of those that we write. NULL: it is not. */
static const char *find_media_type(const char *word)
{
    static const char *const texts[] = {"text/plain; charset=utf-8", "application/json"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(word, texts[i]) == 0)
            return texts[i];
    for (const struct input_format *format = input_formats; format->name != NULL; format++)
        if (strcmp(word, format->media_types[0]) == 0)
            return format->media_types[0];
    return NULL;
}

static enum err_code check_format(const struct json_t *root, long long *format, struct err *err)
{
    if (doc_get_integer(root, "$", "format", 0, INT_MAX, format, err))
        return err->code;
    if (*format < 1 || *format > KEPT_FILE_FORMAT_TEXT)
        return err_set(err, ERR_UNUSABLE, "is of format %lld; this program reads 1 to %d", *format,
                       KEPT_FILE_FORMAT_TEXT);
    return ERR_OK;
}

/* The text of an object is in the line as it was written: from its '{' to the one that closes it,
 * which the members behind it, that have none, make the last. */
static const char *copy_context(const struct reader *reader, const char *line, size_t len)
{
    static const char before[] = ",\"context\":{", behind[] = "},\"digest\":\"sha256:";
    const char *start = memmem(line, len, before, sizeof before - 1);
    if (start == NULL || doc_member(reader->root, "context") == NULL)
        return NULL;
    start += sizeof before - 2;
    const char *end = NULL;
    for (const char *at = start;
         (at = memmem(at, len - (size_t)(at - line), behind, sizeof behind - 1)) != NULL; at++)
        end = at;
    return end != NULL ? arena_copy(reader->arena, start, (size_t)(end + 1 - start)) : NULL;
}

static void read_members(const struct reader *reader, struct kept_input *out)
{
    long long format = 0, index = -1, bytes = -1, likeness = 0;
    struct err *err = reader->err;
    if (check_format(reader->root, &format, err))
        return;
    const bool is_text = format == KEPT_FILE_FORMAT_TEXT;
    if (doc_get_integer(reader->root, "$", "index", 0, UINT_MAX, &index, err) ||
        doc_get_integer(reader->root, "$", "bytes", 0, LLONG_MAX, &bytes, err) ||
        doc_get_integer(reader->root, "$", "likeness", 0, LIKENESS_SIZE_MAX, &likeness, err) ||
        doc_get_number(reader->root, "$", is_text ? "confidence" : "score", &out->score, err) ||
        doc_get_bool(reader->root, "$", "sampled", &out->is_sampled, err))
        return;
    if (index < 0 || bytes < 0)
        err_set(err, ERR_UNUSABLE, "has no \"index\" or \"bytes\"");
    if (is_text && doc_member(reader->root, "confidence") == NULL)
        err_set(err, ERR_UNUSABLE, "has no \"confidence\"");
    out->index = (unsigned)index;
    out->len = (size_t)bytes;
    out->likeness_size = (unsigned)likeness;
    out->id = copy_text(reader, "id");
    out->time = copy_text(reader, "time");
    out->model = copy_text(reader, "model");
    out->version = copy_text(reader, "version");
    out->label = is_text ? NULL : copy_text(reader, "label");
    out->output = find_text(reader, "output");
    out->rejected = find_text(reader, "rejected");
    out->reason = find_text(reader, "reason");
    out->digest = copy_text(reader, "digest");
    read_decision(reader, &out->decision);
    const char *word = doc_as_string(doc_member(reader->root, "media_type"));
    out->media_type = word != NULL ? find_media_type(word) : NULL;
    if (out->media_type == NULL)
        err_set(err, ERR_UNUSABLE, "has no \"media_type\" that is known");
}

static enum err_code read_head(struct kept_input *out, const char *line, size_t len,
                               struct arena *arena, struct err *err)
{
    struct json_t *root;
    if (doc_parse(&root, line, len, &doc_limits_request, err))
        return err->code;
    const struct reader reader = {root, arena, err};
    read_members(&reader, out);
    if (err->code == ERR_OK)
        out->context = copy_context(&reader, line, len);
    doc_free(root);
    return err->code;
}

/* NULL: *err says why. */
static char *read_part(FILE *file, long start, size_t len, struct arena *arena, struct err *err)
{
    char *bytes = arena_alloc(arena, len + 1);
    if (bytes == NULL) {
        err_no_memory(err, len);
        return NULL;
    }
    if (fseek(file, start, SEEK_SET) != 0 || fread(bytes, 1, len, file) != len) {
        err_set(err, ERR_IO, "cannot be read");
        return NULL;
    }
    bytes[len] = '\0';
    return bytes;
}

/* The bytes behind the line must be as many as it says. */
static enum err_code read_behind(FILE *file, long start, enum kept_file_part part,
                                 struct arena *arena, struct kept_input *out, struct err *err)
{
    const long bytes_start = start + (long)out->likeness_size;
    if (fseek(file, 0, SEEK_END) != 0 || ftell(file) < bytes_start ||
        (size_t)(ftell(file) - bytes_start) != out->len)
        return err_set(err, ERR_UNUSABLE, "has not the bytes that it says");
    if (part == KEPT_FILE_BYTES)
        out->bytes = read_part(file, bytes_start, out->len, arena, err);
    else if (part == KEPT_FILE_LIKENESS)
        out->likeness = (const int8_t *)read_part(file, start, out->likeness_size, arena, err);
    return err->code;
}

enum err_code kept_file_read(const char *dir, uint64_t number, enum kept_file_part part,
                             struct arena *arena, struct kept_input *out, struct err *err)
{
    char path[PATH_MAX], line[KEPT_FILE_HEAD_BYTES + 1];
    *out = (struct kept_input){.number = number};
    if (path_of(path, dir, number, err))
        return err->code;
    FILE *file;
    if (file_open_stream(&file, path, err)) {
        err->code = errno == ENOENT ? ERR_NOT_FOUND : err->code;
        return err->code;
    }
    size_t found = fread(line, 1, sizeof line, file);
    const char *end = memchr(line, '\n', found);
    if (end == NULL) {
        err_set(err, ERR_MALFORMED, "does not begin with a line of at most %d bytes",
                KEPT_FILE_HEAD_BYTES);
        goto out;
    }
    out->line_len = (size_t)(end - line);
    if (!read_head(out, line, out->line_len, arena, err))
        read_behind(file, end + 1 - line, part, arena, out, err);
out:
    fclose(file);
    return err->code;
}
