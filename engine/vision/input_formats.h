/* input_formats.h - the formats of pictures that are read. One row tells all that the program knows
 * of a format: its names, how its files are recognised, and its decoder.
 *
 *     const struct input_format *format = input_format_of_bytes(bytes, len);
 *     if (format != NULL)
 *         printf("%s, sent as %s\n", format->name, format->media_types[0]);
 *
 * A new format is a decoder, its row in input_formats.c, and its name in the lists below
 * (CONTRIBUTING.md). Threads: constant data, no state.
 */
#ifndef ATTND_ENGINE_VISION_INPUT_FORMATS_H
#define ATTND_ENGINE_VISION_INPUT_FORMATS_H

#include "engine/base/err.h"
#include "engine/content/file_signature.h"

#include <stdbool.h>
#include <stddef.h>

/* The rows' names and first media types, for messages; test_input_formats compares them. */
#define INPUT_FORMATS_LIST "PNG, JPEG, BMP"
#define INPUT_FORMATS_OR "PNG, JPEG or BMP"
#define INPUT_FORMATS_MEDIA_TYPES "image/png, image/jpeg, image/bmp"

struct arena;
struct image;
struct image_options;

enum { INPUT_FORMAT_NAMES_MAX = 5 };

struct input_format {
    const char *name; /* "PNG" */
    const char
        *media_types[INPUT_FORMAT_NAMES_MAX];    /* up to NULL; a client should send the first */
    const char *endings[INPUT_FORMAT_NAMES_MAX]; /* ".png", up to NULL; files get the first */
    struct file_signature signature;
    struct file_kind kind; /* how a message names a file of the format, and where none is read */

    /* The functions are called with bytes that have the signature. */

    /* Reads the decoded width and height, in pixels, from the header. False: it is cut off or
     * damaged, and decode refuses it; *width and *height stay. */
    bool (*probe)(const void *bytes, size_t len, unsigned *width, unsigned *height);
    /* Does what image_decode says. *out is all zeros before, and stays so after an error. */
    enum err_code (*decode)(struct image *out, const void *bytes, size_t len,
                            const struct image_options *options, struct arena *arena,
                            struct err *err);
    /* Upper bound of the bytes that decode takes, the pixels included; reads the header only. */
    size_t (*decode_bytes)(const void *bytes, size_t len);
};

/* All formats; the one behind the last has no name. */
extern const struct input_format input_formats[];

/* NULL: of none of these formats. The bytes may be the first of a file. */
const struct input_format *input_format_of_bytes(const void *bytes, size_t len);

/* By a media type without parameters, or by the ending of a name or path; capital letters count as
 * small ones. */
const struct input_format *input_format_of_media_type(const char *type, size_t len);
const struct input_format *input_format_of_name(const char *name, size_t len);

#endif
