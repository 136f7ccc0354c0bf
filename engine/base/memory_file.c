#include "engine/base/memory_file.h"

#include "engine/base/replace.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096 };

/* Makes room for len more bytes and the NUL. */
static bool make_room(struct memory_file *file, size_t len)
{
    size_t capacity = file->capacity > 0 ? file->capacity : FIRST_BYTES;
    if (len >= SIZE_MAX / 2 - file->len)
        return false;
    while (capacity <= file->len + len)
        capacity *= 2;
    if (capacity == file->capacity)
        return true;
    char *bytes = realloc(file->bytes, capacity);
    if (bytes == NULL)
        return false;
    file->bytes = bytes;
    file->capacity = capacity;
    return true;
}

/* The stream's write function; 0: failed. After a failure all writes fail. */
static ssize_t keep(void *cookie, const char *from, size_t len)
{
    struct memory_file *file = cookie;
    file->failed = file->failed || !make_room(file, len);
    if (file->failed)
        return 0;
    memcpy(file->bytes + file->len, from, len);
    file->len += len;
    return (ssize_t)len;
}

enum err_code memory_file_open(struct memory_file *out, struct err *err)
{
    *out = (struct memory_file){0};
    out->stream = fopencookie(out, "w", (cookie_io_functions_t){.write = keep});
    return out->stream != NULL ? ERR_OK : err_no_memory(err, FIRST_BYTES);
}

enum err_code memory_file_close(struct memory_file *file, struct err *err)
{
    bool failed = ferror(file->stream) != 0;
    failed = fclose(file->stream) != 0 || failed || file->failed || !make_room(file, 0);
    file->stream = NULL;
    if (failed)
        err_no_memory(err, file->len);
    if (err->code == ERR_OK) {
        file->bytes[file->len] = '\0';
        return ERR_OK;
    }
    free(file->bytes);
    file->bytes = NULL;
    file->len = 0;
    return err->code;
}

enum err_code memory_file_save(struct memory_file *file, const char *path, struct err *err)
{
    if (!memory_file_close(file, err))
        replace_file(path, file->bytes, file->len, err);
    free(file->bytes);
    file->bytes = NULL;
    return err->code;
}
