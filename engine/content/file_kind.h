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

#include "engine/content/file_signature.h"

/* NULL: none that is known. */
const struct file_kind *file_kind_of(const void *bytes, size_t len);

/* The same of bytes that stand where a text is expected: a text may begin with letters that open a
 * file of some kind, so these count only with control characters or bytes that are not UTF-8 near
 * them. */
const struct file_kind *file_kind_of_text(const void *bytes, size_t len);

/* True if a name or path [len] ends as those of pictures do that are not read: ".tif". */
bool file_kind_names_picture(const char *name, size_t len);

#endif
