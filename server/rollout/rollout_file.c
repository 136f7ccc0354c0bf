/* rollout_file.c - the roll-out on the disk, and the directories that it may name.
 *
 *     {"format": 1, "models": [{"name": "wafer-vit", "file": [ENTRY, ...], "now": [ENTRY, ...]}]}
 *
 * with an entry {"dir", "dtype", "split", "shadow", "standby", "index", "public"}. Only names that
 * were changed are there; `file` is what the configuration said then. */
#include "server/rollout/rollout.h"

#include "engine/base/doc_edit.h"
#include "engine/base/replace.h"
#include "engine/format/model_places.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FORMAT = 1, FILE_BYTES_MAX = 4 * 1024 * 1024, NAMES_BYTES = 256 };

/* ---- writing ---- */

static json_t *entries_json(const struct config_model *models, unsigned count, const char *name)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++)
        if (strcmp(models[i].name, name) == 0)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:f, s:f, s:b, s:s*, s:b}", "dir", models[i].dir,
                                "dtype", models[i].dtype != NULL ? models[i].dtype : "f32", "split",
                                models[i].split, "shadow", models[i].shadow, "standby",
                                models[i].is_standby, "index", models[i].index, "public",
                                models[i].is_public));
    return list;
}

static bool has_written(const json_t *names, const char *name)
{
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(names, i), "name")), name) == 0)
            return true;
    return false;
}

static void add_name(json_t *names, const struct rollout *rollout, const char *name)
{
    if (!rollout_is_changed(rollout, name) || has_written(names, name))
        return;
    json_array_append_new(names,
                          json_pack("{s:s, s:o, s:o}", "name", name, "file",
                                    entries_json(rollout->file, rollout->file_count, name), "now",
                                    entries_json(rollout->now, rollout->now_count, name)));
}

static enum err_code path_of(char path[PATH_MAX], const char *state_dir, struct err *err)
{
    if (snprintf(path, PATH_MAX, "%s/rollout.json", state_dir) >= PATH_MAX)
        return err_set(err, ERR_UNUSABLE, "state_dir: longer than %d bytes", PATH_MAX);
    return ERR_OK;
}

enum err_code rollout_write(const struct rollout *rollout, const char *state_dir, struct err *err)
{
    char path[PATH_MAX];
    if (state_dir[0] == '\0')
        return ERR_OK;
    json_t *names = json_array();
    for (unsigned i = 0; i < rollout->now_count; i++)
        add_name(names, rollout, rollout->now[i].name);
    for (unsigned i = 0; i < rollout->file_count; i++)
        add_name(names, rollout, rollout->file[i].name);
    json_t *root = json_pack("{s:i, s:o}", "format", FORMAT, "models", names);
    if (root == NULL)
        return err_no_memory(err, FILE_BYTES_MAX);
    char *text = json_dumps(root, JSON_INDENT(4));
    if (text == NULL)
        err_no_memory(err, FILE_BYTES_MAX);
    else if (path_of(path, state_dir, err) == ERR_OK) {
        if (mkdir(state_dir, 0750) != 0 && errno != EEXIST)
            err_set(err, ERR_IO, "state_dir %s: %s", state_dir, strerror(errno));
        else
            replace_file(path, text, strlen(text), err);
    }
    free(text);
    json_decref(root);
    return err->code;
}

/* ---- reading ---- */

/* One of the two lists of a name. */
static enum err_code read_entry(struct config_model *out, const json_t *entry, const char *name,
                                struct err *err)
{
    *out = (struct config_model){.name = name};
    if (doc_get_string(entry, "$", "dir", &out->dir, err) ||
        doc_get_string(entry, "$", "dtype", &out->dtype, err) ||
        doc_get_number(entry, "$", "split", &out->split, err) ||
        doc_get_number(entry, "$", "shadow", &out->shadow, err) ||
        doc_get_bool(entry, "$", "standby", &out->is_standby, err) ||
        doc_get_string(entry, "$", "index", &out->index, err) ||
        doc_get_bool(entry, "$", "public", &out->is_public, err))
        return err->code;
    if (out->dir == NULL)
        return err_set(err, ERR_UNUSABLE, "an entry of %.64s has no \"dir\"", name);
    return ERR_OK;
}

struct lists {
    struct config_model file[CONFIG_MODELS_MAX], now[CONFIG_MODELS_MAX];
    unsigned file_count, now_count;
};

