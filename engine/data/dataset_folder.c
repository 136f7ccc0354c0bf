#include "engine/data/dataset_form.h"
#include "engine/data/picture.h"

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

/* `wafer` is what names it in its file: "#ID", or nothing. */
static enum err_code add_wafer(struct dataset *dataset, const FTSENT *entry, const char *wafer,
                               struct err *err)
{
    const char *class = entry->fts_parent->fts_name;
    struct dataset_item item = {.input_len = entry->fts_pathlen + strlen(wafer)};
    item.input = arena_format(&dataset->arena, "%s%s", entry->fts_path, wafer);
    item.label = arena_copy(&dataset->arena, class, strlen(class));
    item.name = arena_format(&dataset->arena, "%s/%s%s", class, entry->fts_name, wafer);
    if (item.input == NULL || item.label == NULL || item.name == NULL)
        return err_no_memory(err, item.input_len);
    return dataset_add(dataset, &item, err);
}

static enum err_code add_file(struct dataset *dataset, const FTSENT *entry, struct err *err)
{
    return add_wafer(dataset, entry, "", err);
}

static enum err_code add_wafers(struct dataset *dataset, const FTSENT *entry,
                                const struct stdf *stdf, const struct dataset_options *options,
                                struct err *err)
{
    for (unsigned w = 0; w < stdf->wafer_count && !dataset_is_full(dataset, options); w++) {
        const char *name = arena_format(&dataset->arena, "#%s", stdf->wafers[w].id);
        if (name == NULL)
            return err_no_memory(err, strlen(stdf->wafers[w].id));
        if (add_wafer(dataset, entry, name, err))
            return err->code;
    }
    return ERR_OK;
}

/* Each wafer is an item. A file that cannot be used is one, which fails alone when it is asked for,
 * as a damaged image does. */
static enum err_code add_stdf(struct dataset *dataset, const FTSENT *entry,
                              const struct dataset_options *options, struct err *err)
{
    struct stdf stdf;
    struct err cause = {0};
    stdf_open(&stdf, entry->fts_path, &cause);
    if (err_is_of_system(cause.code))
        err_set(err, cause.code, "%s: %s", entry->fts_path, cause.text);
    else if (cause.code != ERR_OK || stdf.wafer_count < 2)
        add_file(dataset, entry, err);
    else
        add_wafers(dataset, entry, &stdf, options, err);
    stdf_close(&stdf);
    return err->code;
}

static bool is_stdf_name(const char *name)
{
    size_t len;
    const char *wafer;
    return name[0] != '.' && picture_is_stdf(name, &len, &wafer) && wafer == NULL;
}

static enum err_code visit(struct dataset *dataset, FTS *tree, FTSENT *entry,
                           const struct dataset_options *options, struct err *err)
{
    int kind = entry->fts_info;
    if (kind == FTS_DNR || kind == FTS_ERR || kind == FTS_NS)
        return err_set(err, entry->fts_errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO,
                       "%s: cannot be read: %s", entry->fts_path, strerror(entry->fts_errno));
    bool is_hidden = entry->fts_level == LEVEL_CLASS && entry->fts_name[0] == '.';
    if (kind == FTS_D && (is_hidden || entry->fts_level >= LEVEL_FILE))
        fts_set(tree, entry, FTS_SKIP);
    if (kind == FTS_F && entry->fts_level == LEVEL_FILE && is_image_name(entry->fts_name))
        return add_file(dataset, entry, err);
    if (kind == FTS_F && entry->fts_level == LEVEL_FILE && is_stdf_name(entry->fts_name))
        return add_stdf(dataset, entry, options, err);
    return ERR_OK;
}

static enum err_code walk(struct dataset *dataset, FTS *tree, const struct dataset_options *options,
                          struct err *err)
{
    while (!dataset_is_full(dataset, options)) {
        errno = 0;
        FTSENT *entry = fts_read(tree);
        if (entry == NULL && errno == 0)
            return ERR_OK;
        if (entry == NULL)
            return err_set(err, errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO, "cannot be read: %s",
                           strerror(errno));
        if (visit(dataset, tree, entry, options, err))
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
        return err_set(err, errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO, "cannot be read: %s",
                       strerror(errno));
    walk(dataset, tree, options, err);
    fts_close(tree);
    return err->code;
}
