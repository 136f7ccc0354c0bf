/* audit_files.h - the files of an audit log: a directory of attnd-audit-<number of the first
 * line>.jsonl, written at the end of the newest.
 *
 * Threads: one at a time, but for audit_files_sync, which may run beside audit_files_write.
 */
#ifndef ATTND_SERVER_AUDIT_AUDIT_FILES_H
#define ATTND_SERVER_AUDIT_AUDIT_FILES_H

#include "server/audit/audit_chain.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

struct audit_files {
    char dir[PATH_MAX];
    int lock_fd;
    pthread_mutex_t fd_lock; /* of fd, against a sync */
    enum audit_way way;      /* of the newest file that the start found */
    int fd;                  /* the newest file's; -1: a new one is to be begun */
    uint64_t bytes;          /* its length */
    bool is_check;           /* files are read, and not changed */
};

/* Takes the directory, which is made if it is absent, for this process alone, and believes the
 * newest line. What a kill left of an unfinished line behind it is cut off: *cut_bytes. Another
 * process that has it is waited for so long (file_lock_dir); then ERR_CONFLICT. ERR_IO and
 * ERR_UNUSABLE (a newer attnd wrote it, its end is no audit log or another
 * key's, it would go on in a weaker way than before) name the file or the directory. */
enum err_code audit_files_open(struct audit_files *files, const char *dir, unsigned lock_wait_ms,
                               struct audit_chain *chain, size_t *cut_bytes, struct err *err);
void audit_files_close(struct audit_files *files);

/* The errors of audit_files_open but ERR_CONFLICT. Changes nothing; another process may have the
 * directory and write. */
enum err_code audit_files_check(const char *dir, struct audit_chain *chain, struct err *err);

/* A new file, with its first line. What was written before is synced. */
enum err_code audit_files_begin(struct audit_files *files, struct audit_chain *chain,
                                struct err *err);

/* All of the bytes, or none: ERR_IO. */
enum err_code audit_files_write(struct audit_files *files, const void *bytes, size_t len,
                                struct err *err);
/* Takes back what the last write wrote, since it could not be synced; a new file is then begun. */
void audit_files_undo(struct audit_files *files, size_t len);
enum err_code audit_files_sync(struct audit_files *files, struct err *err);

struct audit_expiry {
    unsigned removed; /* files */
    unsigned later;   /* that are as old, and stay for another day */
};

/* Removes files but the newest that were last written more than `days` ago: the oldest, and in a
 * day no more than twice as many as a day fills on average, nor than half of all, since a clock
 * that is wrong once must not cost a log. The file "expired" of the directory has the day's
 * count. */
struct audit_expiry audit_files_expire(const struct audit_files *files, unsigned days);

/* The log's files in a directory, oldest first: *paths is yours to free with audit_files_free. */
enum err_code audit_files_list(char ***paths, size_t *count, const char *dir, struct err *err);
void audit_files_free(char **paths, size_t count);

/* ---- audit_read.c: reads a log from its oldest file to its newest, and follows its chain ----
 *
 *     struct audit_reading reading = {.key = key, .visit = print, .context = stdout};
 *     if (audit_read(&reading, paths, count, &err))
 *         return fail(&err);                       "FILE:LINE: its "prev" is not the hash of ..."
 *     printf("%llu lines\n", reading.lines);
 *
 * A file must not be made in a weaker way than the one before it (audit_chain.h), and with a key
 * the last one must be made with it: what has no key, anybody may have written.
 *
 * The oldest file may begin at any number, since older ones may have been removed; what it begins
 * with is believed. An unfinished line at the end of the newest file is what a writer, or a kill,
 * leaves: it is told in `unfinished` and is no error. A reading belongs to one thread. */

struct audit_reading {
    struct audit_key key; /* of lines that were written with one; none: there are none such */
    /* Called for each line that the chain holds, without its end of line but with a NUL. False: it
     * is enough, no more is read. NULL: only the chain is followed. */
    bool (*visit)(void *context, const char *line, size_t len);
    void *context;

    /* Result of the reading. */
    uint64_t lines;
    uint64_t first, last;        /* numbers of the first and the last line */
    char head[SHA256_HEX_BYTES]; /* the last line's hash */
    size_t unfinished;           /* bytes behind the last end of line */
    enum audit_way way;          /* of the last file */
    uint64_t keyed_from;         /* number of the first line that the key proves; 0: none */
};

/* ERR_MALFORMED: the first line that breaks the chain, or a file weaker than the one before;
 * ERR_UNSUPPORTED: a newer format; ERR_UNUSABLE: a key is needed; ERR_IO, ERR_NO_MEMORY. The text
 * begins with FILE:LINE: or FILE:. */
enum err_code audit_read(struct audit_reading *reading, char *const *paths, size_t count,
                         struct err *err);

#endif
