/* bmp.h - BMP for input_formats.c (Microsoft, Windows GDI, "Bitmap Storage"). Called with bytes
 * that start with BMP's signature. Threads: any number; no state is shared. */
#ifndef ATTND_ENGINE_VISION_BMP_H
#define ATTND_ENGINE_VISION_BMP_H

#include "engine/vision/pixels.h"

/* The members of struct input_format say what these do. ERR_UNUSABLE: cut off, damaged, of an
 * unsupported kind, or more pixels than allowed; else ERR_NO_MEMORY or the interrupt's error. The
 * pixels, [height, width, 3], live in the arena. */
enum err_code bmp_decode(struct image *out, const void *bytes, size_t len,
                         const struct image_options *options, struct arena *arena, struct err *err);

/* Width and height in pixels. False for a file that bmp_decode refuses by its header. */
bool bmp_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);

/* Upper bound of the bytes that bmp_decode takes, the pixels included; reads the header only. */
size_t bmp_decode_bytes(const void *bytes, size_t len);

#endif
