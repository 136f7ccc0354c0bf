#include "engine/vision/image.h"

#include "engine/content/document.h"
#include "engine/content/file_kind.h"
#include "engine/vision/input_formats.h"

#include <string.h>

enum err_code image_decode(struct image *out, const void *bytes, size_t len,
                           const struct image_options *options, struct arena *arena,
                           struct err *err)
{
    enum { URL_SCHEME_MAX = 16 };
    char described[DOCUMENT_TEXT_BYTES];
    const struct input_format *format = input_format_of_bytes(bytes, len);
    *out = (struct image){0};
    if (format != NULL)
        return format->decode(out, bytes, len, options, arena, err);
    const struct file_kind *kind = file_kind_of(bytes, len);
    if (kind != NULL)
        return err_set(err, ERR_UNUSABLE, "this is %s: %s", kind->name, kind->advice);
    if (document_describe(bytes, len, described))
        return err_set(err, ERR_UNUSABLE, "%s", described);
    if (memmem(bytes, len < URL_SCHEME_MAX ? len : URL_SCHEME_MAX, "://", 3) != NULL)
        return err_set(err, ERR_UNUSABLE, "this is a URL, not a picture: send the picture's bytes");
    return err_set(err, ERR_UNUSABLE, "the image is not " INPUT_FORMATS_OR " (%zu bytes)", len);
}

bool image_probe(const void *bytes, size_t len, unsigned *width, unsigned *height)
{
    const struct input_format *format = input_format_of_bytes(bytes, len);
    return format != NULL && format->probe(bytes, len, width, height);
}

size_t image_decode_bytes(const void *bytes, size_t len)
{
    const struct input_format *format = input_format_of_bytes(bytes, len);
    return format != NULL ? format->decode_bytes(bytes, len) : 0;
}
