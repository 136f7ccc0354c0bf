#include "tools/client/bearer_key.h"

#include <errno.h>
#include <string.h>

enum { KEY_FILE_BYTES_MAX = 4096 };

enum err_code bearer_key_read(struct buffer *out, const char *path, struct err *err)
{
    struct buffer file = {0};
    if (path == NULL)
        return ERR_OK;
    if (!buffer_file(&file, path, KEY_FILE_BYTES_MAX))
        err_set(err, ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    size_t len = 0;
    while (len < file.len && file.bytes[len] > 0x20 && file.bytes[len] < 0x7F)
        len++;
    bool is_line = len > 0 && len + strspn(file.bytes + len, "\r\n") == file.len;
    if (!err->code && !is_line)
        err_set(err, ERR_UNUSABLE, "%s: expected one line of printable characters, the key", path);
    if (!err->code)
        buffer_format(out, "Authorization: Bearer %.*s\r\n", (int)len, file.bytes);
    buffer_deinit(&file);
    return err->code;
}
