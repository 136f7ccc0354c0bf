#include "engine/cli/shipped.h"

#include "engine/format/model_places.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* KEPT_MAX: models that one command line names, a teacher and a student for example. */
enum { NAMES_BYTES = 256, KEPT_MAX = 8 };

enum err_code shipped_find_from(char out[PATH_MAX], const char *bin, const char *name,
                                struct err *err)
{
    struct stat status;
    char names[NAMES_BYTES] = "";
    bool is_there = stat(name, &status) == 0;
    if (is_there || strchr(name, '/') != NULL || name[0] == '\0' || name[0] == '.') {
        if ((size_t)snprintf(out, PATH_MAX, "%s", name) < PATH_MAX)
            return ERR_OK;
        return err_set(err, ERR_UNUSABLE, "the path is longer than %d bytes", PATH_MAX - 1);
    }
    if (model_places_find(out, bin, name))
        return ERR_OK;
    model_places_shipped(bin, true, names, sizeof names);
    return err_set(err, ERR_UNUSABLE,
                   "%.80s: no directory and no shipped model has this name%s%s%s", name,
                   names[0] != '\0' ? " (there are: " : "", names, names[0] != '\0' ? ")" : "");
}

enum err_code shipped_find(char out[PATH_MAX], const char *name, struct err *err)
{
    char bin[PATH_MAX];
    model_places_bin(bin);
    return shipped_find_from(out, bin, name, err);
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
