#include "engine/fab/lot_file.h"

#include "engine/base/file.h"
#include "engine/base/gunzip.h"
#include "engine/content/file_kind.h"
#include "engine/fab/lot_formats.h"

#include <stdlib.h>

enum err_code lot_read(struct lot *out, const void *bytes, size_t len, struct err *err)
{
    const struct lot_format *format = lot_format_of_bytes(bytes, len);
    const struct file_kind *kind = file_kind_of(bytes, len);
    if (format != NULL)
        return format->read(out, bytes, len, err);
    if (kind != NULL)
        return err_set(err, ERR_UNUSABLE, "not " LOT_FORMATS_OR ": this is %s: %s", kind->name,
                       kind->advice);
    return err_set(err, ERR_UNUSABLE,
                   "not " LOT_FORMATS_OR ": it does not begin as such a file does (%zu bytes)",
                   len);
}

enum err_code lot_open(struct lot *out, const char *path, struct err *err)
{
    char *bytes;
    size_t len;
    lot_init(out);
    if (file_read_input(&bytes, &len, path, LOT_FILE_BYTES_MAX, err))
        return err->code;
    if (!gunzip_if_packed(&bytes, &len, LOT_FILE_BYTES_MAX, err))
        lot_read(out, bytes, len, err);
    free(bytes);
    return err->code;
}
