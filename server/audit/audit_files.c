/* audit_files.c - see audit_files.h.
 *
 * After a kill the newest file may end in an unfinished line: writes of several pages are not
 * atomic across a power cut. Everything up to the last end of line is kept, the rest is cut. A file
 * that lost even its first line is removed, and the one before it is the newest. */
#include "server/audit/audit_files.h"

#include "engine/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_BEGIN "attnd-audit-"
#define NAME_END ".jsonl"
enum { NAME_DIGITS = 12, SECONDS_PER_DAY = 86400 };

static enum err_code failed(const char *path, const char *what, struct err *err)
{
    return err_set(err, ERR_IO, "%s: cannot be %s: %s", path, what, strerror(errno));
}

/* ---- the directory ---- */

static bool is_ours(const struct dirent *entry, uint64_t *first)
{
    const char *digits = entry->d_name + sizeof NAME_BEGIN - 1;
    if (strncmp(entry->d_name, NAME_BEGIN, sizeof NAME_BEGIN - 1) != 0 ||
        strspn(digits, "0123456789") < NAME_DIGITS)
        return false;
    char *end;
    *first = strtoull(digits, &end, 10);
    return strcmp(end, NAME_END) == 0;
}

static int only_ours(const struct dirent *entry)
{
    uint64_t first;
    return is_ours(entry, &first);
}

/* Names of the same length sort as their numbers; longer ones come later. */
static int by_number(const struct dirent **a, const struct dirent **b)
{
    uint64_t left = 0, right = 0;
    is_ours(*a, &left);
    is_ours(*b, &right);
    return left < right ? -1 : left > right;
}

void audit_files_free(char **paths, size_t count)
{
    for (size_t i = 0; paths != NULL && i < count; i++)
        free(paths[i]);
    free(paths);
}

enum err_code audit_files_list(char ***paths, size_t *count, const char *dir, struct err *err)
{
    struct dirent **entries;
    int found = scandir(dir, &entries, only_ours, by_number);
    *paths = NULL;
    *count = 0;
    if (found < 0)
        return failed(dir, "listed", err);
    *paths = calloc((size_t)found + 1, sizeof **paths);
    for (int i = 0; i < found; i++) {
        if (*paths != NULL && asprintf(&(*paths)[*count], "%s/%s", dir, entries[i]->d_name) >= 0)
            *count += 1;
        free(entries[i]);
    }
    free(entries);
    if (*paths != NULL && *count == (size_t)found)
        return ERR_OK;
    audit_files_free(*paths, *count);
    *paths = NULL;
    return err_no_memory(err, ((size_t)found + 1) * sizeof **paths);
}

static enum err_code sync_dir(const char *dir, struct err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        failed(dir, "synced", err);
    if (fd >= 0)
        close(fd);
    return err->code;
}

