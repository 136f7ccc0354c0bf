#include "engine/data/dataset_form.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LEVEL_CLASS = 1, LEVEL_FILE = 2 };

static int compare_names(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

static bool is_image_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && name[0] != '.' &&
           (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 ||
            strcasecmp(dot, ".jpeg") == 0);
}

static enum err_code add_file(struct dataset *dataset, const FTSENT *entry, struct err *err)
{
    const char *class = entry->fts_parent->fts_name;
    struct dataset_item item = {.input_len = entry->fts_pathlen};
    item.input = arena_copy(&dataset->arena, entry->fts_path, entry->fts_pathlen);
    item.label = arena_copy(&dataset->arena, class, strlen(class));
    item.name = arena_format(&dataset->arena, "%s/%s", class, entry->fts_name);
    if (item.input == NULL || item.label == NULL || item.name == NULL)
        return err_no_memory(err, entry->fts_pathlen);
    return dataset_add(dataset, &item, err);
}

static enum err_code visit(struct dataset *dataset, FTS *tree, FTSENT *entry, struct err *err)
{
    int kind = entry->fts_info;
    if (kind == FTS_DNR || kind == FTS_ERR)
        return err_set(err, ERR_IO, "%s: cannot be read: %s", entry->fts_path,
                       strerror(entry->fts_errno));
    bool is_hidden = entry->fts_level == LEVEL_CLASS && entry->fts_name[0] == '.';
    if (kind == FTS_D && (is_hidden || entry->fts_level >= LEVEL_FILE))
        fts_set(tree, entry, FTS_SKIP);
    if (kind == FTS_F && entry->fts_level == LEVEL_FILE && is_image_name(entry->fts_name))
        return add_file(dataset, entry, err);
    return ERR_OK;
}

static enum err_code walk(struct dataset *dataset, FTS *tree, const struct dataset_options *options,
                          struct err *err)
{
    while (!dataset_is_full(dataset, options)) {
        errno = 0;
        FTSENT *entry = fts_read(tree);
        if (entry == NULL)
            return errno == 0 ? ERR_OK
                              : err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
        if (visit(dataset, tree, entry, err))
            return err->code;
    }
    return ERR_OK;
}

enum err_code dataset_folder_read(struct dataset *dataset, const char *path,
                                  const struct dataset_options *options, struct err *err)
{
    if (options->kind != ENGINE_IMAGE)
        return err_set(err, ERR_UNUSABLE, "a folder holds images, but texts are wanted");
    char *root = arena_copy(&dataset->arena, path, strlen(path));
    if (root == NULL)
        return err_no_memory(err, strlen(path));
    FTS *tree = fts_open((char *const[]){root, NULL}, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
    if (tree == NULL)
        return err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
    walk(dataset, tree, options, err);
    fts_close(tree);
    return err->code;
}
