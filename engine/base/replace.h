/* replace.h - replaces a file so that the old or the new one is whole, also after a kill or a power
 * cut at any moment.
 *
 *     struct replacement file;
 *     if (replace_open(&file, path, &err) || replace_write(&file, bytes, len, &err))
 *         replace_abandon(&file);
 *     else
 *         replace_commit(&file, &err);
 *
 * The bytes go to PATH.partial, which is synced and renamed over PATH; then the folder is synced. A
 * kill leaves at most a PATH.partial, which the next write to PATH takes over: they do not pile up.
 * Two processes do not write one path at once: the second one is refused. What is no regular file,
 * as /dev/full, is refused, too: it stays what it is.
 *
 * Threads: one writer of a path at a time.
 */
#ifndef ATTND_ENGINE_BASE_REPLACE_H
#define ATTND_ENGINE_BASE_REPLACE_H

#include "engine/base/err.h"

#include <limits.h>
#include <stddef.h>

struct replacement {
    int fd; /* -1: nothing is open */
    char path[PATH_MAX], partial[PATH_MAX];
};

/* Refuses a path that is a folder, or the same file as the input `from` (ERR_UNUSABLE): before the
 * work whose result goes to `path`. A path that does not exist yet is neither. */
enum err_code replace_check(const char *path, const char *from, struct err *err);

/* Errors are ERR_IO and begin with the path; ERR_CONFLICT while another process writes it. */
enum err_code replace_open(struct replacement *file, const char *path, struct err *err);
enum err_code replace_write(struct replacement *file, const void *bytes, size_t len,
                            struct err *err);

/* Ends the replacement: it succeeds, or the old file stays as after replace_abandon. */
enum err_code replace_commit(struct replacement *file, struct err *err);
/* Leaves the old file. Does nothing if the replacement failed to open or has ended. */
void replace_abandon(struct replacement *file);

/* Opens, writes and commits bytes in memory. */
enum err_code replace_file(const char *path, const void *bytes, size_t len, struct err *err);

#endif
