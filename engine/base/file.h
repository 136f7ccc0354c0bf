/* file.h - paths of files, their existence, and reading a whole file into memory.
 *
 * A path that does not come from the person who started the program may name anything when it is
 * opened: a FIFO, a terminal, a device. So every such path is opened by file_open. Only a path on a
 * command line may be a FIFO (`<(...)` of a shell) or "-", standard input: file_read_given.
 *
 * Threads: any. */
#ifndef ATTND_ENGINE_BASE_FILE_H
#define ATTND_ENGINE_BASE_FILE_H

#include "engine/base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Called first in each main. A closed descriptor 0, 1 or 2 becomes one of /dev/null on which
 * reading and writing still fail. Otherwise the next file opened would get its number, and printed
 * text would be written to that file. */
void file_open_standard(void);

/* Writes DIR/NAME; ERR_IO if it is too long for a path. */
enum err_code file_path(char out[PATH_MAX], const char *dir, const char *name, struct err *err);

/* Writes the last part of a path, without slashes: "a" for "models/a/". */
void file_last_part(const char *path, char out[NAME_MAX + 1]);

/* True if the name can be one part of a path (of a file or of a URL): 1 to FILE_PART_BYTES bytes,
 * no control character, no slash, and no step such as "..". */
enum { FILE_PART_BYTES = 128 };
bool file_is_part(const char *name);
#define FILE_PART_RULE "expected 1 to 128 bytes, no / and no control character, and not . or .."

/* Opens a regular file, or a link to one, to read. Never waits, and opens nothing else. *fd, *out:
 * yours to close; on an error -1 or NULL, and errno is set. ERR_IO names the kind of another file;
 * ERR_NO_MEMORY. */
enum err_code file_open(int *fd, const char *path, struct err *err);
enum err_code file_open_stream(FILE **out, const char *path, struct err *err);

/* Reads a regular file of at most bytes_max bytes into NUL-terminated memory, yours to free; *len
 * is without the NUL. ERR_IO if it cannot be read, ERR_TOO_LARGE over the limit, ERR_NO_MEMORY. */
enum err_code file_read(char **out, size_t *len, const char *path, size_t bytes_max,
                        struct err *err);

/* The same for a path on a command line: it may also be "-", a FIFO or a device, whose writer it
 * waits for. */
enum err_code file_read_given(char **out, size_t *len, const char *path, size_t bytes_max,
                              struct err *err);

/* file_read for one input among others, or "-" for standard input, or /dev/fd/N, which a shell
 * makes of <(...). ERR_UNUSABLE, instead of ERR_IO, if the path does not exist, is no regular file,
 * or may not be read: a retry would fail in the same way, and the other inputs can be used. ERR_IO
 * is then a failure of the system (a disk, too many open files), not of the input. */
enum err_code file_read_input(char **out, size_t *len, const char *path, size_t bytes_max,
                              struct err *err);

/* *out: the path exists. ERR_NO_MEMORY and ERR_IO, whose texts begin with the path, if that cannot
 * be determined: an error of stat other than absence is not taken for absence. */
enum err_code file_exists(const char *path, bool *out, struct err *err);

/* Removes the file; it may already be absent. ERR_IO, whose text begins with the path. */
enum err_code file_remove(const char *path, struct err *err);

/* Makes the directory, if it is absent, and locks it for this process, until *fd is closed, also by
 * a kill. The lock is on its file `name`, one for each use, because a directory may have two uses.
 * Another process that holds the lock may be ending, so it is waited for, at most wait_ms.
 * ERR_CONFLICT: it still holds it; ERR_IO. The text begins with the path. */
enum err_code file_lock_dir(int *fd, const char *dir, const char *name, unsigned wait_ms,
                            struct err *err);
/* Checks that file_lock_dir could open the lock; the errors are the same. Creates nothing. A lock
 * that another process holds is no error. */
enum err_code file_check_lock_dir(const char *dir, const char *name, struct err *err);

#endif
