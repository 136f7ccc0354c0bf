#include "tools/batch/output.h"

#include "engine/base/doc.h"
#include "engine/base/doc_edit.h"
#include "engine/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, STATE_BYTES_MAX = 4 * 1024 * 1024 };

/* ---- the state ---- */

static const long long count_max = 1LL << 53; /* a double holds all below */

void output_state_free(struct output_state *state)
{
#define X(key, name) free(state->key);
    OUTPUT_STATE_PARTS(X)
    OUTPUT_STATE_FILES(X)
#undef X
    *state = (struct output_state){0};
}

static enum err_code copy_text(const struct json_t *root, const char *key, char **out,
                               struct err *err)
{
    const char *text = "";
    if (doc_get_string(root, "$", key, &text, err))
        return err->code;
    *out = strdup(text);
    return *out != NULL ? ERR_OK : err_no_memory(err, strlen(text));
}

static enum err_code copy_count(const struct json_t *root, const char *key, uint64_t *out,
                                struct err *err)
{
    long long count = 0;
    if (doc_get_integer(root, "$", key, 0, count_max, &count, err) == ERR_OK)
        *out = (uint64_t)count;
    return err->code;
}

static enum err_code read_members(struct output_state *out, const struct json_t *root,
                                  struct err *err)
{
    long long version = 0;
    const char *digest = "";
    if (doc_get_integer(root, "$", "attnd_batch", 0, count_max, &version, err))
        return err->code;
    if (version != VERSION)
        return err_set(err, ERR_UNUSABLE,
                       "it is of version %lld of such files, this program reads %d", version,
                       VERSION);
#define X(key, name) copy_text(root, #key, &out->key, err);
    OUTPUT_STATE_PARTS(X)
    OUTPUT_STATE_FILES(X)
#undef X
    copy_count(root, "done", &out->done, err);
    copy_count(root, "failed", &out->failed, err);
    copy_count(root, "bytes", &out->bytes, err);
    if (doc_get_string(root, "$", "digest", &digest, err) == ERR_OK)
        snprintf(out->digest, sizeof out->digest, "%s", digest);
    return err->code;
}

static enum err_code read_state(struct output_state *out, const char *path, bool *found,
                                struct err *err)
{
    struct json_t *root;
    struct err cause = {0};
    *out = (struct output_state){0};
    if (file_exists(path, found, err) || !*found)
        return err->code;
    if (doc_parse_file(&root, path, STATE_BYTES_MAX, &cause) == ERR_OK) {
        read_members(out, root, &cause);
        doc_free(root);
    }
    if (cause.code == ERR_OK)
        return ERR_OK;
    bool is_system = err_is_of_system(cause.code);
    return err_set(err, is_system ? cause.code : ERR_UNUSABLE, "%s: %s", path, cause.text);
}

static enum err_code check_part(const char *name, const char *was, const char *is, const char *out,
                                struct err *err)
{
    was = was != NULL ? was : "";
    is = is != NULL ? is : "";
    if (strcmp(was, is) == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE,
                   "%.100s: it was begun with another command: %s was '%.80s', now '%.80s'; give "
                   "the same command, another --out, or remove it and its .state file",
                   out, name, was, is);
}

static enum err_code check_file(const char *name, const char *was, const char *is,
                                const struct output *out, struct err *err)
{
    if (was == NULL || was[0] == '\0' || is == NULL || is[0] == '\0' || strcmp(was, is) == 0)
        return ERR_OK;
    return err_set(
        err, ERR_UNUSABLE,
        "%.100s: %s of %.100s has changed since the run began. Give another --out, put the "
        "earlier file back, or remove the output and its .state file",
        out->path, name, out->state.dir);
}

/* ---- opening ---- */

static enum err_code take_old(struct output *out, struct output_state *old, uint64_t size,
                              struct err *err)
{
#define X(key, name)                                                                               \
    if (check_part(name, old->key, out->state.key, out->path, err))                                \
        return err->code;
    OUTPUT_STATE_PARTS(X)
#undef X
#define X(key, name)                                                                               \
    if (check_file(name, old->key, out->state.key, out, err))                                      \
        return err->code;
    OUTPUT_STATE_FILES(X)
#undef X
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

enum err_code output_open(struct output *out, const char *path, struct output_state *state,
                          struct err *err)
{
    struct stat file;
    *out = (struct output){.fd = path == NULL ? STDOUT_FILENO : -1, .path = path, .state = *state};
    *state = (struct output_state){0};
    if (path == NULL)
        return ERR_OK;
    int len = snprintf(out->state_path, sizeof out->state_path, "%s.state", path);
    if (len < 0 || (size_t)len >= sizeof out->state_path)
        return err_set(err, ERR_UNUSABLE, "--out: the path is longer than %d bytes", PATH_MAX);
    out->fd = open(out->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (out->fd < 0 || fstat(out->fd, &file) != 0)
        return err_set(err, ERR_IO, "%s: cannot be opened: %s", out->path, strerror(errno));
    if (!S_ISREG(file.st_mode))
        return err_set(err, ERR_UNUSABLE,
                       "%s: is no regular file; without --out the lines go to standard output",
                       out->path);
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0)
        return err_set(err, ERR_CONFLICT, "%s: another run is writing it", out->path);
    struct output_state old;
    bool found;
    if (read_state(&old, out->state_path, &found, err) == ERR_OK && file.st_size > 0) {
        if (found)
            take_old(out, &old, (uint64_t)file.st_size, err);
        else
            err_set(err, ERR_UNUSABLE,
                    "%s: is there already, and without %s it cannot be continued; remove it, or "
                    "give another --out",
                    out->path, out->state_path);
    }
    output_state_free(&old);
    return err->code;
}

/* ---- writing ---- */

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
    struct json_t *root;
    if (doc_edit_new(&root, err))
        return err->code;
    doc_edit_integer(root, "attnd_batch", VERSION, err);
#define X(key, name)                                                                               \
    doc_edit_text(root, #key, output->state.key != NULL ? output->state.key : "", err);
    OUTPUT_STATE_PARTS(X)
    OUTPUT_STATE_FILES(X)
#undef X
    doc_edit_integer(root, "done", (long long)output->state.done, err);
    doc_edit_integer(root, "failed", (long long)output->state.failed, err);
    doc_edit_integer(root, "bytes", (long long)output->state.bytes, err);
    doc_edit_text(root, "digest", output->state.digest, err);
    if (err->code == ERR_OK)
        doc_edit_save(root, output->state_path, err);
    doc_free(root);
    return err->code;
}

void output_close(struct output *output)
{
    if (output->path != NULL && output->fd >= 0)
        close(output->fd);
    output->fd = -1;
    output_state_free(&output->state);
}
