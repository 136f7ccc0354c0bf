/* jpeg.h - JPEG for image.h, over libjpeg. Called with bytes that start with JPEG's SOI marker.
 * Threads: any number; no state is shared. */
#ifndef ATTND_ENGINE_VISION_JPEG_H
#define ATTND_ENGINE_VISION_JPEG_H

#include "engine/vision/pixels.h"

enum err_code jpeg_decode(struct image *out, const void *bytes, size_t len,
                          const struct image_options *options, struct arena *arena,
                          struct err *err);
bool jpeg_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);

/* Upper bound of the bytes that jpeg_decode takes, the pixels included; reads the header only. */
size_t jpeg_decode_bytes(const void *bytes, size_t len);

#endif
