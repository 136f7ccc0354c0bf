#include "server/fits/fits_place.h"

#include "engine/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define OUT_FILE "out"

/* ---- versions ---- */

enum err_code fits_place_check(const char *version, struct err *err)
{
    const size_t len = strspn(version, ALNUM "._-");
    if (len >= 1 && len <= FITS_VERSION_BYTES && version[len] == '\0' && strspn(version, ALNUM) > 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "$.version: expected 1 to %d of A-Z a-z 0-9 . _ -, the first a letter or digit: "
                   "it becomes a part of a directory's name",
                   FITS_VERSION_BYTES);
}

enum err_code fits_place_next(const char *version, char out[FITS_VERSION_BYTES + 1],
                              struct err *err)
{
    enum { DIGITS_MAX = 9 };
    const size_t len = strlen(version);
    size_t digits = 0;
    while (digits < len && digits < DIGITS_MAX && version[len - digits - 1] >= '0' &&
           version[len - digits - 1] <= '9')
        digits++;
    const int head = (int)(len - digits);
    const int written = digits == 0 ? snprintf(out, FITS_VERSION_BYTES + 1, "%s.1", version)
                                    : snprintf(out, FITS_VERSION_BYTES + 1, "%.*s%ld", head,
                                               version, strtol(version + head, NULL, 10) + 1);
    if (written <= FITS_VERSION_BYTES)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "$.version: the next one has more than %d bytes; name one",
                   FITS_VERSION_BYTES);
}

/* ---- directories ---- */

enum err_code fits_place_dir(char dir[PATH_MAX], const char *root, uint64_t number, struct err *err)
{
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)number);
    return file_path(dir, root, name, err);
}

enum err_code fits_place_begin(char dir[PATH_MAX], const char *root, uint64_t number,
                               const char *out, struct err *err)
{
    if (fits_place_dir(dir, root, number, err))
        return err->code;
    mkdir(root, 0700);
    if (mkdir(dir, 0700) != 0)
        return err_set(err, ERR_IO, "%s: cannot be made: %s", dir, strerror(errno));
    char path[PATH_MAX];
    if (file_path(path, dir, OUT_FILE, err))
        return err->code;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const ssize_t len = (ssize_t)strlen(out);
    const bool is_written = fd >= 0 && write(fd, out, (size_t)len) == len;
    const int failure = errno;
    if (fd >= 0)
        close(fd);
    return is_written ? ERR_OK : err_set(err, ERR_IO, "%s: %s", path, strerror(failure));
}

bool fits_place_remove(const char *dir)
{
    DIR *entries = opendir(dir);
    if (entries == NULL)
        return errno == ENOENT;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    return rmdir(dir) == 0;
}

/* True if it is the whole name with the ending that mkdtemp gives. */
static bool is_partial(const char *name, const char *whole)
{
    enum { MADE_UP = 6 };
    const size_t len = strlen(whole);
    return strncmp(name, whole, len) == 0 && name[len] == '.' &&
           strlen(name) == len + 1 + MADE_UP && strspn(name + len + 1, ALNUM) == MADE_UP;
}

void fits_place_remove_partial(const char *out)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const char *slash = strrchr(out, '/');
    const int len = slash == NULL ? 0 : (int)(slash - out);
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : len, slash == NULL ? "." : out);
    DIR *entries = opendir(folder[0] != '\0' ? folder : "/");
    if (entries == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (is_partial(entry->d_name, slash == NULL ? out : slash + 1) &&
            file_path(path, folder, entry->d_name, &(struct err){0}) == ERR_OK)
            fits_place_remove(path);
    closedir(entries);
}

/* ---- left over ---- */

void fits_place_clear(const char *dir)
{
    char path[PATH_MAX], *out;
    size_t len;
    struct err ignored = {0};
    if (file_path(path, dir, OUT_FILE, &ignored) == ERR_OK &&
        file_read(&out, &len, path, PATH_MAX, &ignored) == ERR_OK) {
        if (strlen(out) == len && len > 0)
            fits_place_remove_partial(out);
        free(out);
    }
    fits_place_remove(dir);
}
