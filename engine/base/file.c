#include "engine/base/file.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_BYTES = 16 * 1024 };

void file_open_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_FAILURE); /* no stream is left for an error text */
}

enum err_code file_path(char out[PATH_MAX], const char *dir, const char *name, struct err *err)
{
    if ((size_t)snprintf(out, PATH_MAX, "%s/%s", dir, name) >= PATH_MAX)
        return err_set(err, ERR_IO, "%.100s...: the directory's path is too long", dir);
    return ERR_OK;
}

void file_last_part(const char *path, char out[NAME_MAX + 1])
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t start = len;
    while (start > 0 && path[start - 1] != '/')
        start--;
    snprintf(out, NAME_MAX + 1, "%.*s", (int)(len - start), path + start);
}

bool file_is_part(const char *name)
{
    size_t len = 0;
    while ((unsigned char)name[len] >= 0x20 && name[len] != 0x7F && name[len] != '/')
        len++;
    return name[len] == '\0' && len >= 1 && len <= FILE_PART_BYTES && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Reads the whole stream. *error: errno, if the file failed. */
static enum err_code read_all(FILE *file, char **buffer, size_t *len, size_t bytes_max, int *error,
                              struct err *err)
{
    size_t size = 0, got = 1;
    for (*len = 0; got > 0 && *len <= bytes_max; *len += got) {
        if (*len + 1 >= size) { /* doubles, to at most bytes_max + 1 bytes and the NUL */
            size = size == 0 ? FIRST_BYTES : 2 * size;
            if (size > bytes_max + 2)
                size = bytes_max + 2;
            char *larger = realloc(*buffer, size);
            if (larger == NULL)
                return err_no_memory(err, size);
            *buffer = larger;
        }
        got = fread(*buffer + *len, 1, size - 1 - *len, file);
    }
    *error = errno;
    if (ferror(file))
        return err_set(err, ERR_IO, "cannot be read: %s", strerror(*error));
    if (*len > bytes_max)
        return err_set(err, ERR_TOO_LARGE, "larger than %zu bytes", bytes_max);
    (*buffer)[*len] = '\0';
    return ERR_OK;
}

static enum err_code cannot_be_opened(int error, struct err *err)
{
    errno = error;
    return err_set(err, err_code_of_errno(error), "cannot be opened: %s", strerror(error));
}

static enum err_code check_regular(mode_t mode, struct err *err)
{
    if (S_ISREG(mode))
        return ERR_OK;
    errno = S_ISDIR(mode) ? EISDIR : ENODEV;
    if (S_ISDIR(mode))
        return err_set(err, ERR_IO, "cannot be read: %s", strerror(EISDIR));
    return err_set(err, ERR_IO, "is a %s; a regular file is needed",
                   S_ISFIFO(mode)   ? "FIFO"
                   : S_ISSOCK(mode) ? "socket"
                                    : "device");
}

/* Checks the type before opening, because opening a device can have an effect (rewind a tape, start
 * a watchdog), and after it, because the name may then be another file's. */
enum err_code file_open(int *fd, const char *path, struct err *err)
{
    struct stat status;
    *fd = -1;
    if (stat(path, &status) != 0)
        return cannot_be_opened(errno, err);
    if (check_regular(status.st_mode, err))
        return err->code;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &status) != 0)
        cannot_be_opened(errno, err);
    else
        check_regular(status.st_mode, err);
    if (err->code != ERR_OK && *fd >= 0) {
        const int error = errno;
        close(*fd);
        errno = error;
        *fd = -1;
    }
    return err->code;
}

enum err_code file_open_stream(FILE **out, const char *path, struct err *err)
{
    int fd;
    *out = NULL;
    if (file_open(&fd, path, err))
        return err->code;
    *out = fdopen(fd, "rb");
    if (*out != NULL)
        return ERR_OK;
    close(fd);
    return err_no_memory(err, BUFSIZ);
}

/* True for the name of an open descriptor, which a shell makes of <(...). The caller has opened it,
 * so opening it again does not wait. */
static bool is_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return strcmp(path, "/dev/stdin") == 0;
}

/* The source of a path. */
enum naming { NAMED_BY_ANYBODY, NAMED_AS_INPUT, NAMED_BY_CALLER };

