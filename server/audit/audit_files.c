/* audit_files.c - see audit_files.h.
 *
 * After a kill the newest file may end in an unfinished line: writes of several pages are not
 * atomic across a power cut. Everything up to the last end of line is kept, the rest is cut. A file
 * that lost even its first line is removed, and the one before it is the newest. */
#include "server/audit/audit_files.h"

#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/base/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_BEGIN "attnd-audit-"
#define NAME_END ".jsonl"
#define LOCK_NAME "lock"
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

/* ---- the end of the newest file ---- */

/* The file's last bytes: its end, and the last whole line in it. */
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

/* Reads from the file's first line how its chain is made. */
static enum err_code read_way(int fd, const char *path, enum audit_way *way, struct err *err)
{
    char line[1024];
    ssize_t len = pread(fd, line, sizeof line - 1, 0);
    if (len < 0)
        return failed(path, "read", err);
    line[len] = '\0';
    if (audit_chain_read_begin(line, way, err) == ERR_OK)
        return ERR_OK;
    err->code = ERR_UNUSABLE;
    return err_prefix(err, "%s: ", path);
}

/* The chain at the last whole line, which the one before it proves if both are there. Then it turns
 * to the way in which it is to go on. */
static enum err_code believe_end(struct audit_chain *chain, const struct end *end,
                                 enum audit_way way, struct err *err)
{
    const struct audit_chain wanted = *chain;
    const char *line = end->bytes + end->line;
    const size_t len = end->whole - 1 - end->line;
    size_t before = end->line > 0 ? end->line - 1 : 0;
    while (before > 0 && end->bytes[before - 1] != '\n')
        before--;
    const bool has_before = end->line > 0 && (before > 0 || end->from == 0);
    chain->way = way;
    if (way == AUDIT_PLAIN)
        chain->key = (struct audit_key){0};
    if (way != AUDIT_PLAIN && has_before) {
        if (audit_chain_believe(chain, end->bytes + before, end->line - 1 - before, err) == ERR_OK)
            audit_chain_follow(chain, line, len, err);
    } else
        audit_chain_believe(chain, line, len, err);
    return err->code != ERR_OK || way == wanted.way
               ? err->code
               : audit_chain_turn(chain, wanted.way, wanted.key, line, len, err);
}

/* An end without one whole line is removed; then the file before is the newest. */
static enum err_code recover_end(struct audit_files *files, int fd, const char *path,
                                 struct audit_chain *chain, struct end *end, bool *found,
                                 struct err *err)
{
    const enum audit_way wanted = chain->way;
    const size_t cut = end->len - end->whole;
    if (end->whole == 0 && end->from == 0)
        return files->is_check ? ERR_OK : file_remove(path, err);
    if (read_way(fd, path, &files->way, err))
        return err->code;
    if (files->way > wanted)
        return err_set(err, ERR_UNUSABLE,
                       "%s: this log was written with a key; name it in audit_key_file, or another "
                       "audit_dir",
                       path);
    if (believe_end(chain, end, files->way, err)) {
        err->code = ERR_UNUSABLE;
        return err_prefix(err, "%s: its end: ", path);
    }
    if (cut > 0 && !files->is_check &&
        (ftruncate(fd, (off_t)(end->from + end->whole)) != 0 || fsync(fd) != 0))
        return failed(path, "cut to its last whole line", err);
    files->bytes = end->from + end->whole;
    *found = true;
    return ERR_OK;
}

static enum err_code recover(struct audit_files *files, const char *path, struct audit_chain *chain,
                             size_t *cut_bytes, bool *found, struct err *err)
{
    struct stat status;
    const enum audit_way wanted = chain->way;
    struct end *end = malloc(sizeof *end);
    int fd = open(path, (files->is_check ? O_RDONLY : O_RDWR | O_APPEND) | O_CLOEXEC | O_NONBLOCK |
                            O_NOCTTY);
    *found = false;
    if (end == NULL)
        err_no_memory(err, sizeof *end);
    else if (fd < 0 || fstat(fd, &status) != 0)
        failed(path, "opened", err);
    else if (!S_ISREG(status.st_mode))
        err_set(err, ERR_UNUSABLE, "%s: is not a regular file", path);
    else if (read_end(end, fd, (size_t)status.st_size, path, err) == ERR_OK) {
        *cut_bytes += end->len - end->whole;
        recover_end(files, fd, path, chain, end, found, err);
    }
    free(end);
    if (*found && files->way == wanted && !files->is_check)
        files->fd = fd;
    else if (fd >= 0)
        close(fd);
    return err->code;
}

/* Whoever has no key could cut a log and write a file of their own behind it: to go on there would
 * make it ours. One whose first line cannot be read does not verify, either. */
static enum err_code check_older(const struct audit_files *files, char *const *paths, size_t count,
                                 struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        enum audit_way way = AUDIT_PLAIN;
        struct err ignored = {0};
        int fd;
        if (file_open(&fd, paths[i], &ignored) == ERR_OK)
            read_way(fd, paths[i], &way, &ignored);
        if (fd >= 0)
            close(fd);
        if (way > files->way)
            return err_set(err, ERR_UNUSABLE,
                           "%s: was written without a key, but the older %s with one: somebody may "
                           "have cut this log. Keep the directory, check it with attnd-audit "
                           "verify, and name another audit_dir",
                           paths[count], strrchr(paths[i], '/') + 1);
    }
    return ERR_OK;
}

