/* dataset_folder.c - see dataset.h: a folder with a folder of images and lots for each class, both
 * in the order of their names. fts(3) is not used: without memory glibc 2.36's fts_open writes
 * through a NULL pointer. */
#include "engine/vision/input_formats.h"
#include "learn/data/dataset_form.h"
#include "learn/data/picture.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum err_code unreadable(const char *path, struct err *err)
{
    return err_set(err, err_code_of_errno(errno), "%s: cannot be read: %s", path, strerror(errno));
}

/* ---- the names in a folder ---- */

struct names {
    struct arena arena;
    const char **at; /* [count], ascending */
    size_t count, capacity;
};

static enum err_code add_name(struct names *names, const char *name, struct err *err)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 64 : 2 * names->capacity;
        const char **at = reallocarray(names->at, capacity, sizeof *at);
        if (at == NULL)
            return err_no_memory(err, capacity * sizeof *at);
        names->at = at;
        names->capacity = capacity;
    }
    names->at[names->count] = arena_copy(&names->arena, name, strlen(name));
    if (names->at[names->count] == NULL)
        return err_no_memory(err, strlen(name));
    names->count++;
    return ERR_OK;
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

/* Names that begin with a dot are left out. Close the list also after an error. */
static enum err_code names_open(struct names *out, const char *path, struct err *err)
{
    *out = (struct names){0};
    arena_init(&out->arena);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return unreadable(path, err);
    errno = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL && err->code == ERR_OK;
         entry = readdir(folder)) {
        if (entry->d_name[0] != '.')
            add_name(out, entry->d_name, err);
        errno = 0;
    }
    if (err->code == ERR_OK && errno != 0)
        unreadable(path, err);
    closedir(folder);
    if (err->code == ERR_OK && out->count > 0)
        qsort(out->at, out->count, sizeof *out->at, compare_names);
    return err->code;
}

static void names_close(struct names *names)
{
    free(names->at);
    arena_deinit(&names->arena);
}

/* *out is all zeros for a link to nowhere. */
static enum err_code look_at(const char *path, struct stat *out, struct err *err)
{
    *out = (struct stat){0};
    if (stat(path, out) == 0 || errno == ENOENT || errno == ELOOP)
        return ERR_OK;
    return unreadable(path, err);
}

/* ---- a class ---- */

/* A file of it. */
struct place {
    const char *path, *class, *name;
};

/* `wafer` is what names it in its file: "#ID", or nothing. */
static enum err_code add_wafer(struct dataset *dataset, const struct place *place,
                               const char *wafer, struct err *err)
{
    struct dataset_item item = {.input_len = strlen(place->path) + strlen(wafer)};
    item.input = arena_format(&dataset->arena, "%s%s", place->path, wafer);
    item.label = arena_copy(&dataset->arena, place->class, strlen(place->class));
    item.name = arena_format(&dataset->arena, "%s/%s%s", place->class, place->name, wafer);
    if (item.input == NULL || item.label == NULL || item.name == NULL)
        return err_no_memory(err, item.input_len);
    return dataset_add(dataset, &item, err);
}

/* Each wafer is an item. A file that cannot be used is one item, which fails alone when it is read,
 * as a damaged image does. */
static enum err_code add_lot(struct dataset *dataset, const struct place *place,
                             const struct dataset_options *options, struct err *err)
{
    struct lot lot;
    struct err cause = {0};
    lot_open(&lot, place->path, &cause);
    if (err_is_of_system(cause.code))
        err_set(err, cause.code, "%s: %s", place->path, cause.text);
    else if (cause.code != ERR_OK || lot.wafer_count < 2)
        add_wafer(dataset, place, "", err);
    else
        for (unsigned w = 0; w < lot.wafer_count && err->code == ERR_OK; w++) {
            if (dataset_is_full(dataset, options))
                break;
            const char *name = arena_format(&dataset->arena, "#%s", lot.wafers[w].id);
            if (name == NULL)
                err_no_memory(err, strlen(lot.wafers[w].id));
            else
                add_wafer(dataset, place, name, err);
        }
    lot_close(&lot);
    return err->code;
}

static enum err_code read_file(struct dataset *dataset, const struct place *place,
                               const struct dataset_options *options, struct err *err)
{
    size_t len;
    const char *wafer;
    struct stat status;
    bool is_image = input_format_of_name(place->name, strlen(place->name)) != NULL;
    if (look_at(place->path, &status, err) || !S_ISREG(status.st_mode))
        return err->code;
    if (is_image)
        return add_wafer(dataset, place, "", err);
    if (picture_is_lot(place->name, &len, &wafer) && wafer == NULL)
        return add_lot(dataset, place, options, err);
    dataset_leave_out(dataset, place->name);
    return ERR_OK;
}

static enum err_code read_class(struct dataset *dataset, const char *path, const char *class,
                                const struct dataset_options *options, struct err *err)
{
    struct names names;
    names_open(&names, path, err);
    for (size_t i = 0; i < names.count && err->code == ERR_OK && !dataset_is_full(dataset, options);
         i++) {
        struct place place = {.class = class, .name = names.at[i]};
        place.path = arena_format(&names.arena, "%s/%s", path, place.name);
        if (place.path == NULL)
            err_no_memory(err, strlen(path) + strlen(place.name));
        else
            read_file(dataset, &place, options, err);
    }
    names_close(&names);
    return err->code;
}

/* ---- all ---- */

enum err_code dataset_folder_read(struct dataset *dataset, const char *path,
                                  const struct dataset_options *options, struct err *err)
{
    struct names names;
    struct stat root, status;
    if (options->kind != ENGINE_IMAGE)
        return err_set(err, ERR_UNUSABLE,
                       "a folder holds images, but texts are wanted: give a .jsonl or .csv file");
    if (stat(path, &root) != 0)
        return unreadable(path, err);
    names_open(&names, path, err);
    const char *between = path[strlen(path) - 1] == '/' ? "" : "/";
    for (size_t i = 0; i < names.count && err->code == ERR_OK && !dataset_is_full(dataset, options);
         i++) {
        const char *entry = arena_format(&names.arena, "%s%s%s", path, between, names.at[i]);
        if (entry == NULL) {
            err_no_memory(err, strlen(path) + strlen(names.at[i]));
        } else if (!look_at(entry, &status, err)) {
            bool is_root =
                status.st_dev == root.st_dev && status.st_ino == root.st_ino; /* a link */
            if (S_ISDIR(status.st_mode) && !is_root)
                read_class(dataset, entry, names.at[i], options, err);
        }
    }
    names_close(&names);
    return err->code;
}