static enum err_code read_path(char **out, size_t *len, const char *path, enum naming naming,
                               size_t bytes_max, int *error, struct err *err)
{
    FILE *file;
    const bool is_stdin = naming != NAMED_BY_ANYBODY && strcmp(path, "-") == 0;
    *out = NULL;
    if (is_stdin)
        file = stdin;
    else if (naming == NAMED_BY_ANYBODY || (naming == NAMED_AS_INPUT && !is_descriptor(path)))
        file_open_stream(&file, path, err);
    else if ((file = fopen(path, "rbe")) == NULL)
        cannot_be_opened(errno, err);
    *error = errno;
    if (file == NULL)
        return err->code;
    if (read_all(file, out, len, bytes_max, error, err)) {
        free(*out);
        *out = NULL;
    }
    if (!is_stdin)
        fclose(file);
    return err->code;
}

enum err_code file_read(char **out, size_t *len, const char *path, size_t bytes_max,
                        struct err *err)
{
    int error;
    return read_path(out, len, path, NAMED_BY_ANYBODY, bytes_max, &error, err);
}

enum err_code file_read_given(char **out, size_t *len, const char *path, size_t bytes_max,
                              struct err *err)
{
    int error;
    return read_path(out, len, path, NAMED_BY_CALLER, bytes_max, &error, err);
}

enum err_code file_read_input(char **out, size_t *len, const char *path, size_t bytes_max,
                              struct err *err)
{
    /* Errors of the path. All others count as failures of the system. */
    static const int of_path[] = {ENOENT, ENOTDIR,      EISDIR, EACCES, EPERM,
                                  ELOOP,  ENAMETOOLONG, ENXIO,  ENODEV};
    int error;
    struct err cause = {0};
    if (read_path(out, len, path, NAMED_AS_INPUT, bytes_max, &error, &cause) == ERR_OK)
        return ERR_OK;
    for (size_t i = 0; i < sizeof of_path / sizeof of_path[0]; i++)
        if (cause.code == ERR_IO && error == of_path[i])
            cause.code = ERR_UNUSABLE;
    return err_set(err, cause.code, "%s", cause.text);
}

enum err_code file_exists(const char *path, bool *out, struct err *err)
{
    *out = access(path, F_OK) == 0;
    if (*out || errno == ENOENT || errno == ENOTDIR)
        return ERR_OK;
    return err_set(err, err_code_of_errno(errno), "%s: cannot be looked at: %s", path,
                   strerror(errno));
}

enum err_code file_remove(const char *path, struct err *err)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return err_set(err, ERR_IO, "%s: cannot be removed: %s", path, strerror(errno));
    return ERR_OK;
}

enum err_code file_lock_dir(int *fd, const char *dir, const char *name, unsigned wait_ms,
                            struct err *err)
{
    enum { TRY_EVERY_MS = 20 };
    char path[PATH_MAX];
    *fd = -1;
    if (file_path(path, dir, name, err))
        return err->code;
    if (mkdir(dir, 0750) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "%s: cannot be made: %s", dir, strerror(errno));
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
    if (*fd < 0)
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    for (unsigned waited = 0; flock(*fd, LOCK_EX | LOCK_NB) != 0; waited += TRY_EVERY_MS) {
        if (errno != EWOULDBLOCK)
            err_set(err, ERR_IO, "%s: cannot be locked: %s", path, strerror(errno));
        else if (waited >= wait_ms)
            err_set(err, ERR_CONFLICT, "%s: another process uses this directory", dir);
        if (err->code != ERR_OK) {
            close(*fd);
            *fd = -1;
            return err->code;
        }
        nanosleep(&(struct timespec){.tv_nsec = TRY_EVERY_MS * CLOCK_NS_PER_MS}, NULL);
    }
    return ERR_OK;
}

enum err_code file_check_lock_dir(const char *dir, const char *name, struct err *err)
{
    char path[PATH_MAX], parent[PATH_MAX];
    struct stat status;
    if (file_path(path, dir, name, err))
        return err->code;
    if (stat(dir, &status) != 0 && errno == ENOENT) {
        snprintf(parent, sizeof parent, "%s", dir);
        return access(dirname(parent), W_OK | X_OK) == 0
                   ? ERR_OK
                   : err_set(err, ERR_IO, "%s: cannot be made: %s", dir, strerror(errno));
    }
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || (errno == ENOENT && access(dir, W_OK | X_OK) == 0))
        return ERR_OK;
    return err_set(err, ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
}
