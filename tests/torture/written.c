#include "tests/torture/written.h"

#include "engine/base/file.h"
#include "tests/torture/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 22, PATH_BYTES = 256 };

static char content[FILE_BYTES_MAX];

static void path_of(char out[PATH_BYTES], const char *folder, const char *name, const char *suffix)
{
    snprintf(out, PATH_BYTES, "%s/%s%s", folder, name, suffix);
}

void written_keep(struct written *out, const char *folder, const struct written_file *files,
                  unsigned count)
{
    ck_assert_uint_le(count, WRITTEN_MAX);
    *out = (struct written){.folder = folder, .files = files, .count = count};
    for (unsigned i = 0; i < count; i++) {
        char path[PATH_BYTES];
        struct err err = {0};
        path_of(path, folder, files[i].name, "");
        ck_assert_msg(!file_read(&out->bytes[i], &out->lens[i], path, FILE_BYTES_MAX, &err), "%s",
                      err.text);
    }
}

void written_free(struct written *written)
{
    for (unsigned i = 0; i < written->count; i++)
        free(written->bytes[i]);
    *written = (struct written){0};
}

/* Place of the next byte that belongs to no number. */
static size_t past_number(const char *bytes, size_t len, size_t at)
{
    while (at < len && bytes[at] != '\0' && strchr("0123456789.e+-", bytes[at]) != NULL)
        at++;
    return at;
}

static bool is_same_but_for_numbers(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t i = past_number(a, a_len, 0), k = past_number(b, b_len, 0);
    while (i < a_len && k < b_len && a[i] == b[k]) {
        i = past_number(a, a_len, i + 1);
        k = past_number(b, b_len, k + 1);
    }
    return i == a_len && k == b_len;
}

static bool is_same(const char *bytes, size_t len, const struct written *written, unsigned i)
{
    const char *wanted = written->bytes[i];
    if (written->files[i].kind == WRITTEN_TIMED)
        return is_same_but_for_numbers(bytes, len, wanted, written->lens[i]);
    return len == written->lens[i] && memcmp(bytes, wanted, len) == 0;
}

/* Why the file is not what it may be; NULL: it is. */
static const char *fault_of(const struct written *written, unsigned i, bool refused)
{
    char path[PATH_BYTES];
    const struct written_file *of = &written->files[i];
    path_of(path, written->folder, of->name, ".partial");
    if (access(path, F_OK) == 0)
        return "an unfinished write was left of it";
    path_of(path, written->folder, of->name, "");
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return refused ? NULL : "it is not there";
    size_t len = fread(content, 1, sizeof content, file);
    fclose(file);
    bool may_differ = refused && of->kind == WRITTEN_IN_STEPS;
    return may_differ || is_same(content, len, written, i) ? NULL : "it is not as it was";
}

static enum drill_outcome look(const struct written *written, bool refused, char *why, size_t size)
{
    for (unsigned i = 0; i < written->count; i++) {
        const char *fault = fault_of(written, i, refused);
        if (fault == NULL)
            continue;
        snprintf(why, size, "%s: %s", written->files[i].name, fault);
        return DRILL_BAD;
    }
    return refused ? DRILL_REFUSED : DRILL_RIGHT;
}

enum drill_outcome written_outcome(const struct written *written, const struct err *err, char *why,
                                   size_t size)
{
    bool refused = err->code != ERR_OK;
    if (refused && drill_refused(err, why, size) == DRILL_BAD)
        return DRILL_BAD;
    faults_spare_this_thread(true);
    enum drill_outcome outcome = look(written, refused, why, size);
    faults_spare_this_thread(false);
    return outcome;
}
