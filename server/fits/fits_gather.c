#include "server/fits/fits_gather.h"

#include "engine/base/doc_string.h"
#include "engine/base/file.h"
#include "engine/vision/input_formats.h"
#include "server/feedback/feedback.h"
#include "server/fits/fits_job.h"
#include "server/observe/json_line.h"
#include "server/review/review.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 256 };

/* ---- which ones ---- */

/* Calls `visit` for each that is kept and labelled, oldest first, until it returns false. Labels
 * are in the arena; NULL: without labels. */
static enum err_code walk(struct review *review, struct feedback *feedback, struct arena *labels,
                          bool (*visit)(void *context, const struct kept_entry *entry,
                                        const struct feedback_given *given),
                          void *context, struct err *err)
{
    struct kept_entry entries[CHUNK];
    struct feedback_given given;
    unsigned count = CHUNK;
    for (uint64_t after = 0; count == CHUNK && err->code == ERR_OK;) {
        if (review_after(review, after, entries, CHUNK, &count, err))
            return err->code;
        for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
            if (feedback_given(feedback, entries[i].key, labels, &given, err) &&
                !visit(context, &entries[i], &given))
                return err->code;
        after = count > 0 ? entries[count - 1].number : after;
    }
    return err->code;
}

struct search {
    const char *model;
    bool is_found;
};

static bool look(void *context, const struct kept_entry *entry, const struct feedback_given *given)
{
    struct search *search = context;
    (void)entry;
    search->is_found = !given->is_text && strcmp(given->model, search->model) == 0;
    return !search->is_found;
}

enum err_code fits_gather_any(struct review *review, struct feedback *feedback, const char *model,
                              bool *any, struct err *err)
{
    struct search search = {.model = model};
    walk(review, feedback, NULL, look, &search, err);
    *any = search.is_found;
    return err->code;
}

struct example {
    struct kept_entry entry;
    struct feedback_given given;
    bool is_written;
};

struct examples {
    const char *model;
    struct example *list; /* [count] */
    size_t count, room;
    bool has_failed;
};

static bool collect(void *context, const struct kept_entry *entry,
                    const struct feedback_given *given)
{
    struct examples *examples = context;
    if (given->is_text || strcmp(given->model, examples->model) != 0)
        return true;
    if (examples->count == examples->room) {
        const size_t room = examples->room > 0 ? 2 * examples->room : CHUNK;
        struct example *list = reallocarray(examples->list, room, sizeof *list);
        examples->has_failed = list == NULL;
        if (list == NULL)
            return false;
        examples->list = list;
        examples->room = room;
    }
    examples->list[examples->count++] = (struct example){.entry = *entry, .given = *given};
    return true;
}

/* Order by key; within a key, the newest first. */
static int by_key(const void *a, const void *b)
{
    const struct kept_entry *one = &((const struct example *)a)->entry;
    const struct kept_entry *other = &((const struct example *)b)->entry;
    for (int i = 0; i < 2; i++)
        if (one->key[i] != other->key[i])
            return one->key[i] < other->key[i] ? -1 : 1;
    return one->number > other->number ? -1 : one->number < other->number;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t one = ((const struct example *)a)->entry.number;
    const uint64_t other = ((const struct example *)b)->entry.number;
    return one < other ? -1 : one > other;
}

static int by_label(const void *a, const void *b)
{
    const struct example *one = a, *other = b;
    return strcmp(one->given.label, other->given.label);
}

static void sort(struct examples *examples, int (*compare)(const void *, const void *))
{
    if (examples->count > 1)
        qsort(examples->list, examples->count, sizeof *examples->list, compare);
}

/* ---- writing ---- */

/* A file of nobody but the server's user. */
static FILE *create(const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX];
    if (file_path(path, dir, name, err))
        return NULL;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL)
        err_set(err, ERR_IO, "%s: cannot be made: %s", path, strerror(errno));
    if (file == NULL && fd >= 0)
        close(fd);
    return file;
}

static enum err_code close_whole(FILE *file, const char *dir, struct err *err)
{
    const bool is_whole = fflush(file) == 0 && !ferror(file);
    const int failure = errno;
    fclose(file);
    return is_whole ? ERR_OK
                    : err_set(err, ERR_IO, "%s: cannot be written: %s", dir, strerror(failure));
}

static enum err_code write_picture(const struct fits_gather *gather, const struct kept_input *input,
                                   const char *name, struct err *err)
{
    FILE *file = create(gather->dir, name, err);
    if (file == NULL)
        return err->code;
    fwrite(input->bytes, 1, input->len, file);
    return close_whole(file, gather->dir, err);
}

