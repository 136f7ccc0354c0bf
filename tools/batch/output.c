#include "tools/batch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor is this run's alone until it is closed; a kill closes it. */
static enum err_code lock_file(struct output *out, struct stat *file, struct err *err)
{
    out->fd = open(out->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (out->fd < 0 || fstat(out->fd, file) != 0)
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", out->path, strerror(errno));
    if (!S_ISREG(file->st_mode))
        return err_set(err, ERR_UNUSABLE,
                       "%s: is no regular file; without --out the lines go to standard output",
                       out->path);
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, ERR_CONFLICT, "%s: another run is writing it", out->path);
    return ERR_OK;
}

static enum err_code take_old(struct output *out, struct batch_state *old, uint64_t size,
                              struct err *err)
{
    if (batch_state_check(old, &out->state, out->path, err))
        return err->code;
    if (size < old->bytes)
        return err_set(err, ERR_UNUSABLE,
                       "%s: has %llu bytes, but %llu were written: it was changed; remove it and "
                       "%s, or give another --out",
                       out->path, (unsigned long long)size, (unsigned long long)old->bytes,
                       out->state_path);
    out->state.done = old->done;
    out->state.failed = old->failed;
    out->state.bytes = old->bytes;
    memcpy(out->state.digest, old->digest, sizeof old->digest);
    return ERR_OK;
}

static enum err_code find_old(struct output *out, const struct stat *file, struct err *err)
{
    struct batch_state old;
    bool found;
    if (batch_state_read(&old, out->state_path, &found, err) == ERR_OK && file->st_size > 0) {
        if (found)
            take_old(out, &old, (uint64_t)file->st_size, err);
        else
            err_set(err, ERR_UNUSABLE,
                    "%s: is there already, and without %s it cannot be continued; remove it, or "
                    "give another --out",
                    out->path, out->state_path);
    }
    batch_state_free(&old);
    return err->code;
}

enum err_code output_open(struct output *out, const char *path, struct batch_state *state,
                          struct err *err)
{
    struct stat file;
    *out = (struct output){.fd = path == NULL ? STDOUT_FILENO : -1, .path = path, .state = *state};
    *state = (struct batch_state){0};
    if (path == NULL)
        return ERR_OK;
    int len = snprintf(out->state_path, sizeof out->state_path, "%s.state", path);
    if (len < 0 || (size_t)len >= sizeof out->state_path)
        return err_set(err, ERR_UNUSABLE, "--out: the path is longer than %d bytes", PATH_MAX);
    if (lock_file(out, &file, err))
        return err->code;
    return find_old(out, &file, err);
}

enum err_code output_begin(struct output *output, struct err *err)
{
    if (output->path == NULL)
        return ERR_OK;
    off_t end = (off_t)output->state.bytes;
    if (ftruncate(output->fd, end) != 0 || lseek(output->fd, end, SEEK_SET) < 0)
        return err_set(err, ERR_IO, "%s: cannot be cut: %s", output->path, strerror(errno));
    return output_save(output, err);
}

enum err_code output_append(struct output *output, const char *bytes, size_t len, struct err *err)
{
    const char *name = output->path != NULL ? output->path : "standard output";
    for (size_t at = 0; at < len;) {
        ssize_t wrote = write(output->fd, bytes + at, len - at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return err_set(err, ERR_IO, "%s: cannot be written: %s", name, strerror(errno));
        at += (size_t)wrote;
    }
    output->state.bytes += len;
    return ERR_OK;
}

enum err_code output_save(struct output *output, struct err *err)
{
    if (output->path == NULL)
        return ERR_OK;
    if (fdatasync(output->fd) != 0)
        return err_set(err, ERR_IO, "%s: cannot be written: %s", output->path, strerror(errno));
    return batch_state_write(&output->state, output->state_path, err);
}

void output_close(struct output *output)
{
    if (output->path != NULL && output->fd >= 0)
        close(output->fd);
    output->fd = -1;
    batch_state_free(&output->state);
}