static enum err_code read_list(struct config_model *models, unsigned *count, const json_t *list,
                               const char *name, struct err *err)
{
    for (size_t i = 0; i < doc_array_count(list) && err->code == ERR_OK; i++) {
        if (*count == CONFIG_MODELS_MAX)
            return err_set(err, ERR_UNUSABLE, "more than %d models", CONFIG_MODELS_MAX);
        read_entry(&models[(*count)++], doc_array_item(list, i), name, err);
    }
    return err->code;
}

static enum err_code read_names(struct lists *lists, const json_t *root, struct err *err)
{
    const json_t *names = doc_member(root, "models");
    long long format = 0;
    if (doc_get_integer(root, "$", "format", 0, INT_MAX, &format, err))
        return err->code;
    if (format != FORMAT)
        return err_set(err, ERR_UNUSABLE, "format %lld; this program reads %d", format, FORMAT);
    for (size_t i = 0; i < doc_array_count(names) && err->code == ERR_OK; i++) {
        const json_t *item = doc_array_item(names, i);
        const char *name = NULL;
        if (doc_get_string(item, "$", "name", &name, err) == ERR_OK && name == NULL)
            return err_set(err, ERR_UNUSABLE, "an item of \"models\" has no \"name\"");
        if (err->code == ERR_OK)
            read_list(lists->file, &lists->file_count, doc_member(item, "file"), name, err);
        if (err->code == ERR_OK)
            read_list(lists->now, &lists->now_count, doc_member(item, "now"), name, err);
    }
    return err->code;
}

static enum err_code read_root(struct rollout **out, const json_t *root, struct err *err)
{
    struct lists *lists = calloc(1, sizeof *lists);
    if (lists == NULL)
        return err_no_memory(err, sizeof *lists);
    if (root == NULL || read_names(lists, root, err) == ERR_OK)
        rollout_make(out, lists->file, lists->file_count, lists->now, lists->now_count, err);
    free(lists);
    return err->code;
}

enum err_code rollout_read(struct rollout **out, const char *state_dir, struct err *err)
{
    char path[PATH_MAX];
    struct stat file;
    json_t *root = NULL;
    *out = NULL;
    if (state_dir[0] == '\0')
        return read_root(out, NULL, err);
    if (path_of(path, state_dir, err))
        return err->code;
    if (stat(path, &file) != 0 && errno == ENOENT)
        return read_root(out, NULL, err);
    if (doc_parse_file(&root, path, FILE_BYTES_MAX, err) == ERR_OK)
        read_root(out, root, err);
    doc_free(root);
    if (err->code != ERR_OK && err->code != ERR_NO_MEMORY)
        err->code = ERR_UNUSABLE;
    return err->code != ERR_OK
               ? err_prefix(err,
                            "%s: the roll-out cannot be read; remove the file to serve what the "
                            "configuration says: ",
                            path)
               : ERR_OK;
}

/* ---- directories ---- */

/* True if the path has a ".." step. It is refused even if it leads somewhere allowed, so that the
 * directory that is loaded is the one that was asked for. */
static bool has_parent_step(const char *dir)
{
    for (const char *at = dir; (at = strstr(at, "..")) != NULL; at += 2)
        if ((at == dir || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

static bool is_below(const char *root, const char *dir)
{
    size_t len = strlen(root);
    return strncmp(root, dir, len) == 0 && (dir[len] == '/' || strcmp(root, "/") == 0);
}

enum err_code rollout_resolve(const char **out, const char *root, const char *dir,
                              struct arena *arena, struct err *err)
{
    char real_root[PATH_MAX], real[PATH_MAX];
    if (root[0] == '\0')
        return err_set(err, ERR_UNUSABLE,
                       "$.dir: nothing may be loaded; the option models_root names where from");
    if (has_parent_step(dir))
        return err_set(err, ERR_UNUSABLE, "$.dir: must not have \"..\"");
    if (realpath(root, real_root) == NULL)
        return err_set(err, ERR_UNUSABLE, "$.dir: models_root cannot be read: %s", strerror(errno));
    const char *path = dir[0] == '/' ? dir : arena_format(arena, "%s/%s", real_root, dir);
    if (path == NULL)
        return err_no_memory(err, PATH_MAX);
    /* The answer is the same for all paths outside: it must not tell which of them exist. */
    if (realpath(path, real) == NULL || !is_below(real_root, real)) {
        char names[NAMES_BYTES] = "";
        model_places_in(real_root, "", names, sizeof names);
        return err_set(err, ERR_UNUSABLE, "$.dir: there is no such directory below models_root%s%s",
                       names[0] != '\0' ? "; models lie there in " : ", nor a model", names);
    }
    *out = arena_copy(arena, real, strlen(real));
    return *out != NULL ? ERR_OK : err_no_memory(err, PATH_MAX);
}
