/* decoders.h - the decoders of JPEG (over libjpeg) and BMP (Microsoft, Windows GDI, "Bitmap
 * Storage") for input_formats.c; png.h has that of PNG. Called with bytes that have the format's
 * signature. Threads: any number; no state is shared. */
#ifndef ATTND_ENGINE_VISION_DECODERS_H
#define ATTND_ENGINE_VISION_DECODERS_H

#include "engine/vision/pixels.h"

/* The members of struct input_format say what these do. ERR_UNUSABLE: cut off, damaged, of an
 * unsupported kind, or more pixels than allowed; else ERR_NO_MEMORY or the interrupt's error. The
 * pixels, [height, width, 3], live in the arena. */
enum err_code jpeg_decode(struct image *out, const void *bytes, size_t len,
                          const struct image_options *options, struct arena *arena,
                          struct err *err);
enum err_code bmp_decode(struct image *out, const void *bytes, size_t len,
                         const struct image_options *options, struct arena *arena, struct err *err);

/* Width and height in pixels. False for a file that the decoder refuses by its header. */
bool jpeg_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);
bool bmp_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);

/* Upper bounds of the bytes that the decoders take, the pixels included; read the header only. */
size_t jpeg_decode_bytes(const void *bytes, size_t len);
size_t bmp_decode_bytes(const void *bytes, size_t len);

#endif
