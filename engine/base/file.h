/* file.h - whole files into memory. Threads: any. */
#ifndef ATTND_ENGINE_BASE_FILE_H
#define ATTND_ENGINE_BASE_FILE_H

#include "engine/base/err.h"

#include <stddef.h>

/* Reads a file ("-": standard input) of at most bytes_max bytes into NUL-terminated memory, yours
 * to free; *len is without the NUL. ERR_IO if it cannot be read, ERR_TOO_LARGE over the limit,
 * ERR_NO_MEMORY. */
enum err_code file_read(char **out, size_t *len, const char *path, size_t bytes_max,
                        struct err *err);

#endif
