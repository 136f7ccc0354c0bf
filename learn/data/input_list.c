#include "learn/data/input_list.h"

#include "engine/base/file.h"
#include "engine/content/file_kind.h"
#include "engine/content/text_file.h"
#include "engine/fab/lot_formats.h"
#include "learn/data/dataset_form.h"
#include "learn/data/picture.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_BYTES_MAX = 256 * 1024 * 1024 };

enum err_code input_list_add(struct input_list *list, const struct listed_input *input,
                             struct err *err)
{
    if (list->count == INPUT_LIST_MAX)
        return err_set(err, ERR_UNUSABLE, "at most %d inputs at a time", INPUT_LIST_MAX);
    if (list->count == list->capacity) {
        unsigned capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        struct listed_input *items = reallocarray(list->items, capacity, sizeof *items);
        if (items == NULL)
            return err_no_memory(err, capacity * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *input;
    return ERR_OK;
}

void input_list_close(struct input_list *list)
{
    free(list->items);
    arena_deinit(&list->arena);
    *list = (struct input_list){0};
}

/* ---- one file ---- */

static enum err_code add_file(struct input_list *list, const char *path, bool is_image,
                              struct err *err)
{
    const char *kept = arena_copy(&list->arena, path, strlen(path));
    if (kept == NULL)
        return err_no_memory(err, strlen(path));
    return input_list_add(
        list, &(struct listed_input){.is_image = is_image, .path = kept, .file = kept}, err);
}

/* Keeps a note for the user about a fault that no answer shows. After NOTES_MAX notes the rest is
 * one line. */
static enum err_code add_note(struct input_list *list, const char *path, const char *note,
                              struct err *err)
{
    enum { NOTES_MAX = 20 };
    const char *before = list->notes != NULL ? list->notes : "";
    if (list->note_count++ > NOTES_MAX)
        return ERR_OK;
    list->notes = list->note_count > NOTES_MAX
                      ? arena_format(&list->arena, "%s\nand more of this kind", before)
                      : arena_format(&list->arena, "%s%s%s: %s", before,
                                     before[0] != '\0' ? "\n" : "", path, note);
    return list->notes != NULL ? ERR_OK : err_no_memory(err, strlen(path) + strlen(note));
}

/* Adds each wafer of a lot. A file that cannot be used is added as one input, which fails
 * alone when it is read, as a damaged image does. */
static enum err_code add_wafers(struct input_list *list, const char *path, struct err *err)
{
    struct lot lot;
    struct err cause = {0};
    lot_open(&lot, path, &cause);
    if (err_is_of_system(cause.code))
        err_set(err, cause.code, "%s: %s", path, cause.text);
    else if (cause.code != ERR_OK || lot.wafer_count == 0)
        add_file(list, path, true, err);
    else if (lot.lost != NULL)
        add_note(list, path, lot.lost, err);
    for (unsigned i = 0; i < lot.wafer_count && cause.code == ERR_OK && err->code == ERR_OK; i++) {
        const char *name = arena_format(&list->arena, "%s#%s", path, lot.wafers[i].id);
        if (name == NULL)
            err_no_memory(err, strlen(path));
        else
            add_file(list, name, true, err);
    }
    lot_close(&lot);
    return err->code;
}

/* A file that cannot be opened has no bytes: it counts as text, and reading it later says why. */
static enum err_code add_by_content(struct input_list *list, const char *path, struct err *err)
{
    char head[512] = "";
    const char *wafer;
    size_t file_len;
    int fd;
    file_open(&fd, path, &(struct err){0});
    ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : 0;
    if (fd >= 0)
        close(fd);
    if (lot_format_of_bytes(head, got > 0 ? (size_t)got : 0) != NULL ||
        (picture_is_lot(path, &file_len, &wafer) && wafer == NULL))
        return add_wafers(list, path, err);
    const struct file_kind *kind = file_kind_of(head, got > 0 ? (size_t)got : 0);
    bool is_image = kind != NULL && (kind->use == FILE_IS_READ || kind->use == FILE_IS_PICTURE);
    return add_file(list, path, is_image, err);
}

/* ---- folders and patterns ---- */

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A folder that is being read. A link in it may lead back to a folder above. */
struct folder {
    const struct folder *above; /* NULL: the folder that was named */
    dev_t dev;
    ino_t ino;
};

static enum err_code add_existing(struct input_list *list, const char *path,
                                  const struct folder *inside, unsigned depth, struct err *err);

static enum err_code add_folder(struct input_list *list, const char *path,
                                const struct folder *folder, unsigned depth, struct err *err)
{
    struct dirent **entries;
    if (depth == INPUT_LIST_DEPTH_MAX)
        return err_set(err, ERR_UNUSABLE, "%s: folders lie more than %d deep", path,
                       INPUT_LIST_DEPTH_MAX);
    int count = scandir(path, &entries, is_shown, alphasort);
    if (count < 0)
        return err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        const char *inside = arena_format(&list->arena, "%s%s%s", path, slash, entries[i]->d_name);
        if (inside == NULL)
            err_no_memory(err, strlen(path));
        else if (err->code == ERR_OK)
            add_existing(list, inside, folder, depth + 1, err);
        free(entries[i]);
    }
    free(entries);
    return err->code;
}

static enum err_code add_existing(struct input_list *list, const char *path,
                                  const struct folder *inside, unsigned depth, struct err *err)
{
    struct stat file;
    bool is_there = stat(path, &file) == 0;
    if (is_there && inside != NULL && !S_ISDIR(file.st_mode) && !S_ISREG(file.st_mode))
        return add_note(list, path, "neither a file nor a folder: left out", err);
    if (!is_there || !S_ISDIR(file.st_mode))
        return add_by_content(list, path, err);
    for (const struct folder *above = inside; above != NULL; above = above->above)
        if (above->dev == file.st_dev && above->ino == file.st_ino)
            return add_note(list, path, "a link to a folder that contains it: left out", err);
    const struct folder folder = {inside, file.st_dev, file.st_ino};
    return add_folder(list, path, &folder, depth, err);
}

enum err_code input_list_add_path(struct input_list *list, const char *path, struct err *err)
{
    unsigned before = list->count;
    size_t file_len;
    const char *wafer;
    glob_t found;
    if (picture_is_lot(path, &file_len, &wafer) && wafer != NULL)
        return add_file(list, path, true, err);
    if (access(path, F_OK) == 0) {
        if (add_existing(list, path, NULL, 0, err))
            return err->code;
        return list->count > before
                   ? ERR_OK
                   : err_set(err, ERR_UNUSABLE, "%s: there is no file in it", path);
    }
    int failed = glob(path, 0, NULL, &found); /* a pattern */
    for (size_t i = 0; failed == 0 && i < found.gl_pathc && err->code == ERR_OK; i++)
        add_existing(list, found.gl_pathv[i], NULL, 0, err);
    if (failed == 0)
        globfree(&found);
    if (failed == GLOB_NOSPACE)
        return err_no_memory(err, strlen(path));
    return failed == 0
               ? err->code
               : err_set(err, ERR_UNUSABLE, "%s: there is no such file or folder%s%s", path,
                         list->text_option != NULL ? "; a text needs " : "",
                         list->text_option != NULL ? list->text_option : "");
}

/* ---- lines ---- */

/* A file that a system has padded with NULs ends with them. */
static bool line_is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (memchr(" \t\r", line[i], sizeof " \t\r") == NULL)
            return false;
    return true;
}

enum err_code input_list_add_lines(struct input_list *list, const char *path, struct err *err)
{
    char *bytes;
    size_t len;
    unsigned number = 1;
    const char *file = arena_copy(&list->arena, path, strlen(path));
    if (file == NULL)
        return err_no_memory(err, strlen(path));
    if (file_read_given(&bytes, &len, path, LINES_BYTES_MAX, err) ||
        text_file_decode(&bytes, &len, LINES_BYTES_MAX, err))
        return err_prefix(err, "%s: ", path);
    for (size_t at = 0; at < len && err->code == ERR_OK; number++) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t line = end != NULL ? (size_t)(end - bytes) - at : len - at;
        size_t shown = line > 0 && bytes[at + line - 1] == '\r' ? line - 1 : line;
        if (!line_is_blank(bytes + at, shown)) {
            struct listed_input input = {.text_len = shown, .file = file, .line = number};
            input.text = arena_copy(&list->arena, bytes + at, shown);
            if (input.text == NULL)
                err_no_memory(err, shown);
            else
                input_list_add(list, &input, err);
        }
        at += line + 1;
    }
    free(bytes);
    return err->code;
}
