/* png.h - PNG for image.h, over libpng. Reading is called with bytes that start with PNG's
 * signature. Threads: any number; no state is shared. */
#ifndef ATTND_ENGINE_VISION_PNG_H
#define ATTND_ENGINE_VISION_PNG_H

#include "engine/vision/pixels.h"

enum err_code png_decode(struct image *out, const void *bytes, size_t len,
                         const struct image_options *options, struct arena *arena, struct err *err);

/* Encodes an image: as 8-bit grey if all pixels are grey, else as RGB. *out is yours to free;
 * ERR_NO_MEMORY, or ERR_TOO_LARGE if libpng has no room for the size. */
enum err_code png_encode(char **out, size_t *len, const struct image *image, struct err *err);

/* The same for 8-bit RGBA pixels, [height, width, 4], alpha not multiplied in; the interrupt (NULL:
 * none) is checked for each row. */
enum err_code png_encode_rgba(char **out, size_t *len, unsigned width, unsigned height,
                              const unsigned char *rgba, struct interrupt *interrupt,
                              struct err *err);

bool png_probe(const void *bytes, size_t len, unsigned *width, unsigned *height);

/* Upper bound of the bytes that png_decode takes, the pixels included; reads the header only. */
size_t png_decode_bytes(const void *bytes, size_t len);

#endif
