/* png.h - PNG for image.h, over libpng. Called with bytes that start with PNG's signature.
 * Threads: any number; no state is shared. */
#ifndef ATTND_ENGINE_VISION_PNG_H
#define ATTND_ENGINE_VISION_PNG_H

#include "engine/vision/image.h"

enum err_code png_decode(struct image *out, const void *bytes, size_t len,
                         const struct image_options *options, struct arena *arena, struct err *err);
bool png_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);

#endif
