/* memory_file.h - a stream into memory that reports on close if any written byte was lost.
 *
 *     struct memory_file file;
 *     if (memory_file_open(&file, err))
 *         return err->code;
 *     fprintf(file.stream, ...);
 *     return memory_file_save(&file, path, err);
 *
 * open_memstream does not. If its buffer cannot grow, glibc 2.36's stream drops bytes without
 * setting the error indicator; if that happens in fclose, the buffer is NULL and fclose returns 0.
 * A file written from it may be truncated, or have a hole.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_BASE_MEMORY_FILE_H
#define ATTND_ENGINE_BASE_MEMORY_FILE_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Must not be moved while the stream is open. */
struct memory_file {
    FILE *stream;
    char *bytes; /* [len], then a NUL; whole only after memory_file_close */
    size_t len, capacity;
    bool failed; /* a byte was lost */
};

/* ERR_NO_MEMORY. */
enum err_code memory_file_open(struct memory_file *out, struct err *err);

/* Ends the stream. bytes are yours to free; after an error (this one's, ERR_NO_MEMORY, or one that
 * is already recorded) they are NULL. */
enum err_code memory_file_close(struct memory_file *file, struct err *err);

/* Ends the stream and replaces the file at `path` by its bytes (replace.h); after an error, also
 * one that is already recorded, the file is unchanged. Nothing is left to free. */
enum err_code memory_file_save(struct memory_file *file, const char *path, struct err *err);

#endif
