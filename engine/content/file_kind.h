/* file_kind.h - names a file by its first bytes, so that what is not read is refused by name and
 * with what to do.
 *
 *     const struct file_kind *kind = file_kind_of(bytes, len);
 *     if (kind != NULL)
 *         err_set(&err, ERR_UNUSABLE, "this is %s: %s", kind->name, kind->advice);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_CONTENT_FILE_KIND_H
#define ATTND_ENGINE_CONTENT_FILE_KIND_H

#include <stddef.h>

enum file_use {
    FILE_IS_READ,    /* a picture that is read: PNG, JPEG */
    FILE_IS_GZIP,    /* read where a place says that it may be packed */
    FILE_IS_PICTURE, /* one of another format */
    FILE_IS_OTHER,
};

struct file_kind {
    enum file_use use;
    const char *name;   /* behind "this is": "a TIFF picture" */
    const char *advice; /* "convert it to PNG or JPEG" */
};

/* NULL: none that is known. */
const struct file_kind *file_kind_of(const void *bytes, size_t len);

/* The same of bytes that stand where a text is expected: a text may begin with letters that open a
 * file of some kind, so these count only with control characters or bytes that are not UTF-8 near
 * them. */
const struct file_kind *file_kind_of_text(const void *bytes, size_t len);

#endif
