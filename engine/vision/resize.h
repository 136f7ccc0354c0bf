/* resize.h - antialiased separable resampling of 8-bit RGB, byte for byte PIL's Image.resize
 * (Pillow up to 12): fixed-point coefficients, horizontal pass first, rounding to 8 bits between.
 *
 *     resize_rgb(&image, 224, 224, RESAMPLE_BILINEAR, &arena, &small, &err);
 *
 * Threads: any number; no state is shared.
 */
#ifndef ATTND_ENGINE_VISION_RESIZE_H
#define ATTND_ENGINE_VISION_RESIZE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/vision/pixels.h"

/* PIL's numbers, as preprocessor_config.json spells them. */
enum resample {
    RESAMPLE_NEAREST = 0,
    RESAMPLE_LANCZOS = 1,
    RESAMPLE_BILINEAR = 2,
    RESAMPLE_BICUBIC = 3,
    RESAMPLE_BOX = 4,
    RESAMPLE_HAMMING = 5,
};

/* A part of the resized image, inside it and not empty. */
struct resize_window {
    unsigned left, top, width, height;
};

/* out: [height, width, 3] in the arena. Sides are from 1 to IMAGE_SIDE_MAX. ERR_NO_MEMORY only. */
enum err_code resize_rgb(const struct image *image, unsigned width, unsigned height,
                         enum resample resample, struct arena *arena, struct image *out,
                         struct err *err);

/* The same for a window alone, at the window's cost: pixels outside a centre crop are not computed.
 * out: [window.height, window.width, 3]. The interrupt (or NULL) is checked for each row. */
enum err_code resize_rgb_window(const struct image *image, unsigned width, unsigned height,
                                struct resize_window window, enum resample resample,
                                struct interrupt *interrupt, struct arena *arena, struct image *out,
                                struct err *err);

/* Upper bound of the bytes that resize_rgb_window takes, its result included. */
size_t resize_bytes(const struct image *image, unsigned width, unsigned height,
                    struct resize_window window, enum resample resample);

#endif
