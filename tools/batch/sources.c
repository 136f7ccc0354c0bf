#include "tools/batch/sources.h"

#include "engine/base/gunzip.h"
#include "engine/content/text_file.h"
#include "learn/data/csv.h"
#include "learn/data/picture.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_WEIGHT = 64 * 1024 }; /* bytes that a file counts as, for the bar */

/* ---- which ---- */

enum err_code sources_add(struct sources *sources, enum source_kind kind, const char *path,
                          struct err *err)
{
    if (sources->count == SOURCES_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "at most %d arguments name inputs; a folder counts as one", SOURCES_MAX);
    struct source *source = &sources->items[sources->count];
    *source = (struct source){.kind = kind, .form = {.path = path}, .reader = {.fd = -1}};
    if (source->kind == SOURCE_LINES)
        source->form.kind = RECORD_LINE;
    else if (source->kind == SOURCE_PATH)
        source->form.kind = RECORD_FILE;
    else if (text_file_ends(path, ".csv"))
        source->form.kind = RECORD_CSV;
    else if (text_file_ends(path, ".jsonl") || text_file_ends(path, ".ndjson") ||
             strcmp(path, "-") == 0)
        source->form.kind = RECORD_JSON;
    else
        return err_set(err, ERR_UNUSABLE,
                       "%s: expected a name that ends in .jsonl, .ndjson or .csv, with or without "
                       ".gz behind, or - for JSON lines of standard input",
                       path);
    sources->count++;
    return ERR_OK;
}

/* ---- opening ---- */

static enum err_code read_header(struct source *source, struct err *err)
{
    struct record_span span;
    bool found;
    source->reader.is_csv = true;
    if (record_reader_next(&source->reader, &span, &found, err))
        return err->code;
    if (found && csv_separator_line(span.bytes, span.len, &source->form.separator) > 0 &&
        record_reader_next(&source->reader, &span, &found, err))
        return err->code;
    if (!found)
        return err_set(err, ERR_UNUSABLE, "the header, which names the columns, is missing");
    if (record_read_header(&source->form, span.bytes, span.len, err))
        return err_prefix(err, "line %u: ", span.line);
    source->reader.separator = source->form.separator;
    return ERR_OK;
}

static enum err_code open_source(struct source *source, struct err *err)
{
    const char *path = source->form.path;
    if (source->kind == SOURCE_PATH)
        return input_list_add_path(&source->files, path, err);
    if (record_reader_open(&source->reader, path, err) == ERR_OK && source->form.kind == RECORD_CSV)
        read_header(source, err);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

enum err_code sources_open(struct sources *sources, const char *text_field, const char *image_field,
                           const char *id_field, struct err *err)
{
    for (unsigned i = 0; i < sources->count && err->code == ERR_OK; i++) {
        struct source *source = &sources->items[i];
        source->reader.stop = sources->stop;
        source->form.text_field = text_field;
        source->form.image_field = image_field;
        source->form.id_field = id_field;
        open_source(source, err);
    }
    return err->code;
}

void sources_close(struct sources *sources)
{
    for (unsigned i = 0; i < sources->count; i++) {
        record_reader_close(&sources->items[i].reader);
        input_list_close(&sources->items[i].files);
    }
    sources->count = 0;
}

/* ---- reading ---- */

static void next_file(struct source *source, struct record *out, bool *found)
{
    *found = source->next_file < source->files.count;
    if (!*found)
        return;
    const struct listed_input *file = &source->files.items[source->next_file++];
    *out = (struct record){.form = &source->form,
                           .bytes = file->path,
                           .len = strlen(file->path),
                           .is_image = file->is_image};
}

static enum err_code next_span(struct source *source, struct record *out, bool *found,
                               struct err *err)
{
    struct record_span span;
    if (record_reader_next(&source->reader, &span, found, err))
        return err_prefix(err, "%s: ", source->form.path);
    if (*found)
        *out = (struct record){.form = &source->form,
                               .bytes = span.bytes,
                               .len = span.len,
                               .line = span.line,
                               .is_too_long = span.is_too_long};
    return ERR_OK;
}

/* Size and time of the file; of a wafer, those of the STDF file that holds it. A file that does not
 * exist any more has size 0: preparing it fails. */
static void look_at(const char *path, struct stat *out)
{
    char name[PATH_MAX];
    size_t len = strlen(path);
    const char *wafer = NULL;
    picture_is_lot(path, &len, &wafer);
    *out = (struct stat){0};
    if (wafer == NULL)
        len = strlen(path);
    if (len >= sizeof name)
        return;
    memcpy(name, path, len);
    name[len] = '\0';
    if (stat(name, out) != 0)
        *out = (struct stat){0};
}

enum err_code sources_next(struct sources *sources, struct record *out, bool *found,
                           struct err *err)
{
    *found = false;
    while (!*found && sources->current < sources->count) {
        struct source *source = &sources->items[sources->current];
        if (source->kind == SOURCE_PATH)
            next_file(source, out, found);
        else if (next_span(source, out, found, err))
            return err->code;
        if (!*found)
            record_reader_close(&sources->items[sources->current++].reader);
    }
    if (*found) {
        /* The digest of all inputs before is the key of the next: it depends on each and on
         * their order. */
        char key[SHA256_HEX_BYTES + 96];
        struct stat file = {0};
        if (out->form->kind == RECORD_FILE)
            look_at(out->bytes, &file);
        int len = snprintf(key, sizeof key, "%s:%u:%u:%lld:%lld.%09ld", sources->digest,
                           sources->current, out->line, (long long)file.st_size,
                           (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
        sha256_hmac_hex(key, (size_t)len, out->bytes, out->len, sources->digest);
        sources->inputs++;
    }
    return ERR_OK;
}

struct sources_progress sources_progress(const struct sources *sources)
{
    struct sources_progress sum = {0};
    bool is_known = true;
    for (unsigned i = 0; i < sources->count; i++) {
        const struct source *source = &sources->items[i];
        bool is_list = source->kind == SOURCE_PATH;
        sum.done += is_list                         ? (uint64_t)source->next_file * FILE_WEIGHT
                    : source->reader.packed != NULL ? gunzip_place(source->reader.packed)
                                                    : source->reader.taken;
        sum.total += is_list ? (uint64_t)source->files.count * FILE_WEIGHT : source->reader.total;
        is_known = is_known && (is_list || source->reader.total > 0);
    }
    if (!is_known)
        sum.total = 0;
    return sum;
}