/* One process writes; the lock goes with it. */
static enum err_code take(struct audit_files *files, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    if (file_path(path, dir, "lock", err) || file_path(files->dir, dir, "", err))
        return err->code;
    files->dir[strlen(dir)] = '\0';
    if (mkdir(dir, 0750) != 0 && errno != EEXIST)
        return failed(dir, "made", err);
    files->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (files->lock_fd < 0)
        return failed(path, "opened", err);
    if (flock(files->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s: another process writes this audit log", dir);
}

/* ---- the end of the newest file ---- */

/* What stands in the file's last bytes: its end, and the last whole line in it. */
struct end {
    char bytes[2 * AUDIT_LINE_BYTES_MAX + 1];
    size_t len, from; /* bytes[0..len) are those of the file from here on */
    size_t whole;     /* bytes of it up to the last end of line */
    size_t line;      /* where the last whole line begins in it */
};

static enum err_code read_end(struct end *end, int fd, size_t size, const char *path,
                              struct err *err)
{
    end->len = size < sizeof end->bytes ? size : sizeof end->bytes;
    end->from = size - end->len;
    for (size_t got = 0; got < end->len;) {
        ssize_t piece = pread(fd, end->bytes + got, end->len - got, (off_t)(end->from + got));
        if (piece <= 0)
            return failed(path, "read", err);
        got += (size_t)piece;
    }
    for (end->whole = end->len; end->whole > 0 && end->bytes[end->whole - 1] != '\n';)
        end->whole--;
    end->line = end->whole > 0 ? end->whole - 1 : 0;
    while (end->line > 0 && end->bytes[end->line - 1] != '\n')
        end->line--;
    return ERR_OK;
}

/* Of the first line: an older attnd must not go on in a newer one's way, nor with another hash. */
static enum err_code read_begin(int fd, const char *path, const struct audit_key *key,
                                bool *same_key, struct err *err)
{
    char line[1024];
    bool is_keyed = false;
    ssize_t len = pread(fd, line, sizeof line - 1, 0);
    if (len < 0)
        return failed(path, "read", err);
    line[len] = '\0';
    if (audit_chain_read_begin(line, &is_keyed, err)) {
        err->code = ERR_UNUSABLE;
        return err_prefix(err, "%s: ", path);
    }
    *same_key = is_keyed == (key->bytes != NULL);
    return ERR_OK;
}

/* False, if the file has not one whole line: it is removed. */
static enum err_code recover(struct audit_files *files, const char *path, struct audit_chain *chain,
                             size_t *cut_bytes, bool *found, struct err *err)
{
    struct stat status;
    bool same_key = false;
    struct end *end = malloc(sizeof *end);
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    *found = false;
    if (end == NULL)
        err_no_memory(err, sizeof *end);
    else if (fd < 0 || fstat(fd, &status) != 0)
        failed(path, "opened", err);
    else if (read_end(end, fd, (size_t)status.st_size, path, err) == ERR_OK) {
        size_t cut = end->len - end->whole;
        *cut_bytes += cut;
        if (end->whole == 0 && end->from == 0)
            file_remove(path, err);
        else if (audit_chain_believe(chain, end->bytes + end->line, end->whole - 1 - end->line,
                                     err))
            err_prefix(err, "%s: its end: ", path);
        else if (cut > 0 && (ftruncate(fd, (off_t)(end->from + end->whole)) != 0 || fsync(fd) != 0))
            failed(path, "cut to its last whole line", err);
        else
            *found = read_begin(fd, path, &chain->key, &same_key, err) == ERR_OK;
        files->bytes = end->from + end->whole;
    }
    free(end);
    if (*found && same_key)
        files->fd = fd;
    else if (fd >= 0)
        close(fd);
    return err->code;
}

enum err_code audit_files_open(struct audit_files *files, const char *dir,
                               struct audit_chain *chain, size_t *cut_bytes, struct err *err)
{
    char **paths = NULL;
    size_t count = 0;
    bool found = false;
    *files = (struct audit_files){.lock_fd = -1, .fd = -1};
    *cut_bytes = 0;
    pthread_mutex_init(&files->fd_lock, NULL);
    if (take(files, dir, err) == ERR_OK && audit_files_list(&paths, &count, dir, err) == ERR_OK)
        for (size_t i = count; i > 0 && !found && err->code == ERR_OK; i--)
            recover(files, paths[i - 1], chain, cut_bytes, &found, err);
    audit_files_free(paths, count);
    if (err->code != ERR_OK)
        audit_files_close(files);
    return err->code;
}

void audit_files_close(struct audit_files *files)
{
    if (files->fd >= 0)
        close(files->fd);
    if (files->lock_fd >= 0)
        close(files->lock_fd);
    pthread_mutex_destroy(&files->fd_lock);
}

/* ---- writing ---- */

static enum err_code write_all(int fd, const char *bytes, size_t len, struct err *err)
{
    for (size_t done = 0; done < len;) {
        ssize_t piece = write(fd, bytes + done, len - done);
        if (piece < 0 && errno == EINTR)
            continue;
        if (piece <= 0)
            return err_set(err, ERR_IO, "%s", strerror(piece == 0 ? EIO : errno));
        done += (size_t)piece;
    }
    return ERR_OK;
}

static void exchange(struct audit_files *files, int fd)
{
    pthread_mutex_lock(&files->fd_lock);
    if (files->fd >= 0)
        close(files->fd);
    files->fd = fd;
    pthread_mutex_unlock(&files->fd_lock);
}

/* A part that was written would break the chain. If it cannot be cut off either, the next write
 * begins a new file. */
enum err_code audit_files_write(struct audit_files *files, const void *bytes, size_t len,
                                struct err *err)
{
    if (write_all(files->fd, bytes, len, err) == ERR_OK) {
        files->bytes += len;
        return ERR_OK;
    }
    if (ftruncate(files->fd, (off_t)files->bytes) != 0)
        exchange(files, -1);
    return err_prefix(err, "the audit log cannot be written: ");
}

/* After a sync that failed nobody knows what of the file the disk has. */
void audit_files_undo(struct audit_files *files, size_t len)
{
    off_t before = (off_t)(files->bytes - len);
    if (ftruncate(files->fd, before) == 0)
        files->bytes -= len;
    exchange(files, -1);
}

enum err_code audit_files_sync(struct audit_files *files, struct err *err)
{
    pthread_mutex_lock(&files->fd_lock);
    if (files->fd >= 0 && fdatasync(files->fd) != 0)
        err_set(err, ERR_IO, "the audit log cannot be synced: %s", strerror(errno));
    pthread_mutex_unlock(&files->fd_lock);
    return err->code;
}

/* The chain takes the first line only once it is in the file. */
enum err_code audit_files_begin(struct audit_files *files, struct audit_chain *chain,
                                struct err *err)
{
    char members[128], line[sizeof members + AUDIT_SEAL_BYTES], path[PATH_MAX + 64];
    struct audit_chain with = *chain;
    int len =
        snprintf(members, sizeof members,
                 "\"type\":\"begin\",\"format\":%d,\"chain\":\"%s\",\"attnd\":\"%s\"", AUDIT_FORMAT,
                 chain->key.bytes != NULL ? "hmac-sha256" : "sha256", ATTND_VERSION);
    size_t bytes = audit_chain_seal(&with, members, (size_t)len, line);
    snprintf(path, sizeof path, "%s/" NAME_BEGIN "%0*" PRIu64 NAME_END, files->dir, NAME_DIGITS,
             with.seq);
    if (audit_files_sync(files, err))
        return err->code;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        return failed(path, "made", err);
    if (write_all(fd, line, bytes, err) || fsync(fd) != 0 || sync_dir(files->dir, err)) {
        close(fd);
        unlink(path);
        return err->code != ERR_OK ? err_prefix(err, "%s: ", path) : failed(path, "synced", err);
    }
    exchange(files, fd);
    files->bytes = bytes;
    *chain = with;
    return ERR_OK;
}

unsigned audit_files_expire(const struct audit_files *files, unsigned days)
{
    char **paths;
    size_t count;
    unsigned removed = 0;
    struct err ignored = {0};
    struct stat status;
    if (audit_files_list(&paths, &count, files->dir, &ignored))
        return 0;
    for (size_t i = 0; i + 1 < count; i++)
        if (stat(paths[i], &status) == 0 &&
            time(NULL) - status.st_mtime > (time_t)days * SECONDS_PER_DAY && unlink(paths[i]) == 0)
            removed++;
    audit_files_free(paths, count);
    return removed;
}
