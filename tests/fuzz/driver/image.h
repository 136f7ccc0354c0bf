/* image.h - for the targets that decode images: the claims, and mutators that know the formats.
 * Threads: one. */
#ifndef ATTND_TESTS_FUZZ_DRIVER_IMAGE_H
#define ATTND_TESTS_FUZZ_DRIVER_IMAGE_H

#include "engine/base/arena.h"
#include "engine/vision/image.h"

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_PIXELS_MAX = 64 * 64 };

/* Probes and decodes; every pixel of what comes out is read, and with AddressSanitizer the memory
 * that it took is compared with what image_decode_bytes says. False if it is refused. */
bool fuzz_decode(struct image *out, const char *bytes, size_t len, bool grey16_minmax,
                 struct arena *arena);

/* Makes the checksums of a PNG's chunks right, so that a change reaches what is behind them. */
void fuzz_png_checksums(uint8_t *data, size_t size);

/* Changes the pixels of a PNG's first IDAT below the compression, which a change of its bytes
 * would only break: they are inflated, mutated, stored anew. The new size; 0 if there are none or
 * they have no room. */
size_t fuzz_png_pixels(uint8_t *data, size_t size, size_t size_max);

#endif
