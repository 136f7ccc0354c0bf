/* lot_formats.h - the formats of lots that are read: a file that holds several wafers, each of
 * which is an input. One row tells all that the program knows of a format, as those of pictures do
 * (input_formats.h).
 *
 *     const struct lot_format *format = lot_format_of_bytes(bytes, len);
 *     if (format != NULL)
 *         printf("%s, sent as %s\n", format->name, format->media_types[0]);
 *
 * A new format is a reader, its row in lot_formats.c, and its name in the lists below
 * (CONTRIBUTING.md). Threads: constant data, no state.
 */
#ifndef ATTND_ENGINE_FAB_LOT_FORMATS_H
#define ATTND_ENGINE_FAB_LOT_FORMATS_H

#include "engine/base/err.h"
#include "engine/content/file_signature.h"

#include <stdbool.h>
#include <stddef.h>

/* The rows' names and first media types, for messages; test_lot_formats compares them. */
#define LOT_FORMATS_OR "STDF"
#define LOT_FORMATS_MEDIA_TYPES "application/x-stdf"

struct lot;

enum { LOT_FORMAT_NAMES_MAX = 4, LOT_FORMAT_SIGNATURES_MAX = 3 };

struct lot_format {
    const char *name;                              /* "STDF" */
    const char *media_types[LOT_FORMAT_NAMES_MAX]; /* up to NULL; a client should send the first */
    const char *endings[LOT_FORMAT_NAMES_MAX];     /* ".stdf", up to NULL; also with ".gz" behind */
    struct file_signature signatures[LOT_FORMAT_SIGNATURES_MAX]; /* any of them; up to len 0 */
    struct file_kind kind; /* name and advice for messages, where lots are not accepted */

    /* Fills a lot that is open and empty (lot.h). A fault of the file is told with its place. */
    enum err_code (*read)(struct lot *out, const void *bytes, size_t len, struct err *err);
    /* Upper bound of the memory that read takes of so many bytes, and of so many wafers. */
    size_t (*read_bytes)(size_t len, unsigned wafers_max);
};

/* All formats; the one behind the last has no name. */
extern const struct lot_format lot_formats[];

/* NULL: of none of these formats. The bytes may be the first of a file; a media type has no
 * parameters; a name or path may end in capital letters. */
const struct lot_format *lot_format_of_bytes(const void *bytes, size_t len);
const struct lot_format *lot_format_of_media_type(const char *type, size_t len);
const struct lot_format *lot_format_of_name(const char *name, size_t len);

/* Upper bound of the memory that the reader of any format takes. */
size_t lot_formats_read_bytes(size_t len, unsigned wafers_max);

#endif
