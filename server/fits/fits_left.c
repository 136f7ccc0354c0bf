#include "server/fits/fits_left.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"
#include "server/fits/fits_place.h"
#include "server/observe/json_line.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_FILE "last"
#define FIT_FILE "fit"
enum { FORMAT = 1, FIT_BYTES_MAX = 16 * 1024 };

/* ---- writing ---- */

static enum err_code write_last(const char *root, uint64_t number, struct err *err)
{
    char path[PATH_MAX], text[64];
    const int len = snprintf(text, sizeof text, "{\"format\":%d,\"last\":%llu}\n", FORMAT,
                             (unsigned long long)number);
    if (file_path(path, root, LAST_FILE, err))
        return err->code;
    return replace_file(path, text, (size_t)len, err);
}

static enum err_code write_fit(const char *dir, const struct fit_job *job, struct err *err)
{
    char path[PATH_MAX], text[FIT_BYTES_MAX];
    struct json_line line = {.bytes = text, .size = sizeof text - 2};
    json_line_number(&line, "format", FORMAT);
    json_line_text(&line, "model", job->call.name);
    json_line_text(&line, "from_version", job->from_version);
    json_line_text(&line, "version", job->version);
    if (job->call.reason != NULL)
        json_line_text(&line, "reason", job->call.reason);
    if (job->call.key != NULL)
        json_line_text(&line, "key", job->call.key);
    memcpy(text + line.len, "}\n", 2);
    if (file_path(path, dir, FIT_FILE, err))
        return err->code;
    return replace_file(path, text, line.len + 2, err);
}

enum err_code fits_left_begin(const char *root, const struct fit_job *job, struct err *err)
{
    char dir[PATH_MAX];
    if (fits_place_begin(dir, root, job->number, job->out, err) ||
        write_last(root, job->number, err) || write_fit(dir, job, err)) {
        err->code = err->code == ERR_IO ? ERR_NOT_READY : err->code;
        return err_prefix(err, "state_dir: ");
    }
    return ERR_OK;
}

void fits_left_end(const char *root, uint64_t number)
{
    char dir[PATH_MAX];
    if (fits_place_dir(dir, root, number, &(struct err){0}) == ERR_OK)
        fits_place_remove(dir);
}

/* ---- reading ---- */

static enum err_code read_last(const char *root, uint64_t *last, struct err *err)
{
    char path[PATH_MAX];
    bool exists;
    struct json_t *tree;
    long long format = 0, number = 0;
    *last = 0;
    if (file_path(path, root, LAST_FILE, err) || file_exists(path, &exists, err) || !exists)
        return err->code;
    if (doc_parse_file(&tree, path, FIT_BYTES_MAX, err) == ERR_OK) {
        if (doc_get_integer(tree, "$", "format", 1, FORMAT, &format, err) == ERR_OK)
            doc_get_integer(tree, "$", "last", 0, LLONG_MAX, &number, err);
        if (err->code == ERR_OK && (format == 0 || doc_member(tree, "last") == NULL))
            err_set(err, ERR_UNUSABLE, "has no \"format\" or no \"last\"");
        doc_free(tree);
    }
    if (err->code != ERR_OK) {
        err->code = err->code == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_UNUSABLE;
        return err_prefix(err, "%s: remove it to count fits from 1 again: ", path);
    }
    *last = (uint64_t)number;
    return ERR_OK;
}

enum err_code fits_left_check(const char *state_dir, struct err *err)
{
    char root[PATH_MAX];
    uint64_t last;
    return file_path(root, state_dir, FITS_LEFT_FOLDER, err) ? err->code
                                                             : read_last(root, &last, err);
}

/* Reads the file of a fit. If it is missing or not ours, only the number of the fit is known. */
static void read_fit(const char *dir, struct fit_job *out)
{
    char path[PATH_MAX];
    struct json_t *tree;
    struct err ignored = {0};
    const struct {
        const char *name, **text;
    } texts[] = {{"model", &out->call.name},
                 {"from_version", &out->from_version},
                 {"version", &out->version},
                 {"reason", &out->call.reason},
                 {"key", &out->call.key}};
    if (file_path(path, dir, FIT_FILE, &ignored) ||
        doc_parse_file(&tree, path, FIT_BYTES_MAX, &ignored))
        return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = doc_as_string(doc_member(tree, texts[i].name));
        if (text != NULL)
            *texts[i].text = arena_copy(&out->arena, text, strlen(text));
    }
    doc_free(tree);
}

enum err_code fits_left_read(const char *root, void (*visit)(void *context, struct fit_job *job),
                             void *context, uint64_t *last, unsigned *count, struct err *err)
{
    char path[PATH_MAX];
    *count = 0;
    if (read_last(root, last, err))
        return err->code;
    DIR *entries = opendir(root);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        const size_t digits = strspn(entry->d_name, "0123456789");
        if (digits == 0 || entry->d_name[digits] != '\0' ||
            file_path(path, root, entry->d_name, &(struct err){0}) != ERR_OK)
            continue;
        const uint64_t number = strtoull(entry->d_name, NULL, 10);
        *last = number > *last ? number : *last;
        struct fit_job *job = calloc(1, sizeof *job);
        if (job != NULL) {
            arena_init(&job->arena);
            job->number = number;
            read_fit(path, job);
            if (job->call.name != NULL && job->version != NULL && job->from_version != NULL)
                visit(context, job);
            arena_deinit(&job->arena);
            free(job);
        }
        fits_place_clear(path);
        *count += 1;
    }
    if (entries != NULL)
        closedir(entries);
    return ERR_OK;
}