static enum err_code write_example(const struct fits_gather *gather, FILE *list,
                                   const struct kept_input *input, const char *label,
                                   struct err *err)
{
    char name[32];
    if (gather->kind == ENGINE_IMAGE) {
        const struct input_format *format =
            input_format_of_media_type(input->media_type, strlen(input->media_type));
        snprintf(name, sizeof name, "%llu%s", (unsigned long long)input->number,
                 format != NULL ? format->endings[0] : "");
        if (write_picture(gather, input, name, err))
            return err->code;
        fprintf(list, "{\"image\":\"%s\"", name);
    } else if (strcmp(input->media_type, "application/json") == 0) {
        fwrite(input->bytes, 1, input->len - 1, list); /* two texts, up to the closing brace */
    } else {
        fputs("{\"text\":", list);
        doc_string_write(list, input->bytes, input->len);
    }
    fputs(",\"label\":", list);
    doc_string_write(list, label, strlen(label));
    fputs("}\n", list);
    return ERR_OK;
}

/* A later input with its id may have been kept before this start, and its label be one of those
 * that were not read again: then what was answered differs, as a rule. */
static bool is_meant(const struct fits_gather *gather, const struct kept_input *input,
                     const struct feedback_given *given)
{
    const bool is_text = strncmp(input->media_type, "image/", 6) != 0;
    return input->len > 0 && is_text == (gather->kind == ENGINE_TEXT) &&
           strcmp(input->model, gather->model) == 0 &&
           strcmp(input->version, given->version) == 0 && input->label != NULL &&
           strcmp(input->label, given->predicted) == 0;
}

/* Passes over an input that is gone, or that cannot be read any more. */
static enum err_code take(const struct fits_gather *gather, FILE *list, struct example *example,
                          struct err *err)
{
    struct arena arena;
    struct kept_input input;
    struct err cause = {0};
    arena_init(&arena);
    if (review_open_entry(gather->review, &example->entry, true, &arena, &input, &cause) ==
        ERR_OK) {
        if (is_meant(gather, &input, &example->given))
            example->is_written =
                write_example(gather, list, &input, example->given.label, err) == ERR_OK;
    } else if (cause.code == ERR_NO_MEMORY) {
        *err = cause;
    }
    arena_deinit(&arena);
    return err->code;
}

static enum err_code write_all(const struct fits_gather *gather, struct examples *examples,
                               struct err *err)
{
    FILE *list = create(gather->dir, FITS_GATHER_LIST, err);
    if (list == NULL)
        return err->code;
    for (size_t i = 0; i < examples->count && err->code == ERR_OK; i++)
        if (!gather->go_on(gather->context, i, examples->count))
            err_set(err, ERR_NOT_READY, "it was cancelled");
        else
            take(gather, list, &examples->list[i], err);
    close_whole(list, gather->dir, err);
    return err->code;
}

/* ---- counts ---- */

static enum err_code count(struct examples *examples, struct fits_gathered *out, struct err *err)
{
    char *text = malloc(FITS_TEXT_BYTES + 3);
    struct json_line line = {.bytes = text, .size = FITS_TEXT_BYTES};
    if (text == NULL)
        return err_no_memory(err, FITS_TEXT_BYTES);
    sort(examples, by_label);
    for (size_t i = 0, next; i < examples->count; i = next) {
        size_t written = 0;
        for (next = i;
             next < examples->count && by_label(&examples->list[next], &examples->list[i]) == 0;
             next++)
            written += examples->list[next].is_written;
        if (written > 0)
            json_line_number(&line, examples->list[i].given.label, (double)written);
        out->count += written;
    }
    memcpy(text + line.len, line.len > 0 ? "}" : "{}", line.len > 0 ? 2 : 3);
    out->labels = text;
    return ERR_OK;
}

enum err_code fits_gather(const struct fits_gather *gather, struct fits_gathered *out,
                          struct err *err)
{
    struct examples examples = {.model = gather->model};
    struct arena labels;
    *out = (struct fits_gathered){0};
    arena_init(&labels);
    walk(gather->review, gather->feedback, &labels, collect, &examples, err);
    if (examples.has_failed)
        err_no_memory(err, examples.room * sizeof *examples.list);
    if (err->code == ERR_OK) {
        /* The newest example of each key stays, in the order in which they came. */
        size_t kept = 0;
        sort(&examples, by_key);
        for (size_t i = 0; i < examples.count; i++) {
            const uint64_t *key = examples.list[i].entry.key;
            if (i == 0 || memcmp(key, examples.list[kept - 1].entry.key, 2 * sizeof *key) != 0)
                examples.list[kept++] = examples.list[i];
        }
        examples.count = kept;
        sort(&examples, by_number);
        if (write_all(gather, &examples, err) == ERR_OK)
            count(&examples, out, err);
    }
    free(examples.list);
    arena_deinit(&labels);
    return err->code;
}
