#include "engine/format/model_places.h"

#include "engine/base/nearest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *path; /* from the program's folder */
    bool has_weights;
} places[] = {{"../models", true},
              {"../models/configs", false},
              {"../share/attnd/models", true},
              {"../share/attnd/models/configs", false}};

enum { PLACES = sizeof places / sizeof *places };

static bool has_config(const char *dir)
{
    char path[PATH_MAX];
    struct stat status;
    return (size_t)snprintf(path, sizeof path, "%s/config.json", dir) < sizeof path &&
           stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool join(char out[PATH_MAX], const char *folder, const char *name)
{
    return (size_t)snprintf(out, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

void model_places_in(const char *folder, const char *before, char *list, size_t size)
{
    char path[PATH_MAX];
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && join(path, folder, name) && has_config(path) &&
            (size_t)snprintf(path, sizeof path, "%s%s", before, name) < sizeof path)
            nearest_list(list, size, path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

void model_places_bin(char out[PATH_MAX])
{
    const ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);
    out[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash != NULL)
        *slash = '\0';
    else
        memcpy(out, ".", 2);
}

bool model_places_find(char out[PATH_MAX], const char *bin, const char *name)
{
    char folder[PATH_MAX], found[PATH_MAX];
    for (unsigned i = 0; i < PLACES; i++)
        if (join(folder, bin, places[i].path) && join(found, folder, name) && has_config(found) &&
            realpath(found, out) != NULL)
            return true;
    return false;
}

void model_places_shipped(const char *bin, bool with_configs, char *list, size_t size)
{
    char folder[PATH_MAX];
    for (unsigned i = 0; i < PLACES; i++)
        if ((places[i].has_weights || with_configs) && join(folder, bin, places[i].path))
            model_places_in(folder, "", list, size);
}

void model_places_beside(const char *path, char *list, size_t size)
{
    char before[PATH_MAX];
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len >= sizeof before)
        return;
    memcpy(before, path, len);
    before[len] = '\0';
    model_places_in(len > 0 ? before : ".", before, list, size);
}
