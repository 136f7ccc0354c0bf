#include "engine/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err_code failed(const struct replacement *file, const char *what, struct err *err)
{
    return err_set(err, ERR_IO, "%s: cannot be %s: %s", file->path, what, strerror(errno));
}

/* O_NOFOLLOW: a symbolic link of that name is not an unfinished write. O_NONBLOCK: neither is a
 * FIFO, and opening it must not wait for a reader. */
enum err_code replace_open(struct replacement *file, const char *path, struct err *err)
{
    static const char suffix[] = ".partial";
    size_t len = strlen(path);
    file->fd = -1;
    if (len > sizeof file->partial - sizeof suffix)
        return err_set(err, ERR_IO, "%.100s...: the path is longer than %zu bytes", path,
                       sizeof file->partial - sizeof suffix);
    memcpy(file->path, path, len + 1);
    memcpy(file->partial, path, len);
    memcpy(file->partial + len, suffix, sizeof suffix);
    file->fd = open(file->partial,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat status;
    const bool is_known = file->fd >= 0 && fstat(file->fd, &status) == 0;
    if (is_known && S_ISREG(status.st_mode))
        return ERR_OK;
    if (is_known)
        errno = ENXIO; /* another program's FIFO, which has a reader: it stays */
    failed(file, "written", err);
    if (file->fd >= 0 && !is_known)
        unlink(file->partial);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    return err->code;
}

enum err_code replace_write(struct replacement *file, const void *bytes, size_t len,
                            struct err *err)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t written = write(file->fd, at, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return failed(file, "written", err);
        at += written;
        len -= (size_t)written;
    }
    return ERR_OK;
}

/* The rename changes the folder, not the file. EINVAL: the file system cannot sync folders. */
static enum err_code sync_folder(const struct replacement *file, struct err *err)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(file->path, '/');
    if (slash != NULL) {
        size_t len = (size_t)(slash - file->path);
        memcpy(folder, file->path, len);
        folder[len] = '\0';
        if (len == 0)
            memcpy(folder, "/", 2);
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        failed(file, "made durable in its folder", err);
    if (fd >= 0)
        close(fd);
    return err->code;
}

enum err_code replace_commit(struct replacement *file, struct err *err)
{
    bool synced = fsync(file->fd) == 0;
    if (!synced)
        failed(file, "made durable", err);
    if (close(file->fd) != 0 && synced)
        failed(file, "written", err);
    file->fd = -1;
    if (err->code == ERR_OK && rename(file->partial, file->path) != 0)
        failed(file, "replaced", err);
    if (err->code == ERR_OK)
        return sync_folder(file, err);
    unlink(file->partial);
    return err->code;
}

void replace_abandon(struct replacement *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    unlink(file->partial);
    file->fd = -1;
}

enum err_code replace_file(const char *path, const void *bytes, size_t len, struct err *err)
{
    struct replacement file;
    if (replace_open(&file, path, err) || replace_write(&file, bytes, len, err)) {
        replace_abandon(&file);
        return err->code;
    }
    return replace_commit(&file, err);
}
