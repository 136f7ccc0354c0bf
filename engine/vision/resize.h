/* resize.h - antialiased separable resampling of 8-bit RGB, byte for byte PIL's Image.resize
 * (Pillow up to 12): fixed-point coefficients, horizontal pass first, rounding to 8 bits between.
 */
#ifndef ATTND_ENGINE_VISION_RESIZE_H
#define ATTND_ENGINE_VISION_RESIZE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/vision/image.h"

/* PIL's numbers, as preprocessor_config.json spells them. */
enum resample {
    RESAMPLE_NEAREST = 0,
    RESAMPLE_LANCZOS = 1,
    RESAMPLE_BILINEAR = 2,
    RESAMPLE_BICUBIC = 3,
    RESAMPLE_BOX = 4,
    RESAMPLE_HAMMING = 5,
};

/* out: [height, width, 3] in the arena. ERR_NO_MEMORY only. */
enum err_code resize_rgb(const struct image *image, unsigned width, unsigned height,
                         enum resample resample, struct arena *arena, struct image *out,
                         struct err *err);

#endif