static enum err_code recover_newest(struct audit_files *files, const char *dir,
                                    struct audit_chain *chain, size_t *cut_bytes, struct err *err)
{
    char **paths = NULL;
    size_t count = 0;
    bool found = false;
    if (audit_files_list(&paths, &count, dir, err))
        return err->code;
    for (size_t i = count; i > 0 && !found && err->code == ERR_OK; i--)
        if (recover(files, paths[i - 1], chain, cut_bytes, &found, err) == ERR_OK && found &&
            files->way != AUDIT_KEYED_MAC)
            check_older(files, paths, i - 1, err);
    audit_files_free(paths, count);
    return err->code;
}

/* One process writes; the lock goes with it. */
enum err_code audit_files_open(struct audit_files *files, const char *dir, unsigned lock_wait_ms,
                               struct audit_chain *chain, size_t *cut_bytes, struct err *err)
{
    *files = (struct audit_files){.lock_fd = -1, .fd = -1};
    *cut_bytes = 0;
    pthread_mutex_init(&files->fd_lock, NULL);
    if (file_path(files->dir, dir, "", err))
        goto out;
    files->dir[strlen(dir)] = '\0';
    if (file_lock_dir(&files->lock_fd, dir, LOCK_NAME, lock_wait_ms, err) == ERR_CONFLICT)
        snprintf(err->text, sizeof err->text, "%s: another process writes this audit log", dir);
    if (err->code == ERR_OK)
        recover_newest(files, dir, chain, cut_bytes, err);
out:
    if (err->code != ERR_OK)
        audit_files_close(files);
    return err->code;
}

enum err_code audit_files_check(const char *dir, struct audit_chain *chain, struct err *err)
{
    struct audit_files files = {.lock_fd = -1, .fd = -1, .is_check = true};
    size_t cut_bytes = 0;
    if (file_check_lock_dir(dir, LOCK_NAME, err) || access(dir, F_OK) != 0)
        return err->code;
    return recover_newest(&files, dir, chain, &cut_bytes, err);
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
    const bool is_keyed = chain->way == AUDIT_KEYED_MAC; /* older attnd go on where there is none */
    int len = snprintf(members, sizeof members,
                       "\"type\":\"begin\",\"format\":%d,\"chain\":\"%s\",\"attnd\":\"%s\"",
                       is_keyed ? 2 : 1, is_keyed ? "hmac-sha256" : "sha256", ATTND_VERSION);
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

/* {"format":1,"day":20783,"removed":2}: days since 1970 */
enum { EXPIRED_FORMAT = 1, EXPIRED_BYTES_MAX = 4096 };

static unsigned removed_on(const char *path, long long day)
{
    struct json_t *root;
    long long format = 0, of = 0, removed = 0;
    struct err ignored = {0};
    if (doc_parse_file(&root, path, EXPIRED_BYTES_MAX, &ignored))
        return 0;
    if (doc_get_integer(root, "$", "format", 1, EXPIRED_FORMAT, &format, &ignored) ||
        doc_get_integer(root, "$", "day", 0, LLONG_MAX, &of, &ignored) ||
        doc_get_integer(root, "$", "removed", 0, INT_MAX, &removed, &ignored) || of != day)
        removed = 0;
    doc_free(root);
    return (unsigned)removed;
}

struct audit_expiry audit_files_expire(const struct audit_files *files, unsigned days)
{
    char **paths, path[PATH_MAX], text[96];
    size_t count;
    struct stat status;
    struct audit_expiry expiry = {0};
    const time_t now = time(NULL);
    const long long day = (long long)now / SECONDS_PER_DAY;
    struct err ignored = {0};
    if (file_path(path, files->dir, "expired", &ignored) ||
        audit_files_list(&paths, &count, files->dir, &ignored))
        return expiry;
    unsigned expired = 0;
    while (expired + 1 < count && stat(paths[expired], &status) == 0 &&
           now - status.st_mtime > (time_t)days * SECONDS_PER_DAY)
        expired++;
    const unsigned before = expired > 0 ? removed_on(path, day) : 0;
    const size_t twice_a_day = 2 * ((count + before + days - 1) / days);
    const size_t half = (count + before) / 2;
    const unsigned most = (unsigned)(twice_a_day < half ? twice_a_day : half);
    const unsigned left = most > before ? most - before : 0;
    const unsigned goes = expired < left ? expired : left;
    if (goes > 0) { /* files must go also without room for it: then only this call is bounded */
        const int len = snprintf(text, sizeof text, "{\"format\":%d,\"day\":%lld,\"removed\":%u}\n",
                                 EXPIRED_FORMAT, day, before + goes);
        replace_file(path, text, (size_t)len, &(struct err){0});
    }
    while (expiry.removed < goes && unlink(paths[expiry.removed]) == 0)
        expiry.removed++;
    expiry.later = expired - expiry.removed;
    audit_files_free(paths, count);
    return expiry;
}
