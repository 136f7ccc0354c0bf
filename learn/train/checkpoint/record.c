#include "learn/train/checkpoint/record.h"

#include "engine/base/file.h"
#include "engine/format/safetensors.h"
#include "engine/format/safetensors_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "training-run.safetensors", version[] = "1",
                  format[] = "attnd-train-run";

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* ---- write ---- */

/* Sorts the digests and removes duplicates. Returns their number. */
static size_t make_set(uint64_t *digests, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(digests, count, sizeof *digests, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || digests[kept - 1] != digests[i])
            digests[kept++] = digests[i];
    return kept;
}

enum err_code record_write(const char *dir, const char *lines, uint64_t *digests, size_t count,
                           struct err *err)
{
    char path[PATH_MAX];
    size_t all = make_set(digests, count);
    bool is_sample = all > RECORD_INPUTS_MAX;
    const struct tensor_out inputs = {
        "inputs", DTYPE_U64, 1, {is_sample ? RECORD_INPUTS_MAX : all}, digests};
    const struct metadata_out metadata[] = {{"format", format},
                                            {"version", version},
                                            {"inputs", is_sample ? "smallest" : "all"},
                                            {"run", lines},
                                            {NULL, NULL}};
    if (file_path(path, dir, name, err))
        return err->code;
    return safetensors_write_with(path, &inputs, 1, metadata, err);
}

/* ---- read ---- */

static enum err_code check(const struct safetensors *file, struct err *err)
{
    const char *form = safetensors_metadata(file, "format");
    const char *found = safetensors_metadata(file, "version");
    if (form == NULL || strcmp(form, format) != 0 || found == NULL ||
        safetensors_metadata(file, "run") == NULL || safetensors_metadata(file, "inputs") == NULL)
        return err_set(err, ERR_UNSUPPORTED, "it is no record of a training run");
    if (strcmp(found, version) != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "the record of the run has version '%s', which this program does not read",
                       printable_name(found).text);
    return ERR_OK;
}

enum err_code record_read(const char *dir, bool *found, struct record *out, struct err *err)
{
    char path[PATH_MAX];
    struct safetensors *file;
    *out = (struct record){0};
    *found = false;
    if (file_path(path, dir, name, err) || file_exists(path, found, err) || !*found)
        return err->code;
    if (safetensors_open(&file, path, err))
        return err_prefix(err, "%s: ", path);
    const struct tensor_info *info = safetensors_find(file, "inputs");
    if (check(file, err))
        goto out;
    if (info == NULL || info->count > RECORD_INPUTS_MAX) {
        err_set(err, ERR_UNSUPPORTED, "the record of the run is damaged");
        goto out;
    }
    out->is_sample = strcmp(safetensors_metadata(file, "inputs"), "all") != 0;
    out->lines = strdup(safetensors_metadata(file, "run"));
    out->known = calloc(info->count + 1, sizeof *out->known);
    if (out->lines == NULL || out->known == NULL)
        err_no_memory(err, info->count * sizeof *out->known);
    else if (!safetensors_read_as(file, info, DTYPE_U64, out->known, err))
        out->count = make_set(out->known, info->count);
out:
    safetensors_close(file);
    return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : ERR_OK;
}

void record_close(struct record *record)
{
    free(record->lines);
    free(record->known);
    *record = (struct record){0};
}

enum err_code record_remove(const char *dir, struct err *err)
{
    char path[PATH_MAX];
    if (file_path(path, dir, name, err))
        return err->code;
    return file_remove(path, err);
}

/* ---- known inputs ---- */

bool record_knows(const struct record *record, uint64_t digest)
{
    return record->count > 0 &&
           bsearch(&digest, record->known, record->count, sizeof *record->known, compare) != NULL;
}

size_t record_count_known(const struct record *record, const uint64_t *digests, size_t count)
{
    size_t known = 0, judged = 0;
    for (size_t i = 0; i < count && record->count > 0; i++) {
        if (record->is_sample && digests[i] > record->known[record->count - 1])
            continue;
        judged++;
        known += record_knows(record, digests[i]);
    }
    return judged < count && judged > 0 ? known * count / judged : known;
}
