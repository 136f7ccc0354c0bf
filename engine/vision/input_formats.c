#include "engine/vision/input_formats.h"

#include "engine/vision/decoders.h"
#include "engine/vision/png.h"

/* Media types behind the first are not registered, and everywhere. */
const struct input_format input_formats[] = {
    {
        .name = "PNG",
        .media_types = {"image/png", "image/x-png"},
        .endings = {".png"},
        .signature = {FILE_BEGINS("\x89PNG\r\n\x1a\n")},
        .kind = {FILE_IS_READ, "a PNG picture", "send its bytes as image/png"},
        .probe = png_probe,
        .decode = png_decode,
        .decode_bytes = png_decode_bytes,
    },
    {
        .name = "JPEG",
        .media_types = {"image/jpeg", "image/jpg", "image/x-jpeg", "image/pjpeg"},
        .endings = {".jpg", ".jpeg"},
        .signature = {FILE_BEGINS("\xff\xd8\xff")},
        .kind = {FILE_IS_READ, "a JPEG picture", "send its bytes as image/jpeg"},
        .probe = jpeg_probe,
        .decode = jpeg_decode,
        .decode_bytes = jpeg_decode_bytes,
    },
    {
        .name = "BMP",
        .media_types = {"image/bmp", "image/x-bmp", "image/x-ms-bmp"},
        .endings = {".bmp"},
        .signature = {FILE_HAS("BM", 6, "\0\0\0\0")},
        .kind = {FILE_IS_READ, "a BMP picture", "send its bytes as image/bmp"},
        .probe = bmp_probe,
        .decode = bmp_decode,
        .decode_bytes = bmp_decode_bytes,
    },
    {.name = NULL},
};

const struct input_format *input_format_of_bytes(const void *bytes, size_t len)
{
    for (const struct input_format *format = input_formats; format->name != NULL; format++)
        if (file_signature_fits(&format->signature, bytes, len))
            return format;
    return NULL;
}

const struct input_format *input_format_of_media_type(const char *type, size_t len)
{
    for (const struct input_format *format = input_formats; format->name != NULL; format++)
        for (const char *const *known = format->media_types; *known != NULL; known++)
            if (strlen(*known) == len && strncasecmp(type, *known, len) == 0)
                return format;
    return NULL;
}

const struct input_format *input_format_of_name(const char *name, size_t len)
{
    for (const struct input_format *format = input_formats; format->name != NULL; format++)
        for (const char *const *ending = format->endings; *ending != NULL; ending++)
            if (file_signature_ends(*ending, name, len))
                return format;
    return NULL;
}
