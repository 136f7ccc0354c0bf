#include "engine/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 16 * 1024 };

/* Doubles the buffer, to at most bytes_max + 1 bytes and the NUL. */
static enum err_code grow(char **buffer, size_t *size, size_t bytes_max, struct err *err)
{
    size_t wanted = *size == 0 ? FIRST_BYTES : 2 * *size;
    if (wanted > bytes_max + 2)
        wanted = bytes_max + 2;
    char *larger = realloc(*buffer, wanted);
    if (larger == NULL)
        return err_no_memory(err, wanted);
    *buffer = larger;
    *size = wanted;
    return ERR_OK;
}

static enum err_code read_all(FILE *file, char **buffer, size_t *len, size_t bytes_max,
                              struct err *err)
{
    size_t size = 0, got = 1;
    for (*len = 0; got > 0 && *len <= bytes_max; *len += got) {
        if (*len + 1 >= size && grow(buffer, &size, bytes_max, err))
            return err->code;
        got = fread(*buffer + *len, 1, size - 1 - *len, file);
    }
    if (ferror(file))
        return err_set(err, ERR_IO, "cannot be read: %s", strerror(errno));
    if (*len > bytes_max)
        return err_set(err, ERR_TOO_LARGE, "larger than %zu bytes", bytes_max);
    (*buffer)[*len] = '\0';
    return ERR_OK;
}

enum err_code file_read(char **out, size_t *len, const char *path, size_t bytes_max,
                        struct err *err)
{
    *out = NULL;
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rbe");
    if (file == NULL)
        return err_set(err, errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO, "cannot be opened: %s",
                       strerror(errno));
    if (read_all(file, out, len, bytes_max, err)) {
        free(*out);
        *out = NULL;
    }
    if (!is_stdin)
        fclose(file);
    return err->code;
}
