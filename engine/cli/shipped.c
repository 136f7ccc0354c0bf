#include "engine/cli/shipped.h"

#include "engine/base/nearest.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* KEPT_MAX: models that one command line names, a teacher and a student for example. */
enum { NAMES_BYTES = 256, KEPT_MAX = 8 };

static const char *const places[] = {"../models", "../models/configs", "../share/attnd/models",
                                     "../share/attnd/models/configs"};

enum { PLACES = sizeof places / sizeof *places };

static bool has_config(const char *dir)
{
    char path[PATH_MAX];
    struct stat status;
    return (size_t)snprintf(path, sizeof path, "%s/config.json", dir) < sizeof path &&
           stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool join(char out[PATH_MAX], const char *bin, const char *place, const char *name)
{
    return (size_t)snprintf(out, PATH_MAX, "%s/%s/%s", bin, place, name) < PATH_MAX;
}

/* Appends the names of one place to the list. */
static void list_place(const char *bin, const char *place, char *out, size_t size)
{
    char path[PATH_MAX];
    struct dirent **entries;
    int count = join(path, bin, place, "") ? scandir(path, &entries, NULL, alphasort) : -1;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && join(path, bin, place, name) && has_config(path))
            nearest_list(out, size, name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

enum err_code shipped_find_from(char out[PATH_MAX], const char *bin, const char *name,
                                struct err *err)
{
    struct stat status;
    char names[NAMES_BYTES] = "", found[PATH_MAX];
    bool is_there = stat(name, &status) == 0;
    if (is_there || strchr(name, '/') != NULL || name[0] == '\0' || name[0] == '.') {
        if ((size_t)snprintf(out, PATH_MAX, "%s", name) < PATH_MAX)
            return ERR_OK;
        return err_set(err, ERR_UNUSABLE, "the path is longer than %d bytes", PATH_MAX - 1);
    }
    for (unsigned i = 0; i < PLACES; i++)
        if (join(found, bin, places[i], name) && has_config(found) && realpath(found, out) != NULL)
            return ERR_OK;
    for (unsigned i = 0; i < PLACES; i++)
        list_place(bin, places[i], names, sizeof names);
    return err_set(err, ERR_UNUSABLE,
                   "%.80s: no directory and no shipped model has this name%s%s%s", name,
                   names[0] != '\0' ? " (there are: " : "", names, names[0] != '\0' ? ")" : "");
}

enum err_code shipped_find(char out[PATH_MAX], const char *name, struct err *err)
{
    char bin[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", bin, sizeof bin - 1);
    bin[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(bin, '/');
    if (slash != NULL)
        *slash = '\0';
    return shipped_find_from(out, slash != NULL ? bin : ".", name, err);
}

enum err_code shipped_dir(const char **dir, struct err *err)
{
    static char kept[KEPT_MAX][PATH_MAX];
    char found[PATH_MAX];
    unsigned at = 0;
    if (shipped_find(found, *dir, err))
        return err->code;
    if (strcmp(found, *dir) == 0)
        return ERR_OK;
    while (at < KEPT_MAX && kept[at][0] != '\0' && strcmp(kept[at], found) != 0)
        at++;
    if (at == KEPT_MAX)
        return err_set(err, ERR_UNUSABLE, "%.80s: at most %d models can be given by name", *dir,
                       KEPT_MAX);
    memcpy(kept[at], found, sizeof found);
    *dir = kept[at];
    return ERR_OK;
}

enum err_code shipped_option(const struct cli_option *option, void *target, const char *value,
                             struct err *err)
{
    const char **dir = (const char **)((char *)target + option->offset);
    *dir = value;
    return shipped_dir(dir, err);
}
