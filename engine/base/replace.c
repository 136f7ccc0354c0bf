#include "engine/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum err_code failed(const struct replacement *file, const char *what, struct err *err)
{
    return err_set(err, ERR_IO, "%s: cannot be %s: %s", file->path, what, strerror(errno));
}

/* A rename would put a file into the place of a device, a FIFO or a socket, also of one that a link
 * names (/dev/stdout). */
static enum err_code check_target(const struct replacement *file, struct err *err)
{
    struct stat status;
    if (stat(file->path, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s: is a %s; only a regular file can be replaced", file->path,
                   S_ISFIFO(status.st_mode)   ? "FIFO"
                   : S_ISSOCK(status.st_mode) ? "socket"
                                              : "device");
}

/* The writer holds the lock until the file's name is PATH. A process that opened the file before
 * that finds that it is no longer PATH.partial. A file system without locks has none. */
static enum err_code take_partial(struct replacement *file, const struct stat *ours,
                                  struct err *err)
{
    struct stat named;
    const bool is_locked = flock(file->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    const bool is_known = is_locked && lstat(file->partial, &named) == 0;
    if (is_locked && !is_known && errno != ENOENT)
        return failed(file, "written", err);
    if (!is_known || named.st_dev != ours->st_dev || named.st_ino != ours->st_ino)
        return err_set(err, ERR_CONFLICT, "%s: another process is writing it", file->path);
    return ftruncate(file->fd, 0) == 0 ? ERR_OK : failed(file, "written", err);
}

/* O_NOFOLLOW: a symbolic link of that name is not an unfinished write. O_NONBLOCK: neither is a
 * FIFO, and opening it must not wait for a reader. */
static enum err_code open_partial(struct replacement *file, struct err *err)
{
    file->fd = open(file->partial, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    struct stat status;
    if (file->fd < 0)
        return failed(file, "written", err);
    if (fstat(file->fd, &status) != 0)
        failed(file, "written", err);
    else if (S_ISREG(status.st_mode))
        take_partial(file, &status, err);
    else {
        errno = ENXIO; /* another program's FIFO, which has a reader: it stays */
        return failed(file, "written", err);
    }
    if (err->code == ERR_IO)
        unlink(file->partial);
    return err->code;
}

enum err_code replace_check(const char *path, const char *from, struct err *err)
{
    struct stat target, input;
    if (stat(path, &target) != 0)
        return ERR_OK;
    if (S_ISDIR(target.st_mode))
        return err_set(err, ERR_UNUSABLE, "%s: is a folder; name a file in it", path);
    if (stat(from, &input) == 0 && input.st_dev == target.st_dev && input.st_ino == target.st_ino)
        return err_set(err, ERR_UNUSABLE,
                       "%s: is the input %s, which it would overwrite; name another file", path,
                       from);
    return ERR_OK;
}

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
    if (check_target(file, err) == ERR_OK && open_partial(file, err) == ERR_OK)
        return ERR_OK;
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

/* It is closed last: until then nobody else can lock it. */
enum err_code replace_commit(struct replacement *file, struct err *err)
{
    if (fsync(file->fd) != 0)
        failed(file, "made durable", err);
    else if (rename(file->partial, file->path) != 0)
        failed(file, "replaced", err);
    if (err->code != ERR_OK)
        unlink(file->partial);
    close(file->fd);
    file->fd = -1;
    return err->code == ERR_OK ? sync_folder(file, err) : err->code;
}

void replace_abandon(struct replacement *file)
{
    if (file->fd < 0)
        return;
    unlink(file->partial);
    close(file->fd);
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
