#include "engine/vision/image.h"

#include "engine/content/document.h"
#include "engine/content/file_kind.h"
#include "engine/vision/jpeg.h"
#include "engine/vision/png.h"

#include <string.h>

static bool starts_with(const void *bytes, size_t len, const char *magic, size_t magic_len)
{
    return len >= magic_len && memcmp(bytes, magic, magic_len) == 0;
}

static bool is_png(const void *bytes, size_t len)
{
    return starts_with(bytes, len, "\x89PNG\r\n\x1a\n", 8);
}

static bool is_jpeg(const void *bytes, size_t len)
{
    return starts_with(bytes, len, "\xff\xd8\xff", 3);
}

bool image_has_signature(const void *bytes, size_t len)
{
    return is_png(bytes, len) || is_jpeg(bytes, len);
}

static enum err_code refuse(const void *bytes, size_t len, struct err *err)
{
    enum { URL_SCHEME_MAX = 16 };
    char described[DOCUMENT_TEXT_BYTES];
    const struct file_kind *kind = file_kind_of(bytes, len);
    if (kind != NULL)
        return err_set(err, ERR_UNUSABLE, "this is %s: %s", kind->name, kind->advice);
    if (document_describe(bytes, len, described))
        return err_set(err, ERR_UNUSABLE, "%s", described);
    if (memmem(bytes, len < URL_SCHEME_MAX ? len : URL_SCHEME_MAX, "://", 3) != NULL)
        return err_set(err, ERR_UNUSABLE, "this is a URL, not a picture: send the picture's bytes");
    return err_set(err, ERR_UNUSABLE, "the image is neither PNG nor JPEG (%zu bytes)", len);
}

enum err_code image_decode(struct image *out, const void *bytes, size_t len,
                           const struct image_options *options, struct arena *arena,
                           struct err *err)
{
    *out = (struct image){0};
    if (is_png(bytes, len))
        return png_decode(out, bytes, len, options, arena, err);
    if (is_jpeg(bytes, len))
        return jpeg_decode(out, bytes, len, options, arena, err);
    return refuse(bytes, len, err);
}

bool image_probe(const void *bytes, size_t len, unsigned *width, unsigned *height)
{
    if (is_png(bytes, len))
        return png_probe(bytes, len, width, height);
    return is_jpeg(bytes, len) && jpeg_probe(bytes, len, width, height);
}

size_t image_decode_bytes(const void *bytes, size_t len)
{
    if (is_png(bytes, len))
        return png_decode_bytes(bytes, len);
    return is_jpeg(bytes, len) ? jpeg_decode_bytes(bytes, len) : 0;
}
